//! The note that a node leaves in its data directory when it begins, by which others of its host know how it is started.
//!
//! ```text
//! nodes/0/_start.json   where the node listens, its file, and what it was given besides, without what is secret
//! ```
//!
//! A note is not synced, and one that cannot be written or read ends nothing.

use crate::cluster::Address;
use crate::diagnose::Sibling;
use crate::runtime::addresses;
use crate::runtime::log::STORE;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longer files are not read.
const BYTES_MAX: u64 = 64 << 10;

/// Where it stands in a data directory.
pub(in crate::runtime) fn path_in(data: &Path) -> PathBuf {
    data.join("nodes").join("0").join("_start.json")
}

/// Leaves it.
pub(in crate::runtime) fn leave(data: &Path, note: &Sibling) {
    let path = path_in(data);
    if let Err(error) = write(&path, &serde_json::to_vec(note).unwrap_or_default()) {
        tracing::warn!(target: STORE, "cannot write [{}]: {error}", path.display());
    }
}

/// In the place of what stood there, for this user only.
pub(in crate::runtime) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = path.with_extension("json.tmp");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    file.write_all(text)?;
    fs::rename(new, path)
}

/// The one in a data directory, whoever wrote it.
pub(in crate::runtime) fn note_in(data: &Path) -> Option<Sibling> {
    serde_json::from_str(&read(&path_in(data))?).ok()
}

/// The one that this user wrote in a data directory, of a node that listened on this host: what is made of it is typed.
pub(in crate::runtime) fn trusted(data: &Path) -> Option<Sibling> {
    let about = fs::metadata(path_in(data)).ok()?;
    if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o022 != 0 {
        return None;
    }
    let is_here = |address: &Address| {
        let at: Option<SocketAddr> = address.as_str().parse().ok();
        at.is_some_and(|at| addresses::is_here(&at.ip()))
    };
    note_in(data).filter(|note| note.last.as_ref().is_some_and(is_here))
}

/// The text of a file that is one, and not long: what is none may be waited for without end. Nothing is waited for at all,
/// neither one who holds a lease on it nor what the system has yet to say in a file of its own.
pub(in crate::runtime) fn read(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path)?).ok()
}

/// The same of one that may be no text.
pub(in crate::runtime) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).is_ok_and(|file| is_small(&file)) {
        return None;
    }
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    // It may have been another one before it was opened.
    let mut bytes = Vec::new();
    let is_one = file.metadata().is_ok_and(|file| is_small(&file));
    let length = is_one.then(|| file.take(BYTES_MAX + 1).read_to_end(&mut bytes).ok()).flatten()?;
    (length as u64 <= BYTES_MAX).then_some(bytes)
}

fn is_small(file: &Metadata) -> bool {
    file.is_file() && file.len() <= BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    #[test]
    fn what_is_long_or_no_file_is_not_read() {
        let scratch = env::temp_dir().join(format!("zazen-unread-{}", std::process::id()));
        fs::create_dir_all(&scratch).expect("files of tests can be written");
        let (long, pipe) = (scratch.join("long.yml"), scratch.join("pipe.yml"));
        fs::write(&long, vec![b'#'; BYTES_MAX as usize + 1]).expect("files of tests can be written");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it can be run");
        assert!(made.success());
        assert_eq!((read(&long), read(&pipe)), (None, None));
        let _ = fs::remove_dir_all(&scratch);
    }
}
