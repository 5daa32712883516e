//! The tasks of the master's queue: what they are called, how urgent they are, which of them run together.
//!
//! What a task does to a state is told in `execute`. Mirrors the task sources and priorities of `MasterService`,
//! `NodeJoinController` and `NodeRemovalClusterStateTaskExecutor` (6.8).

use crate::cluster::{EphemeralId, Node, NodeId, Term, Version};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::sync::Arc;

/// The key of the quorum that an operator adds to the automatic one.
pub const MINIMUM_MASTER_NODES: &str = "discovery.zen.minimum_master_nodes";

/// How urgent a task is, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Priority {
    /// Before everything else: lost nodes and settings.
    Immediate,
    /// Joins and index changes.
    Urgent,
    /// Failed shards and the like.
    High,
    /// What users usually ask for.
    Normal,
    /// What can wait.
    Low,
    /// What nobody waits for.
    Languid,
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Priority::Immediate => "IMMEDIATE",
            Priority::Urgent => "URGENT",
            Priority::High => "HIGH",
            Priority::Normal => "NORMAL",
            Priority::Low => "LOW",
            Priority::Languid => "LANGUID",
        })
    }
}

/// Which tasks run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nodes that leave or failed.
    Removal,
    /// Settings.
    Settings,
    /// Nodes that join.
    Join,
    /// Indices and templates.
    Index,
    /// Users' keys.
    Key,
}

/// Changes of settings by key; none removes the key, and a key may hold wildcards then.
pub type SettingsPatch = Vec<(Arc<str>, Option<Arc<str>>)>;

/// One change that somebody wants made to the cluster state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Add a node, or replace an earlier process of it.
    Join {
        /// The node.
        node: Arc<Node>,
    },
    /// Remove a process that left or failed.
    Remove {
        /// The node.
        id: NodeId,
        /// The process; a later one of the same node stays.
        ephemeral_id: EphemeralId,
        /// Why, as operators read it.
        reason: Arc<str>,
        /// Whether it said good-bye itself.
        left: bool,
    },
    /// Change cluster settings.
    PutSettings {
        /// Settings that survive a full restart.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        persistent: SettingsPatch,
        /// Settings that do not.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        transient: SettingsPatch,
    },
    /// Write or delete a user's key.
    PutKey {
        /// The key.
        key: Arc<str>,
        /// The value; none deletes the key.
        #[serde(deserialize_with = "said")]
        value: Option<Arc<str>>,
        /// Only if the key was last changed by this state; the zeros mean that it does not exist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only_if: Option<(Term, Version)>,
    },
    /// Write or delete the metadata of an index.
    PutIndex {
        /// Its name.
        name: Arc<str>,
        /// Its metadata as JSON text; none deletes the index.
        #[serde(deserialize_with = "said")]
        metadata: Option<Arc<str>>,
    },
}

/// Demands that a deletion says `null`: what is left out by mistake deletes nothing.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<str>>, D::Error> {
    Option::deserialize(deserializer)
}

impl Task {
    /// How urgent it is.
    pub fn priority(&self) -> Priority {
        match self {
            Task::Remove { .. } | Task::PutSettings { .. } => Priority::Immediate,
            Task::Join { .. } | Task::PutIndex { .. } => Priority::Urgent,
            Task::PutKey { .. } => Priority::Normal,
        }
    }

    /// Which tasks it runs together with.
    pub fn kind(&self) -> Kind {
        match self {
            Task::Join { .. } => Kind::Join,
            Task::Remove { .. } => Kind::Removal,
            Task::PutSettings { .. } => Kind::Settings,
            Task::PutKey { .. } => Kind::Key,
            Task::PutIndex { .. } => Kind::Index,
        }
    }

    /// Whether it comes from the protocol itself and never from a user.
    pub fn is_internal(&self) -> bool {
        matches!(self, Task::Join { .. } | Task::Remove { .. })
    }
}

/// The task's source as `/_cluster/pending_tasks` and the log show it.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Join { .. } => f.write_str("zen-disco-node-join"),
            Task::Remove { id, left: true, .. } => write!(f, "zen-disco-node-left({id}), reason(left)"),
            Task::Remove { id, reason, .. } => write!(f, "zen-disco-node-failed({id}), reason({reason})"),
            Task::PutSettings { .. } => f.write_str("cluster_update_settings"),
            Task::PutKey { key, value: Some(_), .. } => write!(f, "put-key [{key}]"),
            Task::PutKey { key, value: None, .. } => write!(f, "delete-key [{key}]"),
            Task::PutIndex { name, metadata: Some(_) } => write!(f, "create-index [{name}]"),
            Task::PutIndex { name, metadata: None } => write!(f, "delete-index [{name}]"),
        }
    }
}

/// Why a task was not carried out: a fact about the request, not a failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It cannot be carried out as it is.
    Invalid(String),
    /// The key was changed since.
    Conflict(String),
    /// Too much is queued already.
    Overloaded(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Invalid(why) | Refusal::Conflict(why) | Refusal::Overloaded(why) => f.write_str(why),
        }
    }
}
