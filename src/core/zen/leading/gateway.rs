//! What a master waits for after a full restart, before users get the state back.
//!
//! The rules stand in the `gateway` above. Mirrors `GatewayService` and `Gateway.performStateRecovery` (6.8).

use crate::cluster::{Block, ClusterState, EphemeralId, Node, Nodes};
use crate::service::{Task, restore_settings};
use crate::zen::gateway::Readiness;
use crate::zen::mode::leadership::Leadership;
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::{Note, Timer};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Role<'_, Leadership> {
    /// After a full restart: prepares the first state of a mastership, which users get at once if nothing is to be waited for.
    /// The nodes that it names from before do not count unless they joined.
    pub(super) fn begin_recovery(&mut self, state: &mut ClusterState, joined: &[Arc<Node>], is_full_restart: bool) {
        for (key, why) in restore_settings(state, self.node.config.rule, is_full_restart) {
            self.out.note(Note::Archives { key, why });
        }
        let is_absent = |node: &&Arc<Node>| !joined.iter().chain([&self.node.local]).any(|one| one.same_process(node));
        let absent = state.nodes.iter().filter(is_absent).map(|node| node.ephemeral_id.clone()).collect();
        if self.node.tuning.gateway.readiness(&present(&state.nodes, &absent)) == Readiness::Ready {
            state.blocks.remove(Block::STATE_NOT_RECOVERED.id);
        } else {
            state.blocks.add(Block::STATE_NOT_RECOVERED);
        }
        self.mode.recovery.absent = absent;
    }

    /// Gives the state back if it is time.
    pub(in crate::zen) fn recover(&mut self) -> Flow {
        let is_blocked = self.node.applied.blocks.contains(Block::STATE_NOT_RECOVERED.id);
        let (gateway, nodes) = (self.node.tuning.gateway.clone(), self.node.applied.nodes.clone());
        let indices = self.node.applied.metadata.indices.len();
        let lead = &mut *self.mode;
        if !lead.is_settled || !is_blocked || lead.recovery.is_asked {
            return STAYS;
        }
        let readiness = gateway.readiness(&present(&nodes, &lead.recovery.absent));
        match (readiness, lead.recovery.due) {
            (Readiness::NotYet, _) => return STAYS,
            (Readiness::After(after, reason), None) => {
                lead.recovery.due = Some(self.now + after);
                self.node.timers.set(Timer::Gateway, self.now + after);
                self.out.note(Note::DelaysRecovery { after, reason });
                return STAYS;
            }
            (Readiness::After(_, _), Some(due)) if self.now < due => return STAYS,
            (Readiness::After(_, _) | Readiness::Ready, _) => {}
        }
        lead.recovery.is_asked = true;
        self.node.timers.stop(Timer::Gateway);
        self.out.note(Note::Recovers { indices });
        self.enqueue(Task::Recover)
    }
}

/// The nodes without those that are only named.
fn present(nodes: &Nodes, absent: &BTreeSet<EphemeralId>) -> Nodes {
    nodes.iter().filter(|node| !absent.contains(&node.ephemeral_id)).cloned().collect()
}
