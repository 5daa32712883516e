//! What must hold for one node after every input, asserted always: a node that finds it broken must not go on.
//!
//! What must hold between nodes is checked by the simulator. Mirrors `Coordinator.invariant` (7.x).

use super::{Mode, Zen};

impl Zen {
    pub(super) fn check(&self) {
        let ledger = &self.node.ledger;
        let promised = ledger.promise.term;
        let votes_for_itself = ledger.promise.vote.as_ref() == Some(&self.node.local.id);
        assert!(ledger.accepted.term <= promised, "an accepted state is a promise of its term");
        assert!(ledger.committed.rank() <= ledger.accepted.rank(), "what is committed was accepted before");
        assert!(ledger.durable.promise.term <= promised, "a promise is kept");
        assert!(self.node.applied.rank() <= ledger.accepted.rank(), "only accepted states are applied");
        match &self.mode {
            Mode::Finding | Mode::Joining(_) | Mode::Following(_) => {}
            Mode::Electing(candidacy) => {
                assert!(candidacy.term == promised, "a candidate stands in its own term");
                assert!(votes_for_itself, "a candidate votes for itself");
                assert!(self.node.local.is_master_eligible(), "only an eligible node stands");
            }
            Mode::Leading(lead) => {
                let newest = lead.term_bump.as_ref().map_or(lead.term, |term_bump| term_bump.term);
                assert!(newest == promised, "a master leads in its own term");
                assert!(votes_for_itself, "a master voted for itself");
                let published = lead.publish.as_ref().map(|publish| publish.state.id());
                assert!(published == Some(ledger.accepted.id()), "a master accepts what it publishes");
            }
        }
    }
}
