//! Voting sets: which one the next state has, and whether enough is known to propose it.
//!
//! Which set is wanted is decided in `quorum`; whoever accepts a set that cannot be committed can be led only by its
//! majority, so it counts only on nodes that have stored a state since the last failure. Nobody votes in the set of the
//! state that takes it in. Zen had a number in its place.

use crate::cluster::{ClusterState, NodeId, VotingSet};
use crate::zen::PingKind;
use crate::zen::mode::leadership::Leadership;
use crate::zen::quorum::next_voting_set;
use crate::zen::role::Role;
use crate::zen::rules::Protection;
use std::collections::BTreeSet;

/// With so many voters one can be lost.
const VOTERS_ENOUGH: usize = 3;

impl Role<'_, Leadership> {
    /// Whether a new voting set would be proposed if one were wanted.
    pub(super) fn may_propose(&self) -> bool {
        let mut voters = self.node.ledger.accepted.metadata.voting.own.iter();
        self.mode.is_settled && self.node.ledger.is_settled() && voters.all(|id| self.is_counted_on(id))
    }

    /// The voting set that a state should have, if all who vote in it and live have stored a state since the last failure.
    pub(super) fn wanted_set(&self, state: &ClusterState) -> Option<VotingSet> {
        let lead = &*self.mode;
        if !lead.is_settled || !self.node.ledger.is_settled() {
            return None;
        }
        // Tasks may have taken voters out of it.
        let next = next_voting_set(&state.metadata.voting.own, &self.live(state), &self.node.local.id);
        let is_new = next != self.node.ledger.accepted.metadata.voting.own;
        (is_new && next.iter().all(|id| self.is_counted_on(id))).then_some(next)
    }

    /// The voting set of the next state: a new one is proposed only on a state committed in the own term, and only if all
    /// who vote in it have answered since it is wanted.
    pub(super) fn next_own_set(&self, state: &ClusterState) -> VotingSet {
        let wanted = self.wanted_set(state).filter(|wanted| self.has_answers_of(wanted));
        wanted.unwrap_or_else(|| self.node.ledger.accepted.metadata.voting.own.clone())
    }

    /// Whether all who would vote in a set, and are not taken for dead, have answered since it is wanted.
    pub(super) fn has_answers_of(&self, wanted: &VotingSet) -> bool {
        let lead = &*self.mode;
        let has_answered = |id: &NodeId| {
            let peer = lead.peers.get(id).filter(|peer| peer.failed.is_none());
            peer.is_none_or(|peer| lead.wish.is_some_and(|wish| peer.heard >= wish))
                || !self.node.keeps(Protection::NewAnswers)
        };
        wanted.iter().all(has_answered)
    }

    /// Asks those once more who would vote in the set that is wanted, when it is: one may have died since it stored what
    /// proves it.
    pub(super) fn ask_voters(&mut self, wanted: Option<&VotingSet>) {
        let before = self.mode.wish;
        self.mode.wish = wanted.map(|_| before.unwrap_or(self.now));
        for id in wanted.filter(|_| before.is_none()).into_iter().flat_map(VotingSet::iter) {
            self.ping_node(id, PingKind::Confirm);
        }
    }

    /// Who lives and can vote, of those who vote already or have stored a state as followers. Who was late with one lately is
    /// left out if there are enough others: what needs its vote waits for it.
    fn live(&self, state: &ClusterState) -> BTreeSet<NodeId> {
        let (lead, patience) = (&*self.mode, self.node.tuning.fd_ping_timeout);
        let votes = |id: &NodeId| state.metadata.voting.own.contains(id);
        let is_live = |id: &NodeId| match lead.peers.get(id) {
            Some(peer) if lead.is_leaving(&peer.node) || peer.failed.is_some() => false,
            Some(peer) => votes(id) || peer.follows.is_some() && peer.accepted.rank() > lead.proven_above.rank(),
            None => *id == self.node.local.id,
        };
        let eligible = state.nodes.eligible().filter(|node| {
            is_live(&node.id) && lead.peers.get(&node.id).is_none_or(|peer| peer.node.same_process(node))
        });
        let live: BTreeSet<NodeId> = eligible.map(|node| node.id.clone()).collect();
        let is_late = |id: &NodeId| lead.peers.get(id).is_some_and(|peer| peer.is_late(self.now, patience));
        let in_time: BTreeSet<NodeId> = live.iter().filter(|id| votes(id) || !is_late(id)).cloned().collect();
        if in_time.len() >= VOTERS_ENOUGH { in_time } else { live }
    }

    /// Whether a voting set may count on a voter, or counts on it in no way since it is taken for dead.
    fn is_counted_on(&self, id: &NodeId) -> bool {
        let lead = &*self.mode;
        let is_proven =
            lead.peers.get(id).is_none_or(|peer| peer.failed.is_some() || peer.is_proven(lead.proven_above));
        is_proven || !self.node.keeps(Protection::SureProposals)
    }
}
