//! S5: an acknowledged update is in every later committed state.
//!
//! Committed states form one line (S2), so it is enough that the state which an acknowledgement names is committed and
//! holds the update: all later ones descend from it.

use super::{Descent, broken};
use crate::cluster::{KeyValue, RequestOutcome, StateId};
use crate::service::Answer;
use crate::sim::operation::{Key, Update};
use crate::sim::watch::Violation;
use std::collections::BTreeSet;

/// Judges what clients were told.
#[derive(Clone, Debug, Default, Hash)]
pub struct Acknowledged {
    /// How many updates were acknowledged.
    pub count: usize,
    /// Keys that may have been deleted right after they were written, in the same state.
    deleted: BTreeSet<Key>,
}

impl Acknowledged {
    /// Somebody asks for keys to be deleted.
    pub fn deletes(&mut self, keys: &[Key]) {
        self.deleted.extend(keys);
    }

    /// A client was told that its update is in the state `at`.
    pub fn update(&mut self, descent: &Descent, at: StateId, update: &Update) -> Result<(), Violation> {
        self.count += 1;
        let rule = "S5 an acknowledged update is never lost";
        let Some(state) = descent.committed(&at) else {
            return broken(rule, format!("{update:?} was acknowledged at {at}, which is not committed"));
        };
        for (key, number) in &update.puts {
            let found = state.metadata.keys.get(&key.name());
            let is_there = match found {
                // Another write of the same batch may have come behind it.
                Some(found) => number_in(Some(found)) == *number || found.changed.rank() == at.rank(),
                None => self.deleted.contains(key),
            };
            if !is_there {
                return broken(rule, format!("{key:?}={number} was acknowledged at {at}, which holds {found:?}"));
            }
        }
        for key in &update.deletes {
            let found = state.metadata.keys.get(&key.name());
            if found.is_some_and(|found| found.changed.rank() != at.rank()) {
                return broken(rule, format!("{key:?} was deleted at {at}, which holds {found:?}"));
            }
        }
        Ok(())
    }

    /// A holder was told that a lease was granted to it: it is there, unless it ended in the same state.
    pub fn lease(&self, descent: &Descent, answer: &Answer) -> Result<(), Violation> {
        let Answer::Done { at, outcome: RequestOutcome::Granted { token }, .. } = answer else {
            return Ok(());
        };
        let last = descent.committed(at).map(|state| state.metadata.last_token);
        if last.is_some_and(|last| last >= *token) {
            return Ok(());
        }
        broken("S5 an acknowledged lease is never lost", format!("token {token} was acknowledged at {at}: {last:?}"))
    }

    /// A client was told what a key holds in the state `at`.
    pub fn read(
        &mut self,
        descent: &Descent,
        at: StateId,
        key: Key,
        value: Option<&KeyValue>,
    ) -> Result<(), Violation> {
        let rule = "S5 a read shows a committed state";
        // Before anything was committed a reader may see the state before all states.
        let held = match descent.committed(&at) {
            Some(state) => state.metadata.keys.get(&key.name()),
            None if at == StateId::NONE => None,
            None => return broken(rule, format!("{key:?} was read at {at}, which is not committed")),
        };
        if held == value {
            return Ok(());
        }
        broken(rule, format!("{key:?} was read as {value:?} at {at}, which holds {held:?}"))
    }
}

fn number_in(held: Option<&KeyValue>) -> u64 {
    held.and_then(|held| held.value.as_str()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{rule, state};
    use super::*;
    use crate::cluster::Token;

    #[test]
    fn a_grant_that_is_not_in_the_state_it_names_is_caught() {
        let token = |number| Token::new(number).expect("it is below 2^53");
        let mut holds = state(1, &["a"]);
        holds.metadata.last_token = token(4);
        let (descent, acknowledged) = (Descent::line_of([holds.clone()]), Acknowledged::default());
        let told = |at, number| {
            let outcome = RequestOutcome::Granted { token: token(number) };
            rule(acknowledged.lease(&descent, &Answer::Done { at, acknowledged: true, outcome }))
        };
        assert_eq!(told(holds.id(), 4), None);
        assert_eq!(told(holds.id(), 5), Some("S5 an acknowledged lease is never lost"));
        assert_eq!(
            told(state(2, &["a"]).id(), 4),
            Some("S5 an acknowledged lease is never lost"),
            "nobody committed it"
        );
    }
}
