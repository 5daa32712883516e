//! S2: every committed state descends from every earlier committed one.
//!
//! A state's parent is the one that its master made it from. States are committed once any node says so, and
//! all their ancestors with them.

use super::broken;
use crate::cluster::{Block, ClusterState, StateId};
use crate::sim::watch::Violation;
use crate::zen::Zen;
use std::collections::BTreeMap;
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
}

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
    pub(super) fn line_of(states: impl IntoIterator<Item = ClusterState>) -> Self {
        let line: BTreeMap<StateId, Arc<ClusterState>> =
            states.into_iter().map(|state| (state.id(), Arc::new(state))).collect();
        let newest = line.keys().next_back().copied().unwrap_or(StateId::NONE);
        Descent { line, newest, ..Descent::default() }
    }

    /// Takes a node's word in, and tells whether more is committed than before.
    pub(super) fn handled(&mut self, node: usize, zen: &Zen) -> Result<bool, Violation> {
        let accepted = &zen.ledger().accepted;
        if self.accepted.insert(node, accepted.id()) != Some(accepted.id()) {
            if let Some((made, from)) = zen.made() {
                self.parents.entry(made).or_insert(from);
            }
            self.states.entry(accepted.id()).or_insert_with(|| accepted.clone());
        }
        let committed = zen.ledger().committed;
        let is_known = self.committed.insert(node, committed) == Some(committed) || committed == StateId::NONE;
        if is_known || !is_told(zen, accepted) {
            return Ok(false);
        }
        let before = self.newest;
        self.commit(committed)?;
        Ok(self.newest != before)
    }

    fn commit(&mut self, id: StateId) -> Result<(), Violation> {
        let line = "S2 committed states descend from each other";
        if id.rank() <= self.newest.rank() {
            let is_known = self.line.contains_key(&id);
            return if is_known { Ok(()) } else { broken(line, format!("{id} is committed, but {} too", self.newest)) };
        }
        let mut at = id;
        let mut ancestors = Vec::new();
        while at != self.newest {
            ancestors.push(at);
            match self.parents.get(&at) {
                Some(parent) if parent.rank() >= self.newest.rank() => at = *parent,
                Some(_) | None => {
                    return broken(line, format!("{id} is committed, but does not descend from {}", self.newest));
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
        Ok(())
    }
}

/// Whether a state counts: an old master's first states after a full restart hold nothing and belong to no line.
pub(super) fn is_told(zen: &Zen, state: &ClusterState) -> bool {
    !zen.rules().is_old() || !state.blocks.contains(Block::STATE_NOT_RECOVERED.id)
}
