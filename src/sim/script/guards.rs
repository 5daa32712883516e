//! Checks what must always hold, in each cluster of a script for itself.
//!
//! Two clusters in one world may both have a master in one term. A node belongs to the cluster whose name it was added
//! with, whatever it is told later.

use crate::cluster::ClusterName;
use crate::protocol::Time;
use crate::sim::check::Checkers;
use crate::sim::{Violation, Watch};
use crate::zen::{Message, Zen};

/// The checkers of each cluster.
#[derive(Debug, Default)]
pub(super) struct Guards {
    clusters: Vec<(ClusterName, Checkers)>,
    /// The cluster of each node.
    of: Vec<usize>,
}

impl Guards {
    /// The next node belongs to this cluster.
    pub(super) fn add_node(&mut self, cluster: &ClusterName) {
        let known = self.clusters.iter().position(|(name, _)| name == cluster);
        self.of.push(known.unwrap_or(self.clusters.len()));
        if known.is_none() {
            self.clusters.push((cluster.clone(), Checkers::default()));
        }
    }

    fn of(&mut self, node: usize) -> &mut Checkers {
        &mut self.clusters[self.of[node]].1
    }
}

impl Watch<Zen> for Guards {
    fn booted(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.of(node).booted(at, node, zen)
    }

    fn handled(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.of(node).handled(at, node, zen)
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.of(from).sent(at, from, to, message)
    }
}
