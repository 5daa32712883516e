//! Voting sets: which one the next state has, and whether enough is known to propose it.
//!
//! Which set is wanted is decided in `quorum`; whoever accepts a set that cannot be committed can be led only by its
//! majority, so none is proposed before it is known who of them lives. Zen had a number in its place.

use super::leadership::{Leadership, Peer};
use super::quorum::next_voting_set;
use super::rules::Protection;
use super::{Errand, Mode, PingKind, Zen};
use crate::cluster::{ClusterState, Node, NodeId, VotingSet};
use crate::protocol::{Effects, Time};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A voting set counts on answers that are not older than this part of the interval of the pings: 10 ms, unless that
/// is set otherwise.
const FRESH: u32 = 20;

impl Zen {
    /// Whether a new voting set would be proposed if one were wanted.
    pub(super) fn may_propose(&self) -> bool {
        let Mode::Leading(lead) = &self.mode else {
            return false;
        };
        let mut eligible = lead.peers.values().filter(|peer| peer.node.is_master_eligible());
        lead.is_settled && self.ledger.is_settled() && eligible.all(|peer| !peer.is_doubtful(lead.unsure_before))
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
        let peers = || next.iter().filter_map(|id| lead.peers.get(id)).filter(|peer| peer.failed.is_none());
        let is_doubtful = peers().any(|peer| peer.is_doubtful(lead.unsure_before));
        if is_doubtful && self.keeps(Protection::SureProposals) || self.is_stale(now, lead, peers()) {
            return base.clone();
        }
        next
    }

    /// Whether what somebody answered last is too old to count on it: it may have died since, and nobody has missed it.
    fn is_stale<'a>(&self, now: Time, lead: &Leadership, mut peers: impl Iterator<Item = &'a Peer>) -> bool {
        let fresh = self.tuning.fd_ping_interval / FRESH;
        let is_old = |since: Time, span: Duration| now.since(since) > span;
        let is_asked = lead.is_asked_anew && !is_old(lead.unsure_before, self.tuning.fd_ping_timeout);
        !is_asked && self.keeps(Protection::NewAnswers) && peers.any(|peer| is_old(peer.heard, fresh))
    }

    /// Asks all who could vote once more, if a voting set is wanted for which their answers are too old. Until they have
    /// answered, or have not in time, nothing is published: it could last until these answers are too old as well.
    pub(super) fn asks_anew(&mut self, now: Time, out: &mut Effects<Zen>) -> bool {
        if self.is_asking_anew() {
            return true;
        }
        let accepted = &self.ledger.accepted;
        let wanted = self.wanted_set(accepted).filter(|wanted| *wanted != accepted.metadata.voting.own);
        let (Some(wanted), Mode::Leading(lead)) = (wanted, &self.mode) else {
            return false;
        };
        let peers = || wanted.iter().filter_map(|id| lead.peers.get(id)).filter(|peer| peer.failed.is_none());
        if peers().any(|peer| peer.is_doubtful(lead.unsure_before)) || !self.is_stale(now, lead, peers()) {
            return false;
        }
        let eligible = lead.peers.iter().filter(|(_, peer)| peer.failed.is_none() && peer.node.is_master_eligible());
        let asked: Vec<NodeId> = eligible.map(|(id, _)| id.clone()).collect();
        if let Some(lead) = self.lead() {
            lead.unsure_before = now;
            lead.is_asked_anew = true;
        }
        for id in asked {
            self.ping_node(now, &id, PingKind::Confirm, out);
        }
        true
    }

    /// Whether all were asked anew at this time.
    pub(super) fn is_asked_anew(&self, at: Time) -> bool {
        matches!(&self.mode, Mode::Leading(lead) if lead.is_asked_anew && lead.unsure_before == at)
    }

    /// Whether some who live have yet to answer what they were asked for a new voting set.
    fn is_asking_anew(&self) -> bool {
        let Mode::Leading(lead) = &self.mode else {
            return false;
        };
        let lives = |node: &NodeId| lead.peers.get(node).is_some_and(|peer| peer.failed.is_none());
        let is_open = |errand: &Errand| {
            matches!(errand, Errand::NodePing { node, asked, kind: PingKind::Confirm }
                if *asked == lead.unsure_before && lives(node))
        };
        lead.is_asked_anew && self.calls.values().any(is_open)
    }
}
