//! Where other nodes may be: the seed hosts, as the configuration, a file and the name servers have them at the moment.
//!
//! Pings nobody. What a host may look like stands in `host.rs`, who of them must take part in the first forming in
//! `initial.rs`. Mirrors `UnicastZenPing.resolveHostsLists`, `SettingsBasedHostsProvider` and
//! `FileBasedUnicastHostsProvider` (6.8).

mod host;
mod initial;
mod lookups;
mod sources;
#[cfg(test)]
mod tests;

pub(super) use host::{host_of, with_port};
pub use initial::bootstrap;
pub(super) use sources::file_of_hosts;

use super::addresses::reached_at;
use super::dns_srv::Target;
use super::proc;
use crate::cluster::Address;
use crate::protocol::{Initial, Resolution, Unresolved};
use crate::settings::{DiscoveryKind, NodeSettings, PortRange};
use futures_util::future::{join, join_all};
use host::{Host, parse};
use initial::FILE_NAME;
use lookups::{Known, Patience};
use parking_lot::Mutex;
use sources::Sources;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How many ports of loopback are tried when no hosts are configured.
const LOCAL_PORTS: u16 = 5;
/// More hosts, and more addresses of all hosts together, are passed over.
const HOSTS_MAX: usize = 2_048;

/// The logger of Elasticsearch that tells of seed hosts.
const LOGGER: &str = "org.elasticsearch.discovery.zen.UnicastZenPing";

/// The seed hosts of one node.
pub struct Seeds {
    hosts: Vec<Arc<str>>,
    has_file: bool,
    counting: Counting,
    default_port: u16,
    own: OnThisMachine,
    patience: Duration,
    sources: Sources,
    /// What was last told of each host that is in trouble.
    told: Mutex<BTreeMap<Arc<str>, Arc<str>>>,
}

/// Who counts in the first forming.
enum Counting {
    /// The node alone, or everybody who is found.
    Nobody,
    /// These, whatever the hosts are.
    Named(Vec<Initial<Address>>),
    /// The hosts of the file.
    File,
    /// All hosts.
    Hosts,
}

/// What this node and its machine are known by.
struct OnThisMachine {
    /// What the other nodes are told.
    published: Address,
    /// Where the node answers as well.
    reached_at: Vec<SocketAddr>,
    names: Vec<String>,
}

impl OnThisMachine {
    fn is_reached_at(&self, at: SocketAddr) -> bool {
        self.reached_at.contains(&at) || self.published.as_str() == at.to_string()
    }

    fn is_called(&self, host: &str) -> bool {
        let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
        let is_it =
            |name: &String| host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.names.iter().any(is_it)
    }
}

/// A host as it was found.
#[derive(Debug)]
struct Place {
    /// What the operator calls it.
    label: Arc<str>,
    /// Whether it was found by a name.
    is_name: bool,
    /// None, if it was not found.
    addresses: Vec<IpAddr>,
    ports: PortRange,
    /// Why it was not found, or not again.
    trouble: Option<Arc<str>>,
}

impl Place {
    fn missing(label: Arc<str>, why: impl Into<Arc<str>>) -> Self {
        let ports = PortRange { first: 0, last: 0 };
        Place { label, is_name: true, addresses: Vec::new(), ports, trouble: Some(why.into()) }
    }

    fn at(&self) -> impl Iterator<Item = SocketAddr> {
        let of_port = |port| self.addresses.iter().map(move |ip| SocketAddr::new(*ip, port));
        (self.ports.first..=self.ports.last).flat_map(of_port)
    }
}

impl Seeds {
    /// The seed hosts of a node that is published at this address and bound to these.
    pub fn new(settings: &NodeSettings, published: &Address, bound: &[SocketAddr]) -> Self {
        let sources = Sources::of_this_machine(settings.discovery.concurrent_connects, &settings.path_conf);
        Seeds::with_sources(settings, published, bound, sources)
    }

