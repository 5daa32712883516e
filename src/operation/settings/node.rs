//! What one node is told at its start, typed: the effective settings that have a meaning here.
//!
//! Plain data. Which texts give it is decided by the table of settings; what addresses, files and names in it mean is
//! found out in `runtime`.

use super::Value;
use crate::cluster::{ClusterName, Roles};
use crate::zen::Tuning;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The settings of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// `cluster.name`.
    pub cluster_name: ClusterName,
    /// `node.name`; without one the node goes by the beginning of its id.
    pub node_name: Option<Arc<str>>,
    /// `node.master`, `node.data`, `node.ingest`.
    pub roles: Roles,
    /// `node.attr.*`.
    pub attributes: BTreeMap<String, String>,
    /// `path.data`; relative to the directory that the node was started in.
    pub path_data: PathBuf,
    /// Where the configuration lies, and `unicast_hosts.txt` in it.
    pub path_conf: PathBuf,
    /// The file that it was configured by, as it was named.
    pub file: Option<PathBuf>,
    /// What the protocol runs by.
    pub tuning: Tuning,
    /// How other nodes are found.
    pub discovery: DiscoverySettings,
    /// Where nodes are listened to.
    pub transport: ListenSettings,
    /// Where users are listened to.
    pub http: ListenSettings,
    /// Bounds and habits of the users' side.
    pub rest: RestSettings,
    /// What tells those who belong from all others.
    pub security: SecuritySettings,
    /// What is logged, and how.
    pub log: LogSettings,
    /// What is run when the master or the members change.
    pub hooks: HookSettings,
    /// Who is told how long changes take.
    pub tracing: TracingSettings,
    /// `zazen.transport.max_connections`: how many connections of other nodes there may be; none leaves it to the node.
    pub peer_connections: Option<usize>,
    /// Whether links can be cut by request, for tests.
    pub faults: bool,
    /// All that was given, by key, whether it has a meaning here or not.
    pub given: BTreeMap<String, Value>,
    /// What the file gives, by key, as it was written: with the names of variables, and not what they hold.
    pub in_file: BTreeMap<String, Value>,
    /// Where each of them was given, in words.
    pub origins: BTreeMap<String, String>,
    /// What it was given besides the file, as it was written.
    pub launch: Launch,
}

/// What a node was given besides its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Keys and values from the command line.
    pub arguments: Vec<(String, String)>,
    /// What came from the environment.
    pub variables: Vec<Variable>,
    /// What came besides and is kept secret: keys, and names of variables.
    pub withheld: Vec<String>,
}

/// An environment variable that settings came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The key that it gives; none if it stands for a placeholder.
    pub gives: Option<String>,
}

/// How other nodes are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoverySettings {
    /// `discovery.type`.
    pub kind: DiscoveryKind,
    /// `discovery.zen.ping.unicast.hosts`, if it is given; an empty list is no hosts at all.
    pub hosts: Option<Vec<String>>,
    /// Whether `discovery.zen.hosts_provider` names `file`.
    pub hosts_file: bool,
    /// `discovery.zen.ping.unicast.hosts.resolve_timeout`.
    pub resolve_timeout: Duration,
    /// `discovery.zen.ping.unicast.concurrent_connects`: how many names are looked up at a time.
    pub concurrent_connects: usize,
    /// `discovery.initial_state_timeout`: after which time without a first master there is a warning; zero gives none.
    pub initial_state_timeout: Duration,
    /// `zazen.lab.zookeeper`: the servers of the ZooKeeper that brokers elect through.
    pub zookeeper: Vec<String>,
    /// `cluster.initial_master_nodes`, if it is given.
    pub initial_master_nodes: Option<Vec<String>>,
}

/// The kinds of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryKind {
    /// Nodes look for each other.
    Zen,
    /// The node is a cluster by itself and lets nobody in.
    SingleNode,
    /// An experiment: nodes elect by an algorithm of the lab, and do nothing else.
    Lab(&'static str),
}

/// The algorithm of the lab that elects through a ZooKeeper, not among its nodes.
pub const KAFKA: &str = "kafka-controller";

/// The algorithms of the lab that nodes can elect by.
pub const EXPERIMENTS: &[&str] = &[
    "bully",
    "bully-majority",
    "bully-steady",
    "bully-failover",
    "candidates",
    "invitation",
    "ring",
    "ring-highest",
    "paxos-lease",
    "fast-leader-election",
    "auth-fast-leader-election",
    "leader-election",
    "redis-sentinel",
    "redis-cluster",
    KAFKA,
    "emergent-leader",
    "emergent-leader-ring",
    "emergent-leader-minimum",
];

