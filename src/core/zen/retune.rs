//! What a node runs by, where that changes while it runs: by the cluster's settings, or by its own that were read again.

use super::{Mode, NodeState, Note, Tuning, Zen};
use crate::cluster::{ClusterState, StateId};
use crate::protocol::{Effects, Time};

impl Zen {
    /// Runs by these numbers of its own from now on. What is not dynamic of them must be as it was.
    pub fn retune(&mut self, now: Time, own: Tuning, out: &mut Effects<Zen>) {
        let before = self.node.tuning.minimum();
        self.node.config.tuning = own;
        // What is on disk counts until a state was applied.
        let has_applied = self.node.applied.id() != StateId::NONE;
        let known = if has_applied { self.node.applied.clone() } else { self.node.ledger.accepted.clone() };
        self.node.tune(&known, out);
        match &self.mode {
            Mode::Leading(_) if before != self.node.tuning.minimum() => {
                self.as_master(now, out, |master| master.judge_quorum())
            }
            Mode::Leading(_) | Mode::Following(_) => {}
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => self.node.show_masterless(out),
        }
    }
}

impl NodeState {
    /// Runs by its own numbers, and over them what the settings of a state say.
    pub(super) fn tune(&mut self, state: &ClusterState, out: &mut Effects<Zen>) {
        let (tuning, faults) = self.config.tuning.with_dynamic(&state.metadata);
        self.tuning = tuning;
        for what in faults {
            out.note(Note::BadSetting { what });
        }
    }
}
