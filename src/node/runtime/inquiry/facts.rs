//! What a node knows of itself and its host without its core: files, processes, room, settings.
//!
//! It reads files, so it runs where it may wait.

use super::wall;
use crate::cluster::{Address, Block, ClusterName, Metadata, Node, NodeId, Nodes};
use crate::diagnose::{Certificate, Facts, Process, Remembered, Unusable, Weak, quoted};
use crate::runtime::Handle;
use crate::runtime::events::{ASKED_FOR, ENTRIES_MAX, Entry, Kind};
use crate::runtime::host::{absolute, hosts_file, launch_of, outward, own_credentials, room, roomy, seed_hosts, user};
use crate::runtime::secure::{
    Expiry, FileError, OF_NODES, expiries, has_files_of, made_for, names, open_sides, read_some_users, readable,
};
use crate::runtime::seeds::with_port;
use crate::runtime::start_failure::copied;
use crate::runtime::surroundings::Neighbours;
use crate::runtime::{proc, program};
use crate::service::MINIMUM_MASTER_NODES;
use crate::settings::{self, DiscoveryKind, NodeSettings, Weakness};
use crate::zen::Explanation;
use crate::zen::explain::PingOutcome;
use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Of more silent ones nobody looks for the processes.
const SILENT_MAX: usize = 32;

/// How many nodes that are gone are told of.
const REMEMBERED_MAX: usize = 64;

/// Who went longer ago is not missed.
const RECENT_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// A slow write is told of for so long.
const SLOW_FOR: Duration = Duration::from_secs(60);

/// Whether users put something into a state.
fn holds_something(metadata: &Metadata) -> bool {
    let settings = [&metadata.persistent, &metadata.transient];
    let tables = [&metadata.indices, &metadata.templates];
    !metadata.keys.is_empty()
        || !metadata.leases.is_empty()
        || settings.iter().any(|settings| !settings.is_empty())
        || tables.iter().any(|table| !table.is_empty())
}

/// What matters of what a node was given.
const TOLD: [&str; 7] = ["discovery.", "cluster.", "node.", "network.", "transport.", "gateway.", "path."];

/// All of it. The explanation tells whose ports are worth a look.
pub(super) fn facts(handle: &Handle, explanation: &Explanation) -> Facts {
    let (settings, state) = (handle.settings(), handle.state());
    let file = settings.file.as_deref().map(absolute);
    let metadata = &state.metadata;
    let minimum =
        metadata.transient.get(MINIMUM_MASTER_NODES).or_else(|| metadata.persistent.get(MINIMUM_MASTER_NODES));
    let files = proc::files();
    let (places, remembered) = (handle.meter().places(), remembered(handle, &state.nodes));
    let around = handle.surroundings().neighbours(&settings, &handle.local().id);
    let Neighbours { siblings, strays, abandoned, distant } = around;
    Facts {
        machine: proc::machine(),
        pid: std::process::id(),
        is_root: rustix::process::geteuid().is_root(),
        user: user(),
        unit: proc::service(),
        binary: program(),
        launch: launch_of(&settings.launch),
        data: absolute(&settings.path_data),
        is_data_relative: settings.path_data.is_relative(),
        abandoned: abandoned.filter(|_| is_new(handle)),
        unmounted: unmounted(&settings).filter(|_| is_new(handle)),
        http: places.1,
        bound: places.0,
        discovery: kind(&settings).into(),
        seeds: seeds(&settings),
        hosts_file: hosts_file(&settings),
        given: given(&settings),
        minimum_of_state: minimum.map(|value| value.to_string()),
        free_bytes: room(&settings.path_data),
        roomy: roomy(&settings.path_data),
        open_files: files.map(|files| files.used),
        file_limit: files.map(|files| files.max),
        sync_millis: slowest_write(handle),
        wall_millis: wall(),
        credentials: own_credentials(&settings),
        certificates: expiries(&settings)
            .into_iter()
            .map(|expiry| certificate(expiry, handle.local(), &settings.cluster_name))
            .collect(),
        unusable: unusable(&settings),
        open: open(&settings, handle),
        weak: settings::weaknesses(&settings).into_iter().map(|one| weak(one, &settings)).collect(),
        ahead_millis: None,
        members: state
            .nodes
            .iter()
            .map(|node| (node.name.to_string(), node.address.clone(), node.is_master_eligible()))
            .collect(),
        holds_something: holds_something(metadata),
        data_members: Some(state.nodes.data().count()),
        remembered: remembered.clone(),
        waits_for_gateway: state.blocks.contains(Block::STATE_NOT_RECOVERED.id),
        refused: Vec::new(),
        cuts: handle.faults().cuts().keys().map(ToString::to_string).collect(),
        outward: outward(&looked_for(&settings, explanation)),
        strays,
        distant,
        // Without a master the state names whoever was there at the end, and nobody of these needs to run.
        failed_starts: handle.surroundings().failed.told(state.nodes.master.as_ref().map(|_| &state.nodes)),
        siblings,
        processes: processes(handle, silent(explanation, &remembered)),
        probes: Vec::new(),
        file,
    }
}

