//! How a client asks: as the library's client, which finds the master and asks again under the name of its request; or
//! straight at any node, once, or again at others under the same name.

use super::desk::{Desk, Outcome, Seen, key, number, places};
use crate::clock::pause;
use crate::http::{Http, Reply, request};
use serde_json::Value;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use zazen::Client;
use zazen::client::{ClientError, Entry};
use zazen::cluster::{RequestId, Uuid};
use zazen::protocol::Rng;
use zazen::service::Txn;

/// How long a node may look for a master when it is asked straight.
const MASTER_MAX: &str = "3s";

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// How long the library's client tries: some give up early, so that they do not know what became of their changes.
const TRIES_MS: [u64; 3] = [400, 3_000, 15_000];

/// How often a client that asks straight asks again, and after what pause.
const AGAIN_MAX: usize = 20;
const AGAIN: Duration = Duration::from_millis(50);

/// A way to ask.
pub(super) enum Door<'a> {
    Library { runtime: Runtime, client: Client },
    Straight(Straight<'a>),
}

/// Asks any node.
pub(super) struct Straight<'a> {
    nodes: Vec<Http>,
    rng: Rng,
    desk: &'a Desk,
    /// Names the requests.
    name: RequestId,
}

/// What drives one client.
pub(super) fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread().enable_all().build().map_err(|error| format!("no runtime can be made: {error}"))
}

/// The library's client of all nodes.
pub(super) fn client(desk: &Desk, patience: Duration) -> Result<Client, String> {
    let client = Client::new(places(desk)).map_err(|error| error.to_string())?;
    Ok(client.with_patience(patience))
}

/// Connections to all nodes.
pub(super) fn straight(desk: &Desk) -> Vec<Http> {
    desk.doors.iter().map(|door| Http::at(*door, PATIENCE)).collect()
}

impl<'a> Door<'a> {
    /// Every third client asks straight.
    pub(super) fn new(client_number: usize, mut rng: Rng, desk: &'a Desk) -> Result<Self, String> {
        if client_number % 3 == 2 {
            let client = Uuid::from_u128(rng.next_u128());
            let name = RequestId { client, sequence: 0 };
            return Ok(Door::Straight(Straight { nodes: straight(desk), rng, desk, name }));
        }
        let patience = Duration::from_millis(*rng.pick(&TRIES_MS).unwrap_or(&TRIES_MS[0]));
        Ok(Door::Library { runtime: runtime()?, client: client(desk, patience)? })
    }

    /// Asks for a change; an error is an answer that nobody should give.
    pub(super) fn change(&mut self, txn: &Txn) -> Result<Outcome, String> {
        match self {
            Door::Library { runtime, client } => runtime.block_on(client.change(txn)).map_or_else(fate, done),
            Door::Straight(straight) => straight.change(txn),
        }
    }

    /// What a register holds; nothing if nobody could tell.
    pub(super) fn read(&mut self, group: u64, register: usize) -> Option<Seen> {
        let name = key(group, register);
        match self {
            Door::Library { runtime, client } => {
                runtime.block_on(client.get(&name)).ok().map(|entry| number(entry.as_ref()))
            }
            Door::Straight(straight) => {
                let path = format!("/_zazen/kv/{name}?format=json&master_timeout={MASTER_MAX}");
                let reply = straight.any().get(&path).ok()?;
                match reply.status {
                    404 => Some(number(None)),
                    _ => Some(number(Some(&serde_json::from_value(reply.json()?).ok()?))),
                }
            }
        }
    }

    /// What both registers of a pair hold at one time.
    pub(super) fn pair(&mut self, group: u64) -> Option<[Seen; 2]> {
        let names = [0, 1].map(|register| key(group, register));
        let prefix = names[0].trim_end_matches('0');
        let entries: Vec<Entry> = match self {
            Door::Library { runtime, client } => runtime.block_on(client.list(prefix)).ok()?,
            Door::Straight(straight) => {
                let path = format!("/_zazen/kv?prefix={prefix}&values=true&master_timeout={MASTER_MAX}");
                let mut list = straight.any().get(&path).ok()?.json()?;
                serde_json::from_value(list["keys"].take()).ok()?
            }
        };
        Some(names.map(|name| number(entries.iter().find(|entry| entry.key == name))))
    }
}

impl Straight<'_> {
    fn any(&mut self) -> &mut Http {
        let at = self.rng.below(self.nodes.len() as u64) as usize;
        &mut self.nodes[at]
    }

    /// Half of the changes are asked for once, so that some end unknown.
    fn change(&mut self, txn: &Txn) -> Result<Outcome, String> {
        let body = serde_json::to_vec(txn).map_err(|error| error.to_string())?;
        self.name.sequence += 1;
        let outcome = self.ask("", &body)?;
        if outcome != Outcome::Unknown || self.rng.percent(50) {
            return Ok(outcome);
        }
        for _ in 0..AGAIN_MAX {
            pause(AGAIN);
            self.desk.counts.again.fetch_add(1, Ordering::Relaxed);
            let outcome = self.ask("&retry=true", &body)?;
            // That this attempt did nothing says nothing of the first one.
            if matches!(outcome, Outcome::Done(_) | Outcome::Refused) {
                self.desk.counts.cleared.fetch_add(1, Ordering::Relaxed);
                return Ok(outcome);
            }
        }
        Ok(Outcome::Unknown)
    }

    fn ask(&mut self, retry: &str, body: &[u8]) -> Result<Outcome, String> {
        let path = format!("/_zazen/txn?timeout=0ms&master_timeout={MASTER_MAX}{retry}");
        let name = self.name.to_string();
        told(self.any().send(&request("POST", &path, &[("idempotency-key", &name)], body)))
    }
}

fn done(revision: zazen::cluster::Revision) -> Result<Outcome, String> {
    Ok(Outcome::Done(revision))
}

/// What the library's client knows of a change that failed.
fn fate(error: ClientError) -> Result<Outcome, String> {
    let is_forgotten = error.kind() == Some("request_forgotten_exception");
    let is_refused = error.is_conflict() || error.is_not_held();
    match error {
        ClientError::Unknown(_) | ClientError::Strange(_) | ClientError::Late | ClientError::Silent(..) => {
            Ok(Outcome::Unknown)
        }
        ClientError::NotDone(_) => Ok(Outcome::NotDone),
        ClientError::Refused { .. } if is_forgotten => Ok(Outcome::Unknown),
        ClientError::Refused { .. } if is_refused => Ok(Outcome::Refused),
        ClientError::Setup(_) | ClientError::Refused { .. } => Err(format!("a change was refused: {error}")),
    }
}

/// What a node told of a change that it was asked for once.
fn told(reply: io::Result<Reply>) -> Result<Outcome, String> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(Outcome::NotDone),
        Err(_) => return Ok(Outcome::Unknown),
    };
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let revision = body["revision"].as_str().and_then(|text| text.parse().ok());
    match (reply.status, revision) {
        (200, Some(revision)) => Ok(Outcome::Done(revision)),
        (409, _) if body["error"]["type"] == "version_conflict_engine_exception" => Ok(Outcome::Refused),
        (409, _) if body["error"]["type"] == "request_forgotten_exception" => Ok(Outcome::Unknown),
        (429 | 503, _) => Ok(Outcome::NotDone),
        (500.., _) => Ok(Outcome::Unknown),
        (status, _) => Err(format!("a change was answered with status {status}: {body}")),
    }
}
