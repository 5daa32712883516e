//! The process that holds what a node needs: a port, or the lock of its data directory.
//!
//! The note that it left in its data directory tells whether it is this very node, started a second time; without one, as
//! of a node that has just begun, what it is called with does.

use crate::diagnose::Sibling;
use crate::runtime::host::note::note_in;
use crate::runtime::host::{Locks, launch_of};
use crate::runtime::listening;
use crate::runtime::printable::printable;
use crate::settings::NodeSettings;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// What a directory calls the file of a node.
pub const NAMES: [&str; 2] = ["zazen.yml", "elasticsearch.yml"];

/// A process that is in the way.
pub(super) struct Holder {
    pub(super) pid: u32,
    /// Whether it was started by the same file as this node.
    pub(super) is_same: bool,
    /// Whether it is a node at all.
    is_node: bool,
    /// What it says of itself.
    note: Option<Sibling>,
}

impl Holder {
    /// Who listens at a port, if that can be told.
    pub(super) fn of_port(host: IpAddr, port: u16, settings: &NodeSettings) -> Option<Self> {
        Some(Self::of(listening(SocketAddr::new(host, port))?, settings))
    }

    /// Who holds the lock of a node's directory, as the system lists it: what stands in the file may be out of date.
    pub(super) fn of_lock(directory: &Path, settings: &NodeSettings) -> Option<Self> {
        Some(Self::of(Locks::now().holder_of(directory)?, settings))
    }

    fn of(pid: u32, settings: &NodeSettings) -> Self {
        let is_node = arguments(pid).iter().skip(1).any(|word| word == "start");
        let note = note(pid);
        let is_same = note.as_ref().map_or_else(|| is_called_so(pid, settings), |note| is_of(note, settings));
        Holder { pid, is_same, is_node, note }
    }

    /// Whether it is this very node, and runs.
    pub(super) fn is_this_node(&self) -> bool {
        self.is_same && self.is_node
    }

    /// Who it is, for one that is another node.
    pub(super) fn who(&self, settings: &NodeSettings) -> Option<String> {
        let note = self.note.as_ref().filter(|_| !self.is_same)?;
        let name = note.name.as_deref().unwrap_or("without a name");
        let cluster = if note.cluster == settings.cluster_name.as_str() {
            "this cluster".to_owned()
        } else {
            format!("cluster [{}]", note.cluster)
        };
        // Whoever has the process wrote its note.
        Some(printable(&format!("node [{name}] of {cluster}, process [{}]", self.pid)))
    }

    /// Whether it should let go: it is this very node, or none at all. Another node is to keep what it has.
    pub(super) fn is_in_the_way(&self) -> bool {
        self.is_same || !self.is_node
    }
}

/// The note of a process that holds the lock of a data directory.
fn note(pid: u32) -> Option<Sibling> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    let lock = links.find(|link| link.ends_with("nodes/0/node.lock"))?;
    note_in(lock.ancestors().nth(3)?)
}

/// Whether a note is of the node with these settings. One file may be that of many nodes, which differ in what they are
/// given besides.
fn is_of(note: &Sibling, settings: &NodeSettings) -> bool {
    let is_one = |theirs: &str, ours: &Path| match (fs::canonicalize(theirs), fs::canonicalize(ours)) {
        (Ok(theirs), Ok(ours)) => theirs == ours,
        (Err(_), _) | (_, Err(_)) => false,
    };
    let is_file = match (&note.file, &settings.file) {
        (Some(theirs), Some(ours)) => is_one(theirs, ours),
        (None, None) => note.launch == launch_of(&settings.launch),
        (Some(_), None) | (None, Some(_)) => false,
    };
    // A relative one is elsewhere wherever the node is started.
    let is_data = note.is_data_relative || is_one(&note.data, &settings.path_data);
    is_file && is_data && note.name == settings.node_name.as_deref().map(ToOwned::to_owned)
}

/// Whether a process is called with the file of these settings, or with its directory.
fn is_called_so(pid: u32, settings: &NodeSettings) -> bool {
    let Some(own) = settings.file.as_deref().and_then(|file| fs::canonicalize(file).ok()) else { return false };
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let file = |word: &String| -> Option<PathBuf> {
        let path = directory.join(Path::new(word));
        if path.is_dir() { file_in(&path) } else { Some(path) }
    };
    let is_own = |word| file(word).and_then(|path| fs::canonicalize(path).ok()).is_some_and(|path| path == own);
    arguments(pid).iter().skip(1).any(is_own)
}

/// The file of a directory.
pub fn file_in(directory: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| directory.join(name)).find(|file| file.exists())
}

fn arguments(pid: u32) -> Vec<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
