//! S6: a restart forgets no promise, and no node votes twice in a term.
//!
//! A promise counts from the moment in which another node could hear of it, in a report or in a join, and must be on its
//! node's disk by then.

use super::broken;
use crate::cluster::{NodeId, StateId, Term};
use crate::sim::watch::Violation;
use crate::zen::message::Message;
use crate::zen::{Memory, Promise, Zen};
use std::collections::BTreeMap;

/// What each node, by its id, has told others.
#[derive(Clone, Debug, Default, Hash)]
pub struct Promises {
    ids: BTreeMap<usize, NodeId>,
    terms: BTreeMap<NodeId, Term>,
    accepted: BTreeMap<NodeId, StateId>,
    votes: BTreeMap<(NodeId, Term), NodeId>,
    /// What is on each disk.
    disks: BTreeMap<usize, (Promise, StateId)>,
}

const FORGETS: &str = "S6 a restart forgets no promise";
const ONE_VOTE: &str = "S6 one vote per term";
const ON_DISK: &str = "S6 a promise is on disk before it is told";

impl Promises {
    pub(super) fn booted(&mut self, node: usize, zen: &Zen) -> Result<(), Violation> {
        let ledger = zen.ledger();
        self.starts(node, zen.local().id.clone(), (ledger.promise.term, ledger.accepted.id()))
    }

    /// A process starts, and takes up this term and this state of its disk.
    fn starts(&mut self, node: usize, id: NodeId, taken: (Term, StateId)) -> Result<(), Violation> {
        let term = self.terms.get(&id).copied().unwrap_or_default();
        let accepted = self.accepted.get(&id).copied().unwrap_or(StateId::NONE);
        let (promise, stored) = self.disks.get(&node).cloned().unwrap_or_default();
        let (now, has) = (promise.term.min(taken.0), stored.min(taken.1));
        if now < term {
            return broken(FORGETS, format!("{id} promised term {term} and is in {now}"));
        }
        if has.rank() < accepted.rank() {
            return broken(FORGETS, format!("{id} accepted {accepted} and has {has}"));
        }
        self.ids.insert(node, id);
        Ok(())
    }

    pub(super) fn synced(&mut self, node: usize, disk: &Memory) {
        let accepted = disk.accepted.as_ref().map_or(StateId::NONE, |state| state.id());
        self.disks.insert(node, (disk.promise.clone(), accepted));
    }

    pub(super) fn sent(&mut self, from: usize, message: &Message) -> Result<(), Violation> {
        let Some(id) = self.ids.get(&from).cloned() else {
            return Ok(());
        };
        // A vote goes to its candidate as a join; every report names the vote of its term.
        if let Message::Report(report) = message {
            self.promise(from, &id, report.term, report.accepted)?;
            report.vote.as_ref().map_or(Ok(()), |vote| self.vote(from, id, report.term, vote.clone()))
        } else if let Message::Join { join, .. } = message
            && join.vote
        {
            self.promise(from, &id, join.term, join.accepted)?;
            self.vote(from, id, join.term, join.to.clone())
        } else {
            Ok(())
        }
    }

    fn promise(&mut self, node: usize, id: &NodeId, term: Term, accepted: StateId) -> Result<(), Violation> {
        let known = self.terms.entry(id.clone()).or_default();
        *known = term.max(*known);
        let known = self.accepted.entry(id.clone()).or_insert(StateId::NONE);
        *known = accepted.max(*known);
        let (promise, stored) = self.disks.get(&node).cloned().unwrap_or_default();
        if promise.term < term || stored.rank() < accepted.rank() {
            let told = format!("{id} tells of term {term} and {accepted}");
            return broken(ON_DISK, format!("{told}, and has term {} and {stored} on its disk", promise.term));
        }
        Ok(())
    }

