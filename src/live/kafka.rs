//! Kafka's controller through a real ZooKeeper, for `discovery.type: kafka-controller`.
//!
//! A broker's rules are those of the lab ([`crate::lab::kafka`]), and so is what it says to the coordination service. Here
//! that service is no process: what it is asked becomes requests to ZooKeeper, at the paths that Kafka has, below
//! `/zazen/NAME-OF-THE-CLUSTER`, so that a Kafka in the same ZooKeeper never meets these brokers. `/brokers/ids/N` and
//! `/controller` are ephemeral, `/controller_epoch` stays. Mirrors `KafkaController` and `KafkaZkClient` before KRaft.
//!
//! Differs from Kafka: a broker looks for `/controller` with each heartbeat, besides being told that it was deleted.

use super::driver::{Aside, Driver, Gates, Job};
use super::transport::{Inbound, Reply};
use super::zookeeper::{Client, Error, Session};
use super::{Set, perform};
use crate::lab::kafka::{Kafka, Message, SESSION};
use crate::lab::{Body, Letter, Rank};
use crate::protocol::Failure;
use crate::runtime::listen::Terms;
use crate::runtime::log::NODE;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::mpsc;

/// How many requests may wait for ZooKeeper.
const JOBS: usize = 64;

/// What lies at `/controller`.
#[derive(Serialize, Deserialize)]
struct Controller {
    version: u32,
    brokerid: u32,
    timestamp: String,
}

/// Runs a broker for as long as it is polled.
pub(super) async fn play(set: Set) {
    let servers = set.handle.settings().discovery.zookeeper.clone();
    let cluster_name = set.handle.settings().cluster_name.to_string().replace('/', "_");
    let (me, rank) = (set.places.me, Rank(set.places.len() as u32 + 1));
    let (jobs, waiting) = mpsc::channel(JOBS);
    let Set { places, listeners, client, disk, view, desk, handle } = set;
    let door = (listeners, Terms::of_nodes(&handle.settings()));
    let make = move |me, epoch| Kafka::new(me, rank, epoch);
    let (driver, inbox, router) = Driver::new(places, client, disk, view, handle, Some(Aside { rank, jobs }), make);
    let service = Service {
        me,
        rank,
        servers,
        root: format!("/zazen/{cluster_name}"),
        gates: driver.gates(),
        session: None,
        client: None,
        is_listed: false,
        mastership: None,
        tried: 0,
    };
    tokio::select! {
        () = perform(driver, inbox, router, door, desk) => {}
        () = service.run(waiting) => {}
    }
}

/// ZooKeeper in the place of the lab's own coordination service.
struct Service {
    me: Rank,
    /// The rank that brokers take it for.
    rank: Rank,
    servers: Vec<String>,
    root: String,
    gates: Gates<Message>,
    session: Option<Session>,
    /// Its connection, while there is one.
    client: Option<Client>,
    /// Whether this session has its node below `/brokers/ids`.
    is_listed: bool,
    /// The epoch that this session is controller in.
    mastership: Option<u64>,
    /// How many connections were tried.
    tried: usize,
}

impl Service {
    async fn run(mut self, mut waiting: mpsc::Receiver<Job<Message>>) {
        loop {
            tokio::select! {
                job = waiting.recv() => match job {
                    Some(job) => self.serve(job).await,
                    None => return,
                },
                () = fired(&mut self.client) => {
                    let letter = Letter { from: self.rank, body: Body::Word(Message::Deleted) };
                    // Nobody is left to be told when the process has ended.
                    let _ = self.gates.letters.send(Inbound { letter, name: None, reply: None }).await;
                }
            }
        }
    }

    /// Answers a request, or lets it fail as if the service had been silent.
    async fn serve(&mut self, Job { call, letter, timeout }: Job<Message>) {
        let answer = match letter.body {
            Body::Word(word) => tokio::time::timeout(timeout, self.answer(word)).await,
            Body::Beat | Body::Echo { .. } => Ok(Err(Error::Refused(0))),
        };
        let reply = match answer {
            Ok(Ok(word)) => Ok(word),
            Ok(Err(Error::Expired)) => {
                self.forget();
                Ok(Message::Expired)
            }
            Ok(Err(why)) => {
                tracing::debug!(target: NODE, "ZooKeeper does not serve: {why}");
                self.client = None;
                Err(Failure::Reset)
            }
            Err(_) => {
                // A frame may be half written.
                self.client = None;
                Err(Failure::TimedOut)
            }
        };
        let letter = |word| Letter { from: self.rank, body: Body::Word(word) };
        let reply = reply.map(|word| Reply { letter: letter(word), name: None });
        // Nobody is left to be told when the process has ended.
        let _ = self.gates.outcomes.send((call, reply));
    }

    /// The session is over, and all that lived with it.
    fn forget(&mut self) {
        (self.session, self.client, self.is_listed, self.mastership) = (None, None, false, None);
    }

