//! S4: only committed states are applied, and applied versions rise.

use super::{Descent, broken};
use crate::cluster::{ClusterState, StateId};
use crate::sim::watch::Violation;
use crate::zen::Zen;
use std::collections::BTreeMap;

const COMMITTED: &str = "S4 only committed states are applied";

/// What each process applied last.
#[derive(Clone, Debug, Default, Hash)]
pub struct Applied {
    last: BTreeMap<usize, StateId>,
}

impl Applied {
    pub(super) fn booted(&mut self, node: usize) {
        self.last.remove(&node);
    }

    pub(super) fn handled(&mut self, node: usize, zen: &Zen, descent: &Descent) -> Result<(), Violation> {
        let id = zen.applied().id();
        let last = self.last.insert(node, id).unwrap_or(StateId::NONE);
        if id == last {
            return Ok(());
        }
        let who = &zen.local().name;
        if descent.committed(&id).is_none() {
            return broken(COMMITTED, format!("{who} applied {id}, which nobody committed"));
        }
        if id.rank() < last.rank() {
            return broken("S4 applied versions rise", format!("{who} applied {id} after {last}"));
        }
        Ok(())
    }

    /// A node shows its readers a state, which may be one that it passes on the way to the newest.
    pub(super) fn shown(&self, node: usize, view: &ClusterState, descent: &Descent) -> Result<(), Violation> {
        if view.nodes.master.is_some() && descent.committed(&view.id()).is_none() {
            return broken(COMMITTED, format!("n{node} shows {}, which nobody committed", view.id()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{rule, state};
    use super::*;

    #[test]
    fn a_state_that_is_passed_on_the_way_counts_like_the_newest() {
        let descent = Descent::line_of([state(1, &["a"]), state(3, &["a"])]);
        let shown = |version, master: Option<&str>| {
            let mut view = state(version, &["a"]);
            view.nodes.master = master.map(Into::into);
            rule(Applied::default().shown(0, &view, &descent))
        };
        assert_eq!((shown(1, Some("a")), shown(3, Some("a"))), (None, None));
        assert_eq!(shown(2, Some("a")), Some(COMMITTED), "it was taken back");
        assert_eq!(shown(0, None), None, "what a node shows before all states");
    }
}
