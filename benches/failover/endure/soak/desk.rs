//! Where all clients of a trial write down what they ask and are told, by one clock.

use crate::clock::now;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use zazen::client;
use zazen::cluster::{Revision, Term, Version};
use zazen::protocol::{Rng, Time};
use zazen::sim::check::chronicle::Chronicle;
use zazen::sim::check::heard::Written;
use zazen::sim::check::linear::{Entry, Fate};

/// How many pairs of keys are in use at a time, and after how many operations on them others are.
const PAIRS: u64 = 3;
const OPERATIONS_OF_PAIRS: u64 = 900;

/// How the names of the pairs begin, so that they are read back.
const PAIR: &str = "pair/";

/// What two keys of a pair are called.
pub(super) fn key(group: u64, register: usize) -> String {
    format!("{PAIR}{group}/{register}")
}

/// How an operation ended, as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It was carried out.
    Done(Revision),
    /// A condition does not hold.
    Refused,
    /// It certainly was not carried out.
    NotDone,
    /// Nobody knows.
    Unknown,
}

/// What clients last saw in a register: the number, or 0 for nothing, and the change that made it so.
pub(super) type Seen = (u64, Revision);

#[derive(Default)]
struct Pairs {
    begun: u64,
    /// How many operations on each pair have not ended.
    open: BTreeMap<u64, usize>,
    seen: BTreeMap<(u64, usize), Seen>,
}

/// One number of each kind.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) done: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) not_done: AtomicU64,
    pub(super) unknown: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) moves: AtomicU64,
    /// How often a change was asked for again, since nobody knew what had become of it; and how many ended well by it.
    pub(super) again: AtomicU64,
    pub(super) cleared: AtomicU64,
    /// The longest time without a change that was carried out, in milliseconds.
    pub(super) silence_ms: AtomicU64,
}

/// What all clients of a trial share.
pub(super) struct Desk {
    pub(super) doors: Vec<SocketAddr>,
    pub(super) chronicle: Mutex<Chronicle>,
    pub(super) counts: Counts,
    began: Instant,
    pairs: Mutex<Pairs>,
    last_done: Mutex<Instant>,
    wrong: Mutex<Option<String>>,
    is_closed: AtomicBool,
    is_over: AtomicBool,
    end: Mutex<Option<(Term, Version)>>,
}

impl Desk {
    pub(super) fn new(doors: Vec<SocketAddr>) -> Self {
        Desk {
            doors,
            chronicle: Mutex::default(),
            counts: Counts::default(),
            began: now(),
            pairs: Mutex::default(),
            last_done: Mutex::new(now()),
            wrong: Mutex::default(),
            is_closed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            end: Mutex::default(),
        }
    }

    /// The time of the trial.
    pub(super) fn time(&self) -> Time {
        Time::ZERO + (now() - self.began)
    }

    /// Something is wrong, and the first thing of the kind is told.
    pub(super) fn tell(&self, what: String) {
        self.wrong.lock().get_or_insert(what);
    }

    pub(super) fn demand_right(&self) -> Result<(), String> {
        self.wrong.lock().clone().map_or(Ok(()), Err)
    }

