//! A node that looks for a master, standing as a candidate or not: when a choice is made, and what is done with it.
//!
//! Whom to follow is chosen in `choose` and by the pure functions of `elect`; who is asked stands in `round`, what is known of
//! the others in `search`, what very large clusters do otherwise in `large_cluster`. Mirrors `ZenDiscovery.findMaster` (6.8),
//! with rounds that end as soon as the answers suffice.

mod choose;
mod large_cluster;
mod round;

use super::Timer;
use super::elect::{Candidate, Choice};
use super::message::PeerStatus;
use super::mode::{Candidacy, Stance};
use super::role::{Flow, Next, Role, STAYS};
use super::rules::Protection;
use crate::cluster::Address;
use std::mem;

/// What a node keeps that looks for a master: nothing but its candidacy, if it stands.
pub(super) struct Seeking<'a> {
    pub(super) candidacy: Option<&'a mut Candidacy>,
}

impl Seeking<'_> {
    /// A look at its mode.
    fn stance(&self) -> Stance<'_> {
        self.candidacy.as_deref().map_or(Stance::Finds, Stance::Stands)
    }
}

impl Role<'_, Seeking<'_>> {
    pub(in crate::zen) fn end_round(&mut self) -> Flow {
        if mem::take(&mut self.node.search.rests) {
            return self.start_round();
        }
        let silent: Vec<Address> = {
            let began = self.node.search.since;
            let stale = self.node.search.seen.iter().filter(|(_, seen)| seen.asked < began);
            stale.map(|(address, _)| address.clone()).collect()
        };
        for address in silent {
            self.node.search.forget(&address);
        }
        self.node.update_quorum();
        match self.node.choose(self.mode.stance()) {
            Some(choice) if self.now >= self.node.search.not_before => self.act(choice)?,
            Some(_) => {}
            None => {
                self.node.search.time_out();
                self.node.warn_masterless(self.now, self.mode.stance(), self.out);
            }
        }
        if self.node.timers.is_set(Timer::Round) { STAYS } else { self.start_round_or_rest() }
    }

    /// Acts on the answers if they suffice.
    pub(in crate::zen) fn consider(&mut self) -> Flow {
        if self.node.leaving.is_some() && self.is_no_vote_needed() {
            if self.node.search.seen.is_empty() {
                self.node.has_left(self.out);
            } else {
                self.node.leave_without_master(self.now, self.out);
            }
        }
        self.node.update_quorum();
        if !self.node.is_worth_weighing(self.now) {
            // The timer may have run out for the pause after a failed attempt, which is over sooner.
            if let Some(since) = self.node.search.possible {
                self.node
                    .timers
                    .set_earlier(Timer::Grace, (since + self.node.grace()).max(self.node.search.not_before));
            }
            return STAYS;
        }
        let Some(choice) = self.node.choose(self.mode.stance()) else {
            self.node.search.possible = None;
            return STAYS;
        };
        let since = *self.node.search.possible.get_or_insert(self.now);
        let is_complete =
            self.node.search.is_complete() && self.is_agreed(&choice) || self.node.has_candidate_waited(&choice);
        let from = if is_complete { self.now } else { since + self.node.grace() }.max(self.node.search.not_before);
        if self.now >= from {
            return self.act(choice);
        }
        self.node.timers.set(Timer::Grace, from);
        STAYS
    }

    /// Whether nobody who answers, of all that were asked, can lead with the vote of this node.
    fn is_no_vote_needed(&self) -> bool {
        let may_lead = |sight: &PeerStatus| sight.node.is_master_eligible() && !sight.leaves;
        let search = &self.node.search;
        search.is_complete() && search.spared == 0 && !search.seen.values().any(|seen| may_lead(&seen.sight))
    }

    /// Does what follows from a choice.
    fn act(&mut self, choice: Choice) -> Flow {
        let is_standing = self.mode.candidacy.is_some();
        match choice {
            Choice::Join(master) => self.node.join(self.now, master),
            Choice::Elect(node) if node.same_process(&self.node.local) => {
                let stand = Flow::Break(Next::Stand { term: None, reason: "best candidate" });
                self.as_candidate(stand, |candidate| candidate.rise_above())
            }
            Choice::Elect(node) if is_standing => {
                let mut found = self.node.candidates(self.mode.stance()).into_iter();
                let is_better = found.any(|candidate| candidate.node.same_process(&node) && self.yields_to(&candidate));
                if is_better && self.node.keeps(Protection::Yielding) {
                    self.node.vote_for(self.now, node)
                } else {
                    STAYS
                }
            }
            Choice::Elect(node) => self.node.vote_for(self.now, node),
        }
    }

    /// Lets the candidate act that this node is, or says what comes of it that it is none.
    fn as_candidate(&mut self, otherwise: Flow, act: impl FnOnce(&mut Role<'_, Candidacy>) -> Flow) -> Flow {
        match &mut self.mode.candidacy {
            Some(mode) => act(&mut Role { mode, node: self.node, now: self.now, out: self.out }),
            None => otherwise,
        }
    }

    /// Whether nobody who answered could still change the choice by seeing a quorum a moment later.
    fn is_agreed(&self, choice: &Choice) -> bool {
        match choice {
            Choice::Join(_) => true,
            Choice::Elect(_) if self.node.search.front.is_some() => {
                let is_about_to = self.node.search.is_first(&self.node.local.address) && self.node.may_lead();
                (self.node.search.sees_quorum || !is_about_to) && self.node.search.all_see()
            }
            Choice::Elect(_) => self.node.candidates(self.mode.stance()).iter().all(|candidate| candidate.sees_quorum),
        }
    }

    /// Whether a candidate gives up for another one. One that sees no quorum any more can win nothing, and the other one
    /// may need its vote.
    fn yields_to(&self, other: &Candidate) -> bool {
        let is_blind = !self.node.search.sees_quorum && self.node.keeps(Protection::BlindYielding);
        is_blind || other.rank() < self.node.own_candidate(self.mode.stance()).rank()
    }

    /// To a candidate only a master or a better candidate is news; to those who look for one, everything.
    pub(in crate::zen) fn is_news(&self, sight: &PeerStatus) -> bool {
        let Some(candidacy) = &self.mode.candidacy else {
            return true;
        };
        let is_better = || Candidate::of(sight).is_some_and(|found| self.yields_to(&found));
        let is_above = sight.last_term() >= candidacy.term && sight.masterless && sight.node.is_master_eligible();
        sight.master.is_some() || sight.sees_quorum && is_better() || is_above
    }
}
