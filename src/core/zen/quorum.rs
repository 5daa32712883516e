//! How many are enough: the automatic quorum of voting sets, and what is counted besides it.
//!
//! Pure functions. Takes the place of `ElectMasterService.hasEnoughMasterNodes` (6.8), which counted against a number
//! that a person had typed, and of `Reconfigurator` (7.x).

use crate::cluster::{Address, Node, NodeId, VotingSet, VotingSets};
use crate::protocol::Initial;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Who must take part before a cluster is formed, as one node was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BootstrapSet {
    /// Names, addresses or ids of nodes.
    pub members: BTreeSet<Arc<str>>,
    /// What else members go by: the addresses of those that are named otherwise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<Arc<str>, Arc<str>>,
    /// Whether all of them must take part, rather than a majority.
    pub all: bool,
    /// The addresses of those who must all take part besides: they may have formed a cluster without the same members.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub besides: BTreeSet<Arc<str>>,
}

impl fmt::Display for BootstrapSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<&str> = self.members.iter().map(|member| &**member).collect();
        let share = if self.all { "all" } else { "a majority" };
        write!(f, "{share} of the initial hosts {{{}}}", members.join(","))?;
        let besides: Vec<&str> = self.besides.iter().map(|member| &**member).collect();
        if besides.is_empty() { Ok(()) } else { write!(f, " and {}", besides.join(",")) }
    }
}

impl BootstrapSet {
    /// A majority of these must take part.
    pub fn majority_of(members: BTreeSet<Arc<str>>) -> Self {
        BootstrapSet { members, ..BootstrapSet::default() }
    }

    /// A majority of these must take part, by whichever of their addresses they go.
    pub fn majority_of_found(initial: Vec<Initial<Address>>) -> Self {
        let mut set = BootstrapSet::majority_of(BTreeSet::new());
        for Initial { name, peers } in initial {
            let addresses = peers.iter().map(|peer| Arc::from(peer.as_str()));
            set.aliases.extend(addresses.filter(|address| *address != name).map(|address| (address, name.clone())));
            set.members.insert(name);
        }
        set
    }

    /// A member is reached at an address, and goes by another one.
    pub(super) fn also_goes_by(&mut self, published: Arc<str>, named: Arc<str>) {
        let member = self.aliases.get(&named).cloned().unwrap_or(named);
        if self.members.contains(&member) && !self.has_address(&published) {
            self.aliases.insert(published, member);
        }
    }

    /// Whether this is one of the members.
    pub fn has(&self, node: &Node) -> bool {
        self.members_that_are(node).next().is_some()
    }

    /// Whether the node at this address is one of the members.
    pub(super) fn has_address(&self, address: &Arc<str>) -> bool {
        self.members.contains(self.aliases.get(address).unwrap_or(address))
    }

    /// The set of those who must all take part besides.
    pub(super) fn of_those_besides(&self) -> Self {
        BootstrapSet { all: true, ..BootstrapSet::majority_of(self.besides.clone()) }
    }

    /// Strikes a node out: it cannot be master, so the others form the cluster without its vote.
    pub fn leave_out(&mut self, node: &Node) {
        let struck: Vec<Arc<str>> = self.members_that_are(node).map(Arc::from).collect();
        self.members.retain(|member| !struck.contains(member));
    }

    /// The members that a node is, by its name, its address or its id.
    pub(super) fn members_that_are<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a str> {
        let names = [&*node.name, node.address.as_str(), node.id.as_str()];
        let member = |name| self.aliases.get(name).map_or(name, |member| &**member);
        names.into_iter().map(member).filter(|name| self.members.contains(*name))
    }

