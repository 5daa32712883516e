//! Votes and joins, as any node gives and gets them: whom it may vote for, and which mode a join is for.
//!
//! A vote is bound to a term and stored before it is sent. What a candidate, a joiner or a master does with a join stands in
//! the folders of these modes. Mirrors `ZenDiscovery.joinElectedMaster` and `NodeJoinController` (6.8), which bound a join
//! neither to a term nor to one election.

use super::elect::{Candidate, Lost};
use super::message::{Join, JoinAnswer, Message, PeerStatus};
use super::mode::Stance;
use super::node::NodeState;
use super::role::{Flow, Next, STAYS};
use super::rules::Protection;
use super::{Mode, Note, Promise, REMEMBERED_MAX, Write, Zen};
use crate::cluster::{ClusterState, Node, NodeId, StateId, Term};
use crate::protocol::{Effect, Effects, Exchange, Time};
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    /// Whether a node is the master that this one follows, or has asked to take it in again.
    fn has_for_master(&self, node: &Node) -> bool {
        match &self.mode {
            Mode::Following(following) => following.master.same_process(node),
            Mode::Joining(joining) => joining.leads && joining.target.same_process(node),
            Mode::Finding | Mode::Electing(_) | Mode::Leading(_) => false,
        }
    }

    /// The own master asks for a vote in exactly this term, for itself or for its successor.
    pub(super) fn on_call_vote(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Arc<Node>,
        term: Term,
        candidate: Arc<Node>,
        out: &mut Effects<Zen>,
    ) {
        self.as_follower(now, out, |follower| follower.hear(from));
        let may_call = self.has_for_master(from) || !self.node.keeps(Protection::OwnMasterCalls);
        if !may_call || term <= self.node.ledger.promise.term || !self.node.local.is_master_eligible() {
            return self.reply_report(exchange, out);
        }
        if candidate.same_process(&self.node.local) && !self.node.may_lead() {
            self.reply_report(exchange, out);
        } else if candidate.same_process(&self.node.local) {
            self.stand(now, Some(term), "the master hands over", out);
            self.reply_report(exchange, out);
        } else if candidate.same_process(from) {
            self.node.promise(term, &candidate.id, out);
            let report = Box::new(self.report_once_stored());
            self.node.reply(exchange, Message::Report(report), out);
        } else {
            self.reply_report(exchange, out);
            self.vote_in(now, term, candidate, out);
        }
    }

    /// Stores a newer state as if it had been accepted, term and vote included, and acknowledges it to nobody. It may have
    /// been on its way for longer than the candidacy lasted, and is of use to the next one.
    pub(super) fn on_fetched(
        &mut self,
        now: Time,
        from: &NodeId,
        state: Option<Arc<ClusterState>>,
        out: &mut Effects<Zen>,
    ) {
        if !self.mode.stance().is_masterless() {
            return;
        }
        let Some(state) = state.filter(|state| self.node.is_acceptable_copy(state)) else {
            return self.as_candidate(now, out, |candidate| candidate.wait_for_join(from));
        };
        let term = self.node.ledger.promise.term;
        let ends = state.term >= term;
        self.node.take_copy(state, out);
        if ends {
            if matches!(self.mode, Mode::Electing(_)) {
                out.note(Note::Abandoned { term, reason: "a state of its own term or a later one was fetched".into() });
            }
            return self.find(now, Duration::ZERO, "the candidacy ended", out);
        }
        self.as_candidate(now, out, |candidate| {
            candidate.fetch_newer(None);
            candidate.count_votes()
        });
        self.as_seeker(now, out, |seeker| seeker.consider());
    }

    pub(super) fn on_join(
        &mut self,
        now: Time,
        exchange: Exchange,
        node: &Arc<Node>,
        join: Join,
        out: &mut Effects<Zen>,
    ) {
        if join.to != self.node.local.id && self.node.keeps(Protection::NamedVotes) {
            let why = format!("this is {}, not {}", self.node.local.id, join.to);
            return self.node.reply(exchange, Message::Rejected(why.as_str().into()), out);
        }
        match &self.mode {
            Mode::Leading(_) => self.as_master(now, out, |master| master.on_join(exchange, node, join)),
            Mode::Electing(_) if !join.to_master || !self.node.keeps(Protection::FormerMasters) => {
                self.as_candidate(now, out, |candidate| candidate.on_join(exchange, node, join))
            }
            // The master hands over: its vote is the order to stand.
            Mode::Following(following)
                if join.vote
                    && following.master.same_process(node)
                    && join.term > self.node.ledger.promise.term
                    && self.node.may_lead() =>
            {
                self.stand(now, Some(join.term), "the master hands over", out);
                self.on_join(now, exchange, node, join, out);
            }
            // Told that this node is no master, it will look who is.
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => {
                self.node.rebuff(exchange, out)
            }
        }
    }
}

