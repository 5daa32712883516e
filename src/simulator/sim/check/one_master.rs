//! S1: at most one master per term.

use super::broken;
use crate::cluster::{EphemeralId, Term};
use crate::sim::watch::Violation;
use crate::zen::Zen;
use std::collections::BTreeMap;

/// Who was seen reigning in which term.
#[derive(Clone, Debug, Default, Hash)]
pub struct OneMaster {
    masters: BTreeMap<Term, EphemeralId>,
}

impl OneMaster {
    /// How many terms had a master.
    pub fn masterships(&self) -> usize {
        self.masters.len()
    }

    pub(super) fn handled(&mut self, zen: &Zen) -> Result<(), Violation> {
        let Some(term) = zen.mastership() else {
            return Ok(());
        };
        let process = &zen.local().ephemeral_id;
        match self.masters.get(&term) {
            Some(known) if known == process => Ok(()),
            Some(other) => broken("S1 one master per term", format!("{other} and {process} both lead in term {term}")),
            None => {
                self.masters.insert(term, process.clone());
                Ok(())
            }
        }
    }
}
