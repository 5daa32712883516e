//! The few calls that the store makes on a file system, and the real one.
//!
//! The tests have another one, which loses what was not synced. Nothing here knows what is in the files.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::process;

/// Who may do what with a directory: its owner everything.
const DIR_MODE: u32 = 0o700;
/// Who may do what with a file: its owner may read and write.
const FILE_MODE: u32 = 0o600;

/// The answer to an attempt at a lock.
pub enum Claim<L> {
    /// It is ours for as long as this lives.
    Ours(L),
    /// Another process has it; with its id, if it is known.
    Theirs(Option<u32>),
}

/// A file system, as far as the store needs one.
pub trait Fs {
    /// An open file.
    type File;
    /// A held lock.
    type Lock;

    /// Makes a directory for its owner only; one that is there will do.
    fn make_dir(&self, dir: &Path) -> io::Result<()>;

    /// The names in a directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Takes a lock on a file, which is made if it is missing.
    fn lock(&self, path: &Path) -> io::Result<Claim<Self::Lock>>;

    /// All that is in a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Makes a file that is not there yet, for its owner only.
    fn create(&self, path: &Path) -> io::Result<Self::File>;

    /// Writes all of the bytes at a place.
    fn write(&self, file: &Self::File, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes what was written to a file, and its length, durable.
    fn sync(&self, file: &Self::File) -> io::Result<()>;

    /// Gives a file another name, in one step.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Takes a name out of a directory.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFs;

impl Fs for LocalFs {
    type File = File;
    type Lock = File;

    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(DIR_MODE).create(dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn lock(&self, path: &Path) -> io::Result<Claim<File>> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                writeln!(file, "{}", process::id())?;
                Ok(Claim::Ours(file))
            }
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // A pid has at most ten digits; more is none.
                file.take(16).read_to_string(&mut text)?;
                Ok(Claim::Theirs(text.trim().parse().ok()))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
    }

    fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
