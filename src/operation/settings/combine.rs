//! Settings that are allowed one by one and make no sense together.
//!
//! What cannot work is refused; what works otherwise than it looks is a warning.

use super::fault::Fault;
use super::loader::Loader;
use super::{DiscoveryKind, KAFKA, ListenSettings, NodeSettings};
use crate::service::MINIMUM_MASTER_NODES;

const TYPE: &str = "discovery.type";
const HOSTS: &str = "discovery.zen.ping.unicast.hosts";
const PROVIDER: &str = "discovery.zen.hosts_provider";
const INITIAL: &str = "cluster.initial_master_nodes";
const ZOOKEEPER: &str = "zazen.lab.zookeeper";
/// Attributes that begin so are not the user's: by them a node says what it understands.
pub const OWN_ATTRIBUTES: &str = "zazen.";
const STORAGE: &str = "node.local_storage";

/// Looks at the settings together: gives the warnings, or what is refused. Settings that have no effect because of others
/// are taken back.
pub(super) fn combine(node: &mut NodeSettings, loader: &Loader<'_>) -> Result<Vec<String>, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut warnings = Vec::new();
    if node.discovery.kind == DiscoveryKind::SingleNode {
        single_node(node, loader, &mut faults, &mut warnings);
    }
    if node.discovery.kind == DiscoveryKind::Lab(KAFKA) && node.discovery.zookeeper.is_empty() {
        let message =
            format!("[{TYPE}] is [{KAFKA}], which elects through a ZooKeeper: [{ZOOKEEPER}] must name its servers");
        faults.push(loader.fault(TYPE, message));
    }
    storage(node, loader, &mut faults);
    ports(node, loader, &mut faults);
    too_many_masters(node, &mut warnings);
    data_directories(loader, &mut warnings);
    own_attributes(node, &mut warnings);
    relative(node, loader);
    if faults.is_empty() { Ok(warnings) } else { Err(faults) }
}

/// A node that is a cluster by itself must be able to lead it, and needs nobody.
fn single_node(node: &mut NodeSettings, loader: &Loader<'_>, faults: &mut Vec<Fault>, warnings: &mut Vec<String>) {
    if !node.roles.master {
        let message = format!(
            "[node.master] is [false] and [{TYPE}] is [single-node], but a node that leads nobody else must be able to lead itself"
        );
        faults.push(loader.fault("node.master", message));
    }
    if loader.given(INITIAL).is_some() {
        let message = format!("setting [{INITIAL}] is not allowed when [{TYPE}] is set to [single-node]");
        faults.push(loader.fault(INITIAL, message));
    }
    for key in [HOSTS, PROVIDER].into_iter().filter(|key| loader.given(key).is_some()) {
        warnings.push(format!("[{key}] has no effect when [{TYPE}] is [single-node]"));
    }
    let tuning = &mut node.tuning;
    if tuning.minimum() > 1 {
        warnings.push(format!("[{MINIMUM_MASTER_NODES}] has no effect when [{TYPE}] is [single-node]"));
    }
    // Not even one that its own state carries from a time with others counts.
    tuning.minimum_master_nodes = None;
    tuning.overrides.insert(MINIMUM_MASTER_NODES);
}

/// As Elasticsearch has it; votes and states need a disk.
fn storage(node: &NodeSettings, loader: &Loader<'_>, faults: &mut Vec<Fault>) {
    let is_off = loader.given(STORAGE).is_some_and(|given| given.value.text() == Some("false"));
    if is_off && (node.roles.master || node.roles.data) {
        faults.push(loader.fault(STORAGE, "storage can not be disabled for master and data nodes".into()));
    }
}

/// Users and nodes cannot be listened to on the same address and port.
fn ports(node: &NodeSettings, loader: &Loader<'_>, faults: &mut Vec<Fault>) {
    let only = |listen: &ListenSettings| listen.ports.only().filter(|port| *port > 0);
    let share_a_host = node.http.bind_hosts.iter().any(|host| node.transport.bind_hosts.contains(host));
    if let (Some(http), Some(transport)) = (only(&node.http), only(&node.transport))
        && http == transport
        && share_a_host
        && node.rest.enabled
    {
        let message =
            format!("[http.port] and [transport.port] are both [{http}] on the same host, each needs its own");
        // As far apart as Elasticsearch's are.
        let other = http.checked_sub(100).filter(|port| *port >= 1_024).unwrap_or(http.saturating_add(100));
        faults.push(loader.fault("http.port", message).with_remedy(loader.remedy_to("http.port", &other.to_string())));
    }
}

/// This may be meant, in a cluster that grew; a new one would never form.
fn too_many_masters(node: &NodeSettings, warnings: &mut Vec<String>) {
    let Some(initial) = &node.discovery.initial_master_nodes else {
        return;
    };
    let (minimum, count) = (node.tuning.minimum(), initial.len());
    if minimum > count {
        warnings.push(format!(
            "[{MINIMUM_MASTER_NODES}] is [{minimum}] and [{INITIAL}] names {count}: a new cluster does not form before \
             {minimum} master-eligible nodes are there"
        ));
    }
}

fn data_directories(loader: &Loader<'_>, warnings: &mut Vec<String>) {
    let paths = loader.given("path.data").map(|given| given.value.elements()).unwrap_or_default();
    if let [first, _, ..] = &paths[..] {
        let count = paths.len();
        warnings.push(format!("[path.data] names {count} directories, only the first is used: [{first}]"));
    }
}

/// A node says of itself by these what it understands.
fn own_attributes(node: &NodeSettings, warnings: &mut Vec<String>) {
    let own = node.attributes.keys().filter(|name| name.starts_with(OWN_ATTRIBUTES));
    warnings.extend(own.map(|name| {
        format!("[node.attr.{name}] is passed over: names that begin with [{OWN_ATTRIBUTES}] are the node's own")
    }));
}

/// Relative paths start from `path.home`.
fn relative(node: &mut NodeSettings, loader: &Loader<'_>) {
    if let Some(home) = loader.given("path.home").and_then(|given| given.value.text()).filter(|home| *home != ".") {
        node.path_data = std::path::Path::new(home).join(&node.path_data);
        node.log.path = node.log.path.take().map(|path| std::path::Path::new(home).join(path));
    }
}
