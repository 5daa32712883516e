//! What is measured: a service of several processes that elects a master.

use super::peers::{Elasticsearch, Etcd, Zazen, ZooKeeper};
use super::register::Register;
use super::site::{Place, Site};
use super::talk::Talk;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What one look at a node shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// It takes no connection, or does not answer.
    Silent,
    /// It answers and names no master.
    Masterless,
    /// It names its master, itself included; the same name is the same mastership.
    Master(Arc<str>),
}

/// One node seen from outside.
pub(crate) trait Watch: Send {
    /// Looks once.
    fn look(&mut self) -> View;

    /// When the node took a connection for the first time.
    fn reached(&self) -> Option<Instant>;
}

/// A client that writes through one node.
pub(crate) trait Writer: Send {
    /// Writes once, something that was not there before; tells whether it was acknowledged.
    fn write(&mut self, number: u64) -> bool;
}

/// A service that can be measured.
pub(crate) trait Peer: Sync {
    /// Its name on the command line.
    fn key(&self) -> &'static str;

    /// Its name and release.
    fn title(&self) -> String;

    /// What is missing to run it.
    fn missing(&self) -> Option<String>;

    /// Installs what is missing.
    fn install(&self) -> Result<(), String>;

    /// What starts a node, with its configuration written where the command expects it.
    fn command(&self, site: &Site, place: &Place) -> io::Result<Command>;

    /// An observer of a node.
    fn watch(&self, place: &Place) -> Box<dyn Watch>;

    /// The node that all these name as their master.
    fn leader(&self, places: &[&Place]) -> Option<usize>;

    /// A client that writes through a node, if it takes writes.
    fn writer(&self, place: &Place) -> Option<Box<dyn Writer>>;

    /// One of many clients that each write to a key of their own, as fast as this service has it, and its connection;
    /// nothing if the service has no such thing.
    fn talk(&self, _place: &Place, _number: usize) -> Option<io::Result<(TcpStream, Box<dyn Talk>)>> {
        None
    }

    /// A client with a register of his own, who asks at these places.
    fn register(&self, doors: &[SocketAddr], number: usize) -> Box<dyn Register>;

    /// Whether a register of it shows that a write was carried out twice.
    fn tells_twice(&self) -> bool {
        true
    }

    /// Asks the master to hand over to another node, if it can be asked to.
    fn hand_over(&self, _places: &[&Place], _master: usize) -> Option<Result<(), String>> {
        None
    }

    /// Whether nodes listen before they have a master, so that the time between the two means something.
    fn listens_at_once(&self) -> bool;

    /// How long a frozen master may stay unnoticed before the trial is given up.
    fn patience_with_the_frozen(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// How often its master is frozen, unless the user says otherwise.
    fn trials_of_the_frozen(&self) -> usize {
        5
    }
}

/// All that can be measured, Zazen first.
pub(crate) const ALL: [&dyn Peer; 4] = [&Zazen::PLAIN, &Etcd, &ZooKeeper, &Elasticsearch];

/// The peers of these names that can be run here; of the others it is told why they are left out.
pub(crate) fn present(names: &[String], install: bool) -> Result<Vec<&'static dyn Peer>, String> {
    let mut present = Vec::new();
    for name in names {
        let known = || ALL.map(|peer| peer.key()).join(", ");
        let found = ALL.into_iter().find(|peer| peer.key() == name);
        let peer = found.ok_or_else(|| format!("--peers: there is no `{name}`; known are {}", known()))?;
        match peer.missing() {
            Some(_) if install => peer.install()?,
            Some(what) => {
                eprintln!("{} is left out: {what}; --install installs it", peer.key());
                continue;
            }
            None => {}
        }
        present.push(peer);
    }
    Ok(present)
}
