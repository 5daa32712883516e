//! What of a node decides its future, as a hash: two nodes that differ in nothing else are the same to an explorer.
//!
//! Left out is what only the log depends on, the generator, and the numbers by which calls and writes are told apart.

use super::{Errand, Zen};
use crate::protocol::Call;
use std::hash::{DefaultHasher, Hash, Hasher};

impl Zen {
    /// Takes the node into a hash. States stand for their content by their ids.
    pub fn fold(&self, hasher: &mut impl Hasher) {
        self.local.hash(hasher);
        self.ledger.fold(hasher);
        (self.applied.id(), self.shown.id(), &self.shown.nodes.master).hash(hasher);
        (&self.mode, &self.search, &self.lost, &self.setbacks, &self.sent).hash(hasher);
        (&self.timers, &self.asks, &self.slots, &self.leaving, &self.successor, self.doubts_until).hash(hasher);
        self.is_awake.hash(hasher);
        // What was asked counts, not in which order or under which number.
        self.calls.values().map(fold_errand).fold(0, u64::wrapping_add).hash(hasher);
    }

    /// What a call that is open is for.
    pub fn fold_call(&self, call: Call) -> u64 {
        self.calls.get(&call).map_or(0, fold_errand)
    }
}

fn fold_errand(errand: &Errand) -> u64 {
    let mut hasher = DefaultHasher::new();
    errand.hash(&mut hasher);
    hasher.finish()
}