/// Where something listens, and how others are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenSettings {
    /// Names, addresses, interfaces and `_words_` to bind to.
    pub bind_hosts: Vec<String>,
    /// Those of which one is published; empty means the bound ones.
    pub publish_hosts: Vec<String>,
    /// The first free one of these is taken; 0 lets the system choose.
    pub ports: Ports,
    /// The port to publish, if it is another one than the bound one.
    pub publish_port: Option<u16>,
}

/// Ports to try, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last, included.
    pub last: u16,
}

/// Ranges of ports to try, one after the other; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The first range.
    pub first: PortRange,
    /// Those after it.
    pub others: Vec<PortRange>,
}

impl Ports {
    /// The port, if there is one to try.
    pub fn only(&self) -> Option<u16> {
        let mut ports = self.iter();
        ports.next().filter(|_| ports.next().is_none())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        std::iter::once(&self.first).chain(&self.others).flat_map(|range| range.first..=range.last)
    }
}

impl From<PortRange> for Ports {
    fn from(first: PortRange) -> Self {
        Ports { first, others: Vec::new() }
    }
}

/// As Elasticsearch writes them: `9200`, `9200-9300`, `9200,9300-9400`.
impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, PortRange { first, last }) in std::iter::once(&self.first).chain(&self.others).enumerate() {
            f.write_str(if number == 0 { "" } else { "," })?;
            if first == last { write!(f, "{first}")? } else { write!(f, "{first}-{last}")? }
        }
        Ok(())
    }
}

/// A limit on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// So many bytes.
    Bytes(u64),
    /// This part of what the process may have.
    Percent(u8),
}

/// Bounds and habits of the users' side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestSettings {
    /// `http.enabled`.
    pub enabled: bool,
    /// `http.max_content_length`, in bytes.
    pub max_content_length: u64,
    /// `http.detailed_errors.enabled`.
    pub detailed_errors: bool,
    /// `zazen.http.max_connections`: how many connections of users there may be; none leaves it to the node.
    pub connections: Option<usize>,
    /// `http.read_timeout`: how long the body of a request may take to arrive.
    pub read_timeout: Duration,
    /// `zazen.http.write_timeout`: how long a user may take nothing of an answer.
    pub write_timeout: Duration,
    /// `network.breaker.inflight_requests.limit`: how much memory requests and answers may take together.
    pub memory: MemoryLimit,
    /// `http.compression`.
    pub compression: bool,
    /// `http.compression_level`, at most 9.
    pub compression_level: u32,
    /// `http.cors.*`.
    pub cors: CorsSettings,
    /// `zazen.http.allowed_hosts`: names that users may ask this node by, besides its own.
    pub allowed_hosts: Vec<String>,
    /// `compatibility.version`.
    pub compatibility: Arc<str>,
    /// `zazen.health.green_without_redundancy`: whether health stays green when a voter is gone.
    pub green_without_redundancy: bool,
}

/// Which pages of other origins may ask, from a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorsSettings {
    /// `http.cors.enabled`.
    pub enabled: bool,
    /// `http.cors.allow-origin`.
    pub allow_origin: String,
    /// `http.cors.max-age`, in seconds.
    pub max_age: u32,
    /// `http.cors.allow-methods`.
    pub allow_methods: Vec<String>,
    /// `http.cors.allow-headers`.
    pub allow_headers: Vec<String>,
    /// `http.cors.allow-credentials`.
    pub allow_credentials: bool,
}

impl Default for CorsSettings {
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        CorsSettings {
            enabled: false,
            allow_origin: String::new(),
            max_age: 1_728_000,
            allow_methods: texts(&["OPTIONS", "HEAD", "GET", "POST", "PUT", "DELETE"]),
            allow_headers: texts(&["X-Requested-With", "Content-Type", "Content-Length"]),
            allow_credentials: false,
        }
    }
}

/// Where the files lie that tell those who belong from all others; relative to the directory of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecuritySettings {
    /// `zazen.security.secret`: what the nodes share.
    pub secret: Option<PathBuf>,
    /// `zazen.security.certificate`, with which the node shows to others that it is one.
    pub certificate: Option<PathBuf>,
    /// `zazen.security.key`, which belongs to it.
    pub key: Option<PathBuf>,
    /// `zazen.security.authorities`: who may vouch for nodes.
    pub authorities: Option<PathBuf>,
    /// `zazen.security.http.certificate`, which users are shown.
    pub http_certificate: Option<PathBuf>,
    /// `zazen.security.http.key`, which belongs to it.
    pub http_key: Option<PathBuf>,
    /// `zazen.security.users`: who may ask, and what.
    pub users: Option<PathBuf>,
    /// `zazen.security.audit`: where it is written who changed what, and who was refused.
    pub audit: Option<PathBuf>,
    /// `zazen.security.allow_open`: ports beyond loopback need no security.
    pub allow_open: bool,
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// `logger.<module>`: the level of a module, by its name; `_root` is all of them. In small letters.
    pub levels: BTreeMap<String, String>,
    /// Whether lines are JSON.
    pub json: bool,
    /// `path.logs`: the directory of log files; without one the log goes to the standard output.
    pub path: Option<PathBuf>,
    /// `zazen.log.max_size`: how large a file may get, in bytes.
    pub max_size: u64,
    /// `zazen.log.max_age`: how long a file is written to.
    pub max_age: Duration,
    /// `zazen.log.max_files`: how many old files are kept.
    pub max_files: usize,
}

