//! What is wrong with a cluster and what to type about it: verdicts, made from what several nodes say.
//!
//! One node's view accuses the others. So the reports of all nodes that answer are laid side by side, and the odd one is
//! found. Pure: who is asked and how is decided in `runtime::inquiry`. Elasticsearch 6.8 has nothing like it.
//!
//! What answers is never to be started; nothing that is printed loses data unless its line says so.

mod case;
mod code;
mod identity;
mod node;
mod quorum;
mod reach;
mod security;
mod standing;
#[cfg(test)]
mod tests;
mod yaml;

pub use case::{hosts_line, quoted};
pub use code::Code;
pub use yaml::yaml;

use crate::cluster::{Address, NodeId};
use crate::zen::Explanation;
use case::Case;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Something else fits as well.
    Possible,
    /// Everything that is known fits, and not everything is known.
    Likely,
    /// The nodes say so themselves.
    Certain,
}

/// One line to paste.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mend {
    /// The line: a command, or `setting: value`.
    pub line: String,
    /// Whether it is a line of a configuration file; that node is restarted then.
    pub is_setting: bool,
    /// The file that it belongs to, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The node that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Who said what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Who said it, by name.
    pub by: String,
    /// When, by its clock: milliseconds since 1970.
    pub at_millis: u64,
    /// What.
    pub what: String,
}

/// What is wrong, how it is known, and what to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The cause.
    pub code: Code,
    /// In a sentence.
    pub summary: String,
    /// How sure it is.
    pub certainty: Certainty,
    /// The node that it is about, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Who said what.
    pub evidence: Vec<Evidence>,
    /// What to type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<Mend>,
}

/// How a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// There is a master, and nothing is wrong.
    Sound,
    /// There is a master, and something is wrong.
    Reduced,
    /// The node that was asked has no master.
    NoMaster,
}

/// All that comes of asking around.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// How the cluster is.
    pub standing: Standing,
    /// How many voters may be lost, one after the other at once, before there is no master.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses_survived: Option<usize>,
    /// The names of the nodes that said something.
    pub asked: Vec<String>,
    /// What is wrong, the first cause first.
    pub verdicts: Vec<Verdict>,
}

/// A configuration file of a node, found beside that of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sibling {
    /// The file.
    pub file: String,
    /// `node.name`.
    pub name: Option<String>,
    /// `cluster.name`.
    pub cluster: String,
    /// The transport port, if it is one.
    pub port: Option<u16>,
    /// The host of the transport, if it is an address.
    pub host: Option<String>,
    /// `path.data`.
    pub data: String,
    /// Whether the file names it from wherever the node is started; then it is taken to be started where the teller was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_data_relative: bool,
    /// `node.master`.
    pub is_eligible: bool,
}

/// A node that was a member once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// Its id.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// Where it listened last.
    pub address: Address,
    /// Whether it went today without saying good-bye.
    pub failed: bool,
}

/// A process on the host of a node that listens at a port which somebody asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Where it listens.
    pub address: Address,
    /// Its id.
    pub pid: u32,
    /// Whether it was stopped by a signal or a debugger.
    pub is_stopped: bool,
    /// What it is called, if that can be told.
    #[serde(default)]
    pub program: String,
}

/// What listens at a host that did not answer as a node does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Where.
    pub address: Address,
    /// What was found.
    pub found: Found,
    /// A port near it that is free, if that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_port: Option<u16>,
}

/// What can be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A node's users' side; its transport listens here.
    HttpOf(Address),
    /// A node of another version of the protocol.
    Version(u64),
    /// No Zazen node.
    Stranger,
}

/// A file of certificates that a node was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The setting that names it.
    pub setting: String,
    /// The file.
    pub file: String,
    /// When the first one in it ends: milliseconds since 1970.
    pub ends_millis: u64,
}

/// A setting in force that weakens what keeps strangers out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weak {
    /// The line of a configuration that says so.
    pub setting: String,
    /// What it lets happen.
    pub lets: String,
    /// The line that ends it.
    pub mend: String,
}

/// What a node knows of itself and of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Its process id.
    pub pid: u32,
    /// Its program.
    pub binary: String,
    /// Its configuration file.
    pub file: Option<String>,
    /// Its data directory.
    pub data: String,
    /// Whether it was named from wherever the node was started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_data_relative: bool,
    /// Where its users are listened to.
    pub http: Option<String>,
    /// Where its transport is bound.
    pub bound: Vec<String>,
    /// `discovery.type`.
    pub discovery: String,
    /// The configured hosts, if there are any.
    pub seeds: Option<Vec<String>>,
    /// What it was given that matters here, by key.
    pub given: BTreeMap<String, String>,
    /// `discovery.zen.minimum_master_nodes` as the state has it.
    pub minimum_of_state: Option<String>,
    /// Room on the disk of the data directory.
    pub free_bytes: Option<u64>,
    /// A directory on another file system that has room, if it was looked for.
    pub roomy: Option<String>,
    /// Open files and sockets.
    pub open_files: Option<u64>,
    /// How many there may be.
    pub file_limit: Option<u64>,
    /// How long the slowest of its last writes took.
    pub sync_millis: Option<u64>,
    /// Its clock: milliseconds since 1970.
    pub wall_millis: u64,
    /// When its certificates end.
    pub certificates: Vec<Certificate>,
    /// What of it everybody reaches who reaches its host, in sentences.
    pub open: Vec<String>,
    /// What of its settings weakens what keeps strangers out.
    pub weak: Vec<Weak>,
    /// How far its clock is before that of the node that asks, if that is known.
    pub ahead_millis: Option<i64>,
    /// The members of its state: names, addresses, and whether they may be master.
    pub members: Vec<(String, Address, bool)>,
    /// Nodes of which its history tells, that are not members.
    pub remembered: Vec<Remembered>,
    /// Whether the state waits to be recovered after a full restart.
    pub waits_for_gateway: bool,
    /// The peers to which its links are cut by request.
    pub cuts: Vec<String>,
    /// The address of this host by which it would reach its seeds.
    pub outward: Option<String>,
    /// Configuration files of other nodes on this host.
    pub siblings: Vec<Sibling>,
    /// Processes that listen on this host where somebody does not answer.
    pub processes: Vec<Process>,
    /// What was found at hosts that do not answer as nodes do.
    pub probes: Vec<Probe>,
}

/// All that one node says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the protocol that it speaks.
    pub wire: u64,
    /// What its core knows.
    pub explanation: Explanation,
    /// What its process knows.
    pub facts: Facts,
}

/// Judges what some nodes say; the first one is the one that was asked.
pub fn judge(reports: &[Report]) -> Option<Diagnosis> {
    let case = Case::new(reports)?;
    let mut verdicts = node::of_nodes(&case);
    verdicts.extend(security::of_security(&case));
    verdicts.extend(identity::of_identity(&case));
    verdicts.extend(reach::of_reach(&case, &verdicts));
    verdicts.extend(quorum::of_quorum(&case, &verdicts));
    verdicts.extend(standing::of_standing(&case, &verdicts));
    let mut seen = std::collections::BTreeSet::new();
    verdicts.retain(|verdict| seen.insert((verdict.code, verdict.node.clone(), security::subject(verdict))));
    let asked = reports.iter().map(|report| case.name(report)).collect();
    Some(Diagnosis { standing: case.standing(&verdicts), losses_survived: case.losses_survived(), asked, verdicts })
}
