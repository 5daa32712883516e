//! What is wrong with a cluster and what to type about it: verdicts, made from what several nodes say.
//!
//! One node's view accuses the others. So the reports of all nodes that answer are laid side by side, and the odd one is
//! found. Pure: who is asked and how is decided in `runtime::inquiry`. Elasticsearch 6.8 has nothing like it.
//!
//! What answers is never to be started; nothing that is printed loses data unless its line says so.

mod absent;
mod case;
mod certify;
mod clock;
mod code;
mod credentials;
mod distant;
mod distrust;
mod elsewhere;
mod failed;
mod hindered;
mod identity;
mod kin;
mod launch;
mod mends;
mod node;
mod obstacle;
mod occupied;
mod quorum;
mod reach;
mod renumbered;
mod security;
mod seed_host;
mod seeds;
mod shell;
mod sibling;
mod standing;
mod start;
mod taken;
#[cfg(test)]
mod tests;
mod unbelieved;
mod wiped;
mod worth;
mod yaml;

pub use certify::Renewal;
pub use clock::SET_CLOCK;
pub use code::Code;
pub use credentials::{Credentials, Origin};
pub use distant::Distant;
pub use distrust::{Bare, Distrust};
pub use failed::{FailedStart, own_fault};
pub use kin::{is_ours, looks_for};
pub use launch::{Launch, Variable};
pub use node::moved;
pub use obstacle::{Obstacle, Slip};
pub use seeds::hosts_meant;
pub use shell::quoted;
pub use sibling::Sibling;
pub use start::{Start, ended};
pub use worth::Worth;
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The host that it is meant for, if that is another one than that of the node that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What the node was given besides, which is kept secret and must be given again: keys, and names of variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

impl Mend {
    /// A line for a shell.
    pub fn command(line: impl Into<String>) -> Self {
        Mend { line: line.into(), ..Mend::default() }
    }

    /// A line of a configuration file.
    pub fn setting(key: &str, worth: &Worth, file: Option<String>) -> Self {
        Mend { line: format!("{key}: {}", worth.in_file()), is_setting: true, file, ..Mend::default() }
    }

    /// The same about a node.
    #[must_use]
    pub fn about(self, node: impl Into<String>) -> Self {
        Mend { node: Some(node.into()), ..self }
    }

    /// Where it is to be put or typed, if that is not where it is read.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref().filter(|_| self.is_setting);
        match (file, &self.host) {
            (Some(file), Some(host)) => Some(format!("in {file} on {host}")),
            (Some(file), None) => Some(format!("in {file}")),
            (None, Some(host)) => Some(format!("on {host}")),
            (None, None) => None,
        }
    }

    /// What to do, behind a sentence that says what is wrong.
    pub fn in_words(&self) -> String {
        let place = self.place().map(|place| format!(" {place}")).unwrap_or_default();
        let besides = self.besides().map(|besides| format!(" ({besides})")).unwrap_or_default();
        format!("; to mend it{place}{besides}: {}", self.line)
    }

    /// What must be given besides, as a sentence; nothing if that is nothing.
    pub fn besides(&self) -> Option<String> {
        let withheld = self.withheld.join(", ");
        (!withheld.is_empty()).then(|| format!("give {withheld} again, which is kept secret"))
    }
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
    /// What is nobody's fault and may not be meant, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The names of the nodes that said something.
    pub asked: Vec<String>,
    /// What is wrong, the first cause first.
    pub verdicts: Vec<Verdict>,
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
    /// Whether it said good-bye when it went, as far as the teller knows: a follower is told only that a node went.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub said_so: bool,
    /// Whether a user said since that it is gone for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Whether it may become master, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_eligible: Option<bool>,
    /// Whether its vote counted when it went, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<bool>,
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
    /// Whether a thread of it waits for what no signal ends, as a disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_disk: bool,
    /// The process that traces it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracer: Option<u32>,
    /// What it is called, if that can be told.
    #[serde(default)]
    pub program: String,
    /// The file by which the system holds its group of processes, as that of a container that was paused, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freezer: Option<String>,
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
    /// A node that does not believe the one that asks, or is not believed by it.
    Distrusted(Distrust),
    /// No Zazen node.
    Stranger,
    /// Somebody who takes connections and says nothing.
    Mute,
    /// Nothing that other nodes reach, though whoever is there answers its users.
    Walled,
    /// Nothing: neither an answer nor a refusal came in time.
    Silence,
}

