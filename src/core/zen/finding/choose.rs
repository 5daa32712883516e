//! The choice that ends a ping round: among whom, and whether the answers suffice to make it.
//!
//! What the answers mean is decided by the pure functions of `elect`. Mirrors `ZenDiscovery.findMaster` (6.8).

use crate::cluster::Term;
use crate::protocol::Time;
use crate::zen::elect::{self, Candidate, Choice, Seen};
use crate::zen::mode::Stance;
use crate::zen::node::NodeState;
use crate::zen::rules::Protection;
use crate::zen::search::Target;
use crate::zen::{Bootstrap, Timer, Tuning};
use std::collections::BTreeSet;
use std::time::Duration;

impl NodeState {
    /// The names of the nodes that may be elected at present, itself included.
    pub(in crate::zen) fn candidate_names(&self, stance: Stance<'_>) -> Vec<String> {
        let mut names: Vec<String> = self.candidates(stance).iter().map(|found| found.node.name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// The candidates of a round, and what is needed, as Elasticsearch puts it.
    pub(in crate::zen) fn found_and_needed(&self, stance: Stance<'_>) -> (Vec<String>, String) {
        let found = self.candidate_names(stance);
        let sets = &self.requirement(BTreeSet::new()).sets;
        let mut needed: Vec<String> = Vec::new();
        if !sets.own.is_empty() {
            needed.push(format!("a majority of {sets}"));
        }
        if self.is_premature() {
            let is_silent = |target: &Target| matches!(target, Target::Waiting | Target::Silent);
            let silent = self.search.targets.iter().filter(|(_, target)| is_silent(target));
            let silent: Vec<&str> = silent.map(|(address, _)| address.as_str()).collect();
            needed.push(format!("an answer or a refusal of the hosts {{{}}}", silent.join(",")));
        } else {
            needed.extend(self.own_bootstrap().map(|bootstrap| bootstrap.to_string()));
        }
        if self.tuning.minimum() > 1 {
            needed.push(self.tuning.minimum().to_string());
        }
        (found, needed.join(" and "))
    }

    pub(super) fn candidates(&self, stance: Stance<'_>) -> Vec<Candidate> {
        let seen = self.search.seen.values().filter(|seen| self.counts(seen));
        let mut candidates: Vec<Candidate> = seen.filter_map(|seen| Candidate::of(&seen.sight)).collect();
        if self.may_lead() {
            candidates.push(self.own_candidate(stance));
        }
        self.stand_back(&mut candidates, stance);
        if !self.keeps(Protection::SeenQuorum) {
            candidates.iter_mut().for_each(|candidate| candidate.sees_quorum = true);
        }
        if !self.keeps(Protection::TermBeforeVersion) {
            candidates.iter_mut().for_each(|candidate| candidate.accepted.0 = Term::ZERO);
        }
        candidates
    }

    pub(in crate::zen) fn own_candidate(&self, stance: Stance<'_>) -> Candidate {
        Candidate {
            node: self.local.clone(),
            accepted: self.ledger.durable_id().rank(),
            sees_quorum: self.claims_quorum(self.now, stance),
            unwell: self.is_unwell(self.now),
        }
    }

    pub(in crate::zen) fn choose(&self, stance: Stance<'_>) -> Option<Choice> {
        let seen = self.search.seen.values().filter(|seen| self.counts(seen));
        if let Some(master) = elect::tie_break(elect::active_masters(seen, &self.local, &self.lost)) {
            return Some(Choice::Join(master));
        }
        if self.is_premature() {
            return None;
        }
        let candidates = self.candidates(stance);
        // Who looks for a few leaves it to these to count the others.
        let minimum = if self.looks_for_all() { self.tuning.minimum() } else { 0 };
        let best = elect::best_candidate(&candidates, minimum);
        best.map(|best| Choice::Elect(best.node.clone()))
    }

    /// How long silent hosts are waited for once a choice is possible. A first forming waits longer: one of them may know a
    /// cluster, or be told of this one too late to be in its first state.
    pub(super) fn grace(&self) -> Duration {
        let forms = !self.is_formed() && self.search.naming.is_empty();
        if forms { self.tuning.ping_timeout / 2 } else { Tuning::GRACE }
    }

    /// Weighing the choice looks at everybody, and in a large cluster most answers change nothing.
    pub(super) fn is_worth_weighing(&mut self, now: Time) -> bool {
        let grace = self.grace();
        let search = &mut self.search;
        let nobody_knows = search.naming.is_empty() && search.seeing == 0 && !search.sees_quorum;
        if nobody_knows {
            search.possible = None;
            return false;
        }
        let Some(since) = search.possible else {
            return true;
        };
        now >= since + grace
            || search.standing > 0
            || search.is_complete() && (!search.naming.is_empty() || search.all_see())
    }

    /// Whether the candidate stands already: it has waited for those who were silent.
    pub(super) fn has_candidate_waited(&self, choice: &Choice) -> bool {
        match choice {
            Choice::Join(_) => false,
            Choice::Elect(node) => self.stands_for(node).is_some() && self.own_bootstrap().is_none_or(|set| !set.all),
        }
    }

    pub(super) fn update_quorum(&mut self) {
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
        let majority = self.ledger.accepted.metadata.voting.own.len().max(hosts) / 2 + 1;
        if self.search.backers.len() + 1 < majority.max(self.minimum()) {
            return;
        }
        let requirement = self.requirement(self.own_bootstrap().into_iter().collect());
        let mut backers = self.search.backers.clone();
        backers.insert(self.local.id.clone(), self.local.clone());
        self.search.sees_quorum = requirement.is_met_by(&backers);
    }

    pub(super) fn counts(&self, seen: &Seen) -> bool {
        elect::counts(&seen.sight, self.tuning.ignore_non_master_pings)
    }

    /// Whether a quorum is seen must be judged anew: another state was accepted.
    pub(in crate::zen) fn search_again_for_quorum(&mut self) {
        self.search.sees_quorum = false;
        self.update_quorum();
    }

    /// The highest term that anybody was seen in.
    pub(in crate::zen) fn highest_seen(&self) -> Term {
        self.search.seen.values().map(|seen| seen.sight.last_term()).max().unwrap_or(Term::ZERO)
    }

    /// A candidate goes on looking, beginning with what it knows. One that stands again and again would else go by what it
    /// saw in the round that it stood in first.
    pub(in crate::zen) fn keep_searching(&mut self, now: Time) {
        let is_over = now >= self.search.since + self.tuning.ping_timeout;
        self.timers.set(Timer::Round, if is_over { now } else { now + self.tuning.ping_timeout });
    }
}