/// What of its files a node cannot take over.
fn unusable(settings: &NodeSettings) -> Option<Unusable> {
    let users = || settings.security.users.as_ref().map(|users| read_some_users(&settings.path_conf.join(users)));
    let error = readable(settings).err().or_else(|| users()?.err())?;
    let mend = match &error {
        FileError::Open(path, _) => Some(format!("chmod 600 {}", quoted(&absolute(path)))),
        FileError::Unreadable(path, _) | FileError::Strange(path, _) => copied(path, settings),
        FileError::Foreign(..) | FileError::Incomplete(_) => None,
    };
    Some(Unusable { why: error.to_string(), mend })
}

fn certificate(expiry: Expiry, local: &Node, cluster: &ClusterName) -> Certificate {
    let Expiry { setting, file, key, first, at } = expiry;
    let is_odd = setting == OF_NODES && !names(&first, &local.address);
    let not_for = is_odd.then(|| local.host().to_owned());
    let made_for = made_for(&first).filter(|made_for| setting == OF_NODES && made_for != cluster);
    let of_cluster = made_for.map(|made_for| made_for.as_str().to_owned());
    let (file, key) = (absolute(&file), key.as_deref().map(absolute));
    Certificate { setting: setting.into(), file, key, ends_millis: at.saturating_mul(1_000), not_for, of_cluster }
}

fn weak(weakness: Weakness, settings: &NodeSettings) -> Weak {
    let Weakness { setting, lets, mend } = weakness;
    let mend = Some(mend).filter(|mend| has_files_of(settings, mend)).unwrap_or_default();
    Weak { setting, lets: lets.to_owned(), mend }
}

/// What listens beyond loopback without asking who comes.
fn open(settings: &NodeSettings, handle: &Handle) -> Vec<String> {
    let hosts = |places: Vec<String>| -> Vec<IpAddr> {
        places.iter().filter_map(|place| Some(place.parse::<SocketAddr>().ok()?.ip())).collect()
    };
    let (nodes, users) = handle.meter().bound();
    open_sides(settings, &hosts(nodes), &hosts(users))
}

/// Who was here once, as the history has it.
fn remembered(handle: &Handle, nodes: &Nodes) -> Vec<Remembered> {
    let recent = wall().saturating_sub(RECENT_MILLIS);
    let mut last: BTreeMap<NodeId, Remembered> = BTreeMap::new();
    let mut voters: Option<Voters> = None;
    for entry in handle.events().since(None, ENTRIES_MAX) {
        let change = Voters::of(&entry);
        for node in last.values_mut() {
            // An operator took it out: nobody waits for it any more.
            node.removed |= change.as_ref().is_some_and(|change| change.takes_by_request(node));
        }
        voters = change.or(voters);
        let votes = voters.as_ref().zip(entry.node.as_ref()).map(|(voters, node)| voters.had(&node.name, &entry));
        let Some(node) = entry.node else { continue };
        let said_so = entry.kind == Kind::NodeLeft && entry.reason.starts_with("zen-disco-node-left");
        let is_hearsay = entry.reason.starts_with("told by");
        let is_gone = nodes.get(&node.id).is_none();
        let failed =
            is_gone && entry.kind == Kind::NodeLeft && !said_so && !is_hearsay && entry.timestamp_millis > recent;
        let name = node.name.to_string();
        let removed = entry.kind == Kind::NodeRemoved;
        // What became of it stands before what a user said of it.
        let failed = failed || removed && last.get(&node.id).is_some_and(|node| node.failed);
        let is_eligible = node.master_eligible;
        let (id, address) = (node.id.clone(), node.address);
        let remembered = Remembered { id, name, address, failed, said_so, removed, is_eligible, votes };
        last.insert(node.id, remembered);
    }
    last.into_values().take(REMEMBERED_MAX).collect()
}

/// A change of the voting set, by names.
struct Voters {
    from: Vec<String>,
    to: Vec<String>,
    version: u64,
    is_asked_for: bool,
}

impl Voters {
    /// The change that an entry of the history tells of.
    fn of(entry: &Entry) -> Option<Self> {
        let names = |key: &str| -> Option<Vec<String>> {
            let names = entry.details.get(key)?.as_array()?;
            Some(names.iter().filter_map(|name| name.as_str().map(ToOwned::to_owned)).collect())
        };
        let is_change = entry.kind == Kind::VotingSetChanged;
        let is_asked_for = entry.reason == ASKED_FOR;
        Some(Voters { from: names("from")?, to: names("to")?, version: entry.version, is_asked_for })
            .filter(|_| is_change)
    }

