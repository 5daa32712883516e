//! The process that holds what a node needs: a port, or the lock of its data directory.
//!
//! What it is called with tells whether it is this very node, started a second time.

use crate::runtime::listening;
use crate::settings::NodeSettings;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A process that is in the way.
pub(super) struct Holder {
    pub(super) pid: u32,
    /// Whether it was started by the same file as this node.
    pub(super) is_same: bool,
    /// Whether it is a node at all.
    is_node: bool,
}

impl Holder {
    /// Who listens at a port, if that can be told.
    pub(super) fn of_port(host: IpAddr, port: u16, settings: &NodeSettings) -> Option<Self> {
        Some(Self::of(listening(SocketAddr::new(host, port))?, settings))
    }

    /// Who holds the lock of a node's directory, as the system lists it: what stands in the file may be out of date.
    pub(super) fn of_lock(directory: &Path, settings: &NodeSettings) -> Option<Self> {
        let inode = fs::metadata(directory.join("node.lock")).ok()?.ino();
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let holder = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_it = words.get(5)?.rsplit(':').next()? == inode.to_string();
            words.get(4)?.parse().ok().filter(|_| is_it)
        };
        Some(Self::of(locks.lines().find_map(holder)?, settings))
    }

    fn of(pid: u32, settings: &NodeSettings) -> Self {
        let is_node = arguments(pid).iter().skip(1).any(|word| word == "start");
        Holder { pid, is_same: is_same(pid, settings), is_node }
    }

    /// Whether it should let go: it is this very node, or none at all. Another node is to keep what it has.
    pub(super) fn is_in_the_way(&self) -> bool {
        self.is_same || !self.is_node
    }
}

fn is_same(pid: u32, settings: &NodeSettings) -> bool {
    let Some(own) = settings.file.as_deref().and_then(|file| fs::canonicalize(file).ok()) else { return false };
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let is_own = |word: &String| fs::canonicalize(directory.join(Path::new(word))).is_ok_and(|path| path == own);
    arguments(pid).iter().skip(1).any(is_own)
}

fn arguments(pid: u32) -> Vec<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
