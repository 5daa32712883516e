//! Checks what must always hold, in each cluster of a script for itself.
//!
//! Two clusters in one world may both have a master in one term. A node belongs to the cluster whose name it was added
//! with, whatever it is told later; those that are added apart are a cluster of their own under the same name. Nodes of
//! old are not guarded: what they do wrong is what their story is about.

use super::lease_holders::LeaseHolders;
use crate::cluster::ClusterName;
use crate::protocol::{Ticket, Time};
use crate::service::Answer;
use crate::sim::check::Checkers;
use crate::sim::{Member, Violation, Watch};
use crate::zen::{Memory, Message, Write};

/// The checkers of each cluster.
#[derive(Debug, Default)]
pub(super) struct Guards {
    clusters: Vec<((ClusterName, Option<usize>), Checkers)>,
    /// The cluster of each node.
    of: Vec<usize>,
    /// Who was told what of leases.
    pub(super) holders: LeaseHolders,
}

impl Guards {
    /// The next node belongs to this cluster, or to one apart whose first node has this index.
    pub(super) fn add_node(&mut self, cluster: &ClusterName, apart: Option<usize>) {
        let cluster = (cluster.clone(), apart);
        let known = self.clusters.iter().position(|(known, _)| *known == cluster);
        self.of.push(known.unwrap_or(self.clusters.len()));
        if known.is_none() {
            self.clusters.push((cluster, Checkers::default()));
        }
    }

    fn of(&mut self, node: usize) -> &mut Checkers {
        &mut self.clusters[self.of[node]].1
    }
}

impl Watch<Member> for Guards {
    fn booted(&mut self, at: Time, node: usize, member: &Member) -> Result<(), Violation> {
        member.zen().map_or(Ok(()), |zen| self.of(node).booted(at, node, zen))
    }

    fn handled(&mut self, at: Time, node: usize, member: &Member) -> Result<(), Violation> {
        member.zen().map_or(Ok(()), |zen| self.of(node).handled(at, node, zen))
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.of(from).sent(at, from, to, message)
    }

    fn wrote(&mut self, at: Time, node: usize, write: &Write) -> Result<(), Violation> {
        self.of(node).wrote(at, node, write)
    }

    fn synced(&mut self, at: Time, node: usize, disk: &Memory) -> Result<(), Violation> {
        self.of(node).synced(at, node, disk)
    }

    fn answered(&mut self, at: Time, _node: usize, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        self.holders.answered(at, ticket, answer)
    }
}
