//! S2: every committed state descends from every earlier committed one.
//!
//! A state's parent is the base of the change that its master sends. Where whole states went only, it is what the master
//! says, which must be a state that it was seen to publish, to hand to its disk, or to start from; it must never say
//! otherwise than the change that it sends. States are committed once any node says so, and all their ancestors with them.

use super::broken;
use crate::cluster::{ClusterState, StateId};
use crate::sim::watch::Violation;
use crate::zen::message::{Body, Message};
use crate::zen::{Memory, Write, Zen};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The family tree of states, and the line of the committed ones.
#[derive(Clone, Debug, Default, Hash)]
pub struct Descent {
    parents: BTreeMap<StateId, StateId>,
    line: BTreeMap<StateId, Arc<ClusterState>>,
    newest: StateId,
    accepted: BTreeMap<usize, StateId>,
    committed: BTreeMap<usize, StateId>,
    states: BTreeMap<StateId, Arc<ClusterState>>,
    /// Who says that it made each state, and from which.
    claims: BTreeMap<StateId, Claim>,
    /// What is on each disk.
    disks: BTreeMap<usize, StateId>,
    /// What each process published, handed to its disk or started from, as far as it may yet matter.
    held: BTreeMap<usize, BTreeSet<StateId>>,
}

/// What a master says of a state that it made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Claim {
    node: usize,
    from: StateId,
    /// Whether the process runs that says so, and was seen to hold what it holds: an old one keeps states in memory only.
    is_checked: bool,
}

const LINE: &str = "S2 committed states descend from each other";
const CLAIM: &str = "S2 a state is made from the one that its master says";

impl Descent {
    /// The newest committed state.
    pub fn newest(&self) -> StateId {
        self.newest
    }

    /// A committed state, if this is one.
    pub fn committed(&self, id: &StateId) -> Option<&Arc<ClusterState>> {
        self.line.get(id)
    }

    /// The committed states behind this one, the oldest first.
    pub fn after(&self, id: StateId) -> impl Iterator<Item = &Arc<ClusterState>> {
        self.line.range((Bound::Excluded(id), Bound::Unbounded)).map(|(_, state)| state)
    }

    /// How many states are committed.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// The line of these states, for those who test what looks at it.
    #[cfg(test)]
    pub(in crate::sim) fn line_of(states: impl IntoIterator<Item = ClusterState>) -> Self {
        let line: BTreeMap<StateId, Arc<ClusterState>> =
            states.into_iter().map(|state| (state.id(), Arc::new(state))).collect();
        let newest = line.keys().next_back().copied().unwrap_or(StateId::NONE);
        Descent { line, newest, ..Descent::default() }
    }

    /// Takes a node's word in, and tells whether more is committed than before.
    pub(super) fn handled(&mut self, node: usize, zen: &Zen) -> Result<bool, Violation> {
        if let Some((made, from)) = zen.made() {
            self.claims(made, Claim { node, from, is_checked: true })?;
        }
        let accepted = &zen.ledger().accepted;
        if self.accepted.insert(node, accepted.id()) != Some(accepted.id()) {
            self.states.entry(accepted.id()).or_insert_with(|| accepted.clone());
        }
        let committed = zen.ledger().committed;
        let is_known = self.committed.insert(node, committed) == Some(committed) || committed == StateId::NONE;
        if is_known {
            return Ok(false);
        }
        let before = self.newest;
        self.commit(committed)?;
        Ok(self.newest != before)
    }

    pub(super) fn synced(&mut self, node: usize, disk: &Memory) {
        self.disks.insert(node, disk.accepted.as_ref().map_or(StateId::NONE, |state| state.id()));
    }

    pub(super) fn booted(&mut self, node: usize) {
        let stored = self.disks.get(&node).copied().unwrap_or(StateId::NONE);
        self.held.insert(node, BTreeSet::from([stored]));
        self.claims.values_mut().filter(|claim| claim.node == node).for_each(|claim| claim.is_checked = false);
    }

