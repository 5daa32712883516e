//! Networks of their own for nodes: a namespace each, joined by a bridge. Links are cut by sending packets to nobody.
//!
//! Needs root and iproute2. The addresses are of a range that nothing else here uses.

use super::guard;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The hardware that nobody has.
const NOBODY: &str = "02:00:00:00:ff:ff";

static LAID: AtomicU32 = AtomicU32::new(0);

/// The networks of one cluster, removed at the end.
pub(crate) struct Wires {
    bridge: String,
    spaces: Vec<String>,
    subnet: u8,
}

impl Wires {
    /// As many networks as nodes.
    pub(crate) fn lay(nodes: usize) -> Result<Self, String> {
        let (process, number) = (std::process::id(), LAID.fetch_add(1, Ordering::Relaxed));
        // A name of an interface has no more than 15 characters.
        let bridge = format!("zb{process}.{}", number % 10);
        let subnet = (process.wrapping_add(number) % 250) as u8;
        let mut wires = Wires { bridge, spaces: Vec::new(), subnet };
        ip(&["link", "add", &wires.bridge, "type", "bridge"])?;
        guard::hold_network(&wires.bridge);
        ip(&["addr", "add", &format!("{}/24", wires.address(usize::from(u8::MAX) - 2)), "dev", &wires.bridge])?;
        ip(&["link", "set", &wires.bridge, "up"])?;
        (0..nodes).try_for_each(|node| wires.lay_one(node))?;
        Ok(wires)
    }

    fn lay_one(&mut self, node: usize) -> Result<(), String> {
        let (space, end) = (format!("{}-{node}", self.bridge), format!("{}v{node}", self.bridge));
        let address = format!("{}/24", self.address(node));
        ip(&["netns", "add", &space])?;
        guard::hold_network(&space);
        ip(&["link", "add", &end, "type", "veth", "peer", "name", "eth0", "netns", &space])?;
        ip(&["link", "set", &end, "master", &self.bridge, "up"])?;
        ip(&["-n", &space, "link", "set", "lo", "up"])?;
        ip(&["-n", &space, "link", "set", "eth0", "up"])?;
        ip(&["-n", &space, "addr", "add", &address, "dev", "eth0"])?;
        self.spaces.push(space);
        Ok(())
    }

    /// Where a node is.
    pub(crate) fn address(&self, node: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 97, self.subnet, node as u8 + 1)
    }

    /// What runs a program as a node.
    pub(crate) fn enter(&self, node: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.spaces[node], program]);
        command
    }

    /// Lets everything vanish that one node sends to another.
    pub(crate) fn cut(&self, from: usize, to: usize) -> Result<(), String> {
        let address = self.address(to).to_string();
        let space = &self.spaces[from];
        ip(&["-n", space, "neigh", "replace", &address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent"])
    }

    /// Mends every link.
    pub(crate) fn mend(&self) -> Result<(), String> {
        let flush = |space: &String| ip(&["-n", space, "neigh", "flush", "dev", "eth0", "nud", "permanent"]);
        self.spaces.iter().try_for_each(flush)
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        self.spaces.iter().chain([&self.bridge]).for_each(|network| guard::release_network(network));
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("ip cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("ip {} failed: {}", arguments.join(" "), why.trim()))
}
