//! Which nodes are gone for good: their disks were wiped.

use super::check::Descent;
use crate::cluster::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Who stands where, and who will not come back.
#[derive(Debug, Default)]
pub(super) struct Wiped {
    present: BTreeMap<usize, NodeId>,
    gone: BTreeSet<NodeId>,
}

impl Wiped {
    /// The disk of a node is wiped, and with it the node that it was.
    pub(super) fn wiped(&mut self, node: usize) {
        self.gone.extend(self.present.get(&node).cloned());
    }

    /// A process was started.
    pub(super) fn booted(&mut self, node: usize, id: &NodeId) {
        self.present.insert(node, id.clone());
    }

    /// Those that still count in elections and commits, though they are not in the cluster.
    pub(super) fn voters(&self, descent: &Descent) -> Vec<NodeId> {
        let Some(state) = descent.committed(&descent.newest()).filter(|_| !self.gone.is_empty()) else {
            return Vec::new();
        };
        let counts = |id: &&NodeId| state.metadata.voting.own.contains(id) && !state.nodes.contains(id);
        self.gone.iter().filter(counts).cloned().collect()
    }
}
