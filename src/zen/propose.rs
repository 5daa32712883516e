//! Voting sets: which one the next state has, and whether enough is known to propose it.
//!
//! Which set is wanted is decided in `quorum`; whoever accepts a set that cannot be committed can be led only by its
//! majority, so none is proposed before it is known who of them lives. Zen had a number in its place.

use super::leadership::{Leadership, Peer};
use super::quorum::next_voting_set;
use super::rules::Protection;
use super::{Mode, PingKind, Zen};
use crate::cluster::{ClusterState, Node, NodeId, VotingSet};
use crate::protocol::{Effects, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A voting set counts on answers that came within this part of the interval of the pings, 10 ms unless that is set
/// otherwise, or within the time that they took themselves.
const FRESH: u32 = 20;

impl Zen {
    /// Whether a new voting set would be proposed if one were wanted.
    pub(super) fn may_propose(&self) -> bool {
        let Mode::Leading(lead) = &self.mode else {
            return false;
        };
        let is_sure = |peer: &Peer| !peer.is_doubtful(lead.unsure_before);
        lead.is_settled && self.ledger.is_settled() && lead.peers.values().all(is_sure)
    }

    /// The voting set that a state should have, if one can be proposed at all.
    fn wanted_set(&self, state: &ClusterState) -> Option<VotingSet> {
        let Mode::Leading(lead) = &self.mode else {
            return None;
        };
        if !lead.is_settled || !self.ledger.is_settled() {
            return None;
        }
        let peer = |node: &Arc<Node>| lead.peers.get(&node.id).filter(|peer| peer.node.same_process(node));
        let is_live = |node: &&Arc<Node>| {
            !lead.leaving.contains_key(&node.id) && peer(node).is_none_or(|peer| peer.failed.is_none())
        };
        let live: BTreeSet<NodeId> = state.nodes.eligible().filter(is_live).map(|node| node.id.clone()).collect();
        // Tasks may have taken voters out of it.
        Some(next_voting_set(&state.metadata.voting.own, &live, &self.local.id))
    }

    /// The voting set of the next state: a new one is proposed only on a state committed in the own term.
    pub(super) fn next_own_set(&self, now: Time, state: &ClusterState) -> VotingSet {
        let base = &self.ledger.accepted.metadata.voting.own;
        let (Some(next), Mode::Leading(lead)) = (self.wanted_set(state), &self.mode) else {
            return base.clone();
        };
        let is_doubtful = voters(lead, &next).any(|peer| peer.is_doubtful(lead.unsure_before));
        let is_unsure = is_doubtful && self.keeps(Protection::SureProposals);
        if is_unsure || voters(lead, &next).any(|peer| self.is_stale(now, peer)) { base.clone() } else { next }
    }

    /// Whether what somebody answered last is too old to count on it: it may have died since, and nobody has missed it.
    fn is_stale(&self, now: Time, peer: &Peer) -> bool {
        let fresh = peer.took.max(self.tuning.fd_ping_interval / FRESH);
        now.since(peer.answered) > fresh && self.keeps(Protection::NewAnswers)
    }

    /// Asks those once more whose answers are too old for the voting set that is wanted, if one is. Until they have
    /// answered, or have not in time, nothing is published: it could last until other answers are too old as well.
    pub(super) fn asks_anew(&mut self, now: Time, out: &mut Effects<Zen>) -> bool {
        let stale = self.stale_voters(now);
        let Some(lead) = self.lead() else {
            return false;
        };
        lead.is_asking = !stale.is_empty();
        let is_open = stale.iter().any(|id| lead.peers.get(id).is_some_and(|peer| peer.is_asked));
        for id in stale.iter().filter(|_| !is_open) {
            self.ping_node(now, id, PingKind::Confirm, out);
        }
        !stale.is_empty()
    }

    /// Who would vote in the set that is wanted, and answered too long ago for it; nobody, if it cannot be proposed
    /// whatever they answer.
    fn stale_voters(&self, now: Time) -> Vec<NodeId> {
        let accepted = &self.ledger.accepted;
        let wanted = self.wanted_set(accepted).filter(|wanted| *wanted != accepted.metadata.voting.own);
        let (Some(wanted), Mode::Leading(lead)) = (wanted, &self.mode) else {
            return Vec::new();
        };
        if voters(lead, &wanted).any(|peer| peer.is_doubtful(lead.unsure_before)) {
            return Vec::new();
        }
        let stale = voters(lead, &wanted).filter(|peer| self.is_stale(now, peer));
        stale.map(|peer| peer.node.id.clone()).collect()
    }
}

/// Those who vote in a set, but the master itself and who is taken for dead.
fn voters<'a>(lead: &'a Leadership, set: &'a VotingSet) -> impl Iterator<Item = &'a Peer> {
    set.iter().filter_map(|id| lead.peers.get(id)).filter(|peer| peer.failed.is_none())
}
