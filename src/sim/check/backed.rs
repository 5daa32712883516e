//! What a master commits is stored by a majority of both voting sets, and by as many nodes as the operator asks for.
//!
//! States that others commit by descent need no more than their descendant has.

use super::{Descent, broken};
use crate::cluster::{NodeId, StateId};
use crate::sim::watch::Violation;
use crate::zen::Zen;
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
    pub(super) fn handled(&mut self, node: usize, zen: &Zen, descent: &Descent) -> Result<(), Violation> {
        let stored = zen.ledger().durable_id();
        if self.last.insert(node, stored) != Some(stored) && zen.local().is_master_eligible() {
            self.stored.entry(stored).or_default().insert(zen.local().id.clone());
        }
        let minimum = zen.tuning().minimum();
        let before = self.minimum.insert(node, minimum).unwrap_or(minimum);
        let newest = descent.newest();
        if newest == self.committed {
            return Ok(());
        }
        self.committed = newest;
        let who = self.stored.remove(&newest).unwrap_or_default();
        self.stored.retain(|id, _| id.rank() > newest.rank());
        let Some(state) = descent.committed(&newest) else {
            return Ok(());
        };
        let voting = &state.metadata.voting;
        if voting.has_majority(|id| who.contains(id)) && who.len() >= before.min(minimum) {
            return Ok(());
        }
        let what = format!("{newest} was committed when only {who:?} had stored it, with voting set {voting}");
        broken("S2 a commit is backed by a majority", what)
    }
}
