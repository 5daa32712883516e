//! Whose processes listen at some ports of this host, and whether they were stopped.

use super::read;
use crate::cluster::Address;
use crate::diagnose::Process;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;

/// What a socket that listens has as its state.
const LISTENS: &str = "0A";

/// The same of one that is connected.
const CONNECTED: &str = "01";

/// How many sockets of a host are looked at, and how often.
const SOCKETS_MAX: usize = 200_000;
const LOOKS: usize = 3;

/// How many ports are tried.
const PORTS_TRIED: u16 = 200;

/// How many threads of a process are looked at.
const THREADS_MAX: usize = 256;

/// Those that can be told: of other users' processes only root is.
pub(in crate::runtime) fn listeners(addresses: &[Address]) -> Vec<Process> {
    listening_at(addresses).into_iter().map(|(address, pid)| described(address, pid)).collect()
}

/// The ids of the same, which is found out at once for all.
pub(in crate::runtime) fn listening_at(addresses: &[Address]) -> Vec<(Address, u32)> {
    let ours: Vec<IpAddr> =
        if_addrs::get_if_addrs().map(|all| all.iter().map(if_addrs::Interface::ip).collect()).unwrap_or_default();
    let is_here = |address: &&Address| {
        let parsed: Option<SocketAddr> = address.as_str().parse().ok();
        parsed.is_some_and(|at| at.ip().is_loopback() || at.ip().is_unspecified() || ours.contains(&at.ip()))
    };
    let here: Vec<&Address> = addresses.iter().filter(is_here).collect();
    if here.is_empty() {
        return Vec::new();
    }
    let listening = Listening::now();
    let mut sockets: BTreeMap<String, Vec<Address>> = BTreeMap::new();
    for address in here {
        let inode = address.as_str().parse().ok().and_then(|at| listening.inode(at));
        // One socket may listen at several addresses.
        inode.into_iter().for_each(|inode| sockets.entry(inode).or_default().push(address.clone()));
    }
    if sockets.is_empty() { Vec::new() } else { owners(&sockets) }
}

/// The process that listens at an address of this host, if it was stopped by a signal.
pub fn stopped(address: SocketAddr) -> Option<u32> {
    let found = listeners(&[Address::from(address.to_string())]);
    found.first().filter(|process| process.is_stopped && process.tracer.is_none()).map(|process| process.pid)
}

/// The process that listens at an address of this host, if it can be told; at any if none is named.
pub fn listener(address: SocketAddr) -> Option<Process> {
    listeners(&[Address::from(address.to_string())]).into_iter().next()
}

/// Its id.
pub fn listening(address: SocketAddr) -> Option<u32> {
    listener(address).map(|process| process.pid)
}

/// Whose the other end of a connection is, if that is on this host and somebody has it open. The tables change while they
/// are read, so that one may be missed.
pub(in crate::runtime) fn user_of_peer(peer: SocketAddr) -> Option<u32> {
    let of = |table: &str| user_in(BufReader::new(File::open(table).ok()?), peer);
    (0..LOOKS).find_map(|_| of("/proc/net/tcp").or_else(|| of("/proc/net/tcp6")))
}

/// Of a socket that was closed the system says that it is root's.
fn user_in(table: impl BufRead, peer: SocketAddr) -> Option<u32> {
    let own: Vec<String> = written(peer.ip()).into_iter().map(|host| format!("{host}:{:04X}", peer.port())).collect();
    table.lines().take(SOCKETS_MAX).map_while(Result::ok).find_map(|line| {
        let mut words = line.split_whitespace();
        let (bound, state, user, inode) = (words.nth(1)?, words.nth(1)?, words.nth(3)?, words.nth(1)?);
        let is_it = own.iter().any(|one| one == bound) && state == CONNECTED && inode != "0";
        if is_it { user.parse().ok() } else { None }
    })
}

/// A port behind this one that nobody listens at, and that is none of these, if the address is one of this host.
pub(in crate::runtime) fn free_port(address: &Address, taken: &BTreeSet<u16>) -> Option<u16> {
    let address: SocketAddr = address.as_str().parse().ok()?;
    let behind = address.port().saturating_add(1)..=address.port().saturating_add(PORTS_TRIED);
    behind.into_iter().find(|port| !taken.contains(port) && TcpListener::bind((address.ip(), *port)).is_ok())
}