    async fn answer(&mut self, word: Message) -> Result<Message, Error> {
        match word {
            Message::Heartbeat { session: Some(session) } | Message::Create { session } if !self.is_of(session) => {
                Err(Error::Expired)
            }
            // One that asks for a session may ask twice before it is answered; there is one.
            Message::Heartbeat { .. } => self.heartbeat().await,
            Message::Create { .. } => self.create().await,
            Message::Alive { .. }
            | Message::Expired
            | Message::Created { .. }
            | Message::Exists { .. }
            | Message::Deleted
            | Message::LeaderAndIsr { .. } => Err(Error::Refused(0)),
        }
    }

    fn is_of(&self, session: u64) -> bool {
        self.session.as_ref().is_some_and(|own| own.id.cast_unsigned() == session)
    }

    /// The connection, made anew to the next server if there is none.
    async fn client(&mut self) -> Result<&mut Client, Error> {
        if self.client.is_none() {
            let server = &self.servers[self.tried % self.servers.len()];
            self.tried += 1;
            let client = Client::connect(server, SESSION, self.session.as_ref()).await?;
            self.session = Some(client.session.clone());
            self.client = Some(client);
        }
        self.client.as_mut().ok_or(Error::Expired)
    }

    /// Keeps the session alive by asking who is controller and who is there.
    async fn heartbeat(&mut self) -> Result<Message, Error> {
        let (is_listed, path, root) =
            (self.is_listed, format!("{}/brokers/ids/{}", self.root, self.me), self.root.clone());
        let client = self.client().await?;
        let session = client.session.id.cast_unsigned();
        if !is_listed {
            for end in ["", "/brokers", "/brokers/ids"] {
                persist(client, &format!("{root}{end}"), b"").await?;
            }
            persist(client, &format!("{root}/controller_epoch"), b"0").await?;
            // That of an earlier process of this broker vanishes with its session.
            match client.create(&path, b"", true).await {
                Ok(()) => self.is_listed = true,
                Err(Error::NodeExists) => {}
                Err(why) => return Err(why),
            }
        }
        let client = self.client().await?;
        let controller = match client.data(&format!("{root}/controller"), true).await {
            Ok(data) => Some(brokerid(&data.bytes)?),
            Err(Error::NoNode) => None,
            Err(why) => return Err(why),
        };
        let names = client.children(&format!("{root}/brokers/ids")).await?;
        let brokers = names.iter().filter_map(|name| name.parse().ok().map(Rank)).collect();
        Ok(Message::Alive { session, controller, brokers })
    }

    /// Races for `/controller`, and counts the controllers if it is first.
    async fn create(&mut self) -> Result<Message, Error> {
        let path = format!("{}/controller", self.root);
        let controller = Controller { version: 1, brokerid: self.me.0, timestamp: now_ms() };
        let text = serde_json::to_vec(&controller).map_err(|_| Error::Refused(0))?;
        let client = self.client().await?;
        match client.create(&path, &text, true).await {
            Ok(()) => {}
            Err(Error::NodeExists) => {
                let data = client.data(&path, true).await?;
                // The answer to an earlier attempt of this session may have been lost.
                if data.owner != client.session.id {
                    return Ok(Message::Exists { controller: brokerid(&data.bytes)? });
                }
            }
            Err(why) => return Err(why),
        }
        let epoch = match self.mastership {
            Some(epoch) => epoch,
            None => self.next_epoch().await?,
        };
        self.mastership = Some(epoch);
        Ok(Message::Created { epoch })
    }

    /// Somebody else may count at the same time; the version tells.
    async fn next_epoch(&mut self) -> Result<u64, Error> {
        let path = format!("{}/controller_epoch", self.root);
        let client = self.client().await?;
        let data = client.data(&path, false).await?;
        let last = std::str::from_utf8(&data.bytes).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let epoch = last.saturating_add(1);
        client.set(&path, epoch.to_string().as_bytes(), data.version).await?;
        Ok(epoch)
    }
}

/// Waits until `/controller` is deleted or changed, or never if nothing is watched. A connection that is lost is one no
/// more.
async fn fired(client: &mut Option<Client>) {
    if let Some(connected) = client
        && connected.fired().await.is_ok()
    {
        return;
    }
    *client = None;
    std::future::pending().await
}

/// Makes a node that stays, with all above it that are missing, unless it is there.
async fn persist(client: &mut Client, path: &str, data: &[u8]) -> Result<(), Error> {
    let parents = path.match_indices('/').map(|(at, _)| &path[..at]).filter(|parent| !parent.is_empty());
    for (node, data) in parents.map(|parent| (parent, &b""[..])).chain([(path, data)]) {
        match client.create(node, data, false).await {
            Ok(()) | Err(Error::NodeExists) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// Whose `/controller` it is.
fn brokerid(bytes: &[u8]) -> Result<Rank, Error> {
    let controller: Controller = serde_json::from_slice(bytes).map_err(|_| Error::Refused(0))?;
    Ok(Rank(controller.brokerid))
}

#[expect(clippy::disallowed_methods, reason = "Kafka writes the time beside the broker, for those who look at it")]
fn now_ms() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    now.as_millis().to_string()
}
