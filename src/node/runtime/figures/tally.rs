//! Counters of what passes between this node and others, and of how long its core was busy with it. Whoever sends,
//! receives or steps adds to them; readers never wait.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What was said between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// How many connections of other nodes are open.
    pub open: u64,
    /// How many messages came.
    pub received: u64,
    /// How many bytes they had.
    pub received_bytes: u64,
    /// How many messages went.
    pub sent: u64,
    /// How many bytes they had.
    pub sent_bytes: u64,
}

/// The states that a node got from masters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Publishes {
    /// How many wait to be committed.
    pub pending: u64,
    /// How many came whole.
    pub full: u64,
    /// How many came as changes of a state that this node did not have.
    pub incompatible: u64,
    /// How many came as changes that fitted.
    pub compatible: u64,
}

/// How long the core was busy at a stretch, while nothing else was heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Steps {
    /// How many stretches there were.
    pub total: u64,
    /// How many of them took more than 1 ms.
    pub over_1ms: u64,
    /// The same of 5 ms.
    pub over_5ms: u64,
    /// The same of 50 ms.
    pub over_50ms: u64,
    /// The longest one, in microseconds.
    pub longest_micros: u64,
}

/// The counters of one node.
#[derive(Debug, Default)]
pub struct Tally {
    received: AtomicU64,
    received_bytes: AtomicU64,
    sent: AtomicU64,
    sent_bytes: AtomicU64,
    pending: AtomicU64,
    full: AtomicU64,
    incompatible: AtomicU64,
    diffs: AtomicU64,
    steps: AtomicU64,
    over: [AtomicU64; 3],
    longest_micros: AtomicU64,
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Tally {
    /// Bytes came, with so many messages in them.
    pub fn received(&self, messages: u64, bytes: usize) {
        add(&self.received, messages);
        add(&self.received_bytes, bytes as u64);
    }

    /// Bytes went, with so many messages in them.
    pub fn sent(&self, messages: u64, bytes: usize) {
        add(&self.sent, messages);
        add(&self.sent_bytes, bytes as u64);
    }

    /// A state came, whole or as a change.
    pub fn published(&self, is_full: bool) {
        add(if is_full { &self.full } else { &self.diffs }, 1);
        self.pending.store(1, Ordering::Relaxed);
    }

    /// A change did not fit, so that the whole state was asked for.
    pub fn misfitted(&self) {
        add(&self.incompatible, 1);
    }

    /// What came is committed and shown.
    pub fn applied(&self) {
        self.pending.store(0, Ordering::Relaxed);
    }

    /// The core was busy for so long.
    pub fn stepped(&self, busy: Duration) {
        add(&self.steps, 1);
        for (counter, millis) in self.over.iter().zip([1, 5, 50]) {
            if busy > Duration::from_millis(millis) {
                add(counter, 1);
            }
        }
        let micros = u64::try_from(busy.as_micros()).unwrap_or(u64::MAX);
        self.longest_micros.fetch_max(micros, Ordering::Relaxed);
    }

    /// How long the core was busy so far.
    pub fn steps(&self) -> Steps {
        let [over_1ms, over_5ms, over_50ms] = self.over.each_ref().map(read);
        let longest_micros = read(&self.longest_micros);
        Steps { total: read(&self.steps), over_1ms, over_5ms, over_50ms, longest_micros }
    }

    /// What was said so far, but for who listens.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            open: 0,
            received: read(&self.received),
            received_bytes: read(&self.received_bytes),
            sent: read(&self.sent),
            sent_bytes: read(&self.sent_bytes),
        }
    }

    /// What came from masters so far.
    pub fn publishes(&self) -> Publishes {
        let incompatible = read(&self.incompatible);
        Publishes {
            pending: read(&self.pending),
            full: read(&self.full),
            incompatible,
            compatible: read(&self.diffs).saturating_sub(incompatible),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_counted_by_how_it_came() {
        let tally = Tally::default();
        tally.published(true);
        tally.published(false);
        tally.published(false);
        tally.misfitted();
        tally.received(2, 30);
        tally.sent(1, 7);
        assert_eq!(tally.publishes(), Publishes { pending: 1, full: 1, incompatible: 1, compatible: 1 });
        tally.applied();
        assert_eq!(tally.publishes().pending, 0);
        for millis in [0, 2, 5, 700] {
            tally.stepped(Duration::from_millis(millis));
        }
        let steps = Steps { total: 4, over_1ms: 3, over_5ms: 1, over_50ms: 1, longest_micros: 700_000 };
        assert_eq!(tally.steps(), steps);
        let expected = Traffic { open: 0, received: 2, received_bytes: 30, sent: 1, sent_bytes: 7 };
        assert_eq!(tally.traffic(), expected);
    }
}
