//! What may be looked at of a node.

use super::{Mode, Zen68};
use crate::cluster::{ClusterState, Node, StateId};
use crate::protocol::Timers;
use std::sync::Arc;

impl Zen68 {
    /// The node itself.
    pub fn local(&self) -> &Arc<Node> {
        &self.local
    }

    /// The last committed state, as readers see it.
    pub fn state(&self) -> &Arc<ClusterState> {
        &self.state
    }

    /// The master that readers see, itself included.
    pub fn open_master(&self) -> Option<&Arc<Node>> {
        self.state.nodes.master_node()
    }

    /// Whether it takes itself for the master, or is about to.
    pub fn leads(&self) -> bool {
        matches!(self.mode, Mode::Leading(_))
    }

    /// What its mode is called.
    pub fn mode_name(&self) -> &'static str {
        match self.mode {
            Mode::Finding => "finding",
            Mode::Electing => "electing",
            Mode::Joining { .. } => "joining",
            Mode::Following { .. } => "following",
            Mode::Leading(_) => "leading",
        }
    }

    /// Whether a state of this master is on its way.
    pub fn is_publishing(&self) -> bool {
        matches!(&self.mode, Mode::Leading(mastership) if mastership.publish.is_some())
    }

    /// Whether it leads and has nothing else to do.
    pub fn is_settled(&self) -> bool {
        let Mode::Leading(mastership) = &self.mode else {
            return false;
        };
        mastership.publish.is_none() && mastership.queue.is_empty() && !mastership.gateway.is_busy()
    }

    /// The newest state that it could give back if all others were gone.
    pub fn newest_held(&self) -> StateId {
        let stored = self.disk.accepted.as_ref().map(|state| state.id());
        let acknowledged = self.pending.iter().map(|state| state.id());
        acknowledged.chain(stored).chain([self.state.id()]).max().unwrap_or(StateId::NONE)
    }

    /// The deadlines that are set.
    pub fn timers(&self) -> &Timers<super::Timer> {
        &self.timers
    }
}
