//! What is counted of a state, once for all that ask for it.
//!
//! How many members there are of each kind, and whether votes are missing, is asked for with every `_cluster/health`, far more
//! often than it changes. Which state is asked about is up to the reader. Takes the place of what `ClusterStateHealth` (6.8)
//! adds up anew for each request.

use crate::cluster::ClusterState;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// What is counted of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Those of its members that hold data.
    pub data_nodes: usize,
    /// Whether somebody whose vote counts is no member, or a member's vote does not count yet that will.
    pub lacks_voter: bool,
}

impl Counts {
    fn of(state: &ClusterState) -> Counts {
        let lacks_voter = state.voters_present() < state.metadata.voting.own.len() || state.awaits_votes();
        Counts { data_nodes: state.nodes.data().count(), lacks_voter }
    }
}

/// The counts of the state that was asked about last.
#[derive(Debug, Default)]
pub(super) struct LastCounts(Mutex<Option<(Weak<ClusterState>, Counts)>>);

impl LastCounts {
    /// The counts of this state. A state without its master has the id of the one with it, so that only the same memory is the
    /// same state; as long as it is referred to, it is nobody else's.
    pub(super) fn of(&self, state: &Arc<ClusterState>) -> Counts {
        let mut last = self.0.lock();
        if let Some((of, counts)) = &*last
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(state))
        {
            return *counts;
        }
        let counts = Counts::of(state);
        *last = Some((Arc::downgrade(state), counts));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::VotingSet;
    use crate::runtime::sample;

    /// Three voters, of which so many are members.
    fn with(members: usize) -> Arc<ClusterState> {
        let ids = ["n1", "n2", "n3"];
        let node = |id: &str| Arc::new(sample::node(id));
        let mut state = ClusterState::initial("shop".into());
        state.nodes = ids.into_iter().take(members).map(node).collect();
        state.metadata.voting.own = VotingSet::new(ids.into_iter().map(Into::into));
        Arc::new(state)
    }

    #[test]
    fn each_state_is_counted_for_itself_whatever_was_asked_before() {
        let counts = LastCounts::default();
        let (whole, reduced) = (with(3), with(2));
        for _ in 0..2 {
            assert_eq!(counts.of(&whole), Counts { data_nodes: 3, lacks_voter: false });
            // The same id, as a state has without its master.
            assert_eq!(whole.id(), reduced.id());
            assert_eq!(counts.of(&reduced), Counts { data_nodes: 2, lacks_voter: true });
        }
    }

    #[test]
    fn the_memory_of_a_state_that_was_counted_is_not_taken_for_another_one() {
        let counts = LastCounts::default();
        for members in [3, 2, 3, 2, 3] {
            // Dropped at once, so that the next one could lie in the same place.
            assert_eq!(counts.of(&with(members)).data_nodes, members);
        }
    }
}
