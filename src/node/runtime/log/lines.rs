//! What a line of the log looks like: Elasticsearch's plain layout, or JSON with the same facts.
//!
//! Whether a line is printed is decided in `levels.rs`, where it goes in `writer.rs`. Mirrors the console appender of
//! `log4j2.properties` (6.8), and for JSON the layout of 7.x.

use parking_lot::Mutex;
use serde_json::Value;
use std::fmt::{self, Write};
use std::time::{Duration, SystemTime};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// The name of the span of a node; its fields are those of [`Origin`].
pub(super) const NODE_SPAN: &str = "node";
/// As long as log4j makes the name of a logger at least.
const LOGGER_WIDTH: usize = 25;
/// What is longer is cut, as Elasticsearch cuts it.
const MESSAGE_MAX: usize = 10_000;

/// The field with what led to a panic.
const TRACE: &str = "stacktrace";
/// As many of its lines as are printed.
const TRACE_LINES_MAX: usize = 400;

/// Of which node a line is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// `node.name`.
    pub node_name: String,
    /// `cluster.name`.
    pub cluster_name: String,
    /// The node's id.
    pub node_id: String,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[2026-11-21T17:36:30,123][INFO ][o.e.d.z.ZenDiscovery     ] [node] message`.
    Plain,
    /// One object a line.
    Json,
}

/// Makes a line of every event and hands it on.
pub struct Lines {
    form: Form,
    now: Box<dyn Fn() -> SystemTime + Send + Sync>,
    write: Box<dyn Fn(String) + Send + Sync>,
    only: Mutex<Only>,
}

/// Of whom lines are that are logged outside a node's span.
enum Only {
    /// No node has begun: the configured names.
    Configured(Origin),
    /// One has: it can only be of that.
    One(Origin),
    /// Of one of several.
    Several,
}

impl Lines {
    /// Lines in this form; `origin` is what is known of the node before it begins.
    pub fn new(
        form: Form,
        origin: Origin,
        now: impl Fn() -> SystemTime + Send + Sync + 'static,
        write: impl Fn(String) + Send + Sync + 'static,
    ) -> Self {
        Lines { form, now: Box::new(now), write: Box::new(write), only: Mutex::new(Only::Configured(origin)) }
    }

    fn of_process(&self) -> Origin {
        match &*self.only.lock() {
            Only::Configured(origin) | Only::One(origin) => origin.clone(),
            Only::Several => Origin { node_name: "several".into(), ..Origin::default() },
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() != NODE_SPAN {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let origin = fields.origin();
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(origin.clone());
        }
        let mut only = self.only.lock();
        *only = match &*only {
            Only::Configured(_) => Only::One(origin),
            Only::One(before) if *before == origin => Only::One(origin),
            Only::One(_) | Only::Several => Only::Several,
        };
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let of_span = context.event_scope(event).into_iter().flatten();
        let origin = of_span.filter_map(|span| span.extensions().get::<Origin>().cloned()).next();
        let origin = origin.unwrap_or_else(|| self.of_process());
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (level, target) = (event.metadata().level(), event.metadata().target());
        let line =
            Line { at: (self.now)(), level: *level, logger: abbreviated(target), origin: &origin, fields: &fields };
        (self.write)(match self.form {
            Form::Plain => line.plain(),
            Form::Json => line.json(),
        });
    }
}

/// The fields of an event or a span; the message is the one of that name.
#[derive(Default)]
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(held, _)| *held == name).map_or("", |(_, text)| text)
    }

    fn origin(&self) -> Origin {
        Origin {
            node_name: self.get("node_name").into(),
            cluster_name: self.get("cluster_name").into(),
            node_id: self.get("node_id").into(),
        }
    }

    fn besides_message(&self) -> impl Iterator<Item = &(&'static str, String)> {
        self.0.iter().filter(|(name, _)| *name != "message")
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, text: &str) {
        self.0.push((field.name(), text.into()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

struct Line<'a> {
    at: SystemTime,
    level: Level,
    logger: String,
    origin: &'a Origin,
    fields: &'a Fields,
}

impl Line<'_> {
    fn plain(&self) -> String {
        let Line { level, logger, .. } = self;
        let (at, node) = (timestamp(self.at), harmless(&self.origin.node_name));
        let mut text =
            format!("[{at}][{level:<5}][{logger:<LOGGER_WIDTH$}] [{node}] {}", harmless(self.fields.get("message")));
        for (name, value) in self.fields.besides_message().filter(|(name, _)| *name != TRACE) {
            let _ = write!(text, ", {name} [{}]", harmless(value));
        }
        // As in Elasticsearch a trace has lines of its own.
        for line in self.fields.get(TRACE).lines().take(TRACE_LINES_MAX) {
            let _ = write!(text, "\n{}", harmless(line));
        }
        text
    }

    fn json(&self) -> String {
        let at = format!("{}Z", timestamp(self.at));
        let level = self.level.to_string();
        let message = shortened(self.fields.get("message"));
        let known = [
            ("type", "server"),
            ("timestamp", &at),
            ("level", &level),
            ("component", &self.logger),
            ("cluster.name", &self.origin.cluster_name),
            ("node.name", &self.origin.node_name),
            ("message", &message),
            ("node.id", &self.origin.node_id),
        ];
        let more = self.fields.besides_message().filter(|(name, _)| *name != TRACE);
        let more = more.map(|(name, value)| (*name, value.as_str()));
        let fields = known.into_iter().filter(|(_, text)| !text.is_empty()).chain(more);
        let mut shown: Vec<String> = fields.map(|(name, text)| format!("\"{name}\": {}", Value::from(text))).collect();
        let trace: Vec<&str> = self.fields.get(TRACE).lines().take(TRACE_LINES_MAX).collect();
        if !trace.is_empty() {
            shown.push(format!("\"{TRACE}\": {}", Value::from(trace)));
        }
        format!("{{{}}}", shown.join(", "))
    }
}

/// The name of a logger with all but its last part cut to a letter: `o.e.d.z.ZenDiscovery`.
fn abbreviated(target: &str) -> String {
    let parts: Vec<&str> = target.split("::").flat_map(|part| part.split('.')).collect();
    let (last, before) = parts.split_last().unwrap_or((&target, &[]));
    before.iter().filter_map(|part| part.chars().next()).map(|first| format!("{first}.")).collect::<String>() + last
}

fn shortened(text: &str) -> String {
    text.chars().take(MESSAGE_MAX).collect()
}

/// Text of others on a line and on a terminal: no further lines, no commands to the terminal.
fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars().take(MESSAGE_MAX) {
        if character.is_control() {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// The time of day in UTC, as ISO 8601 with a comma: `2026-11-21T17:36:30,123`.
pub fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02},{millis:03}")
}

/// The day in UTC, `2026-11-21`.
pub(super) fn day(at: SystemTime) -> String {
    let (year, month, day) =
        date(at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date that is so many days after the first of January 1970, counted in eras of 400 years that begin in March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::registry;

    /// What is printed of what `work` logs.
    fn printed(form: Form, work: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let taker = lines.clone();
        let now = || SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_282_590_123);
        let origin = Origin { node_name: "configured".into(), cluster_name: "prod".into(), node_id: String::new() };
        let layer = Lines::new(form, origin, now, move |line| taker.lock().push(line));
        tracing::subscriber::with_default(registry().with(layer), work);
        std::mem::take(&mut lines.lock())
    }

    fn node(name: &str) -> tracing::Span {
        tracing::error_span!("node", node_name = name, cluster_name = "prod", node_id = "id")
    }

    #[test]
    fn a_plain_line_is_one_of_elasticsearch() {
        let lines = printed(Form::Plain, || {
            tracing::info!(target: "org.elasticsearch.discovery.zen.ZenDiscovery", "starting");
            let _entered = node("n1").entered();
            tracing::warn!(target: "org.elasticsearch.cluster.service.ClusterApplierService", "took {}ms", 3);
            tracing::error!(target: "zazen_node::runtime::node", bytes = 7, why = "full", "disk");
            tracing::info!(target: "node", "stop\nforged \u{1b}[31m line");
        });
        assert_eq!(
            lines,
            [
                "[2026-11-21T17:36:30,123][INFO ][o.e.d.z.ZenDiscovery     ] [configured] starting",
                "[2026-11-21T17:36:30,123][WARN ][o.e.c.s.ClusterApplierService] [n1] took 3ms",
                "[2026-11-21T17:36:30,123][ERROR][z.r.node                 ] [n1] disk, bytes [7], why [full]",
                "[2026-11-21T17:36:30,123][INFO ][node                     ] [n1] stop\\nforged \\u{1b}[31m line",
            ]
        );
    }

    #[test]
    fn a_json_line_has_the_same_facts() {
        let lines = printed(Form::Json, || {
            tracing::info!(target: "org.elasticsearch.node.Node", "starting");
            node("n1").in_scope(|| tracing::info!(target: "org.elasticsearch.node.Node", port = 9300, "say \"hi\"\n"));
        });
        assert_eq!(
            lines,
            [
                r#"{"type": "server", "timestamp": "2026-11-21T17:36:30,123Z", "level": "INFO", "component": "o.e.n.Node", "cluster.name": "prod", "node.name": "configured", "message": "starting"}"#,
                r#"{"type": "server", "timestamp": "2026-11-21T17:36:30,123Z", "level": "INFO", "component": "o.e.n.Node", "cluster.name": "prod", "node.name": "n1", "message": "say \"hi\"\n", "node.id": "id", "port": "9300"}"#,
            ]
        );
        for line in lines {
            assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
        }
    }

    #[test]
    fn every_line_tells_its_node_though_several_share_the_process() {
        let lines = printed(Form::Plain, || {
            let (one, two) = (node("one"), node("two"));
            one.in_scope(|| tracing::info!("a"));
            two.in_scope(|| tracing::info_span!("request").in_scope(|| tracing::info!("b")));
            tracing::info!("c");
        });
        let nodes: Vec<&str> = lines.iter().filter_map(|line| line.split("] ").nth(1)).collect();
        assert_eq!(nodes, ["[one", "[two", "[several"]);
        let lines = printed(Form::Plain, || {
            let _one = node("one");
            tracing::info!("outside its span");
        });
        assert!(lines[0].ends_with("[one] outside its span"), "{lines:?}");
    }

    #[test]
    fn a_message_of_others_is_cut() {
        let lines = printed(Form::Plain, || tracing::info!("{}", "x".repeat(MESSAGE_MAX * 2)));
        assert_eq!(lines[0].matches('x').count(), MESSAGE_MAX);
    }

    #[test]
    fn days_are_dates() {
        let cases = [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_778, (2026, 11, 21)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ];
        for (days, expected) in cases {
            assert_eq!(date(days), expected, "{days}");
        }
    }
}
