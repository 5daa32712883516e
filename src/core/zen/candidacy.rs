//! Standing as a candidate: in which term, which votes count, and how it ends.
//!
//! What a won candidacy begins with stands in `leading`. Mirrors `NodeJoinController` (6.8), which counted joins of no term and
//! whatever the joiner had accepted.

use super::elect::Candidate;
use super::message::{Join, JoinAnswer, Message, PeerStatus};
use super::mode::{Ballot, Candidacy};
use super::quorum::BootstrapSet;
use super::round_trip::intake_time;
use super::rules::{Protection, Rules};
use super::{CallPurpose, Mode, NodeState, Note, Promise, REMEMBERED_MAX, Timer, Tuning, Write, Zen};
use crate::cluster::{ClusterState, Node, NodeId, StateId, Term};
use crate::protocol::{Effect, Effects, Exchange, Failure, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    /// Stands as a candidate: in exactly `term`, or in the next one that nobody was seen in.
    pub(super) fn stand(&mut self, now: Time, term: Option<Term>, reason: &'static str, out: &mut Effects<Zen>) {
        let stood = &self.node.ledger.promise;
        let next = stood.term.max(self.node.highest_seen()).next();
        let stands_again =
            !self.node.keeps(Protection::EndedCandidacies) && stood.vote.as_ref() == Some(&self.node.local.id);
        let term = if stands_again { stood.term } else { term.unwrap_or(next) };
        if term <= stood.term && !stands_again {
            return self.find(now, self.node.tuning.ping_timeout, "no term is left above the own one", out);
        }
        self.leave_mode(now, out);
        out.note(Note::Stands { term, reason });
        self.mode = Mode::Electing(Candidacy::new(now, term));
        // Voters need not wait for this disk: a vote counts only when the own one is stored.
        self.node.tell_if_changed(now, self.mode.stance(), out);
        if !stands_again {
            self.node.promise(term, &self.node.local.id.clone(), out);
        }
        self.heed_bootstrap(&self.node.local.id.clone(), self.node.own_bootstrap());
        self.node.timers.set(Timer::Candidacy, now + self.node.tuning.vote_timeout());
        self.node.keep_searching(now);
        self.count_votes(now, out);
    }

    /// Tells a better candidate that stands in a term in which this node has voted for another one: it would not hear of it
    /// until it asks, and stand in vain meanwhile.
    pub(super) fn tell_of_vote(&mut self, now: Time, sight: &PeerStatus, out: &mut Effects<Zen>) {
        let promise = &self.node.ledger.promise;
        let is_given =
            |term| term < promise.term || term == promise.term && promise.vote.as_ref() != Some(&sight.node.id);
        let is_better = |other: Candidate| other.rank() < self.own_candidate().rank();
        let has_a_vote = self.is_masterless() && self.node.local.is_master_eligible();
        if has_a_vote && sight.stands.is_some_and(is_given) && Candidate::of(sight).is_some_and(is_better) {
            let message = Message::Notice { from: self.node.sender.clone(), sight: Box::new(self.sight(now)) };
            out.push(Effect::Tell { to: sight.node.address.clone(), message });
        }
    }

    /// Stands anew if voters that are needed have promised a term that is not below the own one.
    pub(super) fn rise_above(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &self.mode else {
            return;
        };
        let can_vote = |sight: &&PeerStatus| {
            let id = &sight.node.id;
            self.node.search.backers.contains_key(id)
                && (sight.last_term() < candidacy.term || candidacy.joins.contains_key(id))
        };
        let seen = self.node.search.seen.values().map(|seen| &seen.sight);
        let able = seen.filter(can_vote).map(|sight| &sight.node).chain([&self.node.local]);
        let able: BTreeMap<NodeId, Arc<Node>> = able.map(|node| (node.id.clone(), node.clone())).collect();
        let again = candidacy.since + Tuning::GRACE;
        if self.node.requirement(self.node.own_bootstrap().into_iter().collect()).is_met_by(&able) {
            return;
        }
        if now < again {
            // Two that take themselves for the best would drive each other's terms up without a pause.
            return self.node.timers.set_earlier(Timer::Grace, again);
        }
        self.stand(now, None, "voters are in a higher term", out);
    }

    pub(super) fn on_join_as_candidate(
        &mut self,
        now: Time,
        exchange: Exchange,
        node: &Arc<Node>,
        join: Join,
        out: &mut Effects<Zen>,
    ) {
        let rules = self.node.rules;
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let votes = join.vote && node.is_master_eligible();
        if votes && join.term != candidacy.term && rules.keep(Protection::OneTermVotes) {
            let again = Message::Joining(JoinAnswer::VoteAgain(candidacy.term));
            return self.node.reply(exchange, again, out);
        }
        if votes && !self.node.is_formed() && rules.keep(Protection::EveryBootstrap) {
            self.heed_bootstrap(&node.id, join.bootstrap);
        }
        self.take_ballot(Ballot {
            node: node.clone(),
            votes,
            accepted: join.accepted,
            has_recovered_state: join.has_recovered_state,
        });
        self.node.reply(exchange, Message::Joining(JoinAnswer::Noted), out);
        if votes {
            self.fetch_newer(None, out);
            self.count_votes(now, out);
        }
    }

    /// Takes down whom a voter expects, in the place of what it expected before: names get addresses as time passes.
    pub(super) fn heed_bootstrap(&mut self, voter: &NodeId, set: Option<BootstrapSet>) {
        let (Mode::Electing(candidacy), Some(set)) = (&mut self.mode, set) else {
            return;
        };
        candidacy.bootstrap.retain(|held, voters| {
            if *held != set {
                voters.remove(voter);
            }
            !voters.is_empty()
        });
        candidacy.bootstrap.entry(set).or_default().insert(voter.clone());
    }

    pub(super) fn take_ballot(&mut self, ballot: Ballot) {
        let rules = self.node.rules;
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let mut id = ballot.node.id.clone();
        if !rules.keep(Protection::OneVoteEach) && ballot.votes && candidacy.joins.contains_key(&id) {
            let absent = |other: &&NodeId| **other != self.node.local.id && !candidacy.joins.contains_key(*other);
            id = self.node.ledger.accepted.metadata.voting.own.iter().find(absent).unwrap_or(&id).clone();
        }
        if candidacy.joins.len() < REMEMBERED_MAX || candidacy.joins.contains_key(&id) {
            candidacy.joins.insert(id, ballot);
        }
    }

    /// A voter with a newer accepted state is not counted until the candidate has that state. One of a voter may be on its
    /// way since an earlier candidacy: it is waited for, or the next one would only be queued behind it. Of two that have it
    /// the one who was late comes last.
    fn fetch_newer(&mut self, late: Option<&NodeId>, out: &mut Effects<Zen>) {
        let (own, rules) = (self.node.ledger.accepted.id(), self.node.rules);
        let Mode::Electing(candidacy) = &self.mode else {
            return;
        };
        let newest = candidacy.joins.values().filter(|ballot| ballot.votes && is_newer(ballot.accepted, own, rules));
        let Some(ballot) = newest.max_by_key(|ballot| (ballot.accepted.rank(), Some(&ballot.node.id) != late)) else {
            return;
        };
        let of_voter = |purpose: &CallPurpose| matches!(purpose, CallPurpose::Fetch { from, .. } if candidacy.joins.contains_key(from));
        if self.node.calls.values().any(of_voter) || !rules.keep(Protection::FetchNewer) {
            return;
        }
        let (node, id) = (ballot.node.clone(), ballot.accepted);
        out.note(Note::Fetches { from: node.clone(), id });
        let message = Message::Fetch { from: self.node.sender.clone() };
        let purpose = CallPurpose::Fetch { from: node.id.clone() };
        let timeout = self.node.fd_timeout(&node.address) + intake_time(&self.node.ledger.accepted);
        self.node.call(&node.address, message, purpose, timeout, out);
    }

    /// One that got no further is fetched again at once, from another if there is one.
    pub(super) fn on_fetch_failed(&mut self, from: &NodeId, why: Failure, out: &mut Effects<Zen>) {
        match why {
            Failure::TimedOut => self.fetch_newer(Some(from), out),
            Failure::Refused | Failure::Reset | Failure::BadAnswer => self.wait_for_join(from),
        }
    }

    /// The next join of a voter asks for its state again.
    fn wait_for_join(&mut self, voter: &NodeId) {
        if let Mode::Electing(candidacy) = &mut self.mode {
            candidacy.joins.remove(voter);
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
        if !self.is_masterless() {
            return;
        }
        let Some(state) = state.filter(|state| self.node.is_acceptable_copy(state)) else {
            return self.wait_for_join(from);
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
        self.fetch_newer(None, out);
        self.count_votes(now, out);
        self.consider(now, out);
    }

    /// A vote for the forming of a cluster may have waited until its voter was reached.
    pub(super) fn count_vote_of_reached(&mut self, now: Time, voter: &NodeId, out: &mut Effects<Zen>) {
        let has_voted = matches!(&self.mode, Mode::Electing(candidacy) if candidacy.joins.contains_key(voter));
        if has_voted && !self.node.is_formed() {
            self.count_votes(now, out);
        }
    }

    /// Counts the votes, the own one included once it is durable.
    pub(super) fn count_votes(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &self.mode else {
            return;
        };
        let durable = &self.node.ledger.durable.promise;
        let is_stored = durable.term == candidacy.term && durable.vote.as_ref() == Some(&self.node.local.id);
        if !is_stored && self.node.keeps(Protection::OwnVoteStored) {
            return;
        }
        if self.node.is_blank_among_formed() {
            return;
        }
        // A cheap bound first: with few joins there is nothing to count.
        let at_most = candidacy.joins.len() + 1 + usize::from(!self.node.keeps(Protection::WholeElections));
        if at_most * 2 <= self.node.ledger.accepted.metadata.voting.own.len() {
            return;
        }
        let bootstrap =
            if self.node.is_formed() { BTreeSet::new() } else { candidacy.bootstrap.keys().cloned().collect() };
        let (own, rules) = (self.node.ledger.accepted.id(), self.node.rules);
        let is_counted = |ballot: &Ballot| {
            let is_newer = is_newer(ballot.accepted, own, rules) && rules.keep(Protection::NewerJoins);
            // Who was not reached is not in the first state, and cannot acknowledge it.
            ballot.votes && !is_newer && self.node.was_reached(&ballot.node)
        };
        let counted = candidacy.joins.iter().filter(|(_, ballot)| is_counted(ballot));
        let mut backers: BTreeMap<NodeId, Arc<Node>> =
            counted.map(|(id, ballot)| (id.clone(), ballot.node.clone())).collect();
        backers.insert(self.node.local.id.clone(), self.node.local.clone());
        if !rules.keep(Protection::WholeElections) {
            self.node.count_one_more(&mut backers);
        }
        let requirement = self.node.requirement(bootstrap);
        if requirement.is_met_by(&backers) {
            let (term, votes) = (candidacy.term, backers.into_keys().collect());
            out.note(Note::Won { term, votes });
            self.begin_leading(now, requirement.bootstrap, out);
        }
    }

    /// A candidate that does not win as long as voters wait for it lets others go first; after much longer it gives up.
    pub(super) fn doubt_candidacy(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &self.mode else {
            return;
        };
        let end = candidacy.since + self.node.tuning.candidacy_timeout();
        if now >= end {
            return self.end_candidacy(now, "timed out while waiting for joins", out);
        }
        self.node.set_back(now, &self.node.local.id.clone(), self.node.tuning.ping_timeout);
        self.node.timers.set(Timer::Candidacy, (now + self.node.tuning.vote_timeout()).min(end));
    }

    pub(super) fn end_candidacy(&mut self, now: Time, reason: &str, out: &mut Effects<Zen>) {
        if let Mode::Electing(candidacy) = &self.mode {
            out.note(Note::Abandoned { term: candidacy.term, reason: reason.into() });
            self.node.set_back(now, &self.node.local.id.clone(), self.node.tuning.ping_timeout);
            self.warn_masterless(now, out);
            self.find(now, Duration::ZERO, "the candidacy ended", out);
        }
    }
}

impl NodeState {
    /// Whether a node answered at the address that it gives. No cluster begins with one that did not: it could follow only
    /// while its own connection lasts. Who joins later is asked by the master.
    pub(super) fn was_reached(&self, node: &Node) -> bool {
        let seen = self.search.seen.get(&node.address);
        self.is_formed() || seen.is_some_and(|seen| seen.sight.node.same_process(node))
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
}

/// Whether a state is newer than another one: by term first, then by version.
fn is_newer(one: StateId, other: StateId, rules: Rules) -> bool {
    if rules.keep(Protection::TermBeforeVersion) { one.rank() > other.rank() } else { one.version > other.version }
}