    fn vote(&mut self, node: usize, id: NodeId, term: Term, vote: NodeId) -> Result<(), Violation> {
        let stored = self.disks.get(&node).map(|(promise, _)| promise);
        if stored.is_none_or(|promise| promise.term == term && promise.vote.as_ref() != Some(&vote)) {
            return broken(ON_DISK, format!("{id} tells of its vote for {vote} in term {term}, and has {stored:?}"));
        }
        let known = self.votes.entry((id.clone(), term)).or_insert_with(|| vote.clone());
        if *known == vote {
            return Ok(());
        }
        broken(ONE_VOTE, format!("{id} voted for {known} and for {vote} in term {term}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{disk, rule, sender, state, term};
    use super::*;
    use crate::cluster::{ClusterState, EphemeralId};
    use crate::zen::message::{Join, Report};

    fn join(number: u64, to: &str, vote: bool, accepted: StateId) -> Message {
        let join = Join {
            to: to.into(),
            term: term(number),
            vote,
            to_master: !vote,
            accepted,
            bootstrap: None,
            has_recovered_state: false,
            round_trip: std::time::Duration::ZERO,
        };
        Message::Join { from: sender("a"), join }
    }

    fn report(number: u64, vote: Option<&str>, accepted: StateId) -> Message {
        Message::Report(Box::new(Report {
            ephemeral_id: EphemeralId::from("start"),
            term: term(number),
            vote: vote.map(Into::into),
            follows: None,
            accepted,
            committed: StateId::NONE,
            needs_full: false,
            storing: None,
        }))
    }

    /// A node that voted for `b` in term 2 and accepted state 3.
    fn promises() -> (Promises, StateId) {
        let (mut promises, accepted) = (Promises::default(), state(3, &["a", "b"]));
        promises.synced(0, &disk("a", (2, "b"), Some(&accepted)));
        promises.starts(0, "a".into(), (term(2), accepted.id())).expect("it promised nothing before");
        (promises, accepted.id())
    }

    #[test]
    fn what_is_on_disk_may_be_told_in_joins_and_reports() {
        let (mut promises, accepted) = promises();
        assert_eq!(promises.sent(0, &join(2, "b", true, accepted)), Ok(()));
        assert_eq!(promises.sent(0, &report(2, Some("b"), accepted)), Ok(()));
        assert_eq!(promises.sent(0, &join(9, "c", false, accepted)), Ok(()), "it is no vote");
    }

    #[test]
    fn a_second_vote_in_a_term_is_caught_in_joins_as_in_reports() {
        let (mut promises, accepted) = promises();
        assert_eq!(promises.sent(0, &join(2, "b", true, accepted)), Ok(()));
        promises.synced(0, &disk("a", (2, "c"), Some(&state(3, &["a", "b"]))));
        assert_eq!(rule(promises.clone().sent(0, &join(2, "c", true, accepted))), Some(ONE_VOTE));
        assert_eq!(rule(promises.sent(0, &report(2, Some("c"), accepted))), Some(ONE_VOTE));
    }

    #[test]
    fn a_promise_that_is_not_on_disk_is_caught() {
        let (promises, accepted) = promises();
        let newer = state(4, &["a"]).id();
        let told = |message: &Message| rule(promises.clone().sent(0, message));
        assert_eq!(told(&join(3, "b", true, accepted)), Some(ON_DISK), "the term is higher");
        assert_eq!(told(&join(2, "c", true, accepted)), Some(ON_DISK), "the vote is another");
        assert_eq!(told(&join(2, "b", true, newer)), Some(ON_DISK), "the state is newer");
        assert_eq!(told(&report(2, Some("b"), newer)), Some(ON_DISK));
        assert_eq!(told(&report(3, None, accepted)), Some(ON_DISK));
    }

    #[test]
    fn a_disk_that_lost_a_promise_is_caught_when_a_process_starts_on_it() {
        let (mut promises, accepted) = promises();
        promises.sent(0, &join(2, "b", true, accepted)).expect("it is on disk");
        let (older, newer) = (state(3, &["a"]), state(4, &["a"]));
        let starts = |disk: &Memory, taken: (u64, &ClusterState)| {
            let mut promises = promises.clone();
            promises.synced(0, disk);
            rule(promises.starts(0, "a".into(), (term(taken.0), taken.1.id())))
        };
        let whole = disk("a", (2, "b"), Some(&newer));
        assert_eq!(starts(&disk("a", (1, "b"), Some(&older)), (2, &older)), Some(FORGETS));
        assert_eq!(starts(&disk("a", (2, "b"), None), (2, &older)), Some(FORGETS));
        assert_eq!(starts(&whole, (1, &newer)), Some(FORGETS), "the process takes up an older term");
        assert_eq!(starts(&whole, (2, &state(2, &["a"]))), Some(FORGETS), "or an older state");
        assert_eq!(starts(&whole, (2, &newer)), None);
    }
}
