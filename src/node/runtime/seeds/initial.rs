//! Who must take part in the first forming: the seed hosts as nodes, each with the names that it goes by.
//!
//! A host is one node, by whichever of its addresses that node goes. A name with several addresses of one family stands
//! for as many nodes; so a name that nobody but this node has yet is taken for one that others will have as well.
//! What is done with it is decided in `zen`; how hosts are found stands in `mod.rs`.

use super::host::{Host, parse};
use super::{OnThisMachine, Place};
use crate::cluster::Address;
use crate::protocol::Initial;
use crate::settings::{DiscoveryKind, DiscoverySettings, NodeSettings, PortRange};
use crate::zen::Bootstrap;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Stands for the hosts that a file will name.
pub(super) const FILE_NAME: &str = "unicast_hosts.txt";

/// Who must take part in the first forming, before anything is looked up.
pub fn bootstrap(settings: &NodeSettings) -> Bootstrap {
    let discovery = &settings.discovery;
    let texts = |texts: &[String]| Bootstrap::Hosts(texts.iter().map(|text| text.as_str().into()).collect());
    match (discovery.kind, named(discovery), &discovery.hosts) {
        (DiscoveryKind::SingleNode | DiscoveryKind::Lab(_), _, _) => texts(&[]),
        (DiscoveryKind::Zen, Some(names), _) => texts(names),
        (DiscoveryKind::Zen, None, None) if !discovery.hosts_file => Bootstrap::Found,
        (DiscoveryKind::Zen, None, hosts) => {
            let file = discovery.hosts_file.then(|| FILE_NAME.to_string());
            texts(&hosts.iter().flatten().cloned().chain(file).collect::<Vec<_>>())
        }
    }
}

/// `cluster.initial_master_nodes`, if it names anybody.
pub(super) fn named(discovery: &DiscoverySettings) -> Option<&[String]> {
    discovery.initial_master_nodes.as_deref().filter(|names| !names.is_empty())
}

/// The nodes of `cluster.initial_master_nodes`: names, ids and addresses as they are, without looking anything up.
pub(super) fn of_names(names: &[String], default_port: u16, own: &OnThisMachine) -> Vec<Initial<Address>> {
    let mut nodes = Nodes { own, found: Vec::new() };
    for name in names {
        match parse(name) {
            Ok(Host::Address(ip, ports)) => {
                nodes
                    .add(name.as_str().into(), &[SocketAddr::new(ip, ports.map_or(default_port, |ports| ports.first))]);
            }
            Ok(Host::Name(..) | Host::Service(_)) | Err(_) => nodes.add(name.as_str().into(), &[]),
        }
    }
    nodes.finish()
}

/// The nodes of the seed hosts.
pub(super) fn of_places(places: &[Place], own: &OnThisMachine) -> Vec<Initial<Address>> {
    let mut nodes = Nodes { own, found: Vec::new() };
    for place in places {
        nodes.add_place(place);
    }
    if let [only] = &nodes.found[..]
        && only.addresses.contains(&own.published)
        && let Some(place) = places.iter().find(|place| place.may_be_shared(own))
    {
        let others: Arc<str> = format!("another node of {}", place.label).into();
        nodes.found.push(Found { name: others, addresses: BTreeSet::new() });
    }
    nodes.finish()
}

struct Nodes<'a> {
    own: &'a OnThisMachine,
    found: Vec<Found>,
}

struct Found {
    name: Arc<str>,
    addresses: BTreeSet<Address>,
}

impl Nodes<'_> {
    fn add_place(&mut self, place: &Place) {
        // Of a range of ports the first counts, which is the only one that Elasticsearch tries.
        let PortRange { first: port, .. } = place.ports;
        let at = |ip: &&IpAddr| SocketAddr::new(**ip, port);
        let (v4, v6): (Vec<&IpAddr>, Vec<&IpAddr>) = place.addresses.iter().partition(|ip| ip.is_ipv4());
        if v4.len() <= 1 && v6.len() <= 1 {
            let addresses: Vec<SocketAddr> = v4.iter().chain(&v6).map(at).collect();
            return self.add(place.label.clone(), &addresses);
        }
        // Which address of the other family belongs to which node cannot be told.
        let more = if v6.len() > v4.len() { v6 } else { v4 };
        for at in more.iter().map(at) {
            self.add(at.to_string().into(), &[at]);
        }
    }

    /// Adds a node, or further names of one that is known by one of these addresses.
    fn add(&mut self, name: Arc<str>, at: &[SocketAddr]) {
        let addresses: BTreeSet<Address> = at.iter().flat_map(|at| self.addresses_of(*at)).collect();
        match self.found.iter_mut().find(|found| !found.addresses.is_disjoint(&addresses)) {
            Some(found) => found.addresses.extend(addresses),
            None => self.found.push(Found { name, addresses }),
        }
    }

    /// The addresses that the node at this one may go by: its own one, and both loopback addresses are one machine.
    fn addresses_of(&self, at: SocketAddr) -> Vec<Address> {
        let twin = match at.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) => Some(IpAddr::from(Ipv6Addr::LOCALHOST)),
            IpAddr::V6(Ipv6Addr::LOCALHOST) => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
            IpAddr::V4(_) | IpAddr::V6(_) => None,
        };
        let own = self.own.is_reached_at(at).then(|| self.own.published.clone());
        let all = [Some(at), twin.map(|ip| SocketAddr::new(ip, at.port()))];
        all.into_iter().flatten().map(|at| Address::from(at.to_string())).chain(own).collect()
    }

    fn finish(self) -> Vec<Initial<Address>> {
        let initial = |found: Found| Initial { name: found.name, peers: found.addresses.into_iter().collect() };
        self.found.into_iter().map(initial).collect()
    }
}

impl Place {
    /// Whether other nodes may come to have this name as well: it is neither an address nor the name of this machine.
    fn may_be_shared(&self, own: &OnThisMachine) -> bool {
        let is_local = !self.addresses.is_empty() && self.addresses.iter().all(IpAddr::is_loopback);
        self.is_name && !is_local && !own.is_called(&self.label)
    }
}
