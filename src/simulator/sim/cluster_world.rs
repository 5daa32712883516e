//! Nodes in a world: the one place that makes participants of descriptions.
//!
//! Names are as short as can be, so that traces are readable: a node called `a` has the id `a` and the ephemeral ids
//! `a-1`, `a-2` and so on, one for each start. Its disk decides who it is; a start that finds the disk wiped makes a new
//! node, `a~2` if it is the second start.

use super::member::Member;
use super::transit;
use super::watch::Watch;
use super::world::World;
use crate::cluster::{Address, ClusterName, Node, Roles};
use crate::protocol::{Protocol, Resolution, Rng};
use crate::sim::Boot;
use crate::zen::rules::Rules;
use crate::zen::{Bootstrap, Config, Memory, Message, Tuning, Zen};
use crate::zen68::{Dialect, Zen68};
use std::sync::Arc;

/// The name of every cluster that is not given one.
pub const CLUSTER_NAME: &str = "zazen";

/// Where the transport of each node listens.
const PORT: u16 = 9300;

/// How a node of a cluster is set up.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name, which its id is made of.
    pub name: Arc<str>,
    /// Where it listens.
    pub address: Address,
    /// What it does in the cluster.
    pub roles: Roles,
    /// Which cluster it belongs to.
    pub cluster_name: ClusterName,
    /// Who must take part in the first forming.
    pub bootstrap: Bootstrap,
    /// The numbers that it runs by.
    pub tuning: Tuning,
    /// Whom it pings first.
    pub seeds: Resolution<Address>,
    /// The protections that it keeps.
    pub rules: Rules,
    /// Which Zen it is, if it is one of old: only a world of [`Member`]s has such nodes.
    pub dialect: Option<Dialect>,
}

/// A participant that can be made of a description.
pub trait Described: Protocol<Peer = Address, Message = Message, Disk = Memory> {
    /// A process that finds this on its disk.
    fn begin(spec: &NodeSpec, config: Config, disk: Memory, rng: Rng) -> Self;
}

impl Described for Zen {
    fn begin(spec: &NodeSpec, config: Config, disk: Memory, rng: Rng) -> Zen {
        assert_eq!(spec.dialect, None, "{} is to be a member", spec.name);
        Zen::with_rules(config, disk, rng, spec.rules)
    }
}

impl Described for Member {
    fn begin(spec: &NodeSpec, config: Config, disk: Memory, rng: Rng) -> Member {
        match spec.dialect {
            Some(dialect) => Member::Zen68(Box::new(Zen68::new(dialect, config, disk, rng))),
            None => Member::Zen(Box::new(Zen::begin(spec, config, disk, rng))),
        }
    }
}

impl NodeSpec {
    /// A node with all roles and default settings, to which these hosts are configured.
    pub fn new(name: &str, address: Address, hosts: &[Address]) -> Self {
        NodeSpec {
            name: name.into(),
            address,
            roles: Roles::ALL,
            cluster_name: CLUSTER_NAME.into(),
            bootstrap: Bootstrap::Hosts(hosts.iter().map(|host| host.as_str().into()).collect()),
            tuning: Tuning::default(),
            seeds: Resolution::of(hosts.to_vec()),
            rules: Rules::default(),
            dialect: None,
        }
    }

    /// The node as its process of this start knows itself.
    fn node(&self, start: u32) -> Node {
        let id = if start == 1 { self.name.to_string() } else { format!("{}~{start}", self.name) };
        Node {
            id: id.into(),
            ephemeral_id: format!("{}-{start}", self.name).into(),
            name: self.name.clone(),
            address: self.address.clone(),
            roles: self.roles,
            attributes: Arc::default(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    pub(super) fn boot<P: Described>(&self, boot: Boot<'_, P>) -> P {
        let config = Config {
            cluster_name: self.cluster_name.clone(),
            node: self.node(boot.boots + 1),
            bootstrap: self.bootstrap.clone(),
            tuning: self.tuning.clone(),
            rule: crate::settings::rule,
        };
        P::begin(self, config, boot.disk, boot.rng)
    }
}

/// The address of the node with this index: `10.0.0.1:9300` for the first.
pub fn address(index: usize) -> Address {
    const HOSTS: usize = 250;
    let (net, host) = (index / HOSTS, index % HOSTS + 1);
    format!("10.0.{net}.{host}:{PORT}").into()
}

/// Tells a world how Zen's messages travel.
pub fn prepare<P: Described, W: Watch<P>>(world: &mut World<P, W>) {
    world.weigh_messages(transit::bytes);
    world.send_over_links(transit::goes_over_links);
}

/// Tells the same to a world whose states are large, whatever is in them.
pub(super) fn prepare_bulky<W: Watch<Zen>>(world: &mut World<Zen, W>) {
    world.weigh_messages(transit::bytes_in_bulk);
    world.send_over_links(transit::goes_over_links);
}

/// Adds a node that is down, and tells its index.
pub fn add<P: Described, W: Watch<P>>(world: &mut World<P, W>, spec: NodeSpec) -> usize {
    let seeds = spec.seeds.clone();
    let node = world.add(spec.address.clone(), Vec::new(), move |boot| spec.boot(boot));
    world.set_seeds(node, seeds);
    node
}

/// Sets a node up anew: its seeds at once, all else from its next start on. A node that is given another address moves
/// there, and must be down.
pub fn configure<P: Described, W: Watch<P>>(world: &mut World<P, W>, node: usize, spec: NodeSpec) {
    if world.peer(node) != &spec.address {
        world.move_to(node, spec.address.clone());
    }
    world.set_seeds(node, spec.seeds.clone());
    world.set_boot(node, move |boot| spec.boot(boot));
}

/// The index of the running node that leads and shows it, if there is exactly one.
pub fn only_master<P: Described, W: Watch<P>>(world: &World<P, W>) -> Option<usize> {
    let leads = |node: &usize| {
        let own = world.peer(*node);
        world.is_running(*node)
            && world.participant(*node).is_some_and(|node| node.standing().leader.as_ref() == Some(own))
    };
    let mut masters = (0..world.len()).filter(leads);
    masters.next().filter(|_| masters.next().is_none())
}
