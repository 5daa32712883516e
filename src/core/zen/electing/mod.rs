//! A node that stands as a candidate: which votes count, and how it ends.
//!
//! It goes on looking for a master meanwhile (`finding`); what a won candidacy begins with stands in `leading`. Mirrors
//! `NodeJoinController` (6.8), which counted joins of no term and whatever the joiner had accepted.

use super::message::{Join, JoinAnswer, Message, PeerStatus};
use super::mode::{Ballot, Candidacy, Stance};
use super::quorum::BootstrapSet;
use super::role::{Flow, Next, Role, STAYS};
use super::round_trip::intake_time;
use super::rules::{Protection, Rules};
use super::{CallPurpose, Note, REMEMBERED_MAX, Timer, Tuning};
use crate::cluster::{Node, NodeId, StateId};
use crate::protocol::{Exchange, Failure};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How often a candidate stands anew without a pause.
const REPEATED_AT_ONCE: u32 = 2;

impl Role<'_, Candidacy> {
    /// Waits for votes, and goes on looking for a better candidate meanwhile.
    pub(in crate::zen) fn begin(&mut self) -> Flow {
        self.heed_bootstrap(&self.node.local.id.clone(), self.node.own_bootstrap());
        self.node.timers.set(Timer::Candidacy, self.mode.doubted_at);
        self.node.keep_searching(self.now);
        self.count_votes()
    }

    /// Stands anew if voters that are needed have promised a term that is not below the own one.
    pub(in crate::zen) fn rise_above(&mut self) -> Flow {
        let candidacy = &*self.mode;
        let can_vote = |sight: &&PeerStatus| {
            let id = &sight.node.id;
            self.node.search.backers.contains_key(id)
                && (sight.last_term() < candidacy.term || candidacy.joins.contains_key(id))
        };
        let seen = self.node.search.seen.values().map(|seen| &seen.sight);
        let able = seen.filter(can_vote).map(|sight| &sight.node).chain([&self.node.local]);
        let able: BTreeMap<NodeId, Arc<Node>> = able.map(|node| (node.id.clone(), node.clone())).collect();
        // Two that take themselves for the best would drive each other's terms up without a pause. Mostly each stood before
        // it knew what the other had just stored, and they know by now who is best.
        let pause = if candidacy.repeats < REPEATED_AT_ONCE { Duration::ZERO } else { Tuning::GRACE };
        let again = candidacy.since + pause;
        if self.node.requirement(self.node.own_bootstrap().into_iter().collect()).is_met_by(&able) {
            return STAYS;
        }
        if self.now < again {
            self.node.timers.set_earlier(Timer::Grace, again);
            return STAYS;
        }
        Flow::Break(Next::Stand { term: None, reason: "voters are in a higher term" })
    }

    pub(in crate::zen) fn on_join(&mut self, exchange: Exchange, node: &Arc<Node>, join: Join) -> Flow {
        let rules = self.node.rules;
        let candidacy = &mut *self.mode;
        let votes = join.vote && node.is_master_eligible();
        if votes && join.term != candidacy.term && rules.keep(Protection::OneTermVotes) {
            let again = Message::Joining(JoinAnswer::VoteAgain(candidacy.term));
            self.node.reply(exchange, again, self.out);
            return STAYS;
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
        self.node.reply(exchange, Message::Joining(JoinAnswer::Noted), self.out);
        if votes {
            self.fetch_newer(None);
            return self.count_votes();
        }
        STAYS
    }

    /// Takes down whom a voter expects, in the place of what it expected before: names get addresses as time passes.
    pub(in crate::zen) fn heed_bootstrap(&mut self, voter: &NodeId, set: Option<BootstrapSet>) {
        let Some(set) = set else {
            return;
        };
        self.mode.bootstrap.retain(|held, voters| {
            if *held != set {
                voters.remove(voter);
            }
            !voters.is_empty()
        });
        self.mode.bootstrap.entry(set).or_default().insert(voter.clone());
    }

    fn take_ballot(&mut self, ballot: Ballot) {
        let rules = self.node.rules;
        let candidacy = &mut *self.mode;
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
    pub(in crate::zen) fn fetch_newer(&mut self, late: Option<&NodeId>) {
        let (own, rules) = (self.node.ledger.accepted.id(), self.node.rules);
        let candidacy = &*self.mode;
        let newest = candidacy.joins.values().filter(|ballot| ballot.votes && is_newer(ballot.accepted, own, rules));
        let Some(ballot) = newest.max_by_key(|ballot| (ballot.accepted.rank(), Some(&ballot.node.id) != late)) else {
            return;
        };
        let of_voter = |purpose: &CallPurpose| matches!(purpose, CallPurpose::Fetch { from, .. } if candidacy.joins.contains_key(from));
        if self.node.calls.values().any(of_voter) || !rules.keep(Protection::FetchNewer) {
            return;
        }
        let (node, id) = (ballot.node.clone(), ballot.accepted);
        self.out.note(Note::Fetches { from: node.clone(), id });
        let message = Message::Fetch { from: self.node.sender.clone() };
        let purpose = CallPurpose::Fetch { from: node.id.clone() };
        let timeout = self.node.fd_timeout(&node.address) + intake_time(&self.node.ledger.accepted);
        self.node.call(&node.address, message, purpose, timeout, self.out);
    }

    /// One that got no further is fetched again at once, from another if there is one.
    pub(in crate::zen) fn on_fetch_failed(&mut self, from: &NodeId, why: Failure) {
        match why {
            Failure::TimedOut => self.fetch_newer(Some(from)),
            Failure::Refused | Failure::Reset | Failure::BadAnswer => self.wait_for_join(from),
        }
    }

    /// The next join of a voter asks for its state again.
    pub(in crate::zen) fn wait_for_join(&mut self, voter: &NodeId) {
        self.mode.joins.remove(voter);
    }

    /// A vote may have waited until its voter was reached.
    pub(in crate::zen) fn count_vote_of_reached(&mut self, voter: &NodeId) -> Flow {
        if self.mode.joins.contains_key(voter) { self.count_votes() } else { STAYS }
    }

    /// Counts the votes, the own one included once it is durable.
    pub(in crate::zen) fn count_votes(&mut self) -> Flow {
        let candidacy = &*self.mode;
        let durable = &self.node.ledger.durable.promise;
        let is_stored = durable.term == candidacy.term && durable.vote.as_ref() == Some(&self.node.local.id);
        if !is_stored && self.node.keeps(Protection::OwnVoteStored) {
            return STAYS;
        }
        if self.node.is_blank_among_formed() {
            return STAYS;
        }
        // A cheap bound first: with few joins there is nothing to count.
        let at_most = candidacy.joins.len() + 1 + usize::from(!self.node.keeps(Protection::WholeElections));
        if at_most * 2 <= self.node.ledger.accepted.metadata.voting.own.len() {
            return STAYS;
        }
        let (own, rules) = (self.node.ledger.accepted.id(), self.node.rules);
        let is_counted = |ballot: &Ballot| {
            let is_newer = is_newer(ballot.accepted, own, rules) && rules.keep(Protection::NewerJoins);
            ballot.votes && !is_newer && self.node.can_acknowledge(&ballot.node)
        };
        let counted = candidacy.joins.iter().filter(|(_, ballot)| is_counted(ballot));
        let mut backers: BTreeMap<NodeId, Arc<Node>> =
            counted.map(|(id, ballot)| (id.clone(), ballot.node.clone())).collect();
        backers.insert(self.node.local.id.clone(), self.node.local.clone());
        let bootstrap = if self.node.is_formed() { BTreeSet::new() } else { self.count_expected(&mut backers) };
        if !rules.keep(Protection::WholeElections) {
            self.node.count_one_more(&mut backers);
        }
        let requirement = self.node.requirement(bootstrap);
        if requirement.is_met_by(&backers) {
            let (term, votes) = (candidacy.term, backers.into_keys().collect());
            self.out.note(Note::Won { term, votes });
            return Flow::Break(Next::Lead(requirement.bootstrap));
        }
        STAYS
    }

    /// Who must take part in a first forming, as the candidate and its voters were told. The vote of one whose hosts are not
    /// among the voters counts as if it had not been given.
    fn count_expected(&self, backers: &mut BTreeMap<NodeId, Arc<Node>>) -> BTreeSet<BootstrapSet> {
        let sets = &self.mode.bootstrap;
        loop {
            let is_unmet = |set: &BootstrapSet| !set.is_met_by(backers.values());
            let in_vain = sets.iter().filter(|(set, _)| is_unmet(set)).flat_map(|(_, voters)| voters);
            let in_vain = in_vain.filter(|voter| **voter != self.node.local.id && backers.contains_key(*voter));
            let in_vain: BTreeSet<NodeId> = in_vain.cloned().collect();
            if in_vain.is_empty() {
                break;
            }
            backers.retain(|voter, _| !in_vain.contains(voter));
        }
        let counts = |voters: &BTreeSet<NodeId>| voters.iter().any(|voter| backers.contains_key(voter));
        sets.iter().filter(|(_, voters)| counts(voters)).map(|(set, _)| set.clone()).collect()
    }

    /// A candidate that does not win as long as voters wait for it lets others go first; after much longer it gives up.
    pub(in crate::zen) fn doubt_candidacy(&mut self) -> Flow {
        let candidacy = &*self.mode;
        let end = candidacy.first + self.node.tuning.candidacy_timeout();
        if self.now >= end {
            return self.end_candidacy("timed out while waiting for joins");
        }
        self.stand_back();
        self.mode.doubted_at = (self.now + self.node.tuning.vote_timeout()).min(end);
        self.node.timers.set(Timer::Candidacy, self.mode.doubted_at);
        STAYS
    }

    /// Lets others go first for a while. Two that took turns at the same pace would stand in each other's way each time.
    fn stand_back(&mut self) {
        let least = self.node.tuning.ping_timeout;
        let more = Duration::from_micros(self.node.rng.below(least.as_micros() as u64 + 1));
        self.node.set_back(self.now, &self.node.local.id.clone(), least + more);
    }

    /// It has not won: others go first.
    pub(in crate::zen) fn end_candidacy(&mut self, reason: &str) -> Flow {
        self.out.note(Note::Abandoned { term: self.mode.term, reason: reason.into() });
        self.stand_back();
        self.node.warn_masterless(self.now, Stance::Stands(self.mode), self.out);
        Next::find("the candidacy ended")
    }
}

/// Whether a state is newer than another one: by term first, then by version.
fn is_newer(one: StateId, other: StateId, rules: Rules) -> bool {
    if rules.keep(Protection::TermBeforeVersion) { one.rank() > other.rank() } else { one.version > other.version }
}
