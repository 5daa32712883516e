//! S4: only committed states are applied, and applied versions rise.

use super::{Descent, broken};
use crate::cluster::StateId;
use crate::sim::watch::Violation;
use crate::zen::Zen;
use std::collections::BTreeMap;

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
            return broken(
                "S4 only committed states are applied",
                format!("{who} applied {id}, which nobody committed"),
            );
        }
        if id.rank() < last.rank() {
            return broken("S4 applied versions rise", format!("{who} applied {id} after {last}"));
        }
        Ok(())
    }
}
