//! What a node counts and measures of itself. What is told of it, and how, is the business of `metrics`.
//!
//! Whoever counts adds to an atomic number and waits for nobody. What has a label for each peer or route is bounded.

mod numbers;

pub(super) use numbers::Reading;
pub use numbers::{Counter, Entered, Gauge, Histogram};

use super::clock::Clock;
use super::secure::Expiry;
use crate::cluster::Address;
use numbers::{SIZES, SPELLS, STEPS, TRIPS};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// More peers than these share one label.
pub(super) const PEERS_MAX: usize = 256;

/// The label of those.
const OTHER_PEERS: &str = "other";

/// The counters and histograms of one node.
#[derive(Debug)]
pub struct Instruments {
    pub(super) clock: OnceLock<Clock>,
    pub(super) mode: Gauge,
    pub(super) term: Gauge,
    pub(super) accepted_version: Gauge,
    pub(super) votes: Counter,
    /// By what they began with, and whether they were won.
    pub(super) elections: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    pub(super) masterless: Histogram,
    /// When it began, in microseconds and one more; 0 while there is a master.
    pub(super) masterless_since: Gauge,
    pub(super) master_changes: Counter,
    pub(super) masters_lost: Counter,
    pub(super) step_downs: Counter,
    pub(super) hand_overs: Counter,
    pub(super) nodes_joined: Counter,
    pub(super) nodes_left: Counter,
    pub(super) state_bytes: Arc<StateBytes>,
    pub(super) commit: Histogram,
    pub(super) whole: Histogram,
    pub(super) publishes_failed: Counter,
    pub(super) behind: Counter,
    pub(super) leases_granted: Counter,
    pub(super) leases_ended: Counter,
    pub(super) leases_lost: Counter,
    pub(super) queued: [Gauge; 6],
    pub(super) queued_age: [Gauge; 6],
    pub(super) tasks: Histogram,
    pub(super) questions: Gauge,
    pub(super) peers: Mutex<BTreeMap<Address, Arc<Peer>>>,
    pub(super) calls: Gauge,
    pub(super) links_held: Gauge,
    pub(super) links_accepted: Gauge,
    pub(super) step: Histogram,
    pub(super) late: Histogram,
    pub(super) inboxes: [Gauge; 4],
    pub(super) stalls: Counter,
    pub(super) sync: Histogram,
    pub(super) writes: Counter,
    pub(super) journal_bytes: Gauge,
    pub(super) journal_used: Gauge,
    pub(super) unsynced: Gauge,
    pub(super) slow_writes: Counter,
    pub(super) requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// When which certificate ends.
    pub(super) expiries: Mutex<Vec<Expiry>>,
    pub(super) request_times: Mutex<BTreeMap<&'static str, Arc<Histogram>>>,
    pub(super) watchers: Arc<Gauge>,
}

/// How large the states were that a master sent.
#[derive(Debug)]
pub(super) struct StateBytes {
    pub(super) full: Histogram,
    pub(super) diff: Histogram,
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
pub(super) struct Peer {
    pub(super) round_trip: Histogram,
    pub(super) misses: Counter,
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

    pub(super) fn peer(&self, address: &Address) -> Arc<Peer> {
        let mut peers = self.peers.lock();
        let has_room = peers.len() < PEERS_MAX || peers.contains_key(address);
        let address = if has_room { address.clone() } else { Address::from(OTHER_PEERS) };
        peers.entry(address).or_default().clone()
    }

    /// For how long there has been no master.
    pub(super) fn masterless_for(&self) -> Duration {
        let (Some(clock), Some(since)) = (self.clock.get(), self.masterless_since.get().checked_sub(1)) else {
            return Duration::ZERO;
        };
        Duration::from_micros(clock.now().as_micros().saturating_sub(since))
    }
}
