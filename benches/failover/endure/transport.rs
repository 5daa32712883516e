//! A client of the nodes' transport: it speaks the wire format as a node does, and is a member of nothing.

use crate::http::Http;
use crate::site::Place;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use zazen::cluster::{Node, Roles};
use zazen::service::{Answer, Query, Task};
use zazen::wire;
use zazen::zen::Message;
use zazen::zen::message::Sender;

/// How long a node may take for an answer, beyond what it was granted.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a task may wait for the master's queue, and then for every node.
const GRANTED: Duration = Duration::from_secs(5);

/// Why there is no answer.
pub(super) enum Lost {
    /// Nobody took the request.
    NotSent,
    /// Somebody may have taken it.
    Unknown(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::NotSent => f.write_str("the connection was refused"),
            Lost::Unknown(why) => f.write_str(why),
        }
    }
}

/// Connections to the nodes of a cluster, and the one that is believed to lead.
pub(super) struct Transport {
    nodes: Vec<Http>,
    from: Arc<Sender>,
    at: usize,
}

impl Transport {
    pub(super) fn new(places: &[Place], name: &str) -> Self {
        let node = Node {
            id: name.into(),
            ephemeral_id: format!("{name}-{}", std::process::id()).into(),
            name: name.into(),
            // Nothing listens there, and nobody calls a node that only asks.
            address: "127.0.0.1:1".into(),
            roles: Roles::NONE,
            attributes: Arc::default(),
            version: env!("CARGO_PKG_VERSION").into(),
        };
        let from = Sender { cluster_name: "bench".into(), cluster_uuid: None, node: Arc::new(node) };
        let nodes = places.iter().map(|place| Http::new(place.transport(), GRANTED + PATIENCE)).collect();
        Transport { nodes, from: Arc::new(from), at: 0 }
    }

    /// Turns to the next node, because this one is not the master.
    pub(super) fn turn(&mut self) {
        self.at = (self.at + 1) % self.nodes.len();
    }

    /// Submits a task to the node that is believed to lead.
    pub(super) fn submit(&mut self, task: Task) -> Result<Answer, Lost> {
        let (from, task) = (self.from.clone(), Box::new(task));
        let message = Message::Submit { from, task, timeout: Duration::ZERO, master_timeout: GRANTED };
        self.ask("/_zen/task", &message)
    }

    /// Reads a key there, with everything that was committed before.
    pub(super) fn read(&mut self, key: &str) -> Result<Answer, Lost> {
        let message =
            Message::Read { from: self.from.clone(), query: Query::Key { key: key.into() }, master_timeout: GRANTED };
        self.ask("/_zen/read", &message)
    }

    fn ask(&mut self, path: &str, message: &Message) -> Result<Answer, Lost> {
        let reply = self.nodes[self.at].ask("POST", path, &wire::encode(message)).map_err(|error| lost(&error))?;
        match wire::decode(&reply.body) {
            Ok(Message::Answered(answer)) => Ok(*answer),
            Ok(other) => Err(Lost::Unknown(format!("the answer was [{other}]"))),
            Err(_) => Err(Lost::Unknown(format!("status {}, no message", reply.status))),
        }
    }
}

fn lost(error: &io::Error) -> Lost {
    if error.kind() == io::ErrorKind::ConnectionRefused { Lost::NotSent } else { Lost::Unknown(error.to_string()) }
}
