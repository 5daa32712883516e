//! What clients were told fits into one order that respects real time: linearizability.
//!
//! Committed states form one line, and every answer names the state that it was made from. So the order is known, and
//! only real time is left to check: what began after something else had ended must not lie before it.

use super::broken;
use crate::cluster::{StateId, Term, Version};
use crate::protocol::Time;
use crate::sim::watch::Violation;
use std::collections::BTreeMap;

/// One operation that a client knows the outcome of.
#[derive(Clone, Debug)]
pub struct Finished {
    /// When it was asked.
    pub began: Time,
    /// When it was answered.
    pub ended: Time,
    /// The state that holds it or that was read.
    pub at: StateId,
    /// Whether it wrote.
    pub writes: bool,
}

/// The newest state that was known to clients at each time.
#[derive(Debug, Default)]
pub struct Order {
    known: BTreeMap<Time, (Term, Version)>,
}

impl Order {
    /// Takes an operation in, in the order of their ends.
    pub fn finished(&mut self, operation: &Finished) -> Result<(), Violation> {
        let before = self.known.range(..operation.began).next_back().map(|(_, rank)| *rank);
        let rank = operation.at.rank();
        let is_stale = before.is_some_and(|before| if operation.writes { rank <= before } else { rank < before });
        if is_stale {
            let (term, version) = before.unwrap_or_default();
            let what = if operation.writes { "a write" } else { "a read" };
            let text = format!(
                "{what} that began at {} is at {}, but {term}/{version} was known",
                operation.began, operation.at
            );
            return broken("linearizable: real time is respected", text);
        }
        let newest = self.known.values().next_back().copied().unwrap_or_default();
        self.known.insert(operation.ended, rank.max(newest));
        Ok(())
    }
}
