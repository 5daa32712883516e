//! What a crowd is spared that a small cluster bears, and how it finds a master all the same.
//!
//! Only the first hosts look for everybody, and everybody only for them; rounds that nobody answers move apart. Who the
//! first hosts are is kept in `search`; pings are sent in `round`. Elasticsearch has nothing of the kind: there everybody
//! pings everybody.

use super::Seeking;
use crate::cluster::Address;
use crate::zen::elect::Candidate;
use crate::zen::mode::Stance;
use crate::zen::node::NodeState;
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::search::{Search, Target, sees};
use crate::zen::{Timer, Tuning};
use std::time::Duration;

impl Role<'_, Seeking<'_>> {
    /// In a crowd the next host takes the place of a first one that refused: all see that alike.
    pub(super) fn replace_refusing(&mut self, address: &Address) {
        let Search { targets, front, reach, .. } = &self.node.search;
        let is_among = reach.as_ref().or(front.as_ref()).is_some_and(|last| address <= last);
        if !is_among || targets.get(address) != Some(&Target::Refused) {
            return;
        }
        self.node.find_front();
        let spared = self.node.search.targets.iter().filter(|(_, target)| **target == Target::Spared);
        let spared: Vec<Address> = spared.map(|(address, _)| address.clone()).collect();
        for address in spared {
            self.ping_if_concerned(address);
        }
    }

    /// A crowd that does not answer is too busy to, most likely with the pings of this very crowd; each node that pinged
    /// again at once would keep it so. So the rounds of its nodes move apart until they are answered.
    pub(super) fn start_round_or_rest(&mut self) -> Flow {
        self.node.search.widen();
        let Search { targets, spared, waiting, silent, unheard, .. } = &mut self.node.search;
        let pinged = targets.len() - *spared;
        if pinged <= self.node.tuning.crowd || (*waiting + *silent) * 2 <= pinged {
            *unheard = 0;
            return self.start_round();
        }
        *unheard = (*unheard + 1).min(Tuning::CROWD_REST_MAX.ilog2());
        let longest = self.node.tuning.ping_timeout * (1 << *unheard);
        let rest = Duration::from_micros(self.node.rng.below(longest.as_micros() as u64 + 1));
        self.node.search.rests = true;
        self.node.timers.set(Timer::Round, self.now + rest);
        STAYS
    }
}

impl NodeState {
    /// Whether this node is no choice itself, being none of the first hosts while one of these is.
    pub(in crate::zen) fn leaves_it_to_first(&self, stance: Stance<'_>) -> bool {
        let Some(last) = self.search.front.as_ref().filter(|_| matches!(stance, Stance::Finds)) else {
            return false;
        };
        let mut first = self.search.seen.range::<Address, _>(..=last).map(|(_, seen)| seen);
        self.local.address > *last && first.any(|seen| self.counts(seen) && sees(&seen.sight))
    }

    /// Whether there are more hosts than each can look for.
    pub(in crate::zen) fn is_crowd(&self) -> bool {
        self.search.targets.len() > self.tuning.crowd
    }

    /// Whether every host is a concern of this node.
    pub(super) fn looks_for_all(&self) -> bool {
        self.search.reach.is_none() || self.local.is_master_eligible() && self.search.is_reached(&self.local.address)
    }

    /// Finds out who the first hosts are, when there are new ones.
    pub(super) fn choose_front(&mut self) {
        if self.is_crowd() && !self.is_forming_of_all() {
            let unable = self.ledger.accepted.nodes.iter().filter(|node| !node.is_master_eligible());
            self.search.unable = unable.map(|node| node.address.clone()).collect();
            self.find_front();
        }
    }

    fn find_front(&mut self) {
        let own = self.local.is_master_eligible().then_some(&self.local.address);
        self.search.find_front(self.tuning.front(), own);
    }

    /// In a crowd all look for the first hosts only, so that the others are no choice while one of these is, unless they
    /// stand already: not all see alike whether there is a crowd.
    pub(super) fn stand_back(&self, candidates: &mut [Candidate], stance: Stance<'_>) {
        let is_first = |candidate: &Candidate| self.search.is_first(&candidate.node.address);
        if candidates.iter().any(|candidate| candidate.sees_quorum && is_first(candidate)) {
            let may_lead = |candidate: &Candidate| is_first(candidate) || self.stands(candidate, stance);
            candidates.iter_mut().for_each(|candidate| candidate.sees_quorum &= may_lead(candidate));
        }
    }

    fn stands(&self, candidate: &Candidate, stance: Stance<'_>) -> bool {
        let seen = self.search.seen.get(&candidate.node.address);
        let is_seen = seen.is_some_and(|seen| seen.sight.stands.is_some());
        is_seen || candidate.node.id == self.local.id && stance.stands_in().is_some()
    }
}
