//! Where the nodes of a cluster live: a directory on the disk of this repository, and ports on loopback or on networks of
//! their own.

use super::guard::Directory;
use super::wires::Wires;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that the kernel gives to outgoing connections, so that a node that was killed finds its own free.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// How many ports a node has: its clients', its peers', and one more that ZooKeeper elects on.
const PORTS_OF_A_NODE: usize = 3;

/// Different programs begin at different ports.
static NEXT: AtomicU16 = AtomicU16::new(0);

static MADE: AtomicU16 = AtomicU16::new(0);

/// One node's home.
pub(crate) struct Place {
    /// From 0.
    pub(crate) index: usize,
    pub(crate) name: String,
    /// For its data, configuration and log.
    pub(crate) directory: PathBuf,
    /// Where it listens.
    pub(crate) host: Ipv4Addr,
    ports: [u16; PORTS_OF_A_NODE],
}

impl Place {
    /// Where clients are served, from wherever they are.
    pub(crate) fn door(&self) -> SocketAddr {
        (self.host, self.client()).into()
    }

    /// Where other nodes find it.
    pub(crate) fn peer(&self) -> SocketAddr {
        (self.host, self.transport()).into()
    }

    /// Where clients are served.
    pub(crate) fn client(&self) -> u16 {
        self.ports[0]
    }

    /// Where other nodes are.
    pub(crate) fn transport(&self) -> u16 {
        self.ports[1]
    }

    /// Where other nodes vote, if that is another port.
    pub(crate) fn election(&self) -> u16 {
        self.ports[2]
    }

    /// Where its output goes.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("log")
    }
}

/// The homes of a cluster's nodes, removed at the end.
pub(crate) struct Site {
    directory: Directory,
    pub(crate) places: Vec<Place>,
    /// The networks of the nodes, if they are not on loopback.
    pub(crate) wires: Option<Wires>,
}

impl Site {
    pub(crate) fn new(nodes: usize) -> io::Result<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("run-{}-{number}", std::process::id()));
        let directory = Directory::make(directory)?;
        let places = (0..nodes).map(|index| place(directory.path(), index)).collect::<io::Result<_>>()?;
        Ok(Site { directory, places, wires: None })
    }

    /// The same with a network for each node.
    pub(crate) fn wired(nodes: usize) -> Result<Self, String> {
        let mut site = Site::new(nodes).map_err(|error| error.to_string())?;
        let wires = Wires::lay(nodes)?;
        site.places.iter_mut().for_each(|place| place.host = wires.address(place.index));
        site.wires = Some(wires);
        Ok(site)
    }

    /// What runs a program as a node: on its own network, if it has one.
    pub(crate) fn program(&self, place: &Place, program: &str) -> Command {
        match &self.wires {
            Some(wires) => wires.enter(place.index, program),
            None => Command::new(program),
        }
    }

    /// Keeps everything for whoever wants to know what happened, and tells where.
    pub(crate) fn keep(&self) -> &Path {
        self.directory.keep();
        self.directory.path()
    }
}

fn place(parent: &Path, index: usize) -> io::Result<Place> {
    let name = format!("n{index}");
    let directory = parent.join(&name);
    fs::create_dir(&directory)?;
    let mut ports = [0; PORTS_OF_A_NODE];
    for port in &mut ports {
        *port = free_port()?;
    }
    Ok(Place { index, name, directory, host: Ipv4Addr::LOCALHOST, ports })
}

fn free_port() -> io::Result<u16> {
    let start = (std::process::id() % 64) as u16 * 128;
    for _ in PORTS {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + (start + step % PORTS.len() as u16) % PORTS.len() as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::other(format!("no port of {PORTS:?} is free on loopback")))
}
