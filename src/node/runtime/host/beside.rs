//! What lies beside a configuration or a data directory: other configurations, other directories, and what the former name.

use super::configurations::Configurations;
use super::{FILES_MAX, absolute};
use crate::diagnose::Launch;
use crate::settings::{NodeSettings, SecuritySettings};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The ports that configurations beside a node's own name.
pub(in crate::runtime) fn ports_beside(settings: &NodeSettings) -> BTreeSet<u16> {
    let own = settings.file.as_deref().map(absolute).map(PathBuf::from);
    let (files, mut known) = (own.as_deref().map(files_beside).unwrap_or_default(), Configurations::default());
    let mut ports = BTreeSet::new();
    for file in files {
        if let Some((other, _)) = known.loaded(file.to_str(), &Launch::default()) {
            ports.extend([&other.http.ports, &other.transport.ports].into_iter().filter_map(|ports| ports.only()));
        }
    }
    ports
}

/// A file that all nodes of a cluster have alike, as a configuration beside a node's own names it for the same cluster.
pub(in crate::runtime) fn file_beside(settings: &NodeSettings, which: OneOfSecurity) -> Option<PathBuf> {
    let own = which(&settings.security).map(|file| settings.path_conf.join(file))?;
    let files = settings.file.as_deref().map(absolute).map(PathBuf::from).as_deref().map(files_beside)?;
    let mut known = Configurations::default();
    let named = files.iter().find_map(|file| {
        let (other, _) = known.loaded(file.to_str(), &Launch::default())?;
        let named = other.path_conf.join(which(&other.security)?);
        let is_there = fs::metadata(&named).is_ok_and(|about| about.is_file() && about.len() > 0);
        (is_there && other.cluster_name == settings.cluster_name && named != own).then_some(named)
    });
    named.map(|named| PathBuf::from(absolute(&named)))
}

/// One of the files of a node's security.
pub(in crate::runtime) type OneOfSecurity = fn(&SecuritySettings) -> Option<&PathBuf>;

/// These directories, and those beside a node's own and beside these.
pub(in crate::runtime) fn around(own: &Path, named: Vec<PathBuf>) -> BTreeSet<PathBuf> {
    let mut seen = BTreeSet::new();
    let known = [own].into_iter().chain(named.iter().map(PathBuf::as_path)).filter(|data| seen.insert(data.parent()));
    let beside: Vec<PathBuf> = known.take(8).flat_map(beside).collect();
    beside.into_iter().chain(named.iter().cloned()).filter(|data| data != own).collect()
}

/// Configuration files beside a node's own, and in the directories beside its directory.
pub(in crate::runtime) fn files_beside(file: &Path) -> Vec<PathBuf> {
    let Some(dir) = file.parent() else { return Vec::new() };
    let mut files = configurations(dir);
    // Above may be those of all others, where one has a directory of its own.
    files.extend(dir.parent().filter(|above| above.parent().is_some()).map(configurations).unwrap_or_default());
    for beside in beside(dir) {
        files.extend(configurations(&beside));
    }
    files.truncate(FILES_MAX);
    files.retain(|path| path.as_path() != file);
    files
}

/// The directories beside one, and those that are called as it is in the directories beside the one that holds it:
/// `n1/config` stands beside `n0/config`.
fn beside(dir: &Path) -> Vec<PathBuf> {
    let Some(holder) = dir.parent() else { return Vec::new() };
    // In the root directory are places that make a host look for others when they are looked at.
    let above = holder.parent().filter(|above| above.parent().is_some());
    let cousins = above.zip(dir.file_name()).map(|(above, name)| {
        let holders = listed(above).into_iter().filter(|other| other.is_dir() && other != holder);
        holders.map(|other| other.join(name)).collect::<Vec<_>>()
    });
    let all = listed(holder).into_iter().filter(|other| other != dir).chain(cousins.unwrap_or_default());
    all.filter(|other| other.is_dir()).collect()
}

pub(in crate::runtime) fn listed(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.take(FILES_MAX * 4).collect();
    paths.sort();
    paths
}

fn configurations(dir: &Path) -> Vec<PathBuf> {
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml");
    listed(dir).into_iter().filter(is_yaml).collect()
}
