//! S5: an acknowledged update is in every later committed state.
//!
//! Committed states form one line (S2), so it is enough that the state which an acknowledgement names is committed and
//! holds the update: all later ones descend from it.

use super::{Descent, broken};
use crate::cluster::StateId;
use crate::sim::watch::Violation;
use std::sync::Arc;

/// Judges what clients were told.
#[derive(Clone, Debug, Default, Hash)]
pub struct Acknowledged {
    /// How many updates were acknowledged.
    pub count: usize,
}

impl Acknowledged {
    /// A client was told that its update is in the state `at`.
    pub fn update(&mut self, descent: &Descent, at: StateId, key: &str, value: &Arc<str>) -> Result<(), Violation> {
        self.count += 1;
        let rule = "S5 an acknowledged update is never lost";
        let Some(state) = descent.committed(&at) else {
            return broken(rule, format!("{key}={value} was acknowledged at {at}, which is not committed"));
        };
        match state.metadata.keys.get(key) {
            Some(found) if found.value == *value => Ok(()),
            // Another write of the same batch came behind it.
            Some(found) if found.changed == at.rank() => Ok(()),
            found => broken(rule, format!("{key}={value} was acknowledged at {at}, which holds {found:?}")),
        }
    }

    /// A client was told what a key holds in the state `at`.
    pub fn read(
        &mut self,
        descent: &Descent,
        at: StateId,
        key: &str,
        value: Option<&Arc<str>>,
    ) -> Result<(), Violation> {
        let rule = "S5 a read shows a committed state";
        // Before anything was committed a reader may see the state before all states.
        let held = match descent.committed(&at) {
            Some(state) => state.metadata.keys.get(key).map(|found| &found.value),
            None if at == StateId::NONE => None,
            None => return broken(rule, format!("{key} was read at {at}, which is not committed")),
        };
        if held == value {
            return Ok(());
        }
        broken(rule, format!("{key} was read as {value:?} at {at}, which holds {held:?}"))
    }
}
