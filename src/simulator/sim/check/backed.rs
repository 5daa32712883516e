//! What a master commits is stored by a majority of both voting sets, and by as many nodes as the operator asks for.
//!
//! What is stored is read from the disks. States that others commit by descent need no more than their descendant has.

use super::{Descent, broken};
use crate::cluster::{ClusterState, NodeId, StateId};
use crate::sim::watch::Violation;
use crate::zen::{Memory, Zen};
use std::collections::{BTreeMap, BTreeSet};

/// Who stored which state, as far as it may yet be committed.
#[derive(Clone, Debug, Default, Hash)]
pub struct Backed {
    stored: BTreeMap<StateId, BTreeSet<NodeId>>,
    last: BTreeMap<usize, StateId>,
    committed: StateId,
    /// The operator's number, as each node had it before what it handled last.
    minimum: BTreeMap<usize, usize>,
}

impl Backed {
    pub(super) fn synced(&mut self, node: usize, disk: &Memory) {
        let (Some(state), Some(id)) = (&disk.accepted, &disk.promise.node_id) else {
            self.last.remove(&node);
            return;
        };
        let stored = state.id();
        if self.last.insert(node, stored) != Some(stored) {
            self.stored.entry(stored).or_default().insert(id.clone());
        }
    }

    pub(super) fn handled(&mut self, node: usize, zen: &Zen, descent: &Descent) -> Result<(), Violation> {
        let minimum = zen.tuning().minimum();
        let before = self.minimum.insert(node, minimum).unwrap_or(minimum);
        let newest = descent.newest();
        if newest == self.committed {
            return Ok(());
        }
        self.committed = newest;
        match descent.committed(&newest) {
            Some(state) => self.committed(state, before.min(minimum)),
            None => Ok(()),
        }
    }

    /// A state is committed, for which the operator asks for so many nodes.
    fn committed(&mut self, state: &ClusterState, minimum: usize) -> Result<(), Violation> {
        let who = self.stored.remove(&state.id()).unwrap_or_default();
        self.stored.retain(|id, _| id.rank() > state.rank());
        let voting = &state.metadata.voting;
        let eligible = state.nodes.eligible().filter(|node| who.contains(&node.id)).count();
        if voting.has_majority(|id| who.contains(id)) && eligible >= minimum {
            return Ok(());
        }
        let id = state.id();
        let what = format!("{id} was committed when only {who:?} had stored it, with voting set {voting}");
        broken("S2 a commit is backed by a majority", what)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{disk, rule, state};
    use super::*;

    const RULE: Option<&str> = Some("S2 a commit is backed by a majority");

    #[test]
    fn a_commit_that_too_few_disks_hold_is_caught() {
        let newer = state(2, &["a", "b", "c"]);
        let mut backed = Backed::default();
        backed.synced(0, &disk("a", (1, "a"), Some(&newer)));
        assert_eq!(rule(backed.clone().committed(&newer, 0)), RULE, "one disk of three holds it");
        backed.synced(1, &disk("b", (1, "a"), Some(&state(1, &["a", "b", "c"]))));
        assert_eq!(rule(backed.clone().committed(&newer, 0)), RULE, "the second holds an older one");
        backed.synced(1, &disk("b", (1, "a"), Some(&newer)));
        assert_eq!(rule(backed.clone().committed(&newer, 2)), None);
        assert_eq!(rule(backed.clone().committed(&newer, 3)), RULE, "the operator asks for three");
        backed.synced(2, &disk("x", (1, "a"), Some(&newer)));
        assert_eq!(rule(backed.committed(&newer, 3)), RULE, "the third is no node of it");
    }
}
