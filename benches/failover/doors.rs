//! The places where one client may ask: it stays at one, and goes to the next when that takes no connection.

use super::clock::{now, pause};
use super::http::{Http, Reply};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// How long a client looks for somebody who takes its connection, and waits for an answer: longer than a node may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// The pause after a place that took no connection.
const AGAIN: Duration = Duration::from_millis(1);

/// Places that are tried in turn.
pub(crate) struct Doors {
    all: Vec<SocketAddr>,
    at: usize,
}

impl Doors {
    /// Clients with different numbers begin at different places.
    pub(crate) fn new(all: &[SocketAddr], number: usize) -> Self {
        Doors { all: all.to_vec(), at: number % all.len() }
    }

    /// The first connection that can be made; the next search begins behind it.
    pub(crate) fn connect<T>(&mut self, mut connect: impl FnMut(SocketAddr) -> io::Result<T>) -> io::Result<T> {
        let deadline = now() + PATIENCE;
        loop {
            let made = connect(self.all[self.at]);
            if made.is_ok() || now() > deadline {
                return made;
            }
            self.turn();
            pause(AGAIN);
        }
    }

    pub(crate) fn turn(&mut self) {
        self.at = (self.at + 1) % self.all.len();
    }
}

/// The same over HTTP, with a connection that is kept.
pub(crate) struct HttpDoors {
    all: Vec<Http>,
    at: usize,
}

impl HttpDoors {
    pub(crate) fn new(all: &[SocketAddr], number: usize) -> Self {
        let http = |address: &SocketAddr| Http::at(*address, PATIENCE);
        HttpDoors { all: all.iter().map(http).collect(), at: number % all.len() }
    }

    /// Asks one place; another one only if this one certainly was not asked.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<Reply> {
        let deadline = now() + PATIENCE;
        loop {
            let door = &mut self.all[self.at];
            let reply = door.ask(method, path, body);
            let is_refused = reply.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            // Whoever ends the connection with an answer wants to be left.
            if !door.is_connected() {
                self.at = (self.at + 1) % self.all.len();
            }
            if !is_refused || now() > deadline {
                return reply;
            }
            pause(AGAIN);
        }
    }
}
