//! Data directories that nodes left behind: moved or copied ones, and those of nodes that were started from elsewhere since.

use crate::cluster::NodeId;
use crate::diagnose::{Sibling, Stray};
use crate::runtime::host::{FILES_MAX, Locks, absolute, around, listed, note};
use crate::settings::NodeSettings;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Data directories beside a node's own, and beside those of others, that were moved or copied since a node ran on them.
pub(super) fn strays(settings: &NodeSettings, known: &[Sibling]) -> Vec<Stray> {
    let own = PathBuf::from(absolute(&settings.path_data));
    let others = known.iter().filter(|one| !one.is_elsewhere).map(|one| PathBuf::from(&one.data));
    let of = |data: PathBuf| {
        let note = note::trusted(&data)?;
        let is_moved = fs::canonicalize(&note.data).ok() != fs::canonicalize(&data).ok();
        Some(Stray { data: data.display().to_string(), address: note.last.filter(|_| is_moved)?, id: note.id })
    };
    around(&own, others.collect()).into_iter().filter_map(of).take(FILES_MAX).collect()
}

/// Where the node of this configuration has what it left when it was started from another directory: its data directory is
/// named from wherever it is started, and has another node's data now. The one that was used last.
pub(super) fn abandoned(settings: &NodeSettings, id: &NodeId) -> Option<String> {
    let relative = Some(&settings.path_data).filter(|data| data.is_relative())?;
    let own = fs::canonicalize(&settings.path_data).ok()?;
    let file = settings.file.as_deref().map(absolute);
    let is_left = |data: &PathBuf| {
        let note =
            note::trusted(data).filter(|note| note.file == file && note.id.as_ref().is_some_and(|old| old != id));
        let its = fs::canonicalize(data).ok();
        its.as_ref() != Some(&own) && note.is_some_and(|note| fs::canonicalize(&note.data).ok() == its)
    };
    // One configuration may be that of several nodes: what is in use, or was when this node was here already, is another's.
    let made = fs::metadata(note::path_in(&own).parent()?).and_then(|about| about.created()).ok();
    let is_older = |data: &PathBuf| made.is_none_or(|made| written(data).is_some_and(|written| written <= made));
    let locks = OnceCell::new();
    let is_held = |data: &PathBuf| {
        let locks: &Locks = locks.get_or_init(Locks::now);
        locks.holder_of(&data.join("nodes").join("0")).is_some()
    };
    let used = |data: &PathBuf| fs::metadata(note::path_in(data)).and_then(|note| note.modified()).ok();
    let all = starting_points(file.as_deref()).into_iter().map(|place| place.join(relative));
    let left = all.filter(|data| is_left(data) && is_older(data) && !is_held(data));
    left.max_by_key(used).map(|data| data.display().to_string())
}

/// When a node wrote something into its data directory last.
fn written(data: &Path) -> Option<SystemTime> {
    let own = data.join("nodes").join("0");
    let files = [own.join("_state"), own].into_iter().flat_map(|directory| listed(&directory));
    files.filter_map(|file| fs::metadata(file).and_then(|about| about.modified()).ok()).max()
}

/// From where a node may have been started: its home and where its configuration and it itself are now, what holds these, and
/// what lies in them.
fn starting_points(file: Option<&str>) -> BTreeSet<PathBuf> {
    let conf = file.and_then(|file| Path::new(file).parent());
    let (now, home) = (std::env::current_dir().ok(), std::env::home_dir());
    let near = conf.into_iter().chain(now.as_deref()).flat_map(|place| [Some(place), place.parent()]).flatten();
    let near: BTreeSet<PathBuf> = near.chain(home.as_deref()).map(Path::to_path_buf).collect();
    // In the root directory are places that make a host look for others when they are looked at.
    let inside = near.iter().filter(|place| place.parent().is_some()).flat_map(|place| listed(place));
    inside.filter(|place| place.is_dir()).chain(near.iter().cloned()).collect()
}
