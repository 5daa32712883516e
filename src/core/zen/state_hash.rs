//! What of a node decides its future, as a hash: two nodes that differ in nothing else are the same to an explorer.
//!
//! Left out is what only the log depends on, the generator, and the numbers by which calls and writes are told apart.

use super::{CallPurpose, Zen};
use crate::protocol::Call;
use std::hash::{DefaultHasher, Hash, Hasher};

impl Zen {
    /// Takes the node into a hash. States stand for their content by their ids.
    pub fn hash_state(&self, hasher: &mut impl Hasher) {
        self.node.local.hash(hasher);
        self.node.ledger.hash_state(hasher);
        (self.node.applied.id(), self.node.shown.id(), &self.node.shown.nodes.master).hash(hasher);
        (&self.mode, &self.node.search, &self.node.lost, &self.node.setbacks).hash(hasher);
        (
            &self.node.timers,
            &self.node.asks,
            &self.node.slots,
            &self.node.leaving,
            &self.node.successor,
            self.node.doubts_until,
        )
            .hash(hasher);
        self.node.has_recovered_state.hash(hasher);
        // What was asked counts, not in which order or under which number.
        self.node.calls.values().map(purpose_hash).fold(0, u64::wrapping_add).hash(hasher);
    }

    /// What a call that is open is for.
    pub fn hash_call(&self, call: Call) -> u64 {
        self.node.calls.get(&call).map_or(0, purpose_hash)
    }
}

fn purpose_hash(purpose: &CallPurpose) -> u64 {
    let mut hasher = DefaultHasher::new();
    purpose.hash(&mut hasher);
    hasher.finish()
}
