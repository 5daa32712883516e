//! Checks what must always hold for each cluster of a script by itself: two clusters may both have a master in a term.

use crate::protocol::Time;
use crate::sim::check::Checkers;
use crate::sim::{Violation, Watch};
use crate::zen::{Message, Zen};
use std::collections::BTreeMap;

/// The checkers of every cluster, and which nodes belong to which; to the first one if nothing else is known.
#[derive(Debug, Default)]
pub(super) struct Apart {
    clusters: BTreeMap<usize, Checkers>,
    of: BTreeMap<usize, usize>,
}

impl Apart {
    /// These nodes are a cluster of their own.
    pub(super) fn set(&mut self, nodes: std::ops::Range<usize>) {
        let cluster = nodes.start;
        self.of.extend(nodes.map(|node| (node, cluster)));
    }

    fn checkers(&mut self, node: usize) -> &mut Checkers {
        let cluster = self.of.get(&node).copied().unwrap_or_default();
        self.clusters.entry(cluster).or_default()
    }
}

impl Watch<Zen> for Apart {
    fn booted(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.checkers(node).booted(at, node, zen)
    }

    fn handled(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.checkers(node).handled(at, node, zen)
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.checkers(from).sent(at, from, to, message)
    }
}
