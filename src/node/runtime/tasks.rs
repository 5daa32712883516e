//! The requests of users that a node is answering, so that others can see them and end those that wait.
//!
//! There are as many as connections at the most. Mirrors `TaskManager` (6.8).

use crate::cluster::NodeId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many tasks of a node are told of at the most, so that other nodes take the answer.
const LISTED_MAX: usize = 256;

/// The longest text that is kept of what a task was asked.
pub const DESCRIPTION_MAX: usize = 256;

/// What is being answered, as others are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number, which no other one of its node has.
    pub id: u64,
    /// How it came.
    pub kind: String,
    /// What it does, by Elasticsearch's names where there are any.
    pub action: String,
    /// What it was asked.
    pub description: String,
    /// When it began, in milliseconds since 1970.
    pub began_millis: u64,
    /// How long it has been running.
    pub running_nanos: u64,
    /// Whether it can be ended.
    pub is_cancellable: bool,
    /// The task that it is a part of, as node and number.
    #[serde(default)]
    pub parent: Option<String>,
    /// What its user calls it.
    #[serde(default)]
    pub opaque_id: Option<String>,
}

/// The tasks of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTasks {
    /// The node.
    pub node: NodeId,
    /// Its tasks, by number.
    pub tasks: Vec<Task>,
}

/// What a task is registered with.
#[derive(Clone, Debug, Default)]
pub struct Begun {
    /// How it came.
    pub kind: &'static str,
    /// What it does.
    pub action: String,
    /// What it was asked.
    pub description: String,
    /// Whether it can be ended.
    pub is_cancellable: bool,
    /// The task that it is a part of.
    pub parent: Option<String>,
    /// What its user calls it.
    pub opaque_id: Option<String>,
}

struct Entry {
    begun: Begun,
    at: Instant,
    at_millis: u64,
    cancel: Option<CancellationToken>,
}

/// The tasks of this node.
#[derive(Default)]
pub struct Tasks {
    running: Mutex<(u64, BTreeMap<u64, Entry>)>,
}

/// A task that is there as long as this lives.
pub struct Running {
    id: u64,
    tasks: Arc<Tasks>,
    /// Only what can be ended has one: the others are many, and short.
    cancel: Option<CancellationToken>,
}

impl Running {
    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits until somebody ends it, which may be for ever.
    pub async fn cancelled(&self) {
        match &self.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.running.lock().1.remove(&self.id);
    }
}

impl Tasks {
    /// Takes a task down.
    pub fn begin(self: &Arc<Self>, begun: Begun) -> Running {
        let cancel = begun.is_cancellable.then(CancellationToken::new);
        let entry = Entry { begun, at: Instant::now(), at_millis: millis_since_1970(), cancel: cancel.clone() };
        let mut running = self.running.lock();
        running.0 += 1;
        let id = running.0;
        running.1.insert(id, entry);
        Running { id, tasks: self.clone(), cancel }
    }

    /// All of them, or the oldest ones of very many.
    pub fn list(&self) -> Vec<Task> {
        self.running.lock().1.iter().take(LISTED_MAX).map(|(id, entry)| entry.told(*id)).collect()
    }

    /// Ends those of these numbers that can be ended, and tells which they were.
    pub fn cancel(&self, ids: &[u64]) -> Vec<Task> {
        let running = self.running.lock();
        let end = |(id, entry): (&u64, &Entry)| {
            entry.cancel.as_ref()?.cancel();
            Some(entry.told(*id))
        };
        running.1.iter().filter(|(id, _)| ids.contains(id)).filter_map(end).collect()
    }
}

impl Entry {
    fn told(&self, id: u64) -> Task {
        let begun = self.begun.clone();
        Task {
            id,
            kind: begun.kind.into(),
            action: begun.action,
            description: begun.description,
            began_millis: self.at_millis,
            running_nanos: u64::try_from(self.at.elapsed().as_nanos()).unwrap_or(u64::MAX),
            is_cancellable: begun.is_cancellable,
            parent: begun.parent,
            opaque_id: begun.opaque_id,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "users are told when a task began; nothing is decided by it")]
fn millis_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_is_there_until_it_ends_and_only_some_can_be_ended() {
        let tasks = Arc::new(Tasks::default());
        let begun = |is_cancellable| Begun { action: "a".into(), is_cancellable, ..Begun::default() };
        let (stays, waits) = (tasks.begin(begun(false)), tasks.begin(begun(true)));
        assert_eq!(tasks.list().iter().map(|task| task.id).collect::<Vec<_>>(), [stays.id(), waits.id()]);
        let ended = tasks.cancel(&[stays.id(), waits.id(), 99]);
        assert_eq!(ended.iter().map(|task| task.id).collect::<Vec<_>>(), [waits.id()]);
        waits.cancelled().await;
        drop((stays, waits));
        assert_eq!(tasks.list(), Vec::new());
    }
}