impl Found {
    /// Where the transport of a node listens whose users' side was found.
    pub fn transport(&self) -> Option<&Address> {
        match self {
            Found::HttpOf(transport) => Some(transport),
            Found::Version(_)
            | Found::Distrusted(_)
            | Found::Stranger
            | Found::Mute
            | Found::Walled
            | Found::Silence => None,
        }
    }
}

/// A data directory that was moved or copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    /// Where it is now.
    pub data: String,
    /// Where the node listened that wrote in it.
    pub address: Address,
    /// That node's id, if it left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<NodeId>,
}

/// A file that a node cannot take over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unusable {
    /// Which one, and why.
    pub why: String,
    /// A command that makes it usable, if there is one.
    pub mend: Option<String>,
}

/// A file of certificates that a node was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The setting that names it.
    pub setting: String,
    /// The file.
    pub file: String,
    /// The file of its key, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// When the first one in it ends: milliseconds since 1970.
    pub ends_millis: u64,
    /// The host at which its node is reached, if the one for nodes was not made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_for: Option<String>,
    /// The cluster that it was made for, if the one for nodes was made for another than its node's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_cluster: Option<String>,
}

/// A setting in force that weakens what keeps strangers out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weak {
    /// The line of a configuration that says so.
    pub setting: String,
    /// What it lets happen.
    pub lets: String,
    /// The line that ends it; empty if that names a file which is not there.
    pub mend: String,
}

/// A file that a node reads its seed hosts from, again and again while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostsFile {
    /// Where it is, or is to be.
    pub path: String,
    /// The hosts in it.
    pub hosts: Vec<String>,
}

impl HostsFile {
    /// The command that makes it name these.
    pub fn naming(&self, hosts: &[String]) -> String {
        let lines: Vec<String> = hosts.iter().map(|host| quoted(host)).collect();
        format!(r"printf '%s\n' {} > {}", lines.join(" "), quoted(&self.path))
    }
}

/// What a node knows of itself and of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The machine, or the part of one, that its process ids and files belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Its process id.
    pub pid: u32,
    /// Whether it runs as root; of the node that was asked, whether root will type what is to be typed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_root: bool,
    /// The user and the group that it runs as, if it does not run as root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<(u32, u32)>,
    /// The unit of the system's manager of services that it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Its program.
    pub binary: String,
    /// Its configuration file.
    pub file: Option<String>,
    /// What it was given besides.
    #[serde(skip_serializing_if = "Launch::is_empty")]
    pub launch: Launch,
    /// Its data directory.
    pub data: String,
    /// Whether it was named from wherever the node was started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_data_relative: bool,
    /// The data directory of another node of the same configuration, if this one is new and was started elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandoned: Option<String>,
    /// A directory that holds its data directory, where the system's table mounts a file system and none is, if it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmounted: Option<String>,
    /// Where its users are listened to.
    pub http: Option<String>,
    /// Where its transport is bound.
    pub bound: Vec<String>,
    /// `discovery.type`.
    pub discovery: String,
    /// The hosts of its settings and of its file of hosts, if it has either.
    pub seeds: Option<Vec<String>>,
    /// Its file of hosts, if it reads one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts_file: Option<HostsFile>,
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
    /// Its files of secrets and certificates.
    #[serde(skip_serializing_if = "Credentials::is_empty")]
    pub credentials: Credentials,
    /// When its certificates end.
    pub certificates: Vec<Certificate>,
    /// A file of secrets that it runs without, since what stands there now makes no sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<Unusable>,
    /// What of it everybody reaches who reaches its host, in sentences.
    pub open: Vec<String>,
    /// What of its settings weakens what keeps strangers out.
    pub weak: Vec<Weak>,
    /// How far its clock is before that of the node that asks, if that is known.
    pub ahead_millis: Option<i64>,
    /// The members of its state: names, addresses, and whether they may be master.
    pub members: Vec<(String, Address, bool)>,
    /// Whether its state holds something of users: keys, leases, settings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_something: bool,
    /// How many of them hold data; all, if it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_members: Option<usize>,
    /// Nodes of which its history tells, that are not members.
    pub remembered: Vec<Remembered>,
    /// Whether the state waits to be recovered after a full restart.
    pub waits_for_gateway: bool,
    /// Members that refuse every new connection where they publish to be, if it is master.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Address>,
    /// The peers to which its links are cut by request.
    pub cuts: Vec<String>,
    /// The address of this host by which it would reach its seeds.
    pub outward: Option<String>,
    /// Members on other hosts, as they told of themselves while they ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distant: Vec<Distant>,
    /// Starts that failed of nodes which do not run since, as these told it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_starts: Vec<FailedStart>,
    /// Configuration files of other nodes on this host.
    pub siblings: Vec<Sibling>,
    /// Data directories that were moved or copied since a node ran on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Stray>,
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