    pub(super) fn wrote(&mut self, node: usize, write: &Write) -> Result<(), Violation> {
        if let Write::Accepted(state) = write { self.holds(node, state.id()) } else { Ok(()) }
    }

    pub(super) fn sent(&mut self, from: usize, message: &Message) -> Result<(), Violation> {
        let Message::Publish { body, .. } = message else {
            return Ok(());
        };
        let id = body.id();
        self.holds(from, id)?;
        let Body::Diff(diff) = body else {
            return Ok(());
        };
        let told = self.parents.entry(id).or_insert(diff.from);
        if diff.from.rank() > told.rank() {
            *told = diff.from;
        }
        let claimed = self.claims.get(&id).map_or(*told, |claim| claim.from);
        // Who has another state of the same sender, one that was taken back included, is sent what differs from that one;
        // the oldest are forgotten.
        let is_held = self.held.get(&from).is_some_and(|held| held.contains(&diff.from));
        let is_catching_up = is_held || diff.from.rank() <= self.newest.rank();
        if claimed == diff.from || is_catching_up {
            return Ok(());
        }
        broken(CLAIM, format!("{id} is sent as a change of {}, and was made from {claimed}", diff.from))
    }

    /// What a state was made from: its master's word, or the newest that it was sent as a change of.
    fn parent(&self, id: &StateId) -> Option<StateId> {
        self.claims.get(id).map(|claim| claim.from).or_else(|| self.parents.get(id).copied())
    }

