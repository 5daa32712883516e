//! The changes from each committed state to the next, for those who wait at this node.
//!
//! A node that follows a master has them of its own states; what else it has is brought by `catch_up`. Takes the place of
//! nothing: Elasticsearch (6.8) has no watches.

use crate::cluster::{ClusterState, StateId, Term, Version};
use crate::service::watch::{ChangeLog, Resume, Step};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

/// A node without a master that no other member has told anything for so long does not know whether there are changes. A member
/// tells something within `WAIT` and `ARRIVAL` of `catch_up`.
const OUT_OF_TOUCH: Duration = Duration::from_secs(7);

pub(super) type Rank = (Term, Version);

/// What this node knows of changes.
#[derive(Debug)]
pub struct Changes {
    pub(super) log: Mutex<ChangeLog>,
    /// When this node last applied a state, its loss of the master included, or was told something by another member.
    heard: Mutex<Instant>,
    /// Whose turn it is to ask for what was missed: the others find it in the log afterwards.
    pub(super) turn: Semaphore,
    /// Nobody knew what came behind this state, nor behind earlier ones, and when.
    pub(super) unknown: Mutex<Option<(Rank, Instant)>>,
    pub(super) followed: Notify,
    /// Until when those of others are followed, if they are: by one task for all that wait.
    pub(super) wanted: Mutex<Option<Instant>>,
}

impl Changes {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Changes {
            log: Mutex::default(),
            heard: Mutex::new(Instant::now()),
            turn: Semaphore::new(1),
            unknown: Mutex::default(),
            followed: Notify::default(),
            wanted: Mutex::default(),
        }
    }

    /// Takes the next applied state in.
    pub fn advance(&self, state: &Arc<ClusterState>) {
        self.log.lock().advance(state);
        self.hear();
    }

    pub(super) fn hear(&self) {
        *self.heard.lock() = Instant::now();
    }

    /// Whether a node without a master cannot say that there is no change.
    pub fn is_out_of_touch(&self) -> bool {
        self.heard.lock().elapsed() > OUT_OF_TOUCH
    }

    /// How a watcher goes on from a state, or begins, by what is known here.
    pub fn resume(&self, from: Option<Rank>, steps_max: usize, bytes_max: usize) -> Resume {
        let log = self.log.lock();
        match from {
            Some(from) => log.resume(from, steps_max, bytes_max),
            None => log.newest().cloned().map_or(Resume::Ahead, Resume::Compacted),
        }
    }

    pub(super) fn gap(&self, from: Rank) -> Option<Rank> {
        self.log.lock().gap(from)
    }

    /// Ends with the next changes that come from others, from now on.
    pub fn followed(&self) -> Notified<'_> {
        self.followed.notified()
    }

    pub(super) fn newest(&self) -> Option<StateId> {
        self.log.lock().newest().map(|state| state.id())
    }

    pub(super) fn follow(&self, steps: Vec<Arc<Step>>) {
        let mut log = self.log.lock();
        for step in steps {
            log.follow(step);
        }
        drop(log);
        self.followed.notify_waiters();
    }
}