/// The sockets that listen, by port: the address as the system writes it, and the inode. They are picked once for all
/// that are asked for, as a host with many nodes has a hundred times as many sockets that do not listen.
pub(in crate::runtime) struct Listening(BTreeMap<u16, Vec<(String, String)>>);

impl Listening {
    pub(in crate::runtime) fn now() -> Listening {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter_map(read);
        Listening::of(&tables.collect::<Vec<_>>().join("\n"))
    }

    fn of(tables: &str) -> Listening {
        let mut sockets: BTreeMap<u16, Vec<(String, String)>> = BTreeMap::new();
        for line in tables.lines() {
            let mut words = line.split_whitespace();
            let (Some(bound), Some(LISTENS)) = (words.nth(1), words.nth(1)) else { continue };
            let Some((host, port)) = bound.split_once(':') else { continue };
            let (Ok(port), Some(inode)) = (u16::from_str_radix(port, 16), words.nth(5)) else { continue };
            sockets.entry(port).or_default().push((host.to_owned(), format!("socket:[{inode}]")));
        }
        Listening(sockets)
    }

    /// Whether somebody listens there.
    pub(in crate::runtime) fn is_taken(&self, at: SocketAddr) -> bool {
        self.inode(at).is_some()
    }

    /// The inode of the socket that listens at an address, else of one that listens at all addresses.
    fn inode(&self, at: SocketAddr) -> Option<String> {
        let sockets = self.0.get(&at.port())?;
        let of = |host: &String| sockets.iter().find(|(bound, _)| bound == host);
        let any = || sockets.first().filter(|_| at.ip().is_unspecified());
        let (_, inode) = written(at.ip()).iter().find_map(of).or_else(any)?;
        Some(inode.clone())
    }
}

/// How the system writes the addresses of sockets that hear what is sent to this one, the most special one first.
fn written(host: IpAddr) -> Vec<String> {
    let v6 = |host: Ipv6Addr| host.octets().chunks_exact(4).map(word).collect::<String>();
    let any = v6(Ipv6Addr::UNSPECIFIED);
    match host {
        IpAddr::V4(host) => vec![word(&host.octets()), v6(host.to_ipv6_mapped()), word(&[0; 4]), any],
        IpAddr::V6(host) => vec![v6(host), any],
    }
}

/// Four bytes of an address as the number that this machine takes them for.
fn word(bytes: &[u8]) -> String {
    let number = bytes.try_into().map_or(0, u32::from_ne_bytes);
    format!("{number:08X}")
}

fn owners(sockets: &BTreeMap<String, Vec<Address>>) -> Vec<(Address, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        for file in fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten() {
            let link = fs::read_link(file.path()).ok();
            let addresses = link.and_then(|link| sockets.get(link.to_str()?));
            found.extend(addresses.into_iter().flatten().map(|address| (address.clone(), pid)));
        }
    }
    found
}

fn described(address: Address, pid: u32) -> Process {
    Process {
        address,
        pid,
        is_stopped: is_stopped(pid),
        waits_for_disk: waits_for_disk(pid),
        tracer: tracer(pid),
        program: program(pid),
        freezer: freezer(pid),
    }
}

