//! The few calls that the store makes on a file system, and the real one.
//!
//! The tests have another one, which loses what was not synced. Nothing here knows what is in the files. When the process
//! or the system has no descriptor left, that is no failure of the disk: the real one keeps some for this case, and waits.

use crate::runtime::descriptors;
use crate::runtime::log::STORE;
use parking_lot::Mutex;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

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

    /// Whether a file still has this name.
    fn is_named(&self, file: &Self::File, path: &Path) -> io::Result<bool>;
}

/// How many descriptors are kept: a generation is made of a file and the names in its directory.
const SPARE: usize = 2;

/// How often a file is tried to be opened without a descriptor, and how long it is waited in between. A node whose disk
/// hangs for longer is as good as gone for the others, and the operator should hear of it.
const TRIES: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// The file system of this machine.
#[derive(Debug)]
pub struct LocalFs {
    /// Open for nothing but to be given up when there are no descriptors left.
    spare: Mutex<Vec<File>>,
}

impl Default for LocalFs {
    fn default() -> Self {
        let fs = LocalFs { spare: Mutex::default() };
        fs.fill_spare();
        fs
    }
}

impl LocalFs {
    /// Opens something. Without a descriptor it takes one of those that were kept, and waits when these are used up.
    fn open<T>(&self, path: &Path, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        for tried in 0..TRIES {
            match open() {
                Err(error) if descriptors::is_lack(&error) => {
                    if tried.is_power_of_two() || tried == 0 {
                        tracing::warn!(target: STORE, "cannot open [{}] yet, it is tried again: {error}", path.display());
                    }
                    if self.spare.lock().pop().is_none() {
                        pause();
                    }
                }
                opened => return opened,
            }
        }
        open()
    }

    /// Keeps descriptors again as soon as there are some.
    fn fill_spare(&self) {
        let mut spare = self.spare.lock();
        while spare.len() < SPARE
            && let Ok(file) = File::open("/dev/null")
        {
            spare.push(file);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nobody tells when a descriptor is free again")]
fn pause() {
    thread::sleep(PAUSE);
}

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
        self.open(dir, || fs::read_dir(dir))?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn lock(&self, path: &Path) -> io::Result<Claim<File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        let mut file = self.open(path, || options.open(path))?;
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
        self.open(path, || fs::read(path))
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.open(path, || OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path))
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
        self.open(dir, || File::open(dir))?.sync_all()
    }

    /// The last call of what makes a generation: the descriptors that it may have taken are free again.
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.fill_spare();
        fs::remove_file(path)
    }

    fn is_named(&self, file: &File, path: &Path) -> io::Result<bool> {
        let ours = file.metadata()?;
        match fs::metadata(path) {
            Ok(named) => Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;

    #[test]
    fn without_descriptors_those_that_were_kept_are_given_up_and_kept_again() {
        let fs = LocalFs::default();
        let tries = Cell::new(0);
        let opened = fs.open(Path::new("x"), || {
            tries.set(tries.get() + 1);
            match tries.get() {
                1 => Err(io::Error::from_raw_os_error(EMFILE)),
                2 | 3 => Err(io::Error::from_raw_os_error(ENFILE)),
                _ => Ok("open"),
            }
        });
        assert_eq!((opened.ok(), tries.get(), fs.spare.lock().len()), (Some("open"), 4, 0));
        fs.fill_spare();
        assert_eq!(fs.spare.lock().len(), SPARE);
    }

    #[test]
    fn any_other_failure_is_one_at_once() {
        let fs = LocalFs::default();
        let tries = Cell::new(0);
        let opened: io::Result<()> = fs.open(Path::new("x"), || {
            tries.set(tries.get() + 1);
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!((opened.map_err(|error| error.kind()), tries.get()), (Err(io::ErrorKind::StorageFull), 1));
        assert_eq!(fs.spare.lock().len(), SPARE);
    }
}
