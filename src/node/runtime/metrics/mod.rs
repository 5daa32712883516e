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

mod instruments;
mod journal;
mod observer;
mod page;
mod samples;
mod table;
mod text;

pub use instruments::{Counter, Entered, Gauge, Histogram};
pub use page::page;
pub use text::{Format, scrape};

pub(super) use journal::Timed;
pub(super) use observer::Observer;

use super::clock::Clock;
use super::secure::Expiry;
use crate::cluster::Address;
use instruments::{SIZES, SPELLS, STEPS, TRIPS};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What a node may be doing, as a metric tells it.
const MODES: [&str; 5] = ["finding", "electing", "joining", "leading", "following"];

/// The ways in of the node's thread.
const INBOXES: [&str; 4] = ["nodes", "requests", "outcomes", "local"];

/// The priorities of tasks.
const PRIORITIES: [&str; 6] = ["immediate", "urgent", "high", "normal", "low", "languid"];

/// More peers than these share one label.
const PEERS_MAX: usize = 256;

/// The label of those.
const OTHER_PEERS: &str = "other";

/// The counters and histograms of one node.
#[derive(Debug)]
pub struct Instruments {
    clock: OnceLock<Clock>,
    mode: Gauge,
    term: Gauge,
    accepted_version: Gauge,
    votes: Counter,
    /// By what they began with, and whether they were won.
    elections: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    masterless: Histogram,
    /// When it began, in microseconds and one more; 0 while there is a master.
    masterless_since: Gauge,
    master_changes: Counter,
    masters_lost: Counter,
    step_downs: Counter,
    hand_overs: Counter,
    nodes_joined: Counter,
    nodes_left: Counter,
    state_bytes: Arc<StateBytes>,
    commit: Histogram,
    whole: Histogram,
    publishes_failed: Counter,
    behind: Counter,
    leases_granted: Counter,
    leases_ended: Counter,
    leases_lost: Counter,
    queued: [Gauge; 6],
    queued_age: [Gauge; 6],
    tasks: Histogram,
    questions: Gauge,
    peers: Mutex<BTreeMap<Address, Arc<Peer>>>,
    calls: Gauge,
    links_held: Gauge,
    links_accepted: Gauge,
    step: Histogram,
    late: Histogram,
    inboxes: [Gauge; 4],
    stalls: Counter,
    sync: Histogram,
    writes: Counter,
    journal_bytes: Gauge,
    journal_used: Gauge,
    unsynced: Gauge,
    slow_writes: Counter,
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// When which certificate ends.
    expiries: Mutex<Vec<Expiry>>,
    request_times: Mutex<BTreeMap<&'static str, Arc<Histogram>>>,
    watchers: Arc<Gauge>,
}

/// How large the states were that a master sent.
#[derive(Debug)]
pub struct StateBytes {
    full: Histogram,
    diff: Histogram,
}

impl StateBytes {
    /// A state was encoded, whole or as a change.
    pub(super) fn count(&self, is_full: bool, bytes: usize) {
        (if is_full { &self.full } else { &self.diff }).observe(bytes as u64);
    }
}

impl Default for StateBytes {
    fn default() -> Self {
        StateBytes { full: Histogram::new(SIZES), diff: Histogram::new(SIZES) }
    }
}

/// What is measured of one peer.
#[derive(Debug)]
struct Peer {
    round_trip: Histogram,
    misses: Counter,
}

impl Default for Peer {
    fn default() -> Self {
        Peer { round_trip: Histogram::new(TRIPS), misses: Counter::default() }
    }
}

impl Default for Instruments {
    fn default() -> Self {
        Instruments {
            clock: OnceLock::new(),
            mode: Gauge::default(),
            term: Gauge::default(),
            accepted_version: Gauge::default(),
            votes: Counter::default(),
            elections: Mutex::default(),
            masterless: Histogram::new(SPELLS),
            masterless_since: Gauge::default(),
            master_changes: Counter::default(),
            masters_lost: Counter::default(),
            step_downs: Counter::default(),
            hand_overs: Counter::default(),
            nodes_joined: Counter::default(),
            nodes_left: Counter::default(),
            state_bytes: Arc::default(),
            commit: Histogram::new(TRIPS),
            whole: Histogram::new(TRIPS),
            publishes_failed: Counter::default(),
            behind: Counter::default(),
            leases_granted: Counter::default(),
            leases_ended: Counter::default(),
            leases_lost: Counter::default(),
            queued: Default::default(),
            queued_age: Default::default(),
            tasks: Histogram::new(TRIPS),
            questions: Gauge::default(),
            peers: Mutex::default(),
            calls: Gauge::default(),
            links_held: Gauge::default(),
            links_accepted: Gauge::default(),
            step: Histogram::new(STEPS),
            late: Histogram::new(STEPS),
            inboxes: Default::default(),
            stalls: Counter::default(),
            sync: Histogram::new(TRIPS),
            writes: Counter::default(),
            journal_bytes: Gauge::default(),
            journal_used: Gauge::default(),
            unsynced: Gauge::default(),
            slow_writes: Counter::default(),
            requests: Mutex::default(),
            expiries: Mutex::default(),
            request_times: Mutex::default(),
            watchers: Arc::default(),
        }
    }
}

impl Instruments {
    /// The certificates end so.
    pub(super) fn set_expiries(&self, expiries: Vec<Expiry>) {
        *self.expiries.lock() = expiries;
    }

    /// A request of a user was answered. There are no more routes than the program has, and few statuses.
    pub fn answered(&self, route: &'static str, status: u16, took: Duration) {
        *self.requests.lock().entry((route, status)).or_default() += 1;
        let times = self.request_times.lock().entry(route).or_insert_with(|| Arc::new(Histogram::new(TRIPS))).clone();
        times.took(took);
    }

    /// How many tasks wait for this node to carry them out, and for how long the oldest one does, as a glance at the queue a
    /// moment ago showed.
    pub fn queue(&self) -> (u64, Duration) {
        let count = self.queued.iter().map(Gauge::get).sum();
        let oldest = self.queued_age.iter().map(Gauge::get).max().unwrap_or(0);
        (count, Duration::from_micros(oldest))
    }

    /// The watches that are open.
    pub fn watchers(&self) -> &Arc<Gauge> {
        &self.watchers
    }

    /// How large the states are that are sent.
    pub(super) fn state_bytes(&self) -> &Arc<StateBytes> {
        &self.state_bytes
    }

    fn peer(&self, address: &Address) -> Arc<Peer> {
        let mut peers = self.peers.lock();
        let has_room = peers.len() < PEERS_MAX || peers.contains_key(address);
        let address = if has_room { address.clone() } else { Address::from(OTHER_PEERS) };
        peers.entry(address).or_default().clone()
    }

    /// For how long there has been no master.
    fn masterless_for(&self) -> Duration {
        let (Some(clock), Some(since)) = (self.clock.get(), self.masterless_since.get().checked_sub(1)) else {
            return Duration::ZERO;
        };
        Duration::from_micros(clock.now().as_micros().saturating_sub(since))
    }
}
