//! The way of spans to a collector: OTLP over HTTP, as JSON.
//!
//! Written here and not by the crates of OpenTelemetry: these are 28 and change with every release, while the form of the JSON
//! is fixed. What the collector does not take is counted and gone.

use super::{Attribute, Kind, Span, SpanContext};
use crate::cluster::Node;
use crate::runtime::outside;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// The logger of spans.
const LOGGER: &str = "org.elasticsearch.tracing.Spans";

/// Where a collector takes them.
const PATH: &str = "/v1/traces";

/// How many are told at a time, and how often.
const BATCH_MAX: usize = 512;
const EVERY: Duration = Duration::from_secs(1);

/// How long the collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends what comes through the queue until nobody can send any more.
pub(super) fn start(
    endpoint: &str,
    local: &Node,
    spans: mpsc::Receiver<Span>,
    dropped: Arc<AtomicU64>,
) -> io::Result<()> {
    let url = format!("{}{PATH}", endpoint.trim_end_matches('/'));
    let resource = resource(local);
    let client = outside::client(&url, TIMEOUT).map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let work = move || runtime.block_on(export(Exporter { client, url, resource, dropped, fails: false }, spans));
    std::thread::Builder::new().name("spans".into()).spawn(work)?;
    Ok(())
}

struct Exporter {
    client: reqwest::Client,
    url: String,
    resource: Value,
    dropped: Arc<AtomicU64>,
    /// Whether the last batch was not taken.
    fails: bool,
}

async fn export(mut exporter: Exporter, mut spans: mpsc::Receiver<Span>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while spans.recv_many(&mut batch, BATCH_MAX).await > 0 {
        exporter.send(&batch).await;
        batch.clear();
        if spans.len() < BATCH_MAX {
            tokio::time::sleep(EVERY).await;
        }
    }
}

impl Exporter {
    /// Sends a batch once; a line of the log tells when that begins to fail, and when it works again.
    async fn send(&mut self, batch: &[Span]) {
        let body = request(&self.resource, batch).to_string();
        let answer = self.client.post(&self.url).header(CONTENT_TYPE, "application/json").body(body).send().await;
        let why = match answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("it answered {}", answer.status())),
            Err(error) => Some(outside::why(&error)),
        };
        if why.is_some() {
            self.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
        match (&why, self.fails) {
            (Some(why), false) => {
                tracing::warn!(target: LOGGER, "spans are dropped, [{}] does not take them: {why}", self.url);
            }
            (None, true) => tracing::info!(target: LOGGER, "[{}] takes spans again", self.url),
            (Some(_), true) | (None, false) => {}
        }
        self.fails = why.is_some();
    }
}

/// Which process the spans are of, in OpenTelemetry's words.
fn resource(local: &Node) -> Value {
    let attributes = [
        ("service.name", "zazen"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", local.ephemeral_id.as_str()),
        ("zazen.node.name", &*local.name),
        ("zazen.node.id", local.id.as_str()),
    ];
    let attributes = attributes.map(|(key, text)| json!({ "key": key, "value": { "stringValue": text } }));
    json!({ "attributes": attributes })
}

/// `ExportTraceServiceRequest`.
fn request(resource: &Value, batch: &[Span]) -> Value {
    let spans: Vec<Value> = batch.iter().map(span).collect();
    json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": { "name": "zazen" }, "spans": spans }] }] })
}

/// Ids are hexadecimal and times are texts, as OTLP's JSON wants it.
fn span(span: &Span) -> Value {
    let links: Vec<Value> = span.link.iter().map(ids).collect();
    let attributes = span.attributes.iter().map(|(key, value)| json!({ "key": key, "value": attribute(value) }));
    let mut json = ids(&span.context);
    json["parentSpanId"] = span.parent.map(|parent| format!("{parent:016x}")).unwrap_or_default().into();
    json["name"] = span.name.as_str().into();
    json["kind"] = match span.kind {
        Kind::Internal => 1,
        Kind::Server => 2,
    }
    .into();
    json["startTimeUnixNano"] = span.began.as_nanos().to_string().into();
    json["endTimeUnixNano"] = span.ended.as_nanos().to_string().into();
    json["attributes"] = attributes.collect();
    json["links"] = links.into();
    json
}

fn ids(context: &SpanContext) -> Value {
    json!({ "traceId": format!("{:032x}", context.trace), "spanId": format!("{:016x}", context.span) })
}

fn attribute(value: &Attribute) -> Value {
    match value {
        Attribute::Text(text) => json!({ "stringValue": text }),
        Attribute::Number(number) => json!({ "intValue": number.to_string() }),
        Attribute::Flag(flag) => json!({ "boolValue": flag }),
    }
}