/// What it is called; nothing if that cannot be told.
fn program(pid: u32) -> String {
    let name = read(&format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// Whether a process was stopped by a signal.
pub fn is_stopped(pid: u32) -> bool {
    matches!(state(&format!("/proc/{pid}/stat")).as_deref(), Some("T" | "t"))
}

/// Whether a thread of a process waits for what no signal ends, as a file system that is frozen. One whose group is held
/// waits so with all of its threads.
fn waits_for_disk(pid: u32) -> bool {
    let (waiting, all) = waiting(pid);
    waiting > 0 && (waiting < all || all == 1)
}

/// How many threads of a process wait so, and of how many.
fn waiting(pid: u32) -> (usize, usize) {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().take(THREADS_MAX);
    let states: Vec<_> = threads.map(|thread| state(&thread.path().join("stat").to_string_lossy())).collect();
    (states.iter().filter(|state| state.as_deref() == Some("D")).count(), states.len())
}

/// The state stands behind the name, which may have anything in it.
fn state(stat: &str) -> Option<String> {
    Some(read(stat)?.rsplit_once(')')?.1.split_whitespace().next()?.to_owned())
}

/// The file of a group of version 2, which may be mounted beside those of version 1.
fn unified(path: &str) -> String {
    let beside = format!("/sys/fs/cgroup/unified{path}/cgroup.freeze");
    if Path::new(&beside).exists() { beside } else { format!("/sys/fs/cgroup{path}/cgroup.freeze") }
}

/// Whether all threads of a process wait, of more than one.
fn is_held(pid: u32) -> bool {
    let (waiting, all) = waiting(pid);
    all > 1 && waiting == all
}

/// The file by which the group of a process is held, if it is: that of version 2 of control groups, or that of version 1.
fn freezer(pid: u32) -> Option<String> {
    let groups = read(&format!("/proc/{pid}/cgroup"))?;
    let of = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (file, frozen) = match controllers {
            "" => (unified(path), "1"),
            "freezer" => (format!("/sys/fs/cgroup/freezer{path}/freezer.state"), "FROZEN"),
            _ => return None,
        };
        // A container need not see the files of its group.
        let is_held =
            || read(&file).map_or_else(|| controllers == "freezer" && is_held(pid), |state| state.trim() == frozen);
        (path != "/" && is_held()).then_some(file)
    };
    groups.lines().find_map(of)
}

/// Who traces it, if it stands still for that.
fn tracer(pid: u32) -> Option<u32> {
    let status = read(&format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    line.trim().parse().ok().filter(|tracer| *tracer != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_a_port_that_it_listens_at() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there are ports");
        let address = Address::from(listener.local_addr().expect("it is bound").to_string());
        let mut found = listeners(&[address.clone(), "127.0.0.1:1".into()]);
        // Another test's thread may wait for a disk that is busy.
        found.iter_mut().for_each(|process| process.waits_for_disk = false);
        let program = program(std::process::id());
        assert_eq!(
            found,
            [Process {
                address,
                pid: std::process::id(),
                is_stopped: false,
                waits_for_disk: false,
                tracer: None,
                program,
                freezer: None
            }]
        );
    }

    #[test]
    fn the_other_end_of_a_connection_is_somebodys_as_long_as_it_is_open() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
        let at = listener.local_addr().expect("it is bound");
        let stream = std::net::TcpStream::connect(at).expect("it listens");
        let (_taken, peer) = listener.accept().expect("somebody connects");
        assert_eq!(user_of_peer(peer), Some(rustix::process::geteuid().as_raw()));
        drop(stream);
        assert_eq!(user_of_peer(peer), None, "whoever closed it may have been anybody");
    }

    #[test]
    fn who_listens_at_another_address_of_the_same_port_is_not_meant() {
        let listener = TcpListener::bind("127.0.0.3:0").expect("all of 127.0.0.0/8 is loopback");
        let port = listener.local_addr().expect("it is bound").port();
        let at = |host: &str| listening(format!("{host}:{port}").parse().expect("an address of a test"));
        let own = Some(std::process::id());
        assert_eq!([at("127.0.0.3"), at("127.0.0.2"), at("0.0.0.0")], [own, None, own]);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_socket_is_found_by_its_address_before_one_that_hears_all() {
        let line = |host: &str, state: &str, inode: u32| {
            format!("0: {host}:5750 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 0 0 {inode} 1\n")
        };
        let found = |tables: &str, at: &str| Listening::of(tables).inode(at.parse().expect("an address of a test"));
        let socket = |inode: u32| Some(format!("socket:[{inode}]"));
        let (one, any) = (line("0200007F", "0A", 1), line("00000000", "0A", 2));
        assert_eq!(found(&format!("{any}{one}"), "127.0.0.2:22352"), socket(1));
        assert_eq!(found(&format!("{one}{any}"), "127.0.0.1:22352"), socket(2));
        assert_eq!(found(&one, "127.0.0.1:22352"), None);
        assert_eq!(found(&line("0200007F", "01", 1), "127.0.0.2:22352"), None);
        let v6 = line("00000000000000000000000001000000", "0A", 3);
        assert_eq!(
            [found(&v6, "[::1]:22352"), found(&v6, "[::2]:22352"), found(&v6, "127.0.0.1:22352")],
            [socket(3), None, None]
        );
        let mapped = line("0000000000000000FFFF00000100007F", "0A", 4);
        assert_eq!(found(&mapped, "127.0.0.1:22352"), socket(4));
    }
}
