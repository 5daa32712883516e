//! The data directories of the nodes of this host that were met while they ran: where one has its data elsewhere than its
//! file says, nobody would find the note in it afterwards.
//!
//! ```text
//! nodes/0/_neighbours.json   a list of directories; it is not synced, and one that cannot be written or read ends nothing
//! ```

use super::{ask, note};
use crate::cluster::{Address, EphemeralId};
use crate::runtime::Handle;
use crate::runtime::addresses::is_here;
use crate::runtime::log::STORE;
use crate::runtime::proc;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many directories are kept.
const KEPT_MAX: usize = 64;

/// Beside more nodes of this host nobody is asked: so many are a trial of one machine.
const NEIGHBOURS_MAX: usize = 16;

/// How often it is looked for new ones at the most.
const PAUSE: Duration = Duration::from_millis(20);

/// How often one is asked at the most.
const ASKED_MAX: u8 = 3;

/// The directories.
#[derive(Default)]
pub(super) struct Met(Mutex<Option<BTreeSet<PathBuf>>>);

impl Met {
    /// All of them.
    pub(super) fn all(&self, data: &Path) -> BTreeSet<PathBuf> {
        self.0.lock().get_or_insert_with(|| load(data)).clone()
    }

    fn keep(&self, data: &Path, met: PathBuf) {
        let Some(text) = self.with(data, met) else { return };
        // Whoever asks for them waits for no disk.
        if let Err(error) = note::write(&path(data), &text) {
            tracing::warn!(target: STORE, "cannot write [{}]: {error}", path(data).display());
        }
    }

    /// All of them with another one, if that is new and there is room.
    fn with(&self, data: &Path, met: PathBuf) -> Option<Vec<u8>> {
        let mut kept = self.0.lock();
        let all = kept.get_or_insert_with(|| load(data));
        if all.len() == KEPT_MAX {
            all.retain(|met| met.is_dir());
        }
        let is_new = all.len() < KEPT_MAX && all.insert(met);
        if is_new { serde_json::to_vec(all).ok() } else { None }
    }
}

fn path(data: &Path) -> PathBuf {
    data.join("nodes").join("0").join("_neighbours.json")
}

/// Directories that are gone are forgotten.
fn load(data: &Path) -> BTreeSet<PathBuf> {
    let text = note::read(&path(data)).unwrap_or_default();
    let all: BTreeSet<PathBuf> = serde_json::from_str(&text).unwrap_or_default();
    all.into_iter().filter(|met| met.is_dir()).take(KEPT_MAX).collect()
}

/// A member, as far as this is about it.
struct Other {
    is_here: bool,
    /// How often it is still asked.
    left: u8,
}

/// Asks each member that is new on this host where it has its data, until the node has ended. Who does not tell is asked
/// again with another state, a few times.
pub async fn meet_neighbours(handle: Handle) {
    let mut states = handle.states();
    let mut others: BTreeMap<EphemeralId, Other> = BTreeMap::new();
    let own = handle.local().ephemeral_id.clone();
    loop {
        let state = states.borrow_and_update().clone();
        others.retain(|known, _| state.nodes.iter().any(|node| node.ephemeral_id == *known));
        for node in state.nodes.iter().filter(|node| node.ephemeral_id != own) {
            let new = || Other { is_here: is_on_this_host(&node.address), left: ASKED_MAX };
            others.entry(node.ephemeral_id.clone()).or_insert_with(new);
        }
        let are_few = others.values().filter(|other| other.is_here).count() <= NEIGHBOURS_MAX;
        for node in state.nodes.iter().filter(|_| are_few) {
            let other = others.get_mut(&node.ephemeral_id).filter(|other| other.is_here && other.left > 0);
            let Some(other) = other else { continue };
            other.left = if meet(&handle, &node.address).await { 0 } else { other.left - 1 };
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
    if report.facts.machine == proc::machine() && report.facts.machine.is_some() {
        let (handle, met) = (handle.clone(), PathBuf::from(report.facts.data));
        let keep = move || handle.surroundings.met.keep(&handle.settings().path_data, met);
        let _ = tokio::task::spawn_blocking(keep).await;
    }
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
        first.keep(&data, met.clone());
        first.keep(&data, other);
        assert_eq!(Met::default().all(&data), [met].into());
        let _ = fs::remove_dir_all(&data);
    }
}
