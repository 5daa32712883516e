//! What a client may ask of a node, and what it is told.
//!
//! Three outcomes of a write are kept apart: it was carried out, it certainly was not, or nobody knows.

use super::{PendingTask, Task};
use crate::cluster::{Holding, KeyValue, Lease, NodeId, Refusal, RequestOutcome, StateId};
use serde::{Deserialize, Serialize};
use std::fmt;
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
    /// Ask the master itself, not missing anything that was committed before the question.
    Read {
        /// What to ask.
        query: Query,
        /// How long to wait for a master that can vouch for itself.
        master_timeout: Duration,
    },
    /// The master's queue.
    PendingTasks {
        /// How long to wait for a master.
        master_timeout: Duration,
    },
    /// Hand the mastership over to another node, or to the best one.
    HandOver {
        /// The wanted successor.
        to: Option<NodeId>,
        /// How long to wait for a master.
        master_timeout: Duration,
    },
    /// Leave the cluster in good order.
    Leave,
}

/// What only a master that a quorum has just confirmed can tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// Which state is the newest committed one.
    Newest,
    /// What a key holds.
    Key {
        /// The key.
        key: Arc<str>,
    },
    /// Which keys there are, and what they hold.
    Range {
        /// How they begin.
        prefix: Arc<str>,
        /// Only those behind this key, which was the last one of the answer before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Arc<str>>,
        /// How many at the most.
        limit: usize,
    },
    /// Who holds a lease.
    Lease {
        /// Its name.
        name: Arc<str>,
    },
    /// Let a lease go on: it runs anew from the moment at which the master got this.
    KeepAlive(Holding),
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Query::Newest => f.write_str("the newest state"),
            Query::Key { key } => f.write_str(key),
            Query::Range { prefix, .. } => write!(f, "{prefix}*"),
            Query::Lease { name } => write!(f, "lease [{name}]"),
            Query::KeepAlive(holding) => write!(f, "keep lease {holding} alive"),
        }
    }
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
        /// What it came to.
        #[serde(default)]
        outcome: RequestOutcome,
    },
    /// The newest committed state.
    Newest {
        /// Its name.
        at: StateId,
    },
    /// What a key holds.
    Value {
        /// The state it was read from.
        at: StateId,
        /// The value, if the key exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<KeyValue>,
    },
    /// The keys of a range, in order.
    Range {
        /// The state that they were read from.
        at: StateId,
        /// The keys.
        keys: Vec<(Arc<str>, KeyValue)>,
        /// Whether there are more behind the last one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// A lease, as it was asked for or kept alive.
    Lease {
        /// The state that it was read from.
        at: StateId,
        /// Who holds it, if anybody does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<Lease>,
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
