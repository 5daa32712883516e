//! The directory of one node, `<path.data>/nodes/0`, and the lock on it.
//!
//! ```text
//! nodes/0/node.lock          held as long as the process lives; says its id
//! nodes/0/_state/zen-17.st   what the node remembers
//! nodes/0/_state/zen.st.tmp  the next generation, until it is whole
//! ```
//!
//! Files of other names are left alone. Mirrors `NodeEnvironment` (6.8).
//!
//! Differs from ES: a directory in use is never passed over for `nodes/1`.

use super::StoreError;
use super::fs::{Claim, Fs};
use super::generation::{UNFINISHED, file_name, number_of};
use super::replay::replay;
use crate::zen::Memory;
use std::io;
use std::path::{Path, PathBuf};

/// A directory that no other process uses.
pub(super) struct Directory<L> {
    state: PathBuf,
    /// The generations that were there when it was opened.
    generations: Vec<u64>,
    has_unfinished: bool,
    _lock: L,
}

impl<L> Directory<L> {
    /// Makes what is missing of the directory, and locks it.
    pub(super) fn open<F: Fs<Lock = L>>(fs: &F, path_data: &Path) -> Result<Self, StoreError> {
        let node = path_data.join("nodes").join("0");
        let state = node.join("_state");
        for dir in [path_data, &path_data.join("nodes"), &node, &state] {
            make(fs, dir)?;
        }
        let lock = lock(fs, &node)?;
        let names = fs.list(&state).map_err(StoreError::io("list", &state))?;
        let generations: Vec<u64> = names.iter().filter_map(|name| number_of(name)).collect();
        if generations.is_empty() {
            // A generation is made after these syncs, so where there is one they are done.
            state.ancestors().skip(1).try_for_each(|dir| sync_names(fs, dir, path_data))?;
        }
        let has_unfinished = names.iter().any(|name| name == UNFINISHED);
        Ok(Directory { state, generations, has_unfinished, _lock: lock })
    }

    pub(super) fn state_dir(&self) -> &Path {
        &self.state
    }

    /// The newest generation that was there. The one before it may be there too, but is out of date.
    pub(super) fn newest(&self) -> Option<u64> {
        self.generations.iter().max().copied()
    }

    /// What a generation holds, and in which version of the format.
    pub(super) fn read<F: Fs>(&self, fs: &F, generation: u64) -> Result<(Memory, u32), StoreError> {
        let path = self.state.join(file_name(generation));
        let bytes = fs.read(&path).map_err(StoreError::io("read", &path))?;
        replay(&bytes, &path, generation)
    }

    /// Removes a file that never became whole.
    pub(super) fn remove_unfinished<F: Fs>(&self, fs: &F) -> Result<(), StoreError> {
        if self.has_unfinished { self.remove(fs, UNFINISHED) } else { Ok(()) }
    }

    /// Removes the generations that were there when it was opened.
    pub(super) fn remove_generations<F: Fs>(&self, fs: &F) -> Result<(), StoreError> {
        self.generations.iter().try_for_each(|number| self.remove(fs, &file_name(*number)))
    }

    fn remove<F: Fs>(&self, fs: &F, name: &str) -> Result<(), StoreError> {
        let path = self.state.join(name);
        fs.remove(&path).map_err(StoreError::io("remove", &path))
    }
}

/// What the newest generation holds, if there is one. Nothing is locked or changed.
pub(super) fn peek<F: Fs>(fs: &F, path_data: &Path) -> Result<Option<Memory>, StoreError> {
    let state = path_data.join("nodes").join("0").join("_state");
    let names = match fs.list(&state) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("list", &state)(error)),
    };
    let Some(newest) = names.iter().filter_map(|name| number_of(name)).max() else { return Ok(None) };
    let path = state.join(file_name(newest));
    let bytes = fs.read(&path).map_err(StoreError::io("read", &path))?;
    replay(&bytes, &path, newest).map(|(memory, _)| Some(memory))
}

/// Makes a directory, and those above it that are missing.
fn make<F: Fs>(fs: &F, dir: &Path) -> Result<(), StoreError> {
    let mut made = fs.make_dir(dir);
    if let (Err(error), Some(parent)) = (&made, dir.parent())
        && error.kind() == io::ErrorKind::NotFound
    {
        make(fs, parent)?;
        made = fs.make_dir(dir);
    }
    made.map_err(StoreError::io("create", dir))
}

/// What a directory of ours is called must be durable, whichever process made it, perhaps to be killed at once. Above
/// them there may be directories that cannot be synced by us; those were not made by us either.
fn sync_names<F: Fs>(fs: &F, dir: &Path, path_data: &Path) -> Result<(), StoreError> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem};
    match fs.sync_dir(dir) {
        Err(error)
            if !dir.starts_with(path_data)
                && matches!(error.kind(), InvalidInput | PermissionDenied | ReadOnlyFilesystem) =>
        {
            Ok(())
        }
        synced => synced.map_err(StoreError::io("sync the names in", dir)),
    }
}

fn lock<F: Fs>(fs: &F, node: &Path) -> Result<F::Lock, StoreError> {
    let path = node.join("node.lock");
    match fs.lock(&path).map_err(StoreError::io("lock", &path))? {
        Claim::Ours(lock) => Ok(lock),
        Claim::Theirs(holder) => Err(StoreError::Locked { dir: node.to_path_buf(), holder }),
    }
}
