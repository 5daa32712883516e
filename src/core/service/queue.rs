//! The master's task queue: by priority, then in order of arrival; bounded.
//!
//! Mirrors `PrioritizedEsThreadPoolExecutor` and `TaskBatcher` (6.8), except that a batch is everything that is queued:
//! one publish carries it all, with tasks of one kind run together.

use super::{PendingTask, Priority, Refusal, Task};
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

/// A bounded priority queue of tasks.
#[derive(Clone, Debug, Hash)]
pub struct Queue<W> {
    entries: BTreeMap<(Priority, u64), Queued<W>>,
    arrived: u64,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Queue { entries: BTreeMap::new(), arrived: 0 }
    }
}

impl<W> Queue<W> {
    /// How many tasks of users may wait. Those of the protocol are bounded by the number of nodes.
    pub const CAPACITY: usize = 10_000;
    /// How many tasks one publish takes at the most, so that it stays short.
    pub const BATCH: usize = 1_024;

    /// Appends a task, unless it is one too many.
    pub fn push(&mut self, task: Task, waiter: W) -> Result<(), (Refusal, W)> {
        if self.entries.len() >= Self::CAPACITY && !task.is_internal() {
            let why = format!("{} tasks are queued already, the queue holds {}", self.entries.len(), Self::CAPACITY);
            return Err((Refusal::Overloaded(why), waiter));
        }
        self.arrived += 1;
        let order = self.arrived;
        self.entries.insert((task.priority(), order), Queued { order, task, waiter });
        Ok(())
    }

    /// Takes out the next batch: the most urgent first, those of one kind together.
    pub fn take_batch(&mut self) -> Vec<Queued<W>> {
        let keys: Vec<_> = self.entries.keys().take(Self::BATCH).copied().collect();
        let mut batch: Vec<_> = keys.iter().filter_map(|key| self.entries.remove(key)).collect();
        batch.sort_by_key(|queued| (queued.task.priority(), queued.task.kind(), queued.order));
        batch
    }

    /// Takes out every task for which `wanted` holds.
    pub fn extract(&mut self, wanted: impl Fn(&Queued<W>) -> bool) -> Vec<Queued<W>> {
        let keys: Vec<_> = self.entries.iter().filter(|(_, queued)| wanted(queued)).map(|(key, _)| *key).collect();
        keys.iter().filter_map(|key| self.entries.remove(key)).collect()
    }

    /// The tasks, in the order in which they will run.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<W>> {
        self.entries.values()
    }

    /// How many tasks wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What `/_cluster/pending_tasks` shows; `age` tells how long a waiter waits, in milliseconds.
    pub fn pending(&self, age: impl Fn(&W) -> u64) -> Vec<PendingTask> {
        self.entries.values().map(|queued| PendingTask::of(queued, false, age(&queued.waiter))).collect()
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