    fn with_sources(settings: &NodeSettings, published: &Address, bound: &[SocketAddr], sources: Sources) -> Self {
        let discovery = &settings.discovery;
        let names = settings.node_name.as_deref().map(String::from).into_iter().chain([proc::host_name()]);
        let own = OnThisMachine {
            published: published.clone(),
            reached_at: reached_at(bound),
            names: names.filter(|name| !name.is_empty()).map(|name| name.to_ascii_lowercase()).collect(),
        };
        let is_single = discovery.kind == DiscoveryKind::SingleNode;
        let default_port = settings.transport.ports.first.first;
        let counting = match (initial::named(discovery), &discovery.hosts) {
            _ if is_single => Counting::Nobody,
            (Some(names), _) => Counting::Named(initial::of_names(names, default_port, &own)),
            (None, Some(_)) => Counting::Hosts,
            (None, None) if discovery.hosts_file => Counting::File,
            (None, None) => Counting::Nobody,
        };
        let hosts = match &discovery.hosts {
            _ if is_single => Vec::new(),
            Some(hosts) => hosts.iter().map(|host| host.as_str().into()).collect(),
            None => on_loopback(settings.transport.ports.first),
        };
        let has_file = discovery.hosts_file && !is_single;
        let (patience, told) = (discovery.resolve_timeout, Mutex::default());
        Seeds { hosts, has_file, counting, default_port, own, patience, sources, told }
    }

    /// The hosts as they are known at the moment; what is looked up for the first time is waited for.
    pub async fn resolve(&self) -> Resolution<Address> {
        let excuse = format!("{} [{:?}]", Unresolved::UNANSWERED, self.patience).into();
        let patience = &Patience { until: Instant::now() + self.patience, excuse };
        let (given, (of_file, trouble)) = join(self.find_all(&self.hosts, patience), self.in_file(patience)).await;
        let first_of_file = given.len();
        let places: Vec<Place> = given.into_iter().chain(of_file).collect();
        let initial = match &self.counting {
            Counting::Nobody => Vec::new(),
            Counting::Named(initial) => initial.clone(),
            Counting::File => initial::of_places(&places[first_of_file..], &self.own),
            Counting::Hosts => initial::of_places(&places, &self.own),
        };
        Resolution { peers: self.peers(&places), unresolved: self.tell(&places, trouble), initial }
    }

    /// The hosts of the file as it was last read, and why it could not be read again.
    async fn in_file(&self, patience: &Patience) -> (Vec<Place>, Option<Arc<str>>) {
        if !self.has_file {
            return (Vec::new(), None);
        }
        let Known { answer, trouble } = self.sources.files.ask(&FILE_NAME.into(), patience).await;
        let hosts = answer.unwrap_or_default();
        if hosts.is_empty() {
            let why = trouble.unwrap_or_else(|| "it names no hosts".into());
            return (vec![Place::missing(FILE_NAME.into(), why)], None);
        }
        (self.find_all(&hosts, patience).await, trouble)
    }

    async fn find_all(&self, hosts: &[Arc<str>], patience: &Patience) -> Vec<Place> {
        let found = join_all(hosts.iter().take(HOSTS_MAX).map(|host| self.find(host, patience))).await;
        found.into_iter().flatten().collect()
    }

    /// Where a host is; a service may be at several places.
    async fn find(&self, text: &Arc<str>, patience: &Patience) -> Vec<Place> {
        let default = PortRange { first: self.default_port, last: self.default_port };
        match parse(text) {
            Err(why) => vec![Place::missing(text.clone(), why)],
            Ok(Host::Service(name)) => self.find_service(text, &name, patience).await,
            Ok(Host::Address(_, None) | Host::Name(_, None)) if self.default_port == 0 => {
                vec![Place::missing(text.clone(), "it needs a port, because the system chooses that of this node")]
            }
            Ok(Host::Address(address, ports)) => {
                let ports = ports.unwrap_or(default);
                let label = SocketAddr::new(address, ports.first).to_string().into();
                vec![Place { label, is_name: false, addresses: vec![address], ports, trouble: None }]
            }
            Ok(Host::Name(name, ports)) => {
                vec![self.find_name(text.clone(), &name, ports.unwrap_or(default), patience).await]
            }
        }
    }

    async fn find_name(&self, label: Arc<str>, name: &Arc<str>, ports: PortRange, patience: &Patience) -> Place {
        let Known { answer, trouble } = self.sources.names.ask(name, patience).await;
        Place { label, is_name: true, addresses: answer.unwrap_or_default(), ports, trouble }
    }

