//! Whose processes listen at some ports of this host, and whether they were stopped.

use super::read;
use crate::cluster::Address;
use crate::diagnose::Process;
use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};

/// What a socket that listens has as its state.
const LISTENS: &str = "0A";

/// How many ports are tried.
const PORTS_TRIED: u16 = 200;

/// Those that can be told: of other users' processes only root is.
pub(in crate::runtime) fn listeners(addresses: &[Address]) -> Vec<Process> {
    let ours: Vec<IpAddr> =
        if_addrs::get_if_addrs().map(|all| all.iter().map(if_addrs::Interface::ip).collect()).unwrap_or_default();
    let is_here = |address: &&Address| {
        let parsed: Option<SocketAddr> = address.as_str().parse().ok();
        parsed.is_some_and(|address| address.ip().is_loopback() || ours.contains(&address.ip()))
    };
    let here: Vec<&Address> = addresses.iter().filter(is_here).collect();
    if here.is_empty() {
        return Vec::new();
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter_map(read).collect::<Vec<_>>().join("\n");
    let sockets: BTreeMap<String, Address> = here
        .into_iter()
        .filter_map(|address| {
            Some((inode(&tables, address.as_str().rsplit_once(':')?.1.parse().ok()?)?, address.clone()))
        })
        .collect();
    if sockets.is_empty() { Vec::new() } else { owners(&sockets) }
}

/// The process that listens at an address of this host, if it can be told.
pub fn listening(address: SocketAddr) -> Option<u32> {
    let local = if address.is_ipv4() { IpAddr::from([127, 0, 0, 1]) } else { IpAddr::from(Ipv6Addr::LOCALHOST) };
    let host = if address.ip().is_unspecified() { local } else { address.ip() };
    let found = listeners(&[Address::from(SocketAddr::new(host, address.port()).to_string())]);
    found.first().map(|process| process.pid)
}

/// A port behind this one that nobody listens at, if the address is one of this host.
pub(in crate::runtime) fn free_port(address: &Address) -> Option<u16> {
    let address: SocketAddr = address.as_str().parse().ok()?;
    let behind = address.port().saturating_add(1)..=address.port().saturating_add(PORTS_TRIED);
    behind.into_iter().find(|port| TcpListener::bind((address.ip(), *port)).is_ok())
}

/// The inode of the socket that listens at a port.
fn inode(tables: &str, port: u16) -> Option<String> {
    let suffix = format!(":{port:04X}");
    tables.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1)?.ends_with(&suffix) && *words.get(3)? == LISTENS;
        is_it.then(|| words.get(9).map(|inode| format!("socket:[{inode}]")))?
    })
}

fn owners(sockets: &BTreeMap<String, Address>) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        for file in fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten() {
            let link = fs::read_link(file.path()).ok();
            let address = link.and_then(|link| sockets.get(link.to_str()?));
            if let Some(address) = address {
                found.push(Process {
                    address: address.clone(),
                    pid,
                    is_stopped: is_stopped(pid),
                    program: program(pid),
                });
            }
        }
    }
    found
}

/// What it is called; nothing if that cannot be told.
fn program(pid: u32) -> String {
    let name = read(&format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// The state stands behind the name, which may have anything in it.
fn is_stopped(pid: u32) -> bool {
    let stat = read(&format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, Some("T" | "t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_a_port_that_it_listens_at() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there are ports");
        let address = Address::from(listener.local_addr().expect("it is bound").to_string());
        let found = listeners(&[address.clone(), "127.0.0.1:1".into()]);
        let program = program(std::process::id());
        assert_eq!(found, [Process { address, pid: std::process::id(), is_stopped: false, program }]);
    }
}