    /// Whether an operator took the vote of a node. One that had gone by then goes by its id.
    fn takes_by_request(&self, node: &Remembered) -> bool {
        let is_it = |one: &String| *one == node.name || one.as_str() == node.id.as_str();
        let is_among = |names: &[String]| names.iter().any(is_it);
        self.is_asked_for && is_among(&self.from) && !is_among(&self.to)
    }

    /// Whether a node had a vote at another entry: the change that takes it from one that went comes with that.
    fn had(&self, name: &str, at: &Entry) -> bool {
        let is_among = |names: &[String]| names.iter().any(|one| one == name);
        is_among(&self.to) || self.version + 1 >= at.version && is_among(&self.from)
    }
}

/// Where a file system should hold the data directory, and is not mounted.
fn unmounted(settings: &NodeSettings) -> Option<String> {
    let data = fs::canonicalize(&settings.path_data).ok()?;
    proc::unmounted(&data).map(|mount| mount.display().to_string())
}

/// Whether a node has its data directory for a day at most.
fn is_new(handle: &Handle) -> bool {
    let first = handle.events().since(None, ENTRIES_MAX).first().map(|entry| entry.timestamp_millis);
    first.is_none_or(|first| first > wall().saturating_sub(RECENT_MILLIS))
}

/// The seed hosts with the port at which they are looked for, where that is the node's own and not the usual one.
fn seeds(settings: &NodeSettings) -> Option<Vec<String>> {
    let port = settings.transport.ports.first.first;
    let all = seed_hosts(settings)?.into_iter();
    Some(if [0, 9300].contains(&port) { all.collect() } else { all.map(|seed| with_port(&seed, port)).collect() })
}

fn kind(settings: &NodeSettings) -> &'static str {
    match settings.discovery.kind {
        DiscoveryKind::Zen => "zen",
        DiscoveryKind::SingleNode => "single-node",
        DiscoveryKind::Lab(name) => name,
    }
}

fn given(settings: &NodeSettings) -> BTreeMap<String, String> {
    let told = settings.given.iter().filter(|(key, _)| TOLD.iter().any(|prefix| key.starts_with(prefix)));
    told.map(|(key, value)| (key.clone(), value.joined())).collect()
}

/// The slowest of the writes that its history tells of, and of one that is tried while nobody has anything to write.
fn slowest_write(handle: &Handle) -> Option<u64> {
    let tried = handle.trial().glance(&handle.settings().path_data);
    let tried = tried.and_then(|past| u64::try_from(past.as_millis()).ok());
    let since = wall().saturating_sub(u64::try_from(SLOW_FOR.as_millis()).unwrap_or(u64::MAX));
    let entries = handle.events().since(None, 50);
    let slow = entries.iter().filter(|entry| entry.kind == Kind::DiskSlow && entry.timestamp_millis >= since);
    slow.filter_map(|entry| entry.details.get("took_millis")?.as_u64()).chain(tried).max()
}

/// Where others are: the seed hosts, and what their names led to.
fn looked_for(settings: &NodeSettings, explanation: &Explanation) -> Vec<String> {
    let pinged = explanation.hosts.iter().map(|host| host.address.to_string());
    seed_hosts(settings).unwrap_or_default().into_iter().chain(pinged).collect()
}

/// Who listens where somebody is looked for in vain. Where so many are, the host is too busy for them to answer, and
/// looking through the sockets of all would keep it so.
fn processes(handle: &Handle, silent: Vec<Address>) -> Vec<Process> {
    if silent.len() > SILENT_MAX { Vec::new() } else { handle.surroundings().processes(silent) }
}

/// Where somebody is looked for in vain.
fn silent(explanation: &Explanation, remembered: &[Remembered]) -> Vec<Address> {
    let silent = explanation.hosts.iter().filter(|host| match host.outcome {
        PingOutcome::Reset | PingOutcome::TimedOut | PingOutcome::NotUnderstood => true,
        PingOutcome::Answered { .. }
        | PingOutcome::Waiting
        | PingOutcome::NotAsked
        | PingOutcome::Refused
        | PingOutcome::OtherClusterName { .. }
        | PingOutcome::OtherClusterUuid { .. }
        | PingOutcome::DuplicateId
        | PingOutcome::Itself
        | PingOutcome::Rejected { .. } => false,
    });
    let members = explanation.needed.iter().flat_map(|quota| &quota.members).filter(|member| !member.found);
    let stragglers = explanation.nodes.iter().map(|straggler| straggler.node.address.clone());
    let all = silent.map(|host| host.address.clone()).chain(members.filter_map(|member| member.address.clone()));
    let gone = remembered.iter().filter(|node| node.failed && !node.removed).map(|node| node.address.clone());
    let mut addresses: Vec<Address> = all.chain(stragglers).chain(gone).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}
