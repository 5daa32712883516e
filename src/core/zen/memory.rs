//! What a node keeps on disk, and what of it is known to be there.
//!
//! The core changes its mind at once and tells the world only when the change is durable: whatever a [`super::message::Report`] says
//! comes from [`Ledger::durable`]. Takes the place of `GatewayMetaState` (6.8), which wrote after it had acknowledged.

use crate::cluster::{ClusterState, NodeId, StateId, Term, Uuid};
use crate::protocol::{Disk, StoreId, Time};
use std::collections::{BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The one record of identity, term and vote: the term never moves without a vote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Promise {
    /// The node's own id. It lives with the vote, so that a wiped node is a new node.
    pub node_id: Option<NodeId>,
    /// The term.
    pub term: Term,
    /// Whom the node voted for in it.
    pub vote: Option<NodeId>,
    /// The addresses of those whom it told that it cannot be master: they may have formed a cluster without it since.
    pub left_out: BTreeSet<Arc<str>>,
}

/// What survives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Identity, term and vote.
    pub promise: Promise,
    /// The last accepted state.
    pub accepted: Option<Arc<ClusterState>>,
    /// The newest state known to be committed; it may lag.
    pub committed: Option<StateId>,
    /// The cluster that the node belongs to for good.
    pub cluster_uuid: Option<Uuid>,
}

/// One change of what is on disk.
#[derive(Clone, Debug, Hash)]
pub enum Write {
    /// Identity, term and vote.
    Promise(Promise),
    /// The last accepted state.
    Accepted(Arc<ClusterState>),
    /// The cluster that the node belongs to for good.
    Identity(Uuid),
    /// The newest state known to be committed.
    Committed(StateId),
    /// The same, where the state changed the voting set: a crash must not make the old set count again.
    Settled(StateId),
}

impl Disk for Memory {
    type Write = Write;

    fn apply(&mut self, write: &Write) {
        match write {
            Write::Promise(promise) => self.promise = promise.clone(),
            Write::Accepted(state) => self.accepted = Some(state.clone()),
            Write::Identity(uuid) => self.cluster_uuid = Some(*uuid),
            Write::Committed(id) | Write::Settled(id) => self.committed = Some(*id),
        }
    }

    fn is_lazy(write: &Write) -> bool {
        match write {
            Write::Promise(_) | Write::Accepted(_) | Write::Identity(_) | Write::Settled(_) => false,
            Write::Committed(_) => true,
        }
    }
}

/// What the node has decided, and how much of it is durable.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Identity, term and vote, perhaps not durable yet.
    pub promise: Promise,
    /// The accepted state, perhaps not durable yet.
    pub accepted: Arc<ClusterState>,
    /// The newest state known to be committed.
    pub committed: StateId,
    /// The cluster that the node belongs to for good.
    pub cluster_uuid: Option<Uuid>,
    /// What is on disk.
    pub durable: Memory,
    under_way: VecDeque<(StoreId, Write, Time)>,
    asked: StoreId,
}

impl Ledger {
    /// Takes up what a disk holds; `initial` is accepted where it holds no state.
    pub fn new(disk: Memory, initial: ClusterState) -> Self {
        Ledger {
            promise: disk.promise.clone(),
            accepted: disk.accepted.clone().unwrap_or_else(|| Arc::new(initial)),
            committed: disk.committed.unwrap_or(StateId::NONE),
            cluster_uuid: disk.cluster_uuid,
            durable: disk,
            under_way: VecDeque::new(),
            asked: StoreId::default(),
        }
    }

    /// Takes a change in and names the write that makes it durable.
    pub fn change(&mut self, now: Time, write: &Write) -> StoreId {
        match write {
            Write::Promise(promise) => self.promise = promise.clone(),
            Write::Accepted(state) => self.accepted = state.clone(),
            Write::Identity(uuid) => self.cluster_uuid = Some(*uuid),
            Write::Committed(id) | Write::Settled(id) => self.committed = *id,
        }
        self.asked = StoreId(self.asked.0 + 1);
        self.under_way.push_back((self.asked, write.clone(), now));
        self.asked
    }

    /// Notes that a write and all before it are durable.
    pub fn stored(&mut self, id: StoreId) {
        while self.under_way.front().is_some_and(|(asked, _, _)| *asked <= id) {
            if let Some((_, write, _)) = self.under_way.pop_front() {
                self.durable.apply(&write);
            }
        }
    }

    /// Since when the oldest write under way waits for the disk.
    pub fn oldest_write(&self) -> Option<Time> {
        self.under_way.front().map(|(_, _, since)| *since)
    }

    /// Takes it into a hash, whatever its writes are numbered.
    pub(super) fn hash_state(&self, hasher: &mut impl Hasher) {
        (&self.promise, self.accepted.id(), self.committed, self.cluster_uuid, &self.durable).hash(hasher);
        self.under_way.iter().for_each(|(_, write, _)| write.hash(hasher));
    }

    /// Whether the accepted state is known to be committed.
    pub fn is_settled(&self) -> bool {
        self.committed == self.accepted.id()
    }

    /// Whether promise and accepted state are on disk, so that they may be told without another write.
    pub fn is_stored(&self) -> bool {
        self.durable.promise == self.promise && self.durable_id() == self.accepted.id()
    }

    /// The id of the state that is on disk.
    pub fn durable_id(&self) -> StateId {
        self.durable.accepted.as_ref().map_or(StateId::NONE, |state| state.id())
    }
}
