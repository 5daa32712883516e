//! Who counts in elections and commits.
//!
//! Knows nothing of who answered: a predicate tells it. Mirrors `CoordinationMetaData.VotingConfiguration` (7.x), which
//! Zen lacks.

use super::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The nodes a majority of which is needed. An empty one needs nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VotingSet(Arc<BTreeSet<NodeId>>);

impl VotingSet {
    /// The set of these nodes.
    pub fn new(members: impl IntoIterator<Item = NodeId>) -> Self {
        members.into_iter().collect()
    }

    /// How many of so many nodes vote: an odd number, as one more would have to be waited for and could not be lost either.
    pub fn most_of(count: usize) -> usize {
        if count.is_multiple_of(2) { count.saturating_sub(1) } else { count }
    }

    /// The set of nobody.
    pub fn empty() -> Self {
        VotingSet::default()
    }

    /// How many nodes are in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `id` is in it.
    pub fn contains(&self, id: &NodeId) -> bool {
        self.0.contains(id)
    }

    /// Its members, the lowest id first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &NodeId> + Clone {
        self.0.iter()
    }

    /// Whether more than half of its members satisfy `is_counted`; always so for the empty set.
    pub fn has_majority(&self, mut is_counted: impl FnMut(&NodeId) -> bool) -> bool {
        let counted = self.0.iter().filter(|id| is_counted(id)).count();
        self.is_empty() || counted > self.len() / 2
    }
}

impl FromIterator<NodeId> for VotingSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(members: I) -> Self {
        VotingSet(Arc::new(members.into_iter().collect()))
    }
}

impl fmt::Display for VotingSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, id) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{id}")?;
        }
        f.write_str("}")
    }
}

/// The two sets of a state: a decision needs both.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VotingSets {
    /// The last one known committed when the state was made.
    #[serde(default)]
    pub committed: VotingSet,
    /// The one that is committed with the state.
    #[serde(default)]
    pub own: VotingSet,
}

impl VotingSets {
    /// Whether a majority of each of the two satisfies `is_counted`.
    pub fn has_majority(&self, mut is_counted: impl FnMut(&NodeId) -> bool) -> bool {
        self.committed.has_majority(&mut is_counted) && self.own.has_majority(&mut is_counted)
    }
}

impl fmt::Display for VotingSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.committed != self.own {
            write!(f, "{}->", self.committed)?;
        }
        self.own.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[&str]) -> VotingSet {
        ids.iter().map(|&id| NodeId::from(id)).collect()
    }

    #[test]
    fn a_majority_is_more_than_half_and_nobody_needs_nobody() {
        for (size, needed) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3)] {
            let ids = &["a", "b", "c", "d", "e"][..size];
            for votes in 0..1_u32 << size {
                let place = |id: &NodeId| ids.iter().position(|held| *held == id.as_str());
                let majority = set(ids).has_majority(|id| place(id).is_some_and(|place| votes >> place & 1 == 1));
                assert_eq!(majority, votes.count_ones() >= needed, "{ids:?} with votes {votes:b}");
            }
        }
    }

    #[test]
    fn a_decision_needs_both_sets() {
        let sets = VotingSets { committed: set(&["a"]), own: set(&["c", "b", "a"]) };
        assert_eq!(sets.to_string(), "{a}->{a,b,c}");
        assert!(sets.has_majority(|id| id.as_str() != "b"));
        assert!(!sets.has_majority(|id| id.as_str() != "a"));
        assert!(!sets.has_majority(|id| id.as_str() == "a"));
        assert_eq!(VotingSets { committed: set(&["b"]), own: set(&["b"]) }.to_string(), "{b}");
        assert_eq!(VotingSets::default().to_string(), "{}");
    }
}
