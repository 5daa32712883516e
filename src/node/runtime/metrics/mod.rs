//! What a node counts and measures of itself, for Prometheus.
//!
//! ```text
//!   the node's thread ──► Observer ──► Instruments ──► samples ──► text ──► /_prometheus/metrics
//!   journal, users' requests ───────────┘                 └ table: every metric once
//! ```
//!
//! Whoever counts adds to an atomic number and waits for nobody; whoever scrapes reads these numbers, the newest state and
//! the figures of the process, and asks the node's own thread nothing. What has a label for each peer or route is bounded.
//! Elasticsearch 6.8 has nothing like it; `_nodes/stats` is what its exporters read.

mod journal;
mod observer;
mod page;
mod samples;
mod table;
mod text;

pub use super::instruments::{Counter, Entered, Gauge, Histogram};
pub use page::page;
pub use text::{Format, scrape};

pub(super) use journal::Timed;
pub(super) use observer::Observer;

/// What a node may be doing, as a metric tells it.
const MODES: [&str; 5] = ["finding", "electing", "joining", "leading", "following"];

/// The ways in of the node's thread.
const INBOXES: [&str; 4] = ["nodes", "requests", "outcomes", "local"];

/// The priorities of tasks.
const PRIORITIES: [&str; 6] = ["immediate", "urgent", "high", "normal", "low", "languid"];
