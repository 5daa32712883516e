//! What one record says: a change of the memory, in JSON.
//!
//! An accepted state is written as what makes it of the one before it. How a record is framed and found again is left to
//! `record.rs`.

use crate::cluster::{ClusterState, Diff, NodeId, StateId, Term, Uuid, WrongBase};
use crate::zen::{Memory, Promise, Write};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A change of the memory, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// Identity, term and vote.
    Promise {
        node_id: Option<NodeId>,
        term: Term,
        vote: Option<NodeId>,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        left_out_by: BTreeSet<Arc<str>>,
    },
    /// The first accepted state of a file, in full.
    Accepted(Arc<ClusterState>),
    /// What makes the next accepted state of the last one.
    AcceptedDiff(Box<Diff>),
    /// The cluster that the node belongs to for good.
    ClusterUuid(Uuid),
    /// The newest state known to be committed.
    Committed(StateId),
}

impl Entry {
    /// What to write so that a reader that has read `memory` takes `write` in.
    pub(super) fn of(write: &Write, memory: &Memory) -> Self {
        match write {
            Write::Promise(Promise { node_id, term, vote, left_out }) => {
                let (node_id, vote, left_out_by) = (node_id.clone(), vote.clone(), left_out.clone());
                Entry::Promise { node_id, term: *term, vote, left_out_by }
            }
            Write::Accepted(state) => match &memory.accepted {
                Some(base) => Entry::AcceptedDiff(Diff::between(base, state).into()),
                None => Entry::Accepted(Arc::clone(state)),
            },
            Write::Identity(uuid) => Entry::ClusterUuid(*uuid),
            Write::Committed(id) | Write::Settled(id) => Entry::Committed(*id),
        }
    }

    /// The write it was made of, for a reader that has read `memory`.
    pub(super) fn write(self, memory: &Memory) -> Result<Write, WrongBase> {
        Ok(match self {
            Entry::Promise { node_id, term, vote, left_out_by } => {
                Write::Promise(Promise { node_id, term, vote, left_out: left_out_by })
            }
            Entry::Accepted(state) => Write::Accepted(state),
            Entry::AcceptedDiff(diff) => {
                let base = memory.accepted.as_deref();
                let nothing = WrongBase { expected: diff.from, found: StateId::NONE };
                Write::Accepted(Arc::new(diff.apply(base.ok_or(nothing)?)?))
            }
            Entry::ClusterUuid(uuid) => Write::Identity(uuid),
            Entry::Committed(id) => Write::Committed(id),
        })
    }
}

/// The fewest writes that make this memory of an empty one.
pub(super) fn writes_of(memory: &Memory) -> Vec<Write> {
    let Memory { promise, accepted, committed, cluster_uuid } = memory;
    let promise = (*promise != Promise::default()).then(|| Write::Promise(promise.clone()));
    let accepted = accepted.clone().map(Write::Accepted);
    let identity = cluster_uuid.map(Write::Identity);
    promise.into_iter().chain(accepted).chain(identity).chain(committed.map(Write::Committed)).collect()
}