    async fn find_service(&self, text: &Arc<str>, name: &Arc<str>, patience: &Patience) -> Vec<Place> {
        let Known { answer, trouble } = self.sources.services.ask(name, patience).await;
        let Some(targets) = answer else {
            return vec![Place::missing(text.clone(), trouble.unwrap_or_else(|| "it has no hosts".into()))];
        };
        let find = async |target: &Target| {
            let label = format!("{}:{}", target.host, target.port).into();
            let ports = PortRange { first: target.port, last: target.port };
            match parse(&target.host) {
                Ok(Host::Name(name, _)) => self.find_name(label, &name, ports, patience).await,
                Ok(Host::Address(..) | Host::Service(_)) | Err(_) => Place::missing(label, "it is no host name"),
            }
        };
        join_all(targets.iter().map(find)).await
    }

    /// All addresses, each once, but for those of this node.
    fn peers(&self, places: &[Place]) -> Vec<Address> {
        let mut seen = BTreeSet::new();
        let all = places.iter().flat_map(Place::at).filter(|at| !self.own.is_reached_at(*at));
        let new = all.filter(|at| seen.insert(*at)).take(HOSTS_MAX);
        new.map(|at| Address::from(at.to_string())).collect()
    }

    /// Tells the operator of each trouble once, and returns the hosts that have no address.
    fn tell(&self, places: &[Place], of_file: Option<Arc<str>>) -> Vec<Unresolved> {
        let in_trouble = places.iter().filter_map(|place| Some((place.label.clone(), place.trouble.clone()?)));
        let of_file = of_file.map(|why| (FILE_NAME.into(), why));
        let troubles: BTreeMap<Arc<str>, Arc<str>> = in_trouble.chain(of_file).collect();
        let told = std::mem::replace(&mut *self.told.lock(), troubles.clone());
        for (host, why) in troubles.iter().filter(|(host, why)| told.get(*host) != Some(why)) {
            tracing::warn!(target: LOGGER, "failed to resolve host [{host}]: {why}");
        }
        for host in told.keys().filter(|host| !troubles.contains_key(*host)) {
            tracing::info!(target: LOGGER, "host [{host}] is in trouble no more");
        }
        let lost = places.iter().filter(|place| place.addresses.is_empty());
        let why = |place: &Place| place.trouble.clone().unwrap_or_else(|| "it has no address".into());
        lost.map(|place| Unresolved { host: place.label.clone(), why: why(place) }).collect()
    }
}

/// Where one seed host is for a node with these settings, or why it is nowhere.
pub async fn places_of(settings: &NodeSettings, host: &str) -> Result<Vec<SocketAddr>, String> {
    let seeds = Seeds::new(settings, &Address::from(""), &[]);
    let excuse = format!("{} [{:?}]", Unresolved::UNANSWERED, seeds.patience).into();
    let patience = Patience { until: Instant::now() + seeds.patience, excuse };
    let places = seeds.find(&host.into(), &patience).await;
    let addresses: Vec<SocketAddr> = places.iter().flat_map(Place::at).take(HOSTS_MAX).collect();
    if !addresses.is_empty() {
        return Ok(addresses);
    }
    let why = places.into_iter().find_map(|place| place.trouble);
    Err(why.map_or_else(|| "it has no address".into(), |why| why.to_string()))
}

/// The first ports of loopback, where other nodes of this machine may be.
fn on_loopback(ports: PortRange) -> Vec<Arc<str>> {
    if ports.first == 0 {
        return Vec::new();
    }
    let last = ports.last.min(ports.first.saturating_add(LOCAL_PORTS - 1));
    let wildcard = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), ports.first);
    let has_v6 = reached_at(&[wildcard]).iter().any(|at| at.ip() == Ipv6Addr::LOCALHOST);
    let local = [Some(IpAddr::from(Ipv4Addr::LOCALHOST)), has_v6.then_some(IpAddr::from(Ipv6Addr::LOCALHOST))];
    let text = |ip| format!("{}-{last}", SocketAddr::new(ip, ports.first)).into();
    local.into_iter().flatten().map(text).collect()
}
