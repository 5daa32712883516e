//! What the cluster of a random run depends on: which nodes are a quorum whatever was decided, and whose disk it can lose.
//!
//! Says nothing of what nodes should do; it keeps a run from demanding what no algorithm could give.

use super::run_world::Run;
use crate::cluster::{ClusterState, NodeId, VotingSet, VotingSets};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Run {
    /// Who a node is, or was last; nobody if its disk was wiped and no process runs there.
    fn id_of(&self, node: usize) -> Option<NodeId> {
        let running = self.world.participant(node).map(|zen| zen.local().id.clone());
        running.or_else(|| self.world.disk(node).promise.node_id.clone())
    }

    /// The ids of those that can be master.
    fn voters(&self, group: &[usize]) -> BTreeSet<NodeId> {
        let eligible = group.iter().filter(|node| **node < self.draw.eligible);
        eligible.filter_map(|node| self.id_of(*node)).collect()
    }

    /// Every state that a node accepted or is about to.
    fn accepted(&self) -> impl Iterator<Item = &Arc<ClusterState>> {
        let stored = (0..self.draw.nodes).filter_map(|node| self.world.disk(node).accepted.as_ref());
        stored.chain(self.world.participants().map(|(_, zen)| &zen.ledger().accepted))
    }

    /// Whether these nodes are a quorum of everything that any node has accepted, or is about to. Where nothing was accepted
    /// yet, nobody at all is none.
    pub(super) fn is_quorum(&self, group: &[usize]) -> bool {
        self.minimum().max(1) <= self.voters(group).len()
            && !self.world.watch.is_setting()
            && self.bears_without_others(group)
    }

    /// The highest number of nodes that an operator asked for, as far as it may still count.
    pub(super) fn minimum(&self) -> usize {
        let running = self.world.participants().map(|(_, zen)| zen.quorum().minimum);
        let stored = self.accepted().filter_map(|state| minimum_in(state));
        running.chain(stored).max().unwrap_or(0).max(self.draw.minimum.unwrap_or(0) as usize)
    }

    /// Whether these nodes can go on without the others, if nobody asks for more than the protocol does. Nobody may count
    /// on nodes that were never well.
    pub(super) fn bears_without_others(&self, group: &[usize]) -> bool {
        let voters = self.voters(group);
        let blank: Vec<usize> = group.iter().copied().filter(|node| !self.knows_cluster(*node)).collect();
        let never: BTreeSet<NodeId> = self.never_well.iter().filter_map(|node| self.id_of(*node)).collect();
        let has_majority = |set: &VotingSet| {
            let counting = set.iter().filter(|id| !never.contains(*id));
            let (all, ours) = (counting.clone().count(), counting.filter(|id| voters.contains(*id)).count());
            set.is_empty() || ours * 2 > all
        };
        let is_backed = |sets: &VotingSets| has_majority(&sets.committed) && has_majority(&sets.own);
        self.accepted().all(|state| is_backed(&state.metadata.voting))
            && blank.iter().all(|node| self.has_hosts_of(*node, group))
    }

    /// Whether a node can lose its disk: the others hold all that was decided, and those that know nothing form nothing.
    /// Who was told to leave whom out is part of what was decided, as long as somebody knows of no cluster.
    pub(super) fn may_wipe(&self, wiped: usize) -> bool {
        let others: Vec<usize> = (0..self.draw.nodes).filter(|node| *node != wiped).collect();
        let is_blank = |node: &usize| *node == wiped || self.world.disk(*node).cluster_uuid.is_none();
        let blank: Vec<usize> = (0..self.draw.nodes).filter(is_blank).collect();
        let voters = self.voters(&others);
        self.leavers().is_empty()
            && self.accepted().all(|state| state.metadata.voting.has_majority(|id| voters.contains(id)))
            && blank.iter().all(|node| !self.has_hosts_of(*node, &blank))
    }

    pub(super) fn knows_cluster(&self, node: usize) -> bool {
        let running = self.world.participant(node).is_some_and(|zen| zen.ledger().cluster_uuid.is_some());
        running || self.world.disk(node).cluster_uuid.is_some()
    }

    /// Whether a majority of those whom a node expects from the start is in the group.
    fn has_hosts_of(&self, node: usize, group: &[usize]) -> bool {
        let hosts: BTreeSet<usize> = (0..self.draw.hosts).chain((node < self.draw.eligible).then_some(node)).collect();
        let count = hosts.iter().filter(|host| group.contains(host)).count();
        // Whoever left another one out may be asked for, and all hosts of one who was left out.
        let leavers = self.leavers();
        let is_there = |address: &Arc<str>| group.iter().any(|other| self.world.peer(*other).as_str() == &**address);
        if leavers.is_empty() { count * 2 > hosts.len() } else { count == hosts.len() && leavers.iter().all(is_there) }
    }

    /// Who was told, by another node that still knows of no cluster, that it cannot be master.
    fn leavers(&self) -> BTreeSet<Arc<str>> {
        let blank: Vec<usize> = (0..self.draw.nodes).filter(|node| !self.knows_cluster(*node)).collect();
        let stored = blank.iter().map(|node| &self.world.disk(*node).promise.left_out);
        let running = blank.iter().filter_map(|node| Some(&self.world.participant(*node)?.ledger().promise.left_out));
        stored.chain(running).flatten().cloned().collect()
    }

    /// Whether a master can do without one of its group.
    pub(super) fn can_do_without(&self, master: usize, victim: usize, group: &[usize]) -> bool {
        let Some(zen) = self.world.participant(master) else {
            return false;
        };
        let rest: Vec<usize> = group.iter().copied().filter(|node| *node != victim).collect();
        let voters = self.voters(&rest);
        let voting = &zen.ledger().accepted.metadata.voting;
        voting.has_majority(|id| voters.contains(id)) && voters.len() >= zen.quorum().minimum
    }
}

/// The higher of the two that a state sets: the transient one goes over the other, and ends with a full restart.
fn minimum_in(state: &ClusterState) -> Option<usize> {
    let both = [&state.metadata.transient, &state.metadata.persistent];
    both.into_iter().filter_map(|settings| settings.get(crate::service::MINIMUM_MASTER_NODES)?.parse().ok()).max()
}