/// What the first one explains, with the members named that others know: those that were asked, and those that were
/// members once.
pub fn named(reports: &[Report]) -> Option<Explanation> {
    let case = Case::new(reports)?;
    let known = |id: &str| {
        let node = reports.iter().map(|report| &report.explanation.node).find(|node| node.id.as_str() == id);
        let there = node.map(|node| (node.name.clone(), node.address.clone()));
        there.or_else(|| case.remembered(id).map(|(name, address)| (name.into(), address.clone())))
    };
    Some(case.me.explanation.clone().naming(known))
}

/// Judges what some nodes say; the first one is the one that was asked.
pub fn judge(reports: &[Report]) -> Option<Diagnosis> {
    let reports = &*kin::of(reports);
    let case = Case::new(reports)?;
    let mut verdicts = node::of_nodes(&case);
    verdicts.extend(elsewhere::of_elsewhere(&case));
    verdicts.extend(security::of_certificates(&case));
    verdicts.extend(identity::of_identity(&case));
    verdicts.extend(unbelieved::of_unbelieved(&case));
    verdicts.extend(clock::untimely(&case));
    verdicts.extend(reach::of_reach(&case, &verdicts));
    verdicts.extend(quorum::of_quorum(&case, &verdicts));
    verdicts.extend(standing::of_standing(&case, &verdicts));
    if let Some(found) = renumbered::of_renumbered(&case) {
        // That the others are not where they were is no other cause.
        let is_absence = |code| matches!(code, Code::LinkCut | Code::QuorumLost | Code::VoterDown | Code::MemberDown);
        verdicts.retain(|verdict| !is_absence(verdict.code));
        verdicts.push(found);
    }
    let mut verdicts = hindered::told(&case, verdicts);
    let failed = failed::of_failed_starts(&case, &verdicts);
    verdicts.extend(failed);
    // A seed host may be left of another time: it is named only where nothing else tells why so few are there.
    if verdicts.is_empty() {
        verdicts = absent::never_seen(&case);
    }
    // Nobody is without a master for what was set on purpose.
    let open = security::of_openness(&case, &verdicts);
    verdicts.extend(open);
    let mut seen = std::collections::BTreeSet::new();
    verdicts.retain(|verdict| seen.insert((verdict.code, verdict.node.clone(), security::subject(verdict))));
    let verdicts: Vec<Verdict> = verdicts.into_iter().map(|verdict| mends::with_variables(&case, verdict)).collect();
    let asked = reports.iter().map(|report| case.name(report)).collect();
    let remark = identity::remark(&case).filter(|_| !verdicts.iter().any(|verdict| verdict.code == Code::NoSeeds));
    let (standing, losses_survived) = (case.standing(&verdicts), case.losses_survived());
    Some(Diagnosis { standing, losses_survived, remark, asked, verdicts })
}