    /// A node publishes a state or hands it to its disk: if it made it, it held the one that it says it made it from.
    fn holds(&mut self, node: usize, id: StateId) -> Result<(), Violation> {
        let held = self.held.entry(node).or_default();
        if !held.insert(id) {
            return Ok(());
        }
        match self.claims.get(&id).filter(|claim| claim.node == node && claim.is_checked) {
            Some(Claim { from, .. }) if !held.contains(from) && from.rank() >= self.newest.rank() => {
                broken(CLAIM, format!("n{node} says that it made {id} from {from}, which it was not seen to hold"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn claims(&mut self, made: StateId, claim: Claim) -> Result<(), Violation> {
        // What lies behind the newest committed state is forgotten, and can be committed no more.
        let is_known = self.claims.get(&made).is_some_and(|known| known.from == claim.from);
        if is_known || made.rank() < self.newest.rank() {
            return Ok(());
        }
        let from = claim.from;
        match self.claims.insert(made, claim) {
            Some(before) => broken(CLAIM, format!("{made} is said to be made from {from}, and from {}", before.from)),
            None => Ok(()),
        }
    }

    fn commit(&mut self, id: StateId) -> Result<(), Violation> {
        if id.rank() <= self.newest.rank() {
            let is_known = self.line.contains_key(&id);
            return if is_known { Ok(()) } else { broken(LINE, format!("{id} is committed, but {} too", self.newest)) };
        }
        let mut at = id;
        let mut ancestors = Vec::new();
        while at != self.newest {
            ancestors.push(at);
            match self.parent(&at) {
                Some(parent) if parent.rank() >= self.newest.rank() => at = parent,
                Some(_) | None => {
                    return broken(LINE, format!("{id} is committed, but does not descend from {}", self.newest));
                }
            }
        }
        for ancestor in ancestors {
            if let Some(state) = self.states.get(&ancestor) {
                self.line.insert(ancestor, state.clone());
            }
        }
        self.newest = id;
        let newest = self.newest;
        self.states.retain(|state, _| state.rank() > newest.rank());
        self.parents.retain(|state, _| state.rank() >= newest.rank());
        self.claims.retain(|state, _| state.rank() >= newest.rank());
        self.held.values_mut().for_each(|held| held.retain(|state| state.rank() >= newest.rank()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{rule, sender, state};
    use super::*;
    use crate::cluster::Diff;

    const RULE: Option<&str> = Some(LINE);

    fn full(state: &ClusterState) -> Message {
        Message::Publish {
            from: sender("a"),
            term: state.term,
            committed: StateId::NONE,
            body: Body::Full(Arc::new(state.clone())),
        }
    }

    fn diff(from: &ClusterState, to: &ClusterState) -> Message {
        Message::Publish {
            from: sender("a"),
            term: to.term,
            committed: from.id(),
            body: Body::Diff(Arc::new(Diff::between(from, to))),
        }
    }

    fn states() -> [ClusterState; 4] {
        [1, 2, 3, 4].map(|version| state(version, &["a", "b"]))
    }

    fn claim(node: usize, from: StateId) -> Claim {
        Claim { node, from, is_checked: true }
    }

    fn accepted(state: &ClusterState) -> Write {
        Write::Accepted(Arc::new(state.clone()))
    }

    /// State 1 is committed, which node 0 made and stored.
    fn descent() -> Descent {
        let [one, ..] = states();
        let mut descent = Descent::default();
        descent.booted(0);
        descent.claims(one.id(), claim(0, StateId::NONE)).expect("it is the first");
        descent.wrote(0, &accepted(&one)).expect("its disk was empty");
        descent.sent(0, &full(&one)).expect("it is whole");
        descent.commit(one.id()).expect("it is the first");
        descent
    }

    #[test]
    fn whole_states_descend_from_what_their_master_says_and_held() {
        let [one, two, three, four] = states();
        let mut descent = descent();
        for (from, state) in [(&one, &two), (&two, &three)] {
            descent.claims(state.id(), claim(0, from.id())).expect("it is the first word");
            descent.sent(0, &full(state)).expect("it is whole");
        }
        let mut skipped = descent.clone();
        assert_eq!(descent.commit(three.id()), Ok(()));
        assert!(descent.committed(&two.id()).is_none(), "nobody accepted it");
        skipped.claims(four.id(), claim(0, one.id())).expect("what did not commit is taken back");
        assert_eq!(skipped.commit(four.id()), Ok(()));
        assert_eq!(rule(skipped.commit(three.id())), RULE);
    }

    #[test]
    fn a_master_that_says_what_it_never_held_is_caught() {
        let [one, two, three, four] = states();
        let publishes = |descent: &Descent, (node, made): (usize, &ClusterState), from: &ClusterState| {
            let mut descent = descent.clone();
            descent.claims(made.id(), claim(node, from.id())).expect("it is the first word");
            rule(descent.sent(node, &full(made)))
        };
        assert_eq!(publishes(&descent(), (0, &two), &one), None);
        assert_eq!(publishes(&descent(), (0, &three), &two), Some(CLAIM));
        assert_eq!(publishes(&descent(), (1, &two), &one), Some(CLAIM), "that was another node");
        let mut restarted = descent();
        restarted.wrote(0, &accepted(&two)).expect("it made none");
        restarted.synced(0, &Memory { accepted: Some(Arc::new(three.clone())), ..Memory::default() });
        restarted.booted(0);
        assert_eq!(publishes(&restarted, (0, &four), &two), Some(CLAIM), "its disk had lost it");
        assert_eq!(publishes(&restarted, (0, &four), &three), None, "it began with that");
    }

    #[test]
    fn a_change_of_another_state_than_its_master_says_is_caught() {
        let [one, two, three, _] = states();
        let mut descent = descent();
        descent.claims(two.id(), claim(0, one.id())).expect("it is the first word");
        assert_eq!(descent.sent(0, &diff(&one, &two)), Ok(()));
        assert_eq!(rule(descent.clone().sent(0, &diff(&three, &two))), Some(CLAIM));
        assert_eq!(rule(descent.claims(two.id(), claim(0, three.id()))), Some(CLAIM));
    }

    #[test]
    fn a_state_made_from_an_older_one_is_caught_on_the_wire() {
        let [one, two, three, four] = states();
        let mut known = descent();
        known.sent(0, &diff(&one, &two)).expect("it is the first of it");
        known.commit(two.id()).expect("it descends from state 1");
        let mut forked = known.clone();
        forked.sent(0, &diff(&one, &three)).expect("it is the first of it");
        assert_eq!(rule(forked.commit(three.id())), RULE, "it was made from state 1");
        assert_eq!(rule(known.commit(four.id())), RULE, "nobody was seen to make it");
    }
}
