//! The locks of files of this host, as the system lists them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
