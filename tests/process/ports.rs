//! Ports that nobody listens on, for nodes whose seed hosts must be known before they start.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports from here on are tried. They lie below those that the system gives to outgoing connections: otherwise one of
/// these could take the port of a node that is down for a moment.
const FIRST: u16 = 15_000;
const COUNT: u16 = 15_000;

/// A port that nobody listens on. Seed hosts must be known before nodes start, so that the system cannot choose.
pub(crate) fn free_port() -> u16 {
    free_ports(1)
}

/// The first of so many ports in a row that nobody listens on, and that no other test is given.
pub(crate) fn free_ports(count: u16) -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    // Two runs of these tests on one machine begin at different places.
    let offset = (process::id() % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let tried = TRIED.fetch_add(count, Ordering::Relaxed);
        let first = FIRST + (u32::from(offset) * 37 % u32::from(COUNT)) as u16 / 2 + tried % (COUNT / 2);
        if (first..first + count).all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()) {
            return first;
        }
    }
    panic!("no port from {FIRST} on is free; end what listens there");
}
