//! What to type where a file is gone that all nodes of a cluster have alike: take it from a node beside, or from the host of
//! a seed.

use super::{absolute, start};
use crate::cluster::Address;
use crate::diagnose::{Mend, quoted};
use crate::runtime::addresses::is_here;
use crate::runtime::inquiry::listed;
use crate::settings::NodeSettings;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Brings it, and starts the node; none if it is a node's own, or nobody is known to have it.
pub(super) fn brought(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    let security = &settings.security;
    let common = [&security.secret, &security.authorities, &security.users];
    let mut common = common.into_iter().flatten().map(|file| settings.path_conf.join(file));
    if !common.any(|file| file == path) {
        return None;
    }
    let to = quoted(&absolute(path));
    let line = match beside(path) {
        Some(from) => format!("cp -p {} {to} && ", quoted(&absolute(&from))),
        // Nodes have it where this one has.
        None => format!("scp -p {} {to} && ", quoted(&format!("{}:{}", host_of_another(settings)?, absolute(path)))),
    };
    start(settings, &line)
}

/// The same file of another node, as `zazen setup` puts them beside each other.
fn beside(path: &Path) -> Option<PathBuf> {
    let above = path.parent()?.parent()?;
    listed(above)
        .into_iter()
        .filter_map(|directory| Some(directory.join(path.file_name()?)))
        .find(|file| file.is_file())
}

/// The first seed host that is another one than this.
fn host_of_another(settings: &NodeSettings) -> Option<String> {
    let host = |seed: &String| Address::from(seed.as_str()).host().to_owned();
    let is_another = |host: &String| match host.parse::<IpAddr>() {
        Ok(address) => !is_here(&address),
        Err(_) => *host != crate::runtime::host_name() && host != "localhost",
    };
    settings.discovery.hosts.iter().flatten().map(host).find(is_another)
}
