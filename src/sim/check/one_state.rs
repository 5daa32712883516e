//! S3: a (term, version) names one state.

use super::broken;
use crate::cluster::{StateId, Term, Uuid, Version};
use crate::sim::watch::Violation;
use crate::zen::Zen;
use std::collections::BTreeMap;

/// The states that were accepted anywhere.
#[derive(Debug, Default)]
pub struct OneState {
    states: BTreeMap<(Term, Version), Uuid>,
    last: BTreeMap<usize, StateId>,
}

impl OneState {
    pub(super) fn handled(&mut self, node: usize, zen: &Zen) -> Result<(), Violation> {
        if zen.rules().is_old() {
            // What a master published in vain has the version of what another one commits.
            return Ok(());
        }
        let id = zen.ledger().accepted.id();
        if self.last.insert(node, id) == Some(id) {
            return Ok(());
        }
        let known = *self.states.entry(id.rank()).or_insert(id.uuid);
        if known == id.uuid {
            return Ok(());
        }
        broken("S3 one state per term and version", format!("{id} names both {known} and {}", id.uuid))
    }
}