/// What is run when something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A program, without a shell.
    Exec {
        /// The program; without a slash it is looked for in `PATH`.
        program: String,
        /// What it is given.
        arguments: Vec<String>,
    },
    /// An address that the event is posted to.
    Webhook {
        /// The address.
        url: String,
    },
}

impl Hook {
    /// What the elements of a setting stand for; none if that is nothing that can be run.
    pub fn of(elements: &[String]) -> Option<Self> {
        let (first, rest) = elements.split_first().filter(|(first, _)| !first.trim().is_empty())?;
        if !first.contains("://") {
            return Some(Hook::Exec { program: first.clone(), arguments: rest.to_vec() });
        }
        (rest.is_empty() && is_url(first)).then(|| Hook::Webhook { url: first.clone() })
    }
}

/// Whether a text is the address of a server: `http://` or `https://` and a host, perhaps with a port and a path.
pub(super) fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| !host.is_empty()) && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// `zazen.tracing.*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracingSettings {
    /// `zazen.tracing.otlp.endpoint`.
    pub endpoint: Option<String>,
}

/// `hooks.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSettings {
    /// What is run, by the name of what happens.
    pub on: BTreeMap<String, Hook>,
    /// `hooks.timeout`.
    pub timeout: Duration,
    /// `hooks.attempts`.
    pub attempts: u32,
}

impl Default for HookSettings {
    fn default() -> Self {
        HookSettings { on: BTreeMap::new(), timeout: Duration::from_secs(5), attempts: 3 }
    }
}

impl Default for NodeSettings {
    fn default() -> Self {
        let listen = |first, last| ListenSettings {
            bind_hosts: vec!["_local_".into()],
            publish_hosts: Vec::new(),
            ports: PortRange { first, last }.into(),
            publish_port: None,
        };
        NodeSettings {
            cluster_name: "elasticsearch".into(),
            node_name: None,
            roles: Roles::ALL,
            attributes: BTreeMap::new(),
            path_data: "data".into(),
            path_conf: "config".into(),
            file: None,
            tuning: Tuning::default(),
            discovery: DiscoverySettings::default(),
            transport: listen(9300, 9400),
            http: listen(9200, 9300),
            rest: RestSettings::default(),
            security: SecuritySettings::default(),
            log: LogSettings::default(),
            hooks: HookSettings::default(),
            tracing: TracingSettings::default(),
            peer_connections: None,
            faults: false,
            given: BTreeMap::new(),
            in_file: BTreeMap::new(),
            origins: BTreeMap::new(),
            launch: Launch::default(),
        }
    }
}

impl RestSettings {
    /// How long bodies may take unless something else is said.
    pub const READ_TIMEOUT: Duration = Duration::from_secs(30);
}

impl Default for RestSettings {
    fn default() -> Self {
        RestSettings {
            enabled: true,
            max_content_length: 100 << 20,
            detailed_errors: true,
            connections: None,
            read_timeout: RestSettings::READ_TIMEOUT,
            write_timeout: Duration::from_secs(30),
            memory: MemoryLimit::Percent(25),
            compression: true,
            compression_level: 3,
            cors: CorsSettings::default(),
            allowed_hosts: Vec::new(),
            compatibility: "6.8.23".into(),
            green_without_redundancy: false,
        }
    }
}

impl Default for DiscoverySettings {
    fn default() -> Self {
        DiscoverySettings {
            kind: DiscoveryKind::Zen,
            hosts: None,
            hosts_file: false,
            resolve_timeout: Duration::from_secs(5),
            concurrent_connects: 10,
            initial_state_timeout: Duration::from_secs(30),
            zookeeper: Vec::new(),
            initial_master_nodes: None,
        }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        LogSettings {
            levels: [("_root".into(), "info".into())].into(),
            json: false,
            path: None,
            max_size: 128 << 20,
            max_age: Duration::from_secs(86_400),
            max_files: 10,
        }
    }
}