    /// Whether enough of the members are among `nodes`.
    pub fn is_met_by<'a>(&self, nodes: impl Iterator<Item = &'a Arc<Node>>) -> bool {
        let mut met: BTreeSet<&str> = BTreeSet::new();
        let (mut count, mut besides) = (0, 0);
        for node in nodes {
            besides += usize::from(self.besides.contains(node.address.as_str()));
            let before = met.len();
            met.extend(self.members_that_are(node));
            // A node that is named twice is still one node.
            count += usize::from(met.len() > before);
        }
        let is_share = if self.all { count >= self.members.len() } else { count * 2 > self.members.len() };
        is_share && besides >= self.besides.len()
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
        // The cheapest first: a large cluster is judged with each answer.
        eligible().count() >= self.minimum.max(1)
            && self.sets.committed.has_majority(has)
            && self.sets.own.has_majority(has)
            && self.bootstrap.iter().all(|set| set.is_met_by(eligible()))
    }
}

/// The voting set to aim at: odd, with the master in it, and of live nodes as far as they go.
///
/// Once it had three members it keeps three, whoever fails or says good-bye, because a set of one would make the last
/// node a single point of failure. A live member is not swapped for another.
pub fn next_voting_set(current: &VotingSet, live: &BTreeSet<NodeId>, master: &NodeId) -> VotingSet {
    let size = VotingSet::most_of(live.len()).max(if current.len() >= 3 { 3 } else { 1 });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Roles;

    fn node(name: &str, address: &str) -> Arc<Node> {
        Arc::new(Node {
            id: name.into(),
            ephemeral_id: name.into(),
            name: name.into(),
            address: address.into(),
            roles: Roles::ALL,
            attributes: Arc::default(),
            version: "6.8.23".into(),
        })
    }

    #[test]
    fn a_host_that_is_reached_on_loopback_is_the_one_that_answered_there() {
        let hosts = ["127.0.0.1:9300", "127.0.0.1:9301", "127.0.0.1:9302"].map(Arc::from);
        let mut set = BootstrapSet::majority_of(hosts.into());
        let (one, two) = (node("a", "192.0.2.1:9300"), node("b", "192.0.2.1:9301"));
        assert!(!set.is_met_by([&one, &two].into_iter()), "nobody knows who they are");
        for node in [&one, &two] {
            let port = node.address.port().expect("it has one");
            set.also_goes_by(node.address.as_str().into(), format!("127.0.0.1:{port}").into());
        }
        assert!(set.is_met_by([&one, &two].into_iter()));
        set.also_goes_by("192.0.2.7:9300".into(), "127.0.0.1:9999".into());
        assert!(!set.has(&node("c", "192.0.2.7:9300")), "nobody is to be there");
    }

    #[test]
    fn a_host_with_several_addresses_is_one_member_by_whichever_its_node_goes() {
        let host = |name: &str, peers: &[&str]| Initial {
            name: name.into(),
            peers: peers.iter().map(|peer| Address::from(*peer)).collect(),
        };
        let set = BootstrapSet::majority_of_found(vec![
            host("es-1", &["10.0.0.1:9300", "[fd00::1]:9300"]),
            host("es-2", &["10.0.0.2:9300", "[fd00::2]:9300"]),
            host("10.0.0.3:9300", &["10.0.0.3:9300"]),
        ]);
        let (one, two) = (node("a", "10.0.0.1:9300"), node("b", "[fd00::2]:9300"));
        let (three, again) = (node("c", "10.0.0.3:9300"), node("d", "[fd00::1]:9300"));
        assert!(set.is_met_by([&one, &two].into_iter()), "by two addresses");
        assert!(set.is_met_by([&two, &three].into_iter()), "by an alias and an address");
        assert!(set.is_met_by([&two, &node("es-1", "10.9.9.9:9300")].into_iter()), "by the name itself");
        assert!(!set.is_met_by([&one, &again].into_iter()), "two nodes are not one host");
        assert!(!set.is_met_by([&one].into_iter()), "one of three");
        assert_eq!(set.to_string(), "a majority of the initial hosts {10.0.0.3:9300,es-1,es-2}");
    }
}
