//! Where a node looks for others by its settings and its file of hosts, and by which address it would get there. Nothing is
//! looked up.

use super::absolute;
use crate::diagnose::HostsFile;
use crate::runtime::seeds::file_of_hosts;
use crate::settings::NodeSettings;
use std::net::{SocketAddr, UdpSocket};

/// The hosts that the settings of a node name, and its file of hosts if it reads one; none if it has neither.
pub fn seed_hosts(settings: &NodeSettings) -> Option<Vec<String>> {
    let (named, file) = (settings.discovery.hosts.clone(), hosts_file(settings));
    match file {
        Some(file) => Some(named.into_iter().flatten().chain(file.hosts).collect()),
        None => named,
    }
}

/// The file of hosts that a node reads, if it does.
pub fn hosts_file(settings: &NodeSettings) -> Option<HostsFile> {
    let (path, hosts) = settings.discovery.hosts_file.then(|| file_of_hosts(&settings.path_conf))?;
    Some(HostsFile { path: absolute(&path), hosts })
}

/// The address by which this host would reach the first seed that is one. Nothing is sent.
pub(in crate::runtime) fn outward(seeds: &[String]) -> Option<String> {
    let seed: SocketAddr =
        seeds.iter().find_map(|seed| seed.parse().ok().or_else(|| format!("{seed}:9300").parse().ok()))?;
    let any = if seed.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(seed).ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}
