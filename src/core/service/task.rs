//! The tasks of the master's queue: what they are called, how urgent they are, which of them run together.
//!
//! What a task does to a state is told in `execute`. Mirrors the task sources and priorities of `MasterService`,
//! `NodeJoinController` and `NodeRemovalClusterStateTaskExecutor` (6.8).

use super::setting::is_about_blocks;
use super::{SettingsPatch, Txn};
use crate::cluster::{EphemeralId, Forward, Holding, Node, NodeId, RequestId, Token, Version};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
    /// Users' keys and leases.
    Key,
    /// The state of before a full restart.
    Recovery,
}

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
        /// If it did: up to which number it had the answers to the changes that it sent.
        #[serde(default, skip_serializing_if = "is_zero")]
        answered: u64,
    },
    /// Take a node that is gone for good out of the voting set.
    RemoveVoter {
        /// The node.
        id: NodeId,
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
    /// Write and delete users' keys.
    Txn(Txn),
    /// Grant a lease that nobody holds.
    GrantLease {
        /// Its name.
        name: Arc<str>,
        /// Who shall hold it, as he calls himself. A holder that asks again is not known by his name, but by his request.
        holder: Arc<str>,
        /// For how long, from each sign of life on.
        #[serde(rename = "ttl_ms", with = "crate::cluster::millis")]
        ttl: Duration,
    },
    /// End a grant, and delete the keys that vanish with it.
    ReleaseLease(Holding),
    /// End grants that have run out, and delete the keys that vanish with them.
    ExpireLeases {
        /// The grants.
        tokens: BTreeSet<Token>,
    },
    /// Carry out another task once, however often this is asked for.
    Once {
        /// What tells the request from all others.
        request: RequestId,
        /// Whether it may have been sent before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        retry: bool,
        /// A state that the client knew before it sent the request first, if it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Version>,
        /// What tells the task from others that a client may ask for under the same name by mistake.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<u32>,
        /// The task, which is none of this kind.
        task: Box<Task>,
    },
    /// Carry out another task once, to however many masters a node sends it.
    Forwarded {
        /// What tells the change from all others of the node.
        name: Forward,
        /// Whether another master may have carried it out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        retry: bool,
        /// The task, which is none of this kind.
        task: Box<Task>,
    },
    /// Lift the block of a state that came back after a full restart.
    Recover,
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

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What everything with a name takes besides its name and what it is given.
const ENTRY_BYTES: usize = 100;

impl Task {
    /// About how many bytes it brings, told without writing it.
    pub fn bytes(&self) -> usize {
        let patch = |patch: &SettingsPatch| -> usize {
            let value = |value: &Option<Arc<str>>| value.as_ref().map_or(0, |value| value.len());
            patch.iter().map(|(key, new)| key.len() + value(new) + ENTRY_BYTES).sum()
        };
        match self {
            Task::Txn(txn) => {
                let puts = txn.puts.iter().map(|put| put.key.len() + put.value.written_len());
                puts.sum::<usize>() + txn.len() * ENTRY_BYTES
            }
            Task::PutSettings { persistent, transient } => patch(persistent) + patch(transient),
            Task::PutIndex { metadata, .. } => metadata.as_ref().map_or(0, |text| text.len()) + ENTRY_BYTES,
            Task::Once { task, .. } | Task::Forwarded { task, .. } => task.bytes(),
            Task::Join { .. }
            | Task::Remove { .. }
            | Task::RemoveVoter { .. }
            | Task::GrantLease { .. }
            | Task::ReleaseLease(_)
            | Task::ExpireLeases { .. }
            | Task::Recover => ENTRY_BYTES,
        }
    }

    /// How urgent it is.
    pub fn priority(&self) -> Priority {
        match self {
            Task::Remove { .. } | Task::RemoveVoter { .. } | Task::PutSettings { .. } => Priority::Immediate,
            Task::Join { .. } | Task::PutIndex { .. } => Priority::Urgent,
            Task::Txn(_)
            | Task::GrantLease { .. }
            | Task::ReleaseLease(_)
            | Task::ExpireLeases { .. }
            | Task::Recover => Priority::Normal,
            Task::Once { task, .. } | Task::Forwarded { task, .. } => task.priority(),
        }
    }

    /// Which tasks it runs together with.
    pub fn kind(&self) -> Kind {
        match self {
            Task::Join { .. } => Kind::Join,
            Task::Remove { .. } | Task::RemoveVoter { .. } => Kind::Removal,
            Task::PutSettings { .. } => Kind::Settings,
            Task::Txn(_) | Task::GrantLease { .. } | Task::ReleaseLease(_) | Task::ExpireLeases { .. } => Kind::Key,
            Task::PutIndex { .. } => Kind::Index,
            Task::Recover => Kind::Recovery,
            Task::Once { task, .. } | Task::Forwarded { task, .. } => task.kind(),
        }
    }

    /// Whether it comes from the protocol itself and never from a user.
    pub fn is_internal(&self) -> bool {
        match self {
            Task::Join { .. } | Task::Remove { .. } | Task::ExpireLeases { .. } | Task::Recover => true,
            Task::PutSettings { .. }
            | Task::RemoveVoter { .. }
            | Task::Txn(_)
            | Task::GrantLease { .. }
            | Task::ReleaseLease(_)
            | Task::PutIndex { .. } => false,
            Task::Once { task, .. } | Task::Forwarded { task, .. } => task.is_internal(),
        }
    }
}

impl Task {
    /// Whether it changes nothing but whether changes are blocked.
    pub(super) fn is_about_blocks(&self) -> bool {
        match self {
            Task::PutSettings { persistent, transient } => is_about_blocks(persistent, transient),
            Task::Once { task, .. } | Task::Forwarded { task, .. } => task.is_about_blocks(),
            Task::Join { .. }
            | Task::Remove { .. }
            | Task::RemoveVoter { .. }
            | Task::Txn(_)
            | Task::GrantLease { .. }
            | Task::ReleaseLease(_)
            | Task::ExpireLeases { .. }
            | Task::PutIndex { .. }
            | Task::Recover => false,
        }
    }

    /// The same, but not known by the name that a client gave it.
    #[must_use]
    pub fn without_request(self) -> Task {
        match self {
            Task::Once { task, .. } => *task,
            Task::Forwarded { name, retry, task } => {
                Task::Forwarded { name, retry, task: Box::new(task.without_request()) }
            }
            Task::Join { .. }
            | Task::Remove { .. }
            | Task::RemoveVoter { .. }
            | Task::PutSettings { .. }
            | Task::Txn(_)
            | Task::GrantLease { .. }
            | Task::ReleaseLease(_)
            | Task::ExpireLeases { .. }
            | Task::PutIndex { .. }
            | Task::Recover => self,
        }
    }

    /// Whether it changes who counts in elections and commits.
    pub fn changes_voters(&self) -> bool {
        match self {
            Task::RemoveVoter { .. } => true,
            Task::Once { task, .. } | Task::Forwarded { task, .. } => task.changes_voters(),
            Task::Join { .. }
            | Task::Remove { .. }
            | Task::PutSettings { .. }
            | Task::Txn(_)
            | Task::GrantLease { .. }
            | Task::ReleaseLease(_)
            | Task::ExpireLeases { .. }
            | Task::PutIndex { .. }
            | Task::Recover => false,
        }
    }

    /// Whether it makes room and takes none.
    pub(super) fn only_deletes(&self) -> bool {
        match self {
            Task::Txn(txn) => txn.puts.is_empty(),
            Task::PutIndex { metadata, .. } => metadata.is_none(),
            Task::ReleaseLease(_) | Task::ExpireLeases { .. } => true,
            Task::Once { task, .. } | Task::Forwarded { task, .. } => task.only_deletes(),
            Task::Join { .. }
            | Task::Remove { .. }
            | Task::RemoveVoter { .. }
            | Task::PutSettings { .. }
            | Task::GrantLease { .. }
            | Task::Recover => false,
        }
    }
}

/// The task's source as `/_cluster/pending_tasks` and the log show it.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Join { .. } => f.write_str("zen-disco-node-join"),
            Task::Remove { id, left: true, .. } => write!(f, "zen-disco-node-left({id}), reason(left)"),
            Task::Remove { id, reason, .. } => write!(f, "zen-disco-node-failed({id}), reason({reason})"),
            Task::RemoveVoter { id } => write!(f, "remove-voter [{id}]"),
            Task::PutSettings { .. } => f.write_str("cluster_update_settings"),
            Task::Txn(txn) => write!(f, "{txn}"),
            Task::GrantLease { name, holder, .. } => write!(f, "grant-lease [{name}] to [{holder}]"),
            Task::ReleaseLease(Holding { name, .. }) => write!(f, "release-lease [{name}]"),
            Task::ExpireLeases { tokens } => write!(f, "expire-leases ({})", tokens.len()),
            Task::Recover => f.write_str("local-gateway-elected-state"),
            Task::Once { task, .. } | Task::Forwarded { task, .. } => write!(f, "{task}"),
            Task::PutIndex { name, metadata: Some(_) } => write!(f, "create-index [{name}]"),
            Task::PutIndex { name, metadata: None } => write!(f, "delete-index [{name}]"),
        }
    }
}
