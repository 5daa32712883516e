//! The choice that ends a ping round: when it is made, and what is done with it.
//!
//! What the answers mean is decided by the pure functions of `elect`, what follows from the choice in `join`. Mirrors
//! `ZenDiscovery.findMaster` (6.8), with rounds that end as soon as the answers suffice.

use super::elect::{self, Candidate, Choice, Seen};
use super::message::{PeerStatus, Sender};
use super::quorum::{BootstrapSet, Requirement};
use super::rules::Protection;
use super::search::Target;
use super::{Bootstrap, Mode, NodeState, Timer, Tuning, Write, Zen};
use crate::cluster::{Address, Node, NodeId, StateId, Term, VotingSets};
use crate::protocol::{Effects, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

/// So many can leave out a node that cannot be master before there is a cluster.
const LEFT_OUT_MAX: usize = 64;

impl Zen {
    pub(super) fn end_round(&mut self, now: Time, out: &mut Effects<Zen>) {
        if !self.is_searching() {
            return;
        }
        if mem::take(&mut self.node.search.rests) {
            return self.start_round(now, out);
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
        match self.choose() {
            Some(choice) if now >= self.node.search.not_before => self.act(now, choice, out),
            Some(_) => {}
            None => {
                self.node.search.time_out();
                self.warn_masterless(now, out);
            }
        }
        if self.is_searching() && !self.node.timers.is_set(Timer::Round) {
            self.start_round_or_rest(now, out);
        }
    }

    /// The names of the nodes that may be elected at present, itself included.
    pub fn candidate_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.candidates().iter().map(|found| found.node.name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// The candidates of a round, and what is needed, as Elasticsearch puts it.
    pub(super) fn found_and_needed(&self) -> (Vec<String>, String) {
        let found = self.candidate_names();
        let sets = &self.node.requirement(BTreeSet::new()).sets;
        let mut needed: Vec<String> = Vec::new();
        if !sets.own.is_empty() {
            needed.push(format!("a majority of {sets}"));
        }
        if self.node.is_premature() {
            let is_silent = |target: &Target| matches!(target, Target::Waiting | Target::Silent);
            let silent = self.node.search.targets.iter().filter(|(_, target)| is_silent(target));
            let silent: Vec<&str> = silent.map(|(address, _)| address.as_str()).collect();
            needed.push(format!("an answer or a refusal of the hosts {{{}}}", silent.join(",")));
        } else {
            needed.extend(self.node.own_bootstrap().map(|bootstrap| bootstrap.to_string()));
        }
        if self.node.tuning.minimum() > 1 {
            needed.push(self.node.tuning.minimum().to_string());
        }
        (found, needed.join(" and "))
    }

    /// Acts on the answers if they suffice.
    pub(super) fn consider(&mut self, now: Time, out: &mut Effects<Zen>) {
        if !self.is_searching() {
            return;
        }
        let is_everybody_asked = self.node.search.is_complete() && self.node.search.spared == 0;
        if self.node.leaving.is_some() && is_everybody_asked && self.node.search.seen.is_empty() {
            // Nobody is left who could need its vote.
            self.node.has_left(out);
        }
        self.node.update_quorum();
        if !self.node.is_worth_weighing(now) {
            // The timer may have run out for the pause after a failed attempt, which is over sooner.
            if let Some(since) = self.node.search.possible.filter(|_| self.node.needs_no_whole_round()) {
                self.node.timers.set_earlier(Timer::Grace, (since + Tuning::GRACE).max(self.node.search.not_before));
            }
            return;
        }
        let Some(choice) = self.choose() else {
            self.node.search.possible = None;
            return;
        };
        let since = *self.node.search.possible.get_or_insert(now);
        let is_complete =
            self.node.search.is_complete() && self.is_agreed(&choice) || self.node.has_candidate_waited(&choice);
        if now < self.node.search.not_before {
            self.node.timers.set(Timer::Grace, self.node.search.not_before);
        } else if is_complete || (self.node.needs_no_whole_round() && now >= since + Tuning::GRACE) {
            self.act(now, choice, out);
        } else if self.node.needs_no_whole_round() {
            self.node.timers.set(Timer::Grace, since + Tuning::GRACE);
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
            Choice::Elect(_) => self.candidates().iter().all(|candidate| candidate.sees_quorum),
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        let seen = self.node.search.seen.values().filter(|seen| self.node.counts(seen));
        let mut candidates: Vec<Candidate> = seen.filter_map(|seen| Candidate::of(&seen.sight)).collect();
        if self.node.may_lead() {
            candidates.push(self.own_candidate());
        }
        self.node.stand_back(&mut candidates);
        if !self.node.keeps(Protection::SeenQuorum) {
            candidates.iter_mut().for_each(|candidate| candidate.sees_quorum = true);
        }
        if !self.node.keeps(Protection::TermBeforeVersion) {
            candidates.iter_mut().for_each(|candidate| candidate.accepted.0 = Term::ZERO);
        }
        candidates
    }

    pub(super) fn own_candidate(&self) -> Candidate {
        Candidate {
            node: self.node.local.clone(),
            accepted: self.node.ledger.durable_id().rank(),
            sees_quorum: self.node.claims_quorum(self.node.now, self.mode.stance()),
            unwell: self.node.is_unwell(self.node.now),
        }
    }

    pub(super) fn choose(&self) -> Option<Choice> {
        let seen = self.node.search.seen.values().filter(|seen| self.node.counts(seen));
        if let Some(master) = elect::tie_break(elect::active_masters(seen, &self.node.local, &self.node.lost)) {
            return Some(Choice::Join(master));
        }
        if self.node.is_premature() {
            return None;
        }
        let candidates = self.candidates();
        // Who looks for a few leaves it to these to count the others.
        let minimum = if self.node.looks_for_all() { self.node.tuning.minimum() } else { 0 };
        let best = elect::best_candidate(&candidates, minimum);
        best.map(|best| Choice::Elect(best.node.clone()))
    }

    fn act(&mut self, now: Time, choice: Choice, out: &mut Effects<Zen>) {
        match (choice, &self.mode) {
            (Choice::Join(master), _) => self.join_master(now, master, out),
            (Choice::Elect(node), Mode::Electing(_)) if node.same_process(&self.node.local) => {
                self.rise_above(now, out)
            }
            (Choice::Elect(node), Mode::Electing(_)) => {
                let mut found = self.candidates().into_iter();
                let is_better = found.any(|candidate| candidate.node.same_process(&node) && self.yields_to(&candidate));
                if is_better && self.node.keeps(Protection::Yielding) {
                    self.vote_for(now, node, out);
                }
            }
            (Choice::Elect(node), _) if node.same_process(&self.node.local) => {
                self.stand(now, None, "best candidate", out)
            }
            (Choice::Elect(node), _) => self.vote_for(now, node, out),
        }
    }

    /// Whether a candidate gives up for another one. One that sees no quorum any more can win nothing, and the other one
    /// may need its vote.
    fn yields_to(&self, other: &Candidate) -> bool {
        let is_blind = !self.node.search.sees_quorum && self.node.keeps(Protection::BlindYielding);
        is_blind || other.rank() < self.own_candidate().rank()
    }

    /// To a candidate only a master or a better candidate is news; to those who look for one, everything.
    pub(super) fn is_news(&self, sight: &PeerStatus) -> bool {
        let Mode::Electing(candidacy) = &self.mode else {
            return true;
        };
        let is_better = || Candidate::of(sight).is_some_and(|found| self.yields_to(&found));
        let is_above = sight.last_term() >= candidacy.term && sight.masterless && sight.node.is_master_eligible();
        sight.master.is_some() || sight.sees_quorum && is_better() || is_above
    }
}

impl NodeState {
    /// Whether the silent are not waited for: only the first forming needs everybody, and who knows of a master forms nothing.
    fn needs_no_whole_round(&self) -> bool {
        self.is_formed() || !self.search.naming.is_empty()
    }

    /// Weighing the choice looks at everybody, and in a large cluster most answers change nothing.
    fn is_worth_weighing(&mut self, now: Time) -> bool {
        let needs_no_whole_round = self.needs_no_whole_round();
        let search = &mut self.search;
        let nobody_knows = search.naming.is_empty() && search.seeing == 0 && !search.sees_quorum;
        if nobody_knows {
            search.possible = None;
            return false;
        }
        let Some(since) = search.possible else {
            return true;
        };
        let is_over = needs_no_whole_round && now >= since + Tuning::GRACE;
        is_over || search.standing > 0 || search.is_complete() && (!search.naming.is_empty() || search.all_see())
    }

    /// Whether others may have formed a cluster without this node, since it told them that it cannot be master. It forms one
    /// only with all of its hosts then, and with all of those.
    pub(super) fn left_out_by(&self) -> Option<&BTreeSet<Arc<str>>> {
        let told = &self.ledger.promise.left_out;
        (!told.is_empty() && !self.is_formed() && self.keeps(Protection::RolesOnDisk)).then_some(told)
    }

    /// Remembers that it tells a node that may form a cluster that it cannot be master. The next one is told of those, who
    /// may have formed a cluster by then; and nobody leaves a node out that does not remember it.
    pub(super) fn note_left_out_by(&mut self, asker: &Sender, out: &mut Effects<Zen>) {
        let may_form = asker.cluster_uuid.is_none() && asker.node.is_master_eligible();
        let is_able = self.local.is_master_eligible() || self.is_formed();
        let (known, asker) = (&self.ledger.promise.left_out, Arc::from(asker.node.address.as_str()));
        if may_form && !is_able && known.len() < LEFT_OUT_MAX && !known.contains(&asker) {
            let mut promise = self.ledger.promise.clone();
            promise.left_out.insert(asker);
            self.store(Write::Promise(promise), out);
        }
    }

    /// Whether the candidate stands already: it has waited for those who were silent.
    fn has_candidate_waited(&self, choice: &Choice) -> bool {
        match choice {
            Choice::Join(_) => false,
            Choice::Elect(node) => self.stands_for(node).is_some() && self.own_bootstrap().is_none_or(|set| !set.all),
        }
    }

    fn update_quorum(&mut self) {
        if self.search.sees_quorum || !self.may_lead() {
            return;
        }
        // A cheap bound first: in a large cluster the first half of the answers cannot suffice.
        let hosts = match &self.config.bootstrap {
            Bootstrap::Hosts(hosts) if !self.is_formed() => {
                let hosts = self.search.initial.as_ref().map_or(hosts.len(), |initial| initial.members.len());
                hosts.saturating_sub(self.search.seen.len() - self.search.backers.len())
            }
            Bootstrap::Hosts(_) | Bootstrap::Found => 0,
        };
        let needed = self.ledger.accepted.metadata.voting.own.len().max(hosts);
        if (self.search.backers.len() + 1) * 2 <= needed {
            return;
        }
        let requirement = self.requirement(self.own_bootstrap().into_iter().collect());
        let mut backers = self.search.backers.clone();
        backers.insert(self.local.id.clone(), self.local.clone());
        self.search.sees_quorum = requirement.is_met_by(&backers);
    }

    /// What an election or a commit on the accepted state must be backed by.
    pub(super) fn requirement(&self, mut bootstrap: BTreeSet<BootstrapSet>) -> Requirement {
        let mut sets = self.accepted_sets();
        if !self.keeps(Protection::OldMajority) {
            sets.committed = sets.own.clone();
        }
        if !self.keeps(Protection::NewMajority) {
            sets.own = sets.committed.clone();
        }
        if !self.keeps(Protection::CarriedSets) {
            sets.committed = self.applied.metadata.voting.own.clone();
        }
        if !self.keeps(Protection::BootstrapCounted) {
            bootstrap.clear();
        }
        let minimum = if self.keeps(Protection::MinimumCounted) { self.tuning.minimum() } else { 0 };
        Requirement { sets, minimum, bootstrap }
    }

    /// The two voting sets that the accepted state stands for.
    pub(super) fn accepted_sets(&self) -> VotingSets {
        let voting = &self.ledger.accepted.metadata.voting;
        if self.ledger.is_settled() {
            VotingSets { committed: voting.own.clone(), own: voting.own.clone() }
        } else {
            voting.clone()
        }
    }

    /// Counts a node that did not answer, where half of the votes is taken for more than half.
    pub(super) fn count_one_more(&self, backers: &mut BTreeMap<NodeId, Arc<Node>>) {
        let mut known = self.ledger.accepted.nodes.eligible().chain(self.search.backers.values());
        let absent = known.find(|node| !backers.contains_key(&node.id)).cloned();
        backers.extend(absent.map(|node| (node.id.clone(), node)));
    }

    /// Who must take part in the first forming, as this node was told; none once it knows of a committed state.
    pub(super) fn own_bootstrap(&self) -> Option<BootstrapSet> {
        if self.is_formed() {
            return None;
        }
        let own: Arc<str> = self.local.address.as_str().into();
        Some(match &self.config.bootstrap {
            Bootstrap::Hosts(hosts) => {
                let found = self.search.initial.clone();
                let mut set = found.unwrap_or_else(|| BootstrapSet::majority_of(hosts.clone()));
                if !set.has(&self.local) {
                    set.members.insert(own.clone());
                }
                self.strike(&mut set, &own);
                set
            }
            Bootstrap::Found => {
                let found = self.search.backers.values().map(|node| Arc::from(node.address.as_str()));
                BootstrapSet { all: true, ..BootstrapSet::majority_of(found.chain([own]).collect()) }
            }
        })
    }

    /// Strikes those hosts out that cannot be master, and remember that they said so, or that others left out. Who left them
    /// out as well and is none of the hosts may have formed a cluster, and must take part.
    fn strike(&self, set: &mut BootstrapSet, own: &Arc<str>) {
        set.all |= self.left_out_by().is_some();
        let asks = self.keeps(Protection::RolesOnDisk) && self.local.is_master_eligible();
        let remembers = |sight: &PeerStatus| !asks || sight.left_out_by.contains(own);
        let is_left_out = |sight: &PeerStatus| match sight.node.is_master_eligible() {
            true => !sight.left_out_by.is_empty() && !set.all,
            false => remembers(sight),
        };
        let seen = || self.search.seen.values().map(|seen| &seen.sight);
        let (mut struck, mut leavers) = (Vec::new(), BTreeSet::new());
        for sight in seen().filter(|sight| set.has(&sight.node) && is_left_out(sight)) {
            struck.push(sight.node.clone());
            leavers.extend(sight.left_out_by.iter().cloned());
        }
        leavers.extend(self.left_out_by().into_iter().flatten().cloned());
        struck.extend((!self.local.is_master_eligible()).then(|| self.local.clone()));
        struck.iter().for_each(|other| set.leave_out(other));
        let has_formed_nothing =
            |sight: &&PeerStatus| !sight.node.is_master_eligible() && sight.accepted == StateId::NONE;
        for sight in seen().filter(has_formed_nothing) {
            leavers.remove(sight.node.address.as_str());
        }
        leavers.retain(|address| address != own && !set.has_address(address));
        set.besides = leavers;
    }

    pub(super) fn counts(&self, seen: &Seen) -> bool {
        elect::counts(&seen.sight, self.tuning.ignore_non_master_pings)
    }

    /// Whether somebody might listen at a silent port, and no list of hosts says that it does not matter.
    pub(super) fn is_premature(&self) -> bool {
        self.is_forming_of_all() && !self.search.is_complete()
    }

    /// Whether a cluster is to be formed of whoever is found, so that nobody may be left out.
    pub(super) fn is_forming_of_all(&self) -> bool {
        self.config.bootstrap == Bootstrap::Found && !self.is_formed()
    }

    /// Whether a quorum is seen must be judged anew: another state was accepted.
    pub(super) fn search_again_for_quorum(&mut self) {
        self.search.sees_quorum = false;
        self.update_quorum();
    }

    /// The highest term that anybody was seen in.
    pub(super) fn highest_seen(&self) -> Term {
        self.search.seen.values().map(|seen| seen.sight.last_term()).max().unwrap_or(Term::ZERO)
    }

    /// A candidate goes on looking, beginning with what it knows.
    pub(super) fn keep_searching(&mut self, now: Time) {
        self.timers.set(Timer::Round, now + self.tuning.ping_timeout);
    }

    /// Whether this node never had a state, being new or wiped, and saw one that knows the cluster: it cannot form
    /// another, and leads only with a state that it fetched.
    pub(super) fn is_blank_among_formed(&self) -> bool {
        !self.is_formed()
            && self.ledger.accepted.id() == StateId::NONE
            && !self.search.formed.is_empty()
            && self.keeps(Protection::BlankForms)
    }
}
