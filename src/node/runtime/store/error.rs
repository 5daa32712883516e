//! Why the store cannot go on, in words that tell what was tried and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a data directory cannot be opened or written to.
#[derive(Debug)]
pub enum StoreError {
    /// Another process holds the directory.
    Locked {
        /// The directory of the node.
        dir: PathBuf,
        /// The process, if it left its id.
        holder: Option<u32>,
    },
    /// The file system refused.
    Io {
        /// What was tried, to be read after "cannot".
        tried: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A file does not hold what was written to it.
    Corrupt {
        /// The file.
        file: PathBuf,
        /// Where the damaged part begins.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A file has a format that this program does not know.
    UnknownVersion {
        /// The file.
        file: PathBuf,
        /// The version of its format.
        found: u32,
        /// The newest version that is read, which is written.
        known: u32,
    },
    /// The file that is written to was removed or replaced.
    Replaced {
        /// Its name.
        file: PathBuf,
    },
    /// A write could not be read back if it were written.
    Unwritable {
        /// What is wrong with it.
        what: String,
    },
    /// The thread that writes has ended.
    Panicked {
        /// What it said.
        what: String,
    },
    /// An earlier write failed, so nobody knows what is on disk.
    GaveUp {
        /// How it failed.
        first: String,
    },
}

impl StoreError {
    /// For `map_err`: what was tried, and on what.
    pub(super) fn io(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { tried, path, source }
    }
}

impl StoreError {
    /// Whether there was no room for this file.
    pub(super) fn is_no_room_for(&self, file: &Path) -> bool {
        let is_none = |kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        matches!(self, StoreError::Io { path, source, .. } if path == file && is_none(source.kind()))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Locked { dir, holder } => {
                write!(f, "failed to obtain node lock on [{}]: ", dir.display())?;
                match holder {
                    Some(pid) => write!(f, "process {pid} holds it")?,
                    None => f.write_str("another process holds it")?,
                }
                f.write_str("; a data directory serves one node, so give each node a [path.data] of its own")
            }
            StoreError::Io { tried, path, source } => write!(f, "cannot {tried} [{}]: {source}", path.display()),
            StoreError::Corrupt { file, offset, what } => write!(
                f,
                "[{}] is corrupt at byte {offset}: {what}; nothing of it is used (docs/storage.md says how to recover)",
                file.display()
            ),
            StoreError::UnknownVersion { file, found, known } => {
                write!(f, "[{}] has format version {found}, this program reads versions up to {known}", file.display())
            }
            StoreError::Replaced { file } => write!(
                f,
                "[{}] was removed or replaced while it was written to; only the node may touch what is in its directory",
                file.display()
            ),
            StoreError::Unwritable { what } => write!(f, "refused to write what could not be read back: {what}"),
            StoreError::Panicked { what } => {
                write!(f, "the thread that writes to disk crashed (a bug in Zazen): {what}")
            }
            StoreError::GaveUp { first } => {
                write!(f, "nothing more is written after a failure, until the node is started again: {first}")
            }
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Io { source, .. } => Some(source),
            StoreError::Locked { .. }
            | StoreError::Corrupt { .. }
            | StoreError::UnknownVersion { .. }
            | StoreError::Replaced { .. }
            | StoreError::Unwritable { .. }
            | StoreError::Panicked { .. }
            | StoreError::GaveUp { .. } => None,
        }
    }
}
