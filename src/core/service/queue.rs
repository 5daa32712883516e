//! The master's task queue: by priority, then in order of arrival; bounded.
//!
//! Mirrors `PrioritizedEsThreadPoolExecutor` and `TaskBatcher` (6.8), except that a batch is all that is queued and
//! fits into one publish, with tasks of one kind run together.

use super::{Priority, Refusal, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A task in the queue and what its submitter is to be told by.
#[derive(Clone, Debug, Hash)]
pub struct Queued<W> {
    /// Its place in the order of arrival.
    pub order: u64,
    /// The task.
    pub task: Task,
    /// Who waits for it, and until when.
    pub waiter: W,
}

type Entries<W> = BTreeMap<(Priority, u64), Queued<W>>;

/// A bounded priority queue of tasks.
#[derive(Clone, Debug, Hash)]
pub struct Queue<W> {
    entries: Entries<W>,
    /// Those that bring much.
    heavy: Entries<W>,
    /// Whether it is their turn.
    is_turn_of_heavy: bool,
    arrived: u64,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Queue { entries: BTreeMap::new(), heavy: BTreeMap::new(), is_turn_of_heavy: false, arrived: 0 }
    }
}

impl<W> Queue<W> {
    /// How many tasks of users may wait. Those of the protocol are bounded by the number of nodes.
    pub const CAPACITY: usize = 10_000;
    /// How many tasks one publish takes at the most, so that it stays short.
    pub const BATCH: usize = 1_024;
    /// How many bytes those of one publish may bring together, unless one alone brings more.
    pub const BATCH_BYTES: usize = 1 << 20;
    /// What brings more than this goes with its like: whoever asks for little does not wait until much is everywhere.
    pub const HEAVY_BYTES: usize = 16 << 10;

    /// Appends a task, unless it is one too many.
    pub fn push(&mut self, task: Task, waiter: W) -> Result<(), (Refusal, W)> {
        if self.len() >= Self::CAPACITY && !task.is_internal() {
            let why = format!("{} tasks are queued already, the queue holds {}", self.len(), Self::CAPACITY);
            return Err((Refusal::Overloaded(why), waiter));
        }
        self.arrived += 1;
        let order = self.arrived;
        let entries = if task.bytes() > Self::HEAVY_BYTES { &mut self.heavy } else { &mut self.entries };
        entries.insert((task.priority(), order), Queued { order, task, waiter });
        Ok(())
    }

    /// Takes out the next batch: the most urgent first, those of one kind together. What brings much and what does not take
    /// turns.
    pub fn take_batch(&mut self) -> Vec<Queued<W>> {
        let is_heavy = self.entries.is_empty() || self.is_turn_of_heavy && !self.heavy.is_empty();
        self.is_turn_of_heavy = !is_heavy;
        let entries = if is_heavy { &mut self.heavy } else { &mut self.entries };
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(next) = entries.first_entry() {
            bytes += next.get().task.bytes();
            if batch.len() == Self::BATCH || bytes > Self::BATCH_BYTES && !batch.is_empty() {
                break;
            }
            batch.push(next.remove());
        }
        batch.sort_by_key(|queued: &Queued<W>| (queued.task.priority(), queued.task.kind(), queued.order));
        batch
    }

    /// Takes out every task for which `wanted` holds.
    pub fn extract(&mut self, wanted: impl Fn(&Queued<W>) -> bool) -> Vec<Queued<W>> {
        let mut taken = Vec::new();
        for entries in [&mut self.entries, &mut self.heavy] {
            let keys: Vec<_> = entries.iter().filter(|(_, queued)| wanted(queued)).map(|(key, _)| *key).collect();
            taken.extend(keys.iter().filter_map(|key| entries.remove(key)));
        }
        taken.sort_by_key(|queued| (queued.task.priority(), queued.order));
        taken
    }

    /// The tasks, the most urgent first.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<W>> {
        let mut all: Vec<_> = self.entries.iter().chain(&self.heavy).collect();
        all.sort_unstable_by_key(|(place, _)| **place);
        all.into_iter().map(|(_, queued)| queued)
    }

    /// How many tasks wait.
    pub fn len(&self) -> usize {
        self.entries.len() + self.heavy.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What `/_cluster/pending_tasks` shows; `age` tells how long a waiter waits, in milliseconds.
    pub fn pending(&self, age: impl Fn(&W) -> u64) -> Vec<PendingTask> {
        self.iter().map(|queued| PendingTask::of(queued, false, age(&queued.waiter))).collect()
    }
}

/// A row of `/_cluster/pending_tasks`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PendingTask {
    /// Its place in the order of arrival.
    pub insert_order: u64,
    /// How urgent it is.
    pub priority: Priority,
    /// What it is.
    pub source: String,
    /// Whether it is being carried out.
    pub executing: bool,
    /// How long it has been waiting.
    pub time_in_queue_millis: u64,
}

impl PendingTask {
    /// The row of a queued task.
    pub fn of<W>(queued: &Queued<W>, executing: bool, time_in_queue_millis: u64) -> Self {
        PendingTask {
            insert_order: queued.order,
            priority: queued.task.priority(),
            source: queued.task.to_string(),
            executing,
            time_in_queue_millis,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Txn;
    use super::*;

    fn put(key: &str) -> Task {
        Task::Txn(Txn::delete(key))
    }

    #[test]
    fn a_batch_takes_the_most_urgent_first_and_keeps_the_order_of_arrival() {
        let mut queue = Queue::default();
        let settings = Task::PutSettings { persistent: Vec::new(), transient: Vec::new() };
        for task in [put("a"), settings.clone(), put("b")] {
            assert!(queue.push(task, ()).is_ok());
        }
        let batch: Vec<_> = queue.take_batch().into_iter().map(|queued| queued.task).collect();
        assert_eq!(batch, [settings, put("a"), put("b")]);
        assert!(queue.is_empty());
    }

    #[test]
    fn what_brings_little_waits_for_no_more_than_one_batch_that_brings_much() {
        let mut queue = Queue::default();
        let large = |key: &str| Task::Txn(Txn::put(key, "x".repeat(600 << 10)));
        for task in [large("a"), large("b"), put("c"), put("d")] {
            assert!(queue.push(task, ()).is_ok());
        }
        let keys = |queue: &mut Queue<()>| queue.take_batch().iter().map(|queued| queued.order).collect::<Vec<_>>();
        assert_eq!(queue.iter().map(|queued| queued.order).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(keys(&mut queue), [3, 4]);
        assert!(queue.push(put("e"), ()).is_ok());
        assert_eq!(keys(&mut queue), [1], "two of them are too much for one publish");
        assert_eq!(keys(&mut queue), [5]);
        assert_eq!(keys(&mut queue), [2]);
        assert!(queue.push(large("f"), ()).is_ok());
        assert_eq!(keys(&mut queue), [6], "nobody else waits");
        assert!(queue.is_empty() && queue.take_batch().is_empty());
    }

    #[test]
    fn a_full_queue_refuses_users_but_not_the_protocol() {
        let mut queue = Queue::default();
        for _ in 0..Queue::<()>::CAPACITY {
            assert!(queue.push(put("a"), ()).is_ok());
        }
        assert!(queue.push(put("a"), ()).is_err());
        let removal = Task::Remove {
            id: "n1".into(),
            ephemeral_id: "e1".into(),
            reason: "failed to ping".into(),
            left: false,
            answered: 0,
        };
        assert!(queue.push(removal, ()).is_ok());
        assert_eq!(queue.take_batch().len(), Queue::<()>::BATCH);
    }
}
