//! The page of all metrics, made from their table.

use super::table::TABLE;
use std::fmt::Write;

const HEAD: &str = "\
<!-- Made from src/node/runtime/metrics by `ZAZEN_BLESS=1 cargo test --test pages`. -->

# Metrics

What a node tells Prometheus, at `/_prometheus/metrics` and at `/metrics` of its users' port.
[Operating a cluster](operations.md) has the lines for Prometheus, a dashboard for Grafana and alerts.

The text is that of Prometheus, or OpenMetrics for who asks for `application/openmetrics-text`.
Times are in seconds, sizes in bytes, and `_total` ends the names of what only grows.
Every node tells what it sees itself, so a sum over all nodes counts what several of them saw several times.
A scrape reads numbers that are there already and asks the node's own thread nothing: it is answered without a master, and \
while that thread is busy.
Labels are bounded: of more than 256 peers the rest goes by `other`.
";

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut topic = "";
    for metric in TABLE {
        if metric.topic != topic {
            topic = metric.topic;
            let _ = write!(page, "\n## {topic}\n\n| metric | kind | labels | tells |\n|---|---|---|---|\n");
        }
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, labels) = (metric.full_name(), metric.kind.name(), labels.join(", "));
        let _ = writeln!(page, "| `{name}` | {kind} | {labels} | {} |", metric.doc);
    }
    page
}
