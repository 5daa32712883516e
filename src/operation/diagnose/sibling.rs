//! A node that need not run, as others of its host know it.

use super::{Credentials, Launch, Obstacle, Slip};
use crate::cluster::{Address, NodeId};
use serde::{Deserialize, Serialize};

/// A node of the same host, as its configuration file tells of it and what it left in its data directory when it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sibling {
    /// The file, if it has one.
    pub file: Option<String>,
    /// `node.name`.
    pub name: Option<String>,
    /// `cluster.name`.
    pub cluster: String,
    /// The transport port, if it is one.
    pub port: Option<u16>,
    /// The addresses at which its transport would be reached, the one that it would publish first.
    pub hosts: Vec<String>,
    /// Whether that is on another host, to which its file was copied.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
    /// Where it listened when it ran last, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Address>,
    /// `path.data`.
    pub data: String,
    /// The data directory in which it was when it began last, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// Its seed hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<String>,
    /// Whether the file names it from wherever the node is started; then it is taken to be started where the teller was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_data_relative: bool,
    /// `node.master`.
    pub is_eligible: bool,
    /// `discovery.type`, if it elects by an experiment and is in no cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Whether a node wrote something in its data directory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_begun: bool,
    /// Whether it ran and never was in a cluster, as far as what it has on disk tells.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_never_joined: bool,
    /// Room on the disk of its data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// A directory on another file system that has room, if it was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roomy: Option<String>,
    /// Its files of secrets and certificates.
    #[serde(skip_serializing_if = "Credentials::is_empty")]
    pub credentials: Credentials,
    /// Whether its file of secrets has the secret of the teller, if either has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares_secret: Option<bool>,
    /// Whether its authorities are those of the teller, if either has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares_authority: Option<bool>,
    /// What it was given besides its file when it was started last.
    #[serde(skip_serializing_if = "Launch::is_empty")]
    pub launch: Launch,
    /// What its file said when it began, line by line and without what may be secret: only in the note that it leaves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// Why it cannot be started by its file, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slip: Option<Slip>,
    /// What would keep it from starting, if it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
    /// The unit of the system's manager of services that started it last, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The user and the group whose its data directory is, if that is another user than the teller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<(u32, u32)>,
    /// The user and the group whose node it is, if these may not read its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread_by: Option<(u32, u32)>,
    /// What of its files these may not; its configuration, if nothing is told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Whether something in it is another user's than the directory, so that its owner may not read it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_mixed: bool,
    /// Its id then, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<NodeId>,
}

impl Sibling {
    /// Where it is to listen.
    pub fn place(&self) -> Option<Address> {
        let host = self.hosts.first().map_or("127.0.0.1", String::as_str);
        let by_file = self.port.map(|port| Address::from(at(host, port)));
        by_file.or_else(|| self.last.clone())
    }

    /// What to set its port to, so that it takes this one instead of its own. Seed hosts without ports are looked for at the
    /// first port that it may have, which is that of the others then.
    pub(super) fn ports_from(&self, free: u16) -> String {
        let has_port = |seed: &str| seed.contains("]:") || seed.matches(':').count() == 1;
        match self.port.filter(|port| *port < free && !self.seeds.iter().all(|seed| has_port(seed))) {
            Some(port) => format!("{port}-{free}"),
            None => free.to_string(),
        }
    }

    /// Where it left something to go on from, if that is not where this node has its data now.
    pub(super) fn left_behind(&self, now: &str) -> Option<&str> {
        self.left.as_deref().filter(|left| *left != now)
    }

    /// Whether it is to listen at this address, or did.
    pub(super) fn is_at(&self, address: &Address) -> bool {
        let is_by_file = self.port.is_some_and(|port| self.hosts.iter().any(|host| at(host, port) == address.as_str()));
        is_by_file || self.last.as_ref() == Some(address)
    }
}

/// An address as sockets have it.
fn at(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