impl NodeState {
    /// Votes for a candidate in the term in which it stands, or asks it to be taken in if this node has no vote to give.
    /// One that does not stand yet will say so when it does.
    pub(super) fn vote_for(&self, now: Time, candidate: Arc<Node>) -> Flow {
        if !self.local.is_master_eligible() {
            return Flow::Break(Next::Ask(candidate));
        }
        let may_vote = !self.is_write_overdue(now) && !self.has_twin();
        match self.stands_for(&candidate).filter(|_| may_vote) {
            Some(term) => Flow::Break(Next::Vote { term, candidate }),
            None => STAYS,
        }
    }

    /// Asks a master to be taken in. One whose disk hangs could store no state of it; when it is done the node looks again.
    pub(super) fn join(&self, now: Time, master: Arc<Node>) -> Flow {
        if self.is_write_overdue(now) || self.is_copy() { STAYS } else { Flow::Break(Next::Join(master)) }
    }

    /// Tells a better candidate that stands in a term in which this node has voted for another one: it would not hear of it
    /// until it asks, and stand in vain meanwhile.
    pub(super) fn tell_of_vote(&self, now: Time, stance: Stance<'_>, sight: &PeerStatus, out: &mut Effects<Zen>) {
        let promise = &self.ledger.promise;
        let is_given =
            |term| term < promise.term || term == promise.term && promise.vote.as_ref() != Some(&sight.node.id);
        let is_better = |other: Candidate| other.rank() < self.own_candidate(stance).rank();
        let has_a_vote = stance.is_masterless() && self.local.is_master_eligible();
        if has_a_vote && sight.stands.is_some_and(is_given) && Candidate::of(sight).is_some_and(is_better) {
            let message = Message::Notice { from: self.sender.clone(), sight: Box::new(self.sight(now, stance)) };
            out.push(Effect::Tell { to: sight.node.address.clone(), message });
        }
    }

    /// Whether a node answered at the address that it gives. One that did not could follow only while its own connection
    /// lasts: no cluster begins with it, and who has no part in the cluster yet is asked by the master before it gets one.
    pub(super) fn was_reached(&self, node: &Node) -> bool {
        let seen = self.search.seen.get(&node.address);
        seen.is_some_and(|seen| seen.sight.node.same_process(node))
    }

    pub(super) fn on_fetch(&mut self, exchange: Exchange, out: &mut Effects<Zen>) {
        let state = self.ledger.durable.accepted.clone();
        self.reply(exchange, Message::Fetched { from: self.sender.clone(), state }, out);
    }

    fn take_copy(&mut self, state: Arc<ClusterState>, out: &mut Effects<Zen>) {
        if state.term > self.ledger.promise.term && self.keeps(Protection::FetchedTerm) {
            let vote = state.nodes.master.clone();
            let promise = Promise { term: state.term, vote, ..self.ledger.promise.clone() };
            self.store(Write::Promise(promise), out);
        }
        self.accept(state, StateId::NONE, &[], out);
        self.search_again_for_quorum();
    }

    fn is_acceptable_copy(&self, state: &ClusterState) -> bool {
        let is_ours = match (state.cluster_uuid, self.ledger.cluster_uuid) {
            (Some(theirs), Some(ours)) => theirs == ours,
            (None, _) | (_, None) => true,
        };
        is_ours && state.rank() > self.ledger.accepted.rank()
    }

    /// The term in which a candidate says that it stands, if this node can vote for it there.
    pub(super) fn stands_for(&self, candidate: &Node) -> Option<Term> {
        let seen = self.search.seen.get(&candidate.address).filter(|seen| seen.sight.node.same_process(candidate))?;
        seen.sight.stands.filter(|term| self.can_vote_in(*term, candidate))
    }

    /// Whether the vote of a term is not given yet, or was given to this candidate.
    pub(super) fn can_vote_in(&self, term: Term, candidate: &Node) -> bool {
        let promise = &self.ledger.promise;
        let is_stored = self.ledger.is_stored() || !self.keeps(Protection::StoredBeforeRepeat);
        term > promise.term || term == promise.term && promise.vote.as_ref() == Some(&candidate.id) && is_stored
    }

    /// Remembers that a master was lost, so that only later news of it counts.
    pub(super) fn forget_master(&mut self, now: Time, master: &Node, why: String) {
        if !self.keeps(Protection::LostMasters) {
            return;
        }
        if self.lost.len() >= REMEMBERED_MAX {
            let oldest = self.lost.iter().min_by_key(|(_, lost)| lost.at).map(|(id, _)| id.clone());
            oldest.and_then(|id| self.lost.remove(&id));
        }
        self.lost.insert(master.ephemeral_id.clone(), Lost { at: now, why: why.into() });
    }

    /// Whether it would lead: one that said good-bye would leave its cluster without a master.
    pub(super) fn may_lead(&self) -> bool {
        self.local.is_master_eligible() && self.leaving.is_none() && !self.has_twin()
    }

    pub(super) fn rebuff(&mut self, exchange: Exchange, out: &mut Effects<Zen>) {
        self.reply(exchange, Message::Joining(JoinAnswer::NotMaster), out);
    }
}
