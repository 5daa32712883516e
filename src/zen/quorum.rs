//! How many are enough: the automatic quorum of voting sets, and what is counted besides it.
//!
//! Pure functions. Takes the place of `ElectMasterService.hasEnoughMasterNodes` (6.8), which counted against a number
//! that a person had typed, and of `Reconfigurator` (7.x).

use crate::cluster::{Node, NodeId, VotingSet, VotingSets};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Who must take part before a cluster is formed, as one node was told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BootstrapSet {
    /// Names, addresses or ids of nodes.
    pub members: BTreeSet<Arc<str>>,
    /// Whether all of them must take part, rather than a majority.
    pub all: bool,
}

impl fmt::Display for BootstrapSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<&str> = self.members.iter().map(|member| &**member).collect();
        let share = if self.all { "all" } else { "a majority" };
        write!(f, "{share} of the initial hosts {{{}}}", members.join(","))
    }
}

impl BootstrapSet {
    /// Whether enough of the members are among `nodes`.
    pub fn is_met_by<'a>(&self, nodes: impl Iterator<Item = &'a Arc<Node>>) -> bool {
        let mut met: BTreeSet<&str> = BTreeSet::new();
        let mut count = 0;
        for node in nodes {
            let names = [&*node.name, node.address.as_str(), node.id.as_str()];
            let before = met.len();
            met.extend(names.into_iter().filter(|name| self.members.contains(*name)));
            // A node that is named twice is still one node.
            count += usize::from(met.len() > before);
        }
        if self.all { count >= self.members.len() } else { count * 2 > self.members.len() }
    }
}

/// What an election or a commit must be backed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// A majority of both.
    pub sets: VotingSets,
    /// The operator's number of master-eligible nodes.
    pub minimum: usize,
    /// Before a cluster is formed: the bootstrap sets of all who voted.
    pub bootstrap: BTreeSet<BootstrapSet>,
}

impl Requirement {
    /// Whether these nodes suffice. Only master-eligible ones count, and each once.
    pub fn is_met_by(&self, backers: &BTreeMap<NodeId, Arc<Node>>) -> bool {
        let eligible = || backers.values().filter(|node| node.is_master_eligible());
        let has = |id: &NodeId| backers.get(id).is_some_and(|node| node.is_master_eligible());
        self.sets.committed.has_majority(has)
            && self.sets.own.has_majority(has)
            && eligible().count() >= self.minimum.max(1)
            && self.bootstrap.iter().all(|set| set.is_met_by(eligible()))
    }
}

/// The voting set to aim at: odd, with the master in it, and of live nodes as far as they go.
///
/// Once it had three members it keeps three, whoever fails or says good-bye, because a set of one would make the last
/// node a single point of failure. A live member is not swapped for another.
pub fn next_voting_set(current: &VotingSet, live: &BTreeSet<NodeId>, master: &NodeId) -> VotingSet {
    let odd = if live.len().is_multiple_of(2) { live.len().saturating_sub(1) } else { live.len() };
    let size = odd.max(if current.len() >= 3 { 3 } else { 1 });
    let members = live.iter().filter(|id| current.contains(id));
    let newcomers = live.iter().filter(|id| !current.contains(id));
    let absent = current.iter().filter(|id| !live.contains(*id));
    let mut chosen = BTreeSet::from([master.clone()]);
    for id in members.chain(newcomers).chain(absent) {
        if chosen.len() < size {
            chosen.insert(id.clone());
        }
    }
    VotingSet::new(chosen)
}
