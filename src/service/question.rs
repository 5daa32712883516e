//! What a client may ask of a node, and what it is told.
//!
//! Three outcomes of a write are kept apart: it was carried out, it certainly was not, or nobody knows.

use super::{Priority, Queued, Refusal, Task};
use crate::cluster::{KeyValue, NodeId, StateId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A client's question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Change the cluster state.
    Submit {
        /// The change.
        task: Task,
        /// How long to wait, once it is committed, until every node has applied it.
        timeout: Duration,
        /// How long to wait for a master and for its queue.
        master_timeout: Duration,
    },
    /// Read a key, not missing anything that was committed before the question.
    Read {
        /// The key.
        key: Arc<str>,
        /// How long to wait for a master that can vouch for itself.
        master_timeout: Duration,
    },
    /// The master's queue, as this node has it.
    PendingTasks,
    /// Hand the mastership over to another node, or to the best one.
    HandOver {
        /// The wanted successor.
        to: Option<NodeId>,
    },
    /// Leave the cluster in good order.
    Leave,
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was carried out and is committed.
    Done {
        /// The state that holds it.
        at: StateId,
        /// Whether every node had applied it in time.
        acknowledged: bool,
    },
    /// What was read.
    Value {
        /// The state it was read from.
        at: StateId,
        /// The value, if the key exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<KeyValue>,
    },
    /// It was not carried out, and asking again will not help.
    Refused(Refusal),
    /// The node asked is not the master. It was not carried out.
    NotMaster,
    /// No master was found in time. It was not carried out.
    NoMaster,
    /// It was still queued when its time was over. It was not carried out.
    TimedOut {
        /// The task's source.
        source: String,
    },
    /// Whether it was carried out is not known.
    Unknown {
        /// What is known.
        reason: String,
    },
    /// The queue.
    Pending(Vec<PendingTask>),
    /// The node is no longer needed by the cluster, or the cluster could not be told in time.
    Left,
    /// Another node was asked to lead, and agreed.
    HandedOver {
        /// The successor.
        to: NodeId,
    },
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
