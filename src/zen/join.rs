//! Votes, candidacies and joins.
//!
//! A join to a candidate is a vote, stored before it is sent; a join to a master is none. Who is joined was chosen in
//! `choose`; what a won candidacy begins with stands in `lead`. Mirrors `NodeJoinController` and
//! `ZenDiscovery.joinElectedMaster` (6.8), which bound a join neither to a term nor to one election.

use super::elect::Lost;
use super::message::{Join, JoinAnswer, Message, Sender, Sight};
use super::mode::{Ballot, Candidacy, Joining};
use super::publish::transfer_time;
use super::quorum::BootstrapSet;
use super::rules::{Protection, Rules};
use super::{Errand, Mode, Note, Promise, REMEMBERED_MAX, Rejection, Timer, Tuning, Write, Zen};
use crate::cluster::{ClusterState, EphemeralId, Node, NodeId, StateId, Term};
use crate::protocol::{Effect, Effects, Exchange, Failure, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    /// Stands as a candidate: in exactly `term`, or in the next one that nobody was seen in.
    pub(super) fn stand(&mut self, now: Time, term: Option<Term>, reason: &'static str, out: &mut Effects<Zen>) {
        if self.is_old() {
            return self.wait_for_joins(now, reason, out);
        }
        let stood = &self.ledger.promise;
        let next = stood.term.max(self.highest_seen()).next();
        let stands_again = !self.keeps(Protection::EndedCandidacies) && stood.vote.as_ref() == Some(&self.local.id);
        let term = if stands_again { stood.term } else { term.unwrap_or(next) };
        if term <= stood.term && !stands_again {
            return self.find(now, self.tuning.ping_timeout, "no term is left above the own one", out);
        }
        self.leave_mode(now, out);
        out.note(Note::Stands { term, reason });
        self.mode = Mode::Electing(Candidacy::new(now, term));
        // Voters need not wait for this disk: a vote counts only when the own one is stored.
        self.tell_if_changed(now, out);
        if !stands_again {
            self.promise(term, &self.local.id.clone(), out);
        }
        self.heed_bootstrap(&self.local.id.clone(), self.own_bootstrap());
        self.timers.set(Timer::Candidacy, now + self.tuning.vote_timeout());
        self.keep_searching(now);
        self.count_votes(now, out);
    }

    /// Stands anew if voters that are needed have promised a term that is not below the own one.
    pub(super) fn rise_above(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &self.mode else {
            return;
        };
        let can_vote = |id: &NodeId, term: Term| term < candidacy.term || candidacy.joins.contains_key(id);
        let able =
            self.search.seen.values().map(|seen| &seen.sight).filter(|sight| {
                self.search.backers.contains_key(&sight.node.id) && can_vote(&sight.node.id, sight.term)
            });
        let able: BTreeMap<NodeId, Arc<Node>> =
            able.map(|sight| &sight.node).chain([&self.local]).map(|node| (node.id.clone(), node.clone())).collect();
        let again = candidacy.since + Tuning::GRACE;
        if self.requirement(self.own_bootstrap().into_iter().collect()).is_met_by(&able) {
            return;
        }
        if now < again {
            // Two that take themselves for the best would drive each other's terms up without a pause.
            return self.timers.set_earlier(Timer::Grace, again);
        }
        self.stand(now, None, "voters are in a higher term", out);
    }

    /// Votes for a candidate in the term in which it stands, or asks it to be taken in if this node has no vote to give.
    /// One that does not stand yet will say so when it does.
    pub(super) fn vote_for(&mut self, now: Time, candidate: Arc<Node>, out: &mut Effects<Zen>) {
        if self.is_old() {
            return self.start_join(now, candidate, false, self.old_vote(), out);
        }
        if !self.local.is_master_eligible() {
            return self.start_join(now, candidate, false, None, out);
        }
        let may_vote = !self.is_write_overdue(now) && !self.has_twin();
        if let Some(term) = self.stands_for(&candidate).filter(|_| may_vote) {
            self.vote_in(now, term, candidate, out);
        }
    }

    /// The term in which a candidate says that it stands, if this node can vote for it there.
    pub(super) fn stands_for(&self, candidate: &Node) -> Option<Term> {
        let seen = self.search.seen.get(&candidate.address).filter(|seen| seen.sight.node.same_process(candidate))?;
        seen.sight.stands.filter(|term| self.can_vote_in(*term, candidate))
    }

    /// Whether the vote of a term is not given yet, or was given to this candidate.
    fn can_vote_in(&self, term: Term, candidate: &Node) -> bool {
        let promise = &self.ledger.promise;
        let is_stored = self.ledger.durable.promise == *promise || !self.keeps(Protection::StoredBeforeRepeat);
        term > promise.term || term == promise.term && promise.vote.as_ref() == Some(&candidate.id) && is_stored
    }

    /// Votes for a candidate in a term in which this node can.
    pub(super) fn vote_in(&mut self, now: Time, term: Term, candidate: Arc<Node>, out: &mut Effects<Zen>) {
        out.note(Note::Votes { term, candidate: candidate.clone() });
        if term > self.ledger.promise.term {
            self.promise(term, &candidate.id, out);
        }
        self.start_join(now, candidate, false, Some(term), out);
    }

    pub(super) fn join_master(&mut self, now: Time, master: Arc<Node>, out: &mut Effects<Zen>) {
        // One whose disk hangs could store no state of this master; when it is done the node looks again.
        if self.is_write_overdue(now) || self.is_copy() {
            return;
        }
        out.note(Note::Joins { master: master.clone() });
        self.start_join(now, master, true, self.old_vote(), out);
    }

    fn start_join(&mut self, now: Time, target: Arc<Node>, leads: bool, vote: Option<Term>, out: &mut Effects<Zen>) {
        self.leave_mode_for(now, Some(&target.address), out);
        out.push(Effect::Link { to: target.address.clone() });
        self.mode = Mode::Joining(Joining { target, leads, vote, won: false, since: now, answered: now, rebuffs: 0 });
        self.send_join(now, out);
    }

    fn send_join(&mut self, now: Time, out: &mut Effects<Zen>) {
        let bootstrap = self.own_bootstrap();
        let is_late = self.keeps(Protection::VotesTellAccepted);
        let accepted = if is_late { self.ledger.accepted.id() } else { self.ledger.durable_id() };
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        let join = Join {
            to: joining.target.id.clone(),
            term: joining.vote.unwrap_or(self.ledger.promise.term),
            vote: joining.vote.is_some(),
            to_master: joining.leads,
            // Whatever was stored before the vote is durable when the vote is sent, and may have been acknowledged.
            accepted,
            bootstrap,
            awake: self.is_awake,
        };
        let target = joining.target.clone();
        let errand = Errand::Join { target: target.ephemeral_id.clone() };
        let message = Message::Join { from: self.sender.clone(), join };
        self.call(&target.address, message, errand, self.tuning.ping_timeout, out);
        self.timers.set(Timer::Join, now + self.tuning.ping_timeout);
    }

    /// Sends an unanswered join again, or gives it up: a vote after two rounds, a master that answers later than that, and
    /// a candidate that won not as long as it answers.
    pub(super) fn join_again(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        let candidate = self.tuning.vote_timeout();
        let patience = if joining.leads { self.tuning.join_timeout.max(candidate) } else { candidate };
        let is_silent = now.since(joining.answered) >= candidate;
        let is_over = if self.is_old() {
            now.since(joining.since) >= self.tuning.join_timeout
        } else {
            is_silent || !joining.won && now.since(joining.since) >= patience
        };
        let is_stored = joining.vote.is_none_or(|vote| self.ledger.durable.promise.term >= vote)
            || !self.keeps(Protection::StoredBeforeRepeat);
        if is_over {
            self.give_up_join(now, "timed out", self.tuning.join_retry_delay, out);
        } else if is_stored && self.keeps(Protection::RepeatedJoins) {
            self.send_join(now, out);
        } else {
            self.timers.set(Timer::Join, now + self.tuning.ping_timeout);
        }
    }

    /// A target that could not be joined counts as lost, and a master is left alone for longer each time. Of a candidate only
    /// its own word counts that it is not well, or each voter would have another order of them.
    fn give_up_join(&mut self, now: Time, reason: impl Into<String>, pause: Duration, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        let (node, leads, reason) = (joining.target.clone(), joining.leads, reason.into());
        self.forget_master(now, &node, format!("could not join: {reason}"));
        let pause = if leads { self.set_back(now, &node.id, pause).min(self.tuning.vote_timeout()) } else { pause };
        out.note(Note::JoinFailed { node, reason });
        self.find(now, pause, "could not join", out);
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

    pub(super) fn on_join_answer(
        &mut self,
        now: Time,
        target: &EphemeralId,
        answer: JoinAnswer,
        out: &mut Effects<Zen>,
    ) {
        let Some(joining) = self.joining(target) else {
            return;
        };
        joining.answered = now;
        match answer {
            JoinAnswer::Noted => self.ask_for_succession(now, out),
            JoinAnswer::Leads => joining.won = joining.vote.is_some(),
            JoinAnswer::VoteAgain(term) => self.vote_again(now, term, out),
            JoinAnswer::NotMaster => self.on_rebuff(now, out),
            // It has no other answer to give so soon.
            JoinAnswer::Rejected(why) => {
                out.note(Note::JoinRejected { master: joining.target.clone(), why: why.clone() });
                self.give_up_join(now, why, self.tuning.ping_timeout, out)
            }
        }
    }

    fn joining(&mut self, target: &EphemeralId) -> Option<&mut Joining> {
        match &mut self.mode {
            Mode::Joining(joining) if joining.target.ephemeral_id == *target => Some(joining),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Leading(_) | Mode::Following(_) => None,
        }
    }

    /// Told of a higher term in which the candidate stands, votes again in exactly that one.
    fn vote_again(&mut self, now: Time, term: Term, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &mut self.mode else {
            return;
        };
        if joining.vote.is_none() || !self.local.is_master_eligible() || term <= self.ledger.promise.term {
            return;
        }
        joining.vote = Some(term);
        joining.since = now;
        let candidate = joining.target.clone();
        out.note(Note::Votes { term, candidate: candidate.clone() });
        self.promise(term, &candidate.id, out);
        self.send_join(now, out);
    }

    fn on_rebuff(&mut self, now: Time, out: &mut Effects<Zen>) {
        let (attempts, delay) = (self.tuning.join_retry_attempts, self.tuning.join_retry_delay);
        let Mode::Joining(joining) = &mut self.mode else {
            return;
        };
        joining.rebuffs += 1;
        let rebuffs = joining.rebuffs;
        if self.successor.is_some() {
            self.give_up_join(now, "it does not take the mastership over", delay, out);
        } else if rebuffs >= attempts {
            let reason = format!("it is not master (tried {attempts} times)");
            self.give_up_join(now, reason, delay, out);
        } else {
            self.timers.set(Timer::Join, now + delay);
        }
    }

    pub(super) fn on_join_failed(&mut self, now: Time, target: &EphemeralId, why: Failure, out: &mut Effects<Zen>) {
        if self.joining(target).is_none() {
            return;
        }
        match why {
            Failure::Refused | Failure::Reset | Failure::BadAnswer => {
                self.give_up_join(now, why.to_string(), self.tuning.join_retry_delay, out)
            }
            Failure::TimedOut => {}
        }
    }

    pub(super) fn on_join_rejected(
        &mut self,
        now: Time,
        target: &EphemeralId,
        why: &Rejection,
        out: &mut Effects<Zen>,
    ) {
        if self.joining(target).is_some() {
            self.give_up_join(now, why.to_string(), self.tuning.join_retry_delay, out);
        }
    }

    /// While a join is under way, what its target says of itself may change it.
    pub(super) fn heed_target(&mut self, now: Time, sight: &Sight, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        if !joining.target.same_process(&sight.node) {
            return;
        }
        // That it follows this very node was said before this node handed over.
        let is_elsewhere = sight
            .master
            .as_ref()
            .is_some_and(|(master, _)| !master.same_process(&sight.node) && !master.same_process(&self.local));
        let gave_up = sight.masterless && joining.vote.is_some() && self.successor.is_none();
        match sight.stands {
            Some(term) if joining.vote.is_some() => self.vote_again(now, term, out),
            _ if is_elsewhere => self.find(now, Duration::ZERO, "the candidate follows another master", out),
            None if gave_up => self.find(now, Duration::ZERO, "the candidate stands no more", out),
            Some(_) | None => {}
        }
    }

    pub(super) fn on_join(
        &mut self,
        now: Time,
        exchange: Exchange,
        node: &Arc<Node>,
        join: Join,
        out: &mut Effects<Zen>,
    ) {
        if join.to != self.local.id && self.keeps(Protection::NamedVotes) && !self.is_old() {
            let why = format!("this is {}, not {}", self.local.id, join.to);
            return self.reply(exchange, Message::Rejected(why.as_str().into()), out);
        }
        match &self.mode {
            Mode::Leading(_) => self.on_join_as_master(now, exchange, node, join, out),
            Mode::Electing(_) if self.is_old() => self.take_old_join(now, exchange, node, out),
            Mode::Finding if self.is_old() => self.hold_join(exchange, node, out),
            Mode::Electing(_) if !join.to_master || !self.keeps(Protection::FormerMasters) => {
                self.on_join_as_candidate(now, exchange, node, join, out)
            }
            // The master hands over: its vote is the order to stand.
            Mode::Following(following)
                if join.vote
                    && following.master.same_process(node)
                    && join.term > self.ledger.promise.term
                    && self.may_lead() =>
            {
                self.stand(now, Some(join.term), "the master hands over", out);
                self.on_join(now, exchange, node, join, out);
            }
            // Told that this node is no master, it will look who is.
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => self.rebuff(exchange, out),
        }
    }

    /// Whether it would lead: one that said good-bye would leave its cluster without a master.
    pub(super) fn may_lead(&self) -> bool {
        self.local.is_master_eligible() && self.leaving.is_none() && !self.has_twin()
    }

    /// Whether others may have formed a cluster without this node, since it told them that it cannot be master. It forms one
    /// only with all of its hosts then.
    pub(super) fn left_out(&self) -> bool {
        self.ledger.promise.left_out && !self.is_formed() && self.keeps(Protection::RolesOnDisk)
    }

    /// Remembers that it tells a node that may form a cluster that it cannot be master.
    pub(super) fn note_left_out(&mut self, asker: &Sender, out: &mut Effects<Zen>) {
        let may_form = asker.cluster_uuid.is_none() && asker.node.is_master_eligible();
        let is_able = self.local.is_master_eligible() || self.is_formed() || self.is_old();
        if may_form && !is_able && !self.ledger.promise.left_out {
            let promise = Promise { left_out: true, ..self.ledger.promise.clone() };
            self.store(Write::Promise(promise), out);
        }
    }

    pub(super) fn rebuff(&mut self, exchange: Exchange, out: &mut Effects<Zen>) {
        self.reply(exchange, Message::Joining(JoinAnswer::NotMaster), out);
    }

    fn on_join_as_candidate(
        &mut self,
        now: Time,
        exchange: Exchange,
        node: &Arc<Node>,
        join: Join,
        out: &mut Effects<Zen>,
    ) {
        let rules = self.rules;
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let votes = join.vote && node.is_master_eligible();
        if votes && join.term != candidacy.term && rules.keep(Protection::OneTermVotes) {
            let again = Message::Joining(JoinAnswer::VoteAgain(candidacy.term));
            return self.reply(exchange, again, out);
        }
        if votes && !self.is_formed() && rules.keep(Protection::EveryBootstrap) {
            self.heed_bootstrap(&node.id, join.bootstrap);
        }
        self.take_ballot(Ballot { node: node.clone(), votes, accepted: join.accepted, awake: join.awake });
        self.reply(exchange, Message::Joining(JoinAnswer::Noted), out);
        if votes {
            self.fetch_newer(out);
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
        let rules = self.rules;
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let mut id = ballot.node.id.clone();
        if !rules.keep(Protection::OneVoteEach) && ballot.votes && candidacy.joins.contains_key(&id) {
            let absent = |other: &&NodeId| **other != self.local.id && !candidacy.joins.contains_key(*other);
            id = self.ledger.accepted.metadata.voting.own.iter().find(absent).unwrap_or(&id).clone();
        }
        if candidacy.joins.len() < REMEMBERED_MAX || candidacy.joins.contains_key(&id) {
            candidacy.joins.insert(id, ballot);
        }
    }

    /// A voter with a newer accepted state is not counted until the candidate has that state.
    fn fetch_newer(&mut self, out: &mut Effects<Zen>) {
        let (own, rules) = (self.ledger.accepted.id(), self.rules);
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        if candidacy.fetching.is_some() || !rules.keep(Protection::FetchNewer) {
            return;
        }
        let newest = candidacy.joins.values().filter(|ballot| ballot.votes && is_newer(ballot.accepted, own, rules));
        let Some(ballot) = newest.max_by_key(|ballot| ballot.accepted.rank()) else {
            return;
        };
        let (node, id) = (ballot.node.clone(), ballot.accepted);
        candidacy.fetching = Some(node.id.clone());
        out.note(Note::Fetches { from: node.clone(), id });
        let message = Message::Fetch { from: self.sender.clone() };
        let errand = Errand::Fetch { from: node.id.clone() };
        let timeout = self.tuning.commit_timeout + transfer_time(&self.ledger.accepted);
        self.call(&node.address, message, errand, timeout, out);
    }

    pub(super) fn on_fetch(&mut self, exchange: Exchange, out: &mut Effects<Zen>) {
        let state = self.ledger.durable.accepted.clone();
        self.reply(exchange, Message::Fetched { from: self.sender.clone(), state }, out);
    }

    pub(super) fn on_fetch_failed(&mut self, from: &NodeId) {
        if let Mode::Electing(candidacy) = &mut self.mode
            && candidacy.fetching.as_ref() == Some(from)
        {
            candidacy.fetching = None;
            // Its next join asks for it again.
            candidacy.joins.remove(from);
        }
    }

    /// Stores a newer state as if it had been accepted, term and vote included, and acknowledges it to nobody.
    pub(super) fn on_fetched(
        &mut self,
        now: Time,
        from: &NodeId,
        state: Option<Arc<ClusterState>>,
        out: &mut Effects<Zen>,
    ) {
        if self.is_old() {
            return self.on_disk_told(now, Some(state), out);
        }
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        if candidacy.fetching.take().as_ref() != Some(from) {
            return;
        }
        let term = candidacy.term;
        let Some(state) = state.filter(|state| self.is_acceptable_copy(state)) else {
            return self.on_fetch_failed(from);
        };
        if state.term > self.ledger.promise.term && self.keeps(Protection::FetchedTerm) {
            let vote = state.nodes.master.clone();
            let promise = Promise { term: state.term, vote, ..self.ledger.promise.clone() };
            self.store(Write::Promise(promise), out);
        }
        let ends = state.term >= term;
        self.accept(state, StateId::NONE, out);
        self.search_again_for_quorum();
        if ends {
            out.note(Note::Abandoned { term, reason: "a state of its own term or a later one was fetched".into() });
            return self.find(now, Duration::ZERO, "the candidacy ended", out);
        }
        self.fetch_newer(out);
        self.count_votes(now, out);
    }

    fn is_acceptable_copy(&self, state: &ClusterState) -> bool {
        let is_ours = match (state.cluster_uuid, self.ledger.cluster_uuid) {
            (Some(theirs), Some(ours)) => theirs == ours,
            (None, _) | (_, None) => true,
        };
        is_ours && state.rank() > self.ledger.accepted.rank()
    }

    /// Counts the votes, the own one included once it is durable.
    pub(super) fn count_votes(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &self.mode else {
            return;
        };
        if self.is_old() {
            return self.count_joins(now, out);
        }
        let durable = &self.ledger.durable.promise;
        let is_stored = durable.term == candidacy.term && durable.vote.as_ref() == Some(&self.local.id);
        if !is_stored && self.keeps(Protection::OwnVoteStored) {
            return;
        }
        if self.is_blank_among_formed() {
            return;
        }
        // A cheap bound first: with few joins there is nothing to count.
        let at_most = candidacy.joins.len() + 1 + usize::from(!self.keeps(Protection::WholeElections));
        if at_most * 2 <= self.ledger.accepted.metadata.voting.own.len() {
            return;
        }
        let bootstrap = if self.is_formed() { BTreeSet::new() } else { candidacy.bootstrap.keys().cloned().collect() };
        let (own, rules) = (self.ledger.accepted.id(), self.rules);
        let is_counted = |ballot: &Ballot| {
            ballot.votes && !(is_newer(ballot.accepted, own, rules) && rules.keep(Protection::NewerJoins))
        };
        let counted = candidacy.joins.iter().filter(|(_, ballot)| is_counted(ballot));
        let mut backers: BTreeMap<NodeId, Arc<Node>> =
            counted.map(|(id, ballot)| (id.clone(), ballot.node.clone())).collect();
        backers.insert(self.local.id.clone(), self.local.clone());
        if !rules.keep(Protection::WholeElections) {
            self.count_one_more(&mut backers);
        }
        let requirement = self.requirement(bootstrap);
        if requirement.is_met_by(&backers) {
            let (term, votes) = (candidacy.term, backers.into_keys().collect());
            out.note(Note::Won { term, votes });
            self.begin_reign(now, requirement.bootstrap, out);
        }
    }

    /// A candidate that does not win as long as voters wait for it lets others go first; after much longer it gives up.
    pub(super) fn doubt_candidacy(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &self.mode else {
            return;
        };
        let end = candidacy.since + self.tuning.candidacy_timeout();
        if now >= end || self.is_old() {
            return self.end_candidacy(now, "timed out while waiting for joins", out);
        }
        self.set_back(now, &self.local.id.clone(), self.tuning.ping_timeout);
        self.timers.set(Timer::Candidacy, (now + self.tuning.vote_timeout()).min(end));
    }

    pub(super) fn end_candidacy(&mut self, now: Time, reason: &str, out: &mut Effects<Zen>) {
        if let Mode::Electing(candidacy) = &self.mode {
            out.note(Note::Abandoned { term: candidacy.term, reason: reason.into() });
            self.set_back(now, &self.local.id.clone(), self.tuning.ping_timeout);
            self.warn_masterless(now, out);
            self.find(now, Duration::ZERO, "the candidacy ended", out);
        }
    }

    /// Remembers that it did not work out with a node, and says for how long it is left alone.
    pub(super) fn set_back(&mut self, now: Time, id: &NodeId, first: Duration) -> Duration {
        if self.is_old() { first } else { self.setbacks.note(now, id, first) }
    }
}

/// Whether a state is newer than another one: by term first, then by version.
fn is_newer(one: StateId, other: StateId, rules: Rules) -> bool {
    if rules.keep(Protection::TermBeforeVersion) { one.rank() > other.rank() } else { one.version > other.version }
}
