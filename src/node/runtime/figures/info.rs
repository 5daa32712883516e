//! What a node is, as far as it does not change while the node runs.

use crate::cluster::NodeId;
use crate::runtime::proc;
use crate::settings::{NodeSettings, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Whose information this is.
    pub node: NodeId,
    /// The release of Zazen.
    pub release: String,
    /// The process.
    pub pid: u32,
    /// When the node began, in milliseconds since 1970.
    #[serde(default)]
    pub began_millis: u64,
    /// What it was told at its start, by key; a list has several elements.
    #[serde(default)]
    pub settings: BTreeMap<String, Vec<String>>,
    /// The keys among them that hold lists.
    #[serde(default)]
    pub lists: Vec<String>,
    /// The system that it runs on.
    #[serde(default)]
    pub os: OsInfo,
    /// The memory that it may have, in bytes.
    #[serde(default)]
    pub memory_max: Option<u64>,
    /// Where other nodes find it.
    #[serde(default)]
    pub transport: Place,
    /// Where users find it, if they do.
    #[serde(default)]
    pub http: Option<Place>,
    /// The largest body that users may send.
    #[serde(default)]
    pub max_content_length: u64,
}

/// Where something is listened to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The addresses that it listens on.
    pub bound: Vec<String>,
    /// The address that others are told.
    pub published: String,
}

/// A system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OsInfo {
    /// What kind it is.
    pub name: String,
    /// What its makers call it.
    pub pretty_name: String,
    /// What kind of processors it has, by Java's names.
    pub arch: String,
    /// The release of its kernel.
    pub version: String,
    /// How many processors the process may use.
    pub processors: u64,
}

impl OsInfo {
    /// The system that this process runs on.
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        let arch = text(uname.machine());
        OsInfo {
            name: text(uname.sysname()),
            pretty_name: proc::pretty_name().unwrap_or_else(|| text(uname.sysname())),
            arch: if arch == "x86_64" { "amd64".into() } else { arch },
            version: text(uname.release()),
            processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
        }
    }
}

/// The settings of a node as they are told to others, and which of them are lists.
pub(super) fn told(settings: &NodeSettings) -> (BTreeMap<String, Vec<String>>, Vec<String>) {
    let mut lists = Vec::new();
    let mut told = BTreeMap::new();
    for (key, value) in &settings.given {
        let elements = match value {
            Value::Text(text) => vec![text.clone()],
            Value::List(elements) => {
                lists.push(key.clone());
                elements.clone()
            }
        };
        told.insert(key.clone(), elements);
    }
    (told, lists)
}
