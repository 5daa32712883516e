//! What is kept of the members that were met while they ran. Of this host's the data directories: where one has its data
//! elsewhere than its file says, nobody would find the note in it afterwards. Of other hosts' how they were started.
//!
//! ```text
//! nodes/0/_neighbours.json   both; it is not synced, and one that cannot be written or read ends nothing
//! ```

use crate::diagnose::Distant;
use crate::runtime::host::note;
use crate::runtime::log::STORE;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many directories are kept.
const KEPT_MAX: usize = 64;

/// How many members of other hosts are kept, and of how many bytes.
const DISTANT_MAX: usize = 16;
const DISTANT_BYTES_MAX: usize = 3 << 10;

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::runtime) struct Kept {
    /// The data directories of nodes of this host.
    pub(in crate::runtime) directories: BTreeSet<PathBuf>,
    /// Members of other hosts, those that were met last at the end.
    pub(in crate::runtime) distant: Vec<Distant>,
}

impl Kept {
    /// Whether this directory is new, and there is room for it.
    pub(in crate::runtime) fn add_directory(&mut self, met: PathBuf) -> bool {
        if self.directories.len() == KEPT_MAX {
            self.directories.retain(|met| met.is_dir());
        }
        self.directories.len() < KEPT_MAX && self.directories.insert(met)
    }

    /// Whether this member is kept in the place of what it was before, and of whoever was where it is.
    pub(in crate::runtime) fn add_distant(&mut self, met: Distant) -> bool {
        let size = serde_json::to_vec(&met).map_or(usize::MAX, |text| text.len());
        if size > DISTANT_BYTES_MAX || self.distant.contains(&met) {
            return false;
        }
        self.distant.retain(|known| known.id != met.id && known.address != met.address);
        self.distant.push(met);
        let surplus = self.distant.len().saturating_sub(DISTANT_MAX);
        self.distant.drain(..surplus);
        true
    }
}

/// What is kept, as it is on disk.
#[derive(Default)]
pub(in crate::runtime) struct Met(Mutex<Option<Kept>>);

impl Met {
    /// All of it.
    pub(in crate::runtime) fn all(&self, data: &Path) -> Kept {
        self.0.lock().get_or_insert_with(|| load(data)).clone()
    }

    pub(in crate::runtime) fn keep(&self, data: &Path, add: impl FnOnce(&mut Kept) -> bool) {
        let Some(text) = self.with(data, add) else { return };
        // Whoever asks for them waits for no disk.
        if let Err(error) = note::write(&path(data), &text) {
            tracing::warn!(target: STORE, "cannot write [{}]: {error}", path(data).display());
        }
    }

    /// All of it with something more, if that is new.
    fn with(&self, data: &Path, add: impl FnOnce(&mut Kept) -> bool) -> Option<Vec<u8>> {
        let mut kept = self.0.lock();
        let all = kept.get_or_insert_with(|| load(data));
        if add(all) { serde_json::to_vec(all).ok() } else { None }
    }
}

fn path(data: &Path) -> PathBuf {
    data.join("nodes").join("0").join("_neighbours.json")
}

/// Directories that are gone are forgotten; a process may have ended, and another one be of its number.
fn load(data: &Path) -> Kept {
    let text = note::read(&path(data)).unwrap_or_default();
    let mut all: Kept = serde_json::from_str(&text).unwrap_or_default();
    all.directories = all.directories.into_iter().filter(|met| met.is_dir()).take(KEPT_MAX).collect();
    all.distant.truncate(DISTANT_MAX);
    all.distant.iter_mut().for_each(|distant| distant.pid = None);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn directories_are_remembered_over_restarts_as_long_as_they_are_there() {
        let data = std::env::temp_dir().join(format!("zazen-met-{}", std::process::id()));
        fs::create_dir_all(data.join("nodes/0")).expect("files of tests can be written");
        let (met, other) = (data.join("elsewhere"), data.join("gone"));
        fs::create_dir_all(&met).expect("files of tests can be written");
        let first = Met::default();
        first.keep(&data, |kept| kept.add_directory(met.clone()));
        first.keep(&data, |kept| kept.add_directory(other));
        assert_eq!(Met::default().all(&data).directories, [met].into());
        let _ = fs::remove_dir_all(&data);
    }
}
