//! What a process is and uses: memory, processor, files, disk, network; of this node, and of others by asking them.
//!
//! Nothing is kept but what a share of time needs: the last readings of the processor's clocks. What a system does not
//! tell stays empty. Stands where Elasticsearch has `OsProbe`, `ProcessProbe`, `FsProbe`, `NodesInfo` and the node
//! statistics of 6.8.

mod ask;
mod info;
mod meter;
mod tally;
mod threads;

pub(in crate::runtime) use ask::of_one;
pub use ask::{Asked, Silence, of_all};
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

/// Some of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// How much is used.
    pub used: u64,
    /// How much there is.
    pub max: u64,
}

impl Share {
    /// How much is used, in percent.
    pub fn percent(self) -> u64 {
        let percent = u128::from(self.used) * 100 / u128::from(self.max.max(1));
        u64::try_from(percent).unwrap_or(u64::MAX)
    }
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

/// A process, as its system sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// How busy it kept all processors together since the figures were last taken, in percent.
    pub cpu_percent: Option<u8>,
    /// How much time of processors it has used.
    pub cpu_millis: Option<u64>,
    /// The addresses that it has laid claim to, in bytes.
    pub virtual_bytes: Option<u64>,
    /// How many threads it has.
    pub threads: Option<u64>,
}

/// What the control groups of a process tell of its processors and its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroups {
    /// The group that its processors are counted by.
    pub cpu_group: String,
    /// How much time of processors the group has used, in nanoseconds.
    pub usage_nanos: u64,
    /// In which periods that time is given out, in microseconds.
    pub period_micros: u64,
    /// How much the group gets in one period; -1 where there is no limit.
    pub quota_micros: i64,
    /// How many periods there were.
    pub periods: u64,
    /// In how many of them the group had to wait.
    pub throttled: u64,
    /// How long it had to wait, in nanoseconds.
    pub throttled_nanos: u64,
    /// The group that its memory is counted by.
    pub memory_group: String,
    /// How much memory the group may have, as the system writes it.
    pub memory_limit: String,
    /// How much it has, as the system writes it.
    pub memory_usage: String,
}

/// Where data lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPlace {
    /// The directory.
    pub path: String,
    /// Where the file system with it is mounted, and from what.
    pub mount: String,
    /// What kind of file system it is.
    pub kind: String,
}

/// What was read from and written to a device since the node began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// The device.
    pub device: String,
    /// How many reads there were.
    pub reads: u64,
    /// How many writes there were.
    pub writes: u64,
    /// How much was read, in units of 1024 bytes.
    pub read_kilobytes: u64,
    /// How much was written.
    pub written_kilobytes: u64,
}

impl DeviceUse {
    /// What was done since an earlier reading.
    fn since(self, before: &DeviceUse) -> DeviceUse {
        DeviceUse {
            device: self.device,
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            read_kilobytes: self.read_kilobytes.saturating_sub(before.read_kilobytes),
            written_kilobytes: self.written_kilobytes.saturating_sub(before.written_kilobytes),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_in_whole_percent_whatever_its_size() {
        for (used, max, percent) in
            [(0, 0, 0), (1, 3, 33), (5, 5, 100), (u64::MAX, 1, u64::MAX), (u64::MAX, u64::MAX, 100)]
        {
            assert_eq!(Share { used, max }.percent(), percent, "{used} of {max}");
        }
    }
}
