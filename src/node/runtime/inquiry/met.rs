//! What is kept of the members that were met while they ran. Of this host's the data directories: where one has its data
//! elsewhere than its file says, nobody would find the note in it afterwards. Of other hosts' how they were started.
//!
//! ```text
//! nodes/0/_neighbours.json   both; it is not synced, and one that cannot be written or read ends nothing
//! ```

use super::{ask, note};
use crate::cluster::{Address, EphemeralId};
use crate::diagnose::Distant;
use crate::runtime::Handle;
use crate::runtime::addresses::is_here;
use crate::runtime::log::STORE;
use crate::runtime::proc;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many directories are kept.
const KEPT_MAX: usize = 64;

/// How many members of other hosts are kept, and of how many bytes.
const DISTANT_MAX: usize = 16;
const DISTANT_BYTES_MAX: usize = 3 << 10;

/// Beside more nodes nobody is asked: so many on one host are a trial of it.
const NEIGHBOURS_MAX: usize = 16;

/// How often it is looked for new ones at the most.
const PAUSE: Duration = Duration::from_millis(20);

/// How often one is asked at the most.
const ASKED_MAX: u8 = 3;

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    /// The data directories of nodes of this host.
    pub(super) directories: BTreeSet<PathBuf>,
    /// Members of other hosts, those that were met last at the end.
    pub(super) distant: Vec<Distant>,
}

impl Kept {
    /// Whether this directory is new, and there is room for it.
    fn add_directory(&mut self, met: PathBuf) -> bool {
        if self.directories.len() == KEPT_MAX {
            self.directories.retain(|met| met.is_dir());
        }
        self.directories.len() < KEPT_MAX && self.directories.insert(met)
    }

    /// Whether this member is kept in the place of what it was before, and of whoever was where it is.
    fn add_distant(&mut self, met: Distant) -> bool {
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
pub(super) struct Met(Mutex<Option<Kept>>);

impl Met {
    /// All of it.
    pub(super) fn all(&self, data: &Path) -> Kept {
        self.0.lock().get_or_insert_with(|| load(data)).clone()
    }

    fn keep(&self, data: &Path, add: impl FnOnce(&mut Kept) -> bool) {
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

/// A member, as far as this is about it.
struct Other {
    is_here: bool,
    is_eligible: bool,
    /// How often it is still asked.
    left: u8,
}

/// Who is asked: everybody of few, and of many on other hosts those whose votes count, if these are few.
struct Worth {
    here: bool,
    elsewhere: bool,
    eligible: bool,
}

impl Worth {
    fn of<'a>(others: impl Iterator<Item = &'a Other> + Clone) -> Self {
        let are_few =
            |is_one: fn(&Other) -> bool| others.clone().filter(|other| is_one(other)).count() <= NEIGHBOURS_MAX;
        Worth {
            here: are_few(|other| other.is_here),
            elsewhere: are_few(|other| !other.is_here),
            eligible: are_few(|other| !other.is_here && other.is_eligible),
        }
    }

    fn asks(&self, other: &Other) -> bool {
        if other.is_here { self.here } else { self.elsewhere || other.is_eligible && self.eligible }
    }
}

/// Asks each member that is new where it has its data and how it was started, until the node has ended. Who does not tell
/// is asked again with another state, a few times.
pub async fn meet_neighbours(handle: Handle) {
    let mut states = handle.states();
    let mut others: BTreeMap<EphemeralId, Other> = BTreeMap::new();
    let own = handle.local().ephemeral_id.clone();
    loop {
        let state = states.borrow_and_update().clone();
        others.retain(|known, _| state.nodes.iter().any(|node| node.ephemeral_id == *known));
        for node in state.nodes.iter().filter(|node| node.ephemeral_id != own) {
            let is_eligible = node.is_master_eligible();
            let new = || Other { is_here: is_on_this_host(&node.address), is_eligible, left: ASKED_MAX };
            others.entry(node.ephemeral_id.clone()).or_insert_with(new);
        }
        let worth = Worth::of(others.values());
        for node in state.nodes.iter() {
            let Some(other) = others.get_mut(&node.ephemeral_id).filter(|other| other.left > 0) else { continue };
            if worth.asks(other) {
                other.left = if meet(&handle, &node.address).await { 0 } else { other.left - 1 };
            }
        }
        tokio::time::sleep(PAUSE).await;
        if states.changed().await.is_err() {
            return;
        }
    }
}

fn is_on_this_host(address: &Address) -> bool {
    address.as_str().parse::<SocketAddr>().is_ok_and(|at| is_here(&at.ip()))
}

/// Whether it tells. Other namespaces may have the same addresses, and other files.
async fn meet(handle: &Handle, address: &Address) -> bool {
    let Some(report) = ask(handle, address.clone()).await else { return false };
    let is_here = report.facts.machine == proc::machine() && report.facts.machine.is_some();
    let handle = handle.clone();
    let keep = move || {
        let (met, data) = (&handle.surroundings().met, &handle.settings().path_data);
        if is_here {
            met.keep(data, |kept| kept.add_directory(report.facts.data.into()));
        } else if let Some(distant) = Distant::of(&report).filter(|distant| !distant.address.is_loopback()) {
            met.keep(data, |kept| kept.add_distant(distant));
        }
    };
    let _ = tokio::task::spawn_blocking(keep).await;
    true
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
