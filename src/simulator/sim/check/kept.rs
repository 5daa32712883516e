//! S5: what is committed keeps every key that nobody deletes, and no update is carried out twice.
//!
//! For worlds whose clients write no value twice.

use super::{Descent, broken};
use crate::cluster::{Blob, ClusterState, Revision, StateId};
use crate::sim::operation::Key;
use crate::sim::watch::Violation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The last committed state, and where each value was written.
#[derive(Debug, Default)]
pub struct Kept {
    last: Option<Arc<ClusterState>>,
    written: BTreeMap<Blob, Revision>,
}

impl Kept {
    /// Looks at the states that were committed since it looked last.
    pub fn look(&mut self, descent: &Descent) -> Result<(), Violation> {
        let last = self.last.as_ref().map_or(StateId::NONE, |state| state.id());
        if descent.newest() == last {
            return Ok(());
        }
        for state in descent.after(last) {
            self.keeps_keys(state)?;
            self.is_written_once(state)?;
            self.last = Some(state.clone());
        }
        Ok(())
    }

    fn keeps_keys(&self, state: &ClusterState) -> Result<(), Violation> {
        let before = self.last.iter().flat_map(|state| state.metadata.keys.iter());
        for (key, old) in before {
            let is_kept = match state.metadata.keys.get(key) {
                Some(new) => new.changed >= old.changed,
                None => Key::may_vanish(key),
            };
            if !is_kept {
                let what = format!("{} is committed and does not hold {key}={}", state.id(), old.value);
                return broken("S5 an acknowledged update is never lost", what);
            }
        }
        Ok(())
    }

    fn is_written_once(&mut self, state: &ClusterState) -> Result<(), Violation> {
        for (key, new) in state.metadata.keys.iter().filter(|(_, new)| new.changed.rank() == state.rank()) {
            let first = *self.written.entry(new.value.clone()).or_insert(new.changed);
            if first != new.changed {
                let what = format!("{key}={} of {first} is written again by {}", new.value, state.id());
                return broken("S5 an update is carried out once", what);
            }
        }
        Ok(())
    }
}
