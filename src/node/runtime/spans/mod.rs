//! Spans: how long each part of a change took, on each node, for whoever collects traces (OpenTelemetry).
//!
//! ```text
//!   requests ─────► Spans ──► queue ──► a thread of its own: one POST a second, OTLP as JSON ──► collector
//!   publishes ──────┘
//! ```
//!
//! Every node tells what it did itself. All parts of a change belong to the trace that bears the uuid of the state which holds
//! the change: each node knows it, so nothing about traces goes between nodes. The first span of a trace is the master's
//! publish. Elasticsearch (6.8) has nothing like it.

mod otlp;
mod publishes;

pub(super) use publishes::PublishSpans;

use super::clock::Clock;
use crate::cluster::{Node, StateId};
use crate::protocol::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;

/// How many spans may wait for their way to the collector.
const QUEUE_MAX: usize = 8_192;

/// Where a span belongs: its trace, and the span in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    /// The trace.
    pub trace: u128,
    /// The span.
    pub span: u64,
}

impl SpanContext {
    /// That of the publish of a state.
    pub fn of_state(state: StateId) -> SpanContext {
        let trace = state.uuid.as_u128().max(1);
        SpanContext { trace, span: (trace as u64).max(1) }
    }

    /// What a client says of itself in `traceparent`: `00-TRACE-SPAN-FLAGS` (W3C Trace Context).
    pub fn of_header(text: &str) -> Option<SpanContext> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_known = version == "00" && parts.next().is_none() && trace.len() == 32 && span.len() == 16;
        if !is_known || flags.len() != 2 || text.contains(['+', 'A', 'B', 'C', 'D', 'E', 'F']) {
            return None;
        }
        let context =
            SpanContext { trace: u128::from_str_radix(trace, 16).ok()?, span: u64::from_str_radix(span, 16).ok()? };
        (context.trace != 0 && context.span != 0).then_some(context)
    }
}

/// Whether somebody outside is waiting for a span's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Internal,
    Server,
}

/// What is told of a span besides its times.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Attribute {
    Text(String),
    Number(u64),
    Flag(bool),
}

/// One part of what was done for a change.
#[derive(Clone, Debug)]
struct Span {
    context: SpanContext,
    parent: Option<u64>,
    link: Option<SpanContext>,
    name: String,
    kind: Kind,
    began: Duration,
    ended: Duration,
    attributes: Vec<(&'static str, Attribute)>,
}

/// Takes the spans of a node; nothing, if they are not asked for.
#[derive(Debug)]
pub struct Spans {
    queue: Option<mpsc::Sender<Span>>,
    dropped: Arc<AtomicU64>,
    clock: Clock,
    /// When the clock began, since 1970.
    epoch: Duration,
}

impl Spans {
    /// For nobody.
    pub(super) fn off(clock: Clock) -> Spans {
        Spans { queue: None, dropped: Arc::default(), clock, epoch: Duration::ZERO }
    }

    /// For the collector at an address, from a thread of its own.
    pub(super) fn start(endpoint: Option<&str>, clock: Clock, local: &Node) -> std::io::Result<Spans> {
        let Some(endpoint) = endpoint else {
            return Ok(Spans::off(clock));
        };
        let (queue, spans) = mpsc::channel(QUEUE_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        otlp::start(endpoint, local, spans, dropped.clone())?;
        let epoch = since_1970().saturating_sub(clock.now().since(Time::ZERO));
        Ok(Spans { queue: Some(queue), dropped, clock, epoch })
    }

    /// Whether anybody asks for them.
    pub fn are_wanted(&self) -> bool {
        self.queue.is_some()
    }

    /// How many did not get to the collector.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// What the time is.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// A change that a user of this node asked for is answered: by whom it was asked, since when, in which state it is, and
    /// whether all members had applied that in time.
    pub fn asked(&self, (name, asker): (&str, Option<SpanContext>), since: Time, (at, acknowledged): (StateId, bool)) {
        let change = SpanContext::of_state(at);
        let (trace, parent) = asker.map_or((change.trace, change.span), |asker| (asker.trace, asker.span));
        self.tell(Span {
            context: SpanContext { trace, span: fresh() },
            parent: Some(parent),
            link: asker.map(|_| change),
            name: name.to_owned(),
            kind: Kind::Server,
            began: self.wall(since),
            ended: self.wall(self.now()),
            attributes: of_state(at)
                .into_iter()
                .chain([("zazen.acknowledged", Attribute::Flag(acknowledged))])
                .collect(),
        });
    }

    fn tell(&self, span: Span) {
        let Some(queue) = &self.queue else {
            return;
        };
        if queue.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wall(&self, time: Time) -> Duration {
        self.epoch + time.since(Time::ZERO)
    }
}

fn of_state(state: StateId) -> [(&'static str, Attribute); 2] {
    [("zazen.term", Attribute::Number(state.term.get())), ("zazen.version", Attribute::Number(state.version.get()))]
}

/// A name for a span that no other one of its trace has.
fn fresh() -> u64 {
    (uuid::Uuid::new_v4().as_u128() as u64).max(1)
}

#[expect(clippy::disallowed_methods, reason = "spans of several nodes are put side by side by the time of day")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_is_read_from_its_header_and_nothing_strange_is() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = SpanContext { trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, span: 0x00f0_67aa_0ba9_02b7 };
        assert_eq!(SpanContext::of_header(good), Some(context));
        let strange = [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-00",
        ];
        for text in strange {
            assert_eq!(SpanContext::of_header(text), None, "{text}");
        }
    }
}
