//! The data directories of the nodes of this host that were met while they ran: where one has its data elsewhere than its
//! file says, nobody would find the note in it afterwards.
//!
//! ```text
//! nodes/0/_neighbours.json   a list of directories; it is not synced, and one that cannot be written or read ends nothing
//! ```

use super::{ask, note};
use crate::cluster::{Address, EphemeralId, Node};
use crate::runtime::Handle;
use crate::runtime::addresses::is_here;
use crate::runtime::log::STORE;
use crate::runtime::proc;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How many directories are kept.
const KEPT_MAX: usize = 64;

/// Beside more nodes of this host nobody is asked: so many are a trial of one machine.
const NEIGHBOURS_MAX: usize = 16;

/// How often it is looked for new ones at the most.
const PAUSE: Duration = Duration::from_millis(20);

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

/// Asks each member that is new on this host where it has its data, until the node has ended.
pub async fn meet_neighbours(handle: Handle) {
    let mut states = handle.states();
    // All others, and whether each is on this host.
    let mut known: BTreeMap<EphemeralId, bool> = BTreeMap::new();
    let own = handle.local().ephemeral_id.clone();
    loop {
        let state = states.borrow_and_update().clone();
        known.retain(|known, _| state.nodes.iter().any(|node| node.ephemeral_id == *known));
        let is_new = |node: &&Arc<Node>| node.ephemeral_id != own && !known.contains_key(&node.ephemeral_id);
        let new = state.nodes.iter().filter(is_new);
        let new: Vec<(&Arc<Node>, bool)> = new.map(|node| (node, is_on_this_host(&node.address))).collect();
        known.extend(new.iter().map(|(node, is_here)| (node.ephemeral_id.clone(), *is_here)));
        let are_few = known.values().filter(|is_here| **is_here).count() <= NEIGHBOURS_MAX;
        for (node, _) in new.into_iter().filter(|(_, is_here)| *is_here && are_few) {
            // Who does not tell is asked again with the next state.
            if !meet(&handle, &node.address).await {
                known.remove(&node.ephemeral_id);
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
