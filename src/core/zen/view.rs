//! What may be looked at of a node: for those who show it, drive it or check it. Nothing is decided here.

use super::{Explanation, Ledger, Mode, Timer, Tuning, Zen, quorum};
use crate::cluster::{ClusterState, Node, StateId, Term};
use crate::protocol::{Time, Timers};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Zen {
    /// Why there is a master, or none.
    pub fn explain(&self, now: Time) -> Explanation {
        self.node.explain(now, self.mode.stance())
    }

    /// The names of the nodes that may be elected at present, itself included.
    pub fn candidate_names(&self) -> Vec<String> {
        self.node.candidate_names(self.mode.stance())
    }

    /// The master that readers see, itself included.
    pub fn open_master(&self) -> Option<&Arc<Node>> {
        self.node.open_master(self.mode.stance())
    }

    /// The node itself.
    pub fn local(&self) -> &Arc<Node> {
        &self.node.local
    }

    /// What the node has decided, and what of it is durable.
    pub fn ledger(&self) -> &Ledger {
        &self.node.ledger
    }

    /// What the node is doing.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// The term that the node leads in, if it is master.
    pub fn mastership(&self) -> Option<Term> {
        match &self.mode {
            Mode::Leading(lead) => Some(lead.term),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        }
    }

    /// The newest state that this master made, and the one that it was made from.
    pub fn made(&self) -> Option<(StateId, StateId)> {
        match &self.mode {
            Mode::Leading(lead) => lead.publish.as_ref().map(|publish| (publish.state.id(), publish.base.id())),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        }
    }

    /// Whether a state of this master is on its way and not committed yet, or about to be sent.
    pub fn is_publishing(&self) -> bool {
        match &self.mode {
            Mode::Leading(lead) => {
                lead.wish.is_some() || lead.publish.as_ref().is_some_and(|publish| !publish.is_committed)
            }
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => false,
        }
    }

    /// What an election or a commit on the accepted state must be backed by, once the cluster is formed.
    pub fn quorum(&self) -> quorum::Requirement {
        self.node.requirement(BTreeSet::new())
    }

    /// The newest state that it could give back if all others were gone.
    pub fn newest_held(&self) -> StateId {
        self.node.ledger.accepted.id().max(self.node.ledger.durable_id())
    }

    /// The newest committed state that was applied.
    pub fn applied(&self) -> &Arc<ClusterState> {
        &self.node.applied
    }

    /// What readers see.
    pub fn shown(&self) -> &Arc<ClusterState> {
        &self.node.shown
    }

    /// The numbers it runs by at present.
    pub fn tuning(&self) -> &Tuning {
        &self.node.tuning
    }

    /// The deadlines that are set.
    pub fn timers(&self) -> &Timers<Timer> {
        &self.node.timers
    }

    /// How many requests of this node are on their way.
    pub fn open_calls(&self) -> usize {
        self.node.calls.len()
    }

    /// How many clients' questions are open.
    pub fn open_questions(&self) -> usize {
        self.node.asks.len()
    }
}
