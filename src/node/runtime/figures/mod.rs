//! What a process is and uses: memory, processor, files, disk, network. Other nodes are asked for theirs by `ask`.
//!
//! Nothing is kept but what a share of time needs: the last readings of the processor's clocks. What a system does not
//! tell stays empty. Stands where Elasticsearch has `OsProbe`, `ProcessProbe`, `FsProbe`, `NodesInfo` and the node
//! statistics of 6.8.

mod asked;
mod info;
mod meter;
mod tally;
mod threads;

pub use super::proc::{ControlGroups, DataPlace, DeviceUse, Process, Share};
pub use asked::{Asked, Silence};
pub use info::{NodeInfo, OsInfo, Place};
pub use meter::{CountConnections, Meter};
pub use tally::{Publishes, Steps, Tally, Traffic};
pub use threads::{Busy, HotThreads, INTERVAL_MAX, THREADS_MAX};

use super::rounds::Rounds;
use crate::cluster::{Node, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Rounds of questions for what nodes use, and for what they are.
#[derive(Default)]
pub struct AskedRounds {
    /// What they use.
    pub figures: Rounds<RoundQuestion, Vec<Asked<NodeFigures>>>,
    /// What they are.
    pub infos: Rounds<RoundQuestion, Vec<Asked<NodeInfo>>>,
}

/// Which nodes are asked, and how long each.
pub type RoundQuestion = (Vec<Arc<Node>>, Duration);

/// Where a node's transport gives its figures away.
pub const PATH: &str = "/_zen/figures";

/// Where a node's transport tells what it is.
pub const INFO_PATH: &str = "/_zen/info";

/// Where a node's transport tells how often its routes were asked.
pub const USAGE_PATH: &str = "/_zen/usage";

/// Where a node's transport tells what it is answering.
pub const TASKS_PATH: &str = "/_zen/tasks";

/// Where a node's transport ends what it is answering.
pub const CANCEL_PATH: &str = "/_zen/tasks/cancel";

/// Where a node's transport tells which of its threads are busy.
pub const THREADS_PATH: &str = "/_zen/threads";

/// What one process uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Whose figures these are.
    pub node: NodeId,
    /// The process.
    pub pid: u32,
    /// Where users are listened to, if they are.
    #[serde(default)]
    pub http_address: Option<String>,
    /// The release of Zazen.
    pub release: String,
    /// When the figures were taken, in milliseconds since 1970.
    #[serde(default)]
    pub at_millis: u64,
    /// How long the node has been running.
    pub uptime_millis: u64,
    /// How busy the machine was since the figures were last taken, in percent.
    #[serde(default)]
    pub cpu_percent: Option<u8>,
    /// How many processes wanted to run, over 1, 5 and 15 minutes.
    #[serde(default)]
    pub load: Option<[f64; 3]>,
    /// The memory of this process, and the most that it can get.
    #[serde(default)]
    pub memory: Option<Share>,
    /// The memory of the machine.
    #[serde(default)]
    pub ram: Option<Share>,
    /// What the machine uses of its disks as memory.
    #[serde(default)]
    pub swap: Option<Share>,
    /// The files and sockets of this process, and the most that it may have.
    #[serde(default)]
    pub files: Option<Share>,
    /// What else is known of this process.
    #[serde(default)]
    pub process: Process,
    /// What the control groups of this process tell.
    #[serde(default)]
    pub groups: Option<ControlGroups>,
    /// The disk that the data is on; what is left of it may be more than a user gets.
    #[serde(default)]
    pub disk: Option<Disk>,
    /// Where the data is.
    #[serde(default)]
    pub data: Option<DataPlace>,
    /// What was read from and written to the device with the data.
    #[serde(default)]
    pub io: Vec<DeviceUse>,
    /// What was said between this node and others.
    #[serde(default)]
    pub transport: Traffic,
    /// How many connections of users are open, and how many there were.
    #[serde(default)]
    pub users: Connections,
    /// The states that this node got from masters.
    #[serde(default)]
    pub publishes: Publishes,
    /// How long its core was busy at a stretch.
    #[serde(default)]
    pub steps: Steps,
}

/// A disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// How large it is.
    pub total: u64,
    /// How much is free.
    pub free: u64,
    /// How much of it a user gets.
    pub available: u64,
}

/// How often which routes of a node were asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeUsage {
    /// Whose routes these are.
    pub node: NodeId,
    /// When they were counted, in milliseconds since 1970.
    pub at_millis: u64,
    /// Since when they are counted.
    pub began_millis: u64,
    /// How often each was asked, by name.
    pub actions: BTreeMap<String, u64>,
}

/// Connections of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// How many are open.
    pub open: u64,
    /// How many there were.
    pub total: u64,
    /// How many there may be at a time.
    pub max: u64,
}
