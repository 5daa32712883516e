//! The process that holds what a node needs: a port, or the lock of its data directory.
//!
//! The note that it left in its data directory tells whether it is this very node, started a second time; without one, as
//! of a node that has just begun, what it is called with does.

use crate::diagnose::Sibling;
use crate::runtime::inquiry::{launch_of, note_in};
use crate::runtime::listening;
use crate::runtime::printable::printable;
use crate::settings::NodeSettings;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
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

/// All locks of this host, as the system lists them.
pub(in crate::runtime) struct Locks(String);

impl Locks {
    pub(in crate::runtime) fn now() -> Self {
        Locks(fs::read_to_string("/proc/locks").unwrap_or_default())
    }

    /// The process that holds the lock of a node's directory.
    pub(in crate::runtime) fn holder_of(&self, directory: &Path) -> Option<u32> {
        let file = fs::metadata(directory.join("node.lock")).ok()?;
        locker(&self.0, file.dev(), file.ino())
    }
}

/// Who locks a file: a line has the device and the inode of what is locked as `major:minor:inode`, the former two in hex.
fn locker(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let file = format!("{:02x}:{:02x}:{inode}", rustix::fs::major(device), rustix::fs::minor(device));
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(4)?.parse().ok().filter(|_| words.get(5) == Some(&file.as_str()))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_another_file_system_with_the_same_inode_is_not_meant() {
        let locks = "1: FLOCK  ADVISORY  WRITE 71 00:1b:1234 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 72 fe:10:1234 0 EOF\n\
                     2: -> POSIX  ADVISORY  WRITE 73 fe:10:1234 0 EOF\n";
        let on = |major, minor| locker(locks, rustix::fs::makedev(major, minor), 1234);
        assert_eq!([on(0xfe, 0x10), on(0, 0x1b), on(0xfe, 0)], [Some(72), Some(71), None]);
    }

    #[test]
    fn this_process_is_found_by_its_lock() {
        let file = rustix::fs::memfd_create("lock", rustix::fs::MemfdFlags::CLOEXEC).expect("it is a Linux");
        let file = fs::File::from(file);
        file.lock().expect("nobody else knows it");
        let about = file.metadata().expect("it is a file");
        let locks = fs::read_to_string("/proc/locks").expect("the system lists its locks");
        assert_eq!(locker(&locks, about.dev(), about.ino()), Some(std::process::id()));
    }
}
