//! S3: a (term, version) names one state, with the same content wherever it was accepted.

use super::broken;
use crate::cluster::{ClusterState, StateId, Term, Version};
use crate::sim::watch::Violation;
use crate::zen::Zen;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The states that were accepted anywhere.
#[derive(Clone, Debug, Default, Hash)]
pub struct OneState {
    states: BTreeMap<(Term, Version), Arc<ClusterState>>,
    last: BTreeMap<usize, StateId>,
}

impl OneState {
    pub(super) fn handled(&mut self, node: usize, zen: &Zen) -> Result<(), Violation> {
        let state = &zen.ledger().accepted;
        let id = state.id();
        if self.last.insert(node, id) == Some(id) || id == StateId::NONE {
            return Ok(());
        }
        let known = self.states.entry(id.rank()).or_insert_with(|| state.clone());
        let rule = "S3 one state per term and version";
        if known.uuid != id.uuid {
            return broken(rule, format!("{id} names both {} and {}", known.uuid, id.uuid));
        }
        if Arc::ptr_eq(known, state) || known == state {
            return Ok(());
        }
        broken(rule, format!("what {} accepted as {id} differs from what others did", zen.local().name))
    }
}