    /// Nobody shall change anything any more.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed) || self.wrong.lock().is_some()
    }

    /// Nothing comes behind this state.
    pub(super) fn ends_at(&self, end: (Term, Version)) {
        *self.end.lock() = Some(end);
    }

    /// Watchers shall hear of the end, or not even that.
    pub(super) fn end(&self, at_once: bool) {
        self.is_over.store(at_once, Ordering::Relaxed);
    }

    /// Whether a watcher that knows everything up to this state can go.
    pub(super) fn is_over(&self, at: Option<(Term, Version)>) -> bool {
        let end = *self.end.lock();
        self.is_over.load(Ordering::Relaxed)
            || self.wrong.lock().is_some()
            || end.is_some_and(|end| at.is_some_and(|at| at >= end))
    }

    /// How many operations on keys have begun.
    pub(super) fn operations(&self) -> u64 {
        self.pairs.lock().begun
    }

    /// A pair to do something with; tells the number of the operation as well.
    pub(super) fn begin(&self, rng: &mut Rng) -> (u64, u64) {
        let mut pairs = self.pairs.lock();
        let group = pairs.begun / OPERATIONS_OF_PAIRS * PAIRS + rng.below(PAIRS);
        pairs.begun += 1;
        *pairs.open.entry(group).or_default() += 1;
        (group, pairs.begun)
    }

    /// What was last seen in a register, by anybody.
    pub(super) fn seen(&self, group: u64, register: usize) -> Option<Seen> {
        self.pairs.lock().seen.get(&(group, register)).copied()
    }

    pub(super) fn see(&self, group: u64, register: usize, seen: Seen) {
        self.pairs.lock().seen.insert((group, register), seen);
    }

    /// An operation on a pair has ended; of what was certainly not done there is nothing to write down.
    pub(super) fn ended(&self, group: u64, entry: Option<Entry>) {
        if let Some(entry) = entry {
            self.chronicle.lock().ended(group, entry);
        }
        if let Some(open) = self.pairs.lock().open.get_mut(&group) {
            *open -= 1;
        }
    }

    /// A change was carried out or not.
    pub(super) fn count(&self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Done(_) => &self.counts.done,
            Outcome::Refused => &self.counts.refused,
            Outcome::NotDone => &self.counts.not_done,
            Outcome::Unknown => &self.counts.unknown,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if let Outcome::Done(_) = outcome {
            let moment = now();
            let before = std::mem::replace(&mut *self.last_done.lock(), moment);
            let silence = moment.saturating_duration_since(before);
            self.counts.silence_ms.fetch_max(silence.as_millis() as u64, Ordering::Relaxed);
        }
    }

    /// An acknowledged write of a key that nobody deletes.
    pub(super) fn written(&self, group: u64, number: u64, revision: Revision) {
        let written = Written { key: key(group, 0).into(), value: number.to_string().into(), revision };
        self.chronicle.lock().written(written);
    }

    /// The histories to which nobody adds any more, and which were not told before.
    pub(super) fn finished(&self) -> Vec<(u64, Vec<Entry>)> {
        let mut pairs = self.pairs.lock();
        let current = pairs.begun / OPERATIONS_OF_PAIRS * PAIRS;
        let is_finished = |(group, open): &(&u64, &usize)| **group < current && **open == 0;
        let finished: Vec<u64> = pairs.open.iter().filter(is_finished).map(|(group, _)| *group).collect();
        for group in &finished {
            pairs.open.remove(group);
        }
        let chronicle = self.chronicle.lock();
        finished.into_iter().map(|group| (group, chronicle.history(group).to_vec())).collect()
    }

    /// What every pair held when nothing changed any more.
    pub(super) fn read_in_the_end(&self, began: Time, entries: &[client::Entry]) {
        let held: BTreeMap<&str, u64> =
            entries.iter().map(|entry| (entry.key.as_str(), number(Some(entry)).0)).collect();
        let mut chronicle = self.chronicle.lock();
        let groups: Vec<u64> = chronicle.groups().collect();
        for group in groups {
            let seen = [0, 1].map(|register| (register, held.get(&*key(group, register)).copied().unwrap_or(0)));
            let (guards, writes, ended) = (Vec::new(), Vec::new(), self.time());
            chronicle.ended(group, Entry { began, ended, guards, writes, seen: seen.to_vec(), fate: Fate::Done });
        }
    }
}

/// What a key holds, as registers have it.
pub(super) fn number(entry: Option<&client::Entry>) -> Seen {
    let number = |entry: &client::Entry| entry.value.as_str().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
    entry.map_or((0, Revision::default()), |entry| (number(entry), entry.revision))
}

/// Where all nodes are.
pub(super) fn places(desk: &Desk) -> Vec<String> {
    desk.doors.iter().map(ToString::to_string).collect()
}

/// Names of leases.
pub(super) fn lease(number: usize) -> Arc<str> {
    format!("lease-{number}").into()
}

/// How long one may be held without a sign of life.
pub(super) const TTL: Duration = Duration::from_millis(2_500);
