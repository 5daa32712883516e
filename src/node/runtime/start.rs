//! Puts a node together and lets it run on a thread of its own.
//!
//! The thread has a runtime to itself, so that no load of users delays the beats. Mirrors `Node.start` (6.8).

use super::addresses;
use super::budget::Budget;
use super::changes::Changes;
use super::clock::Clock;
use super::coding::Coding;
use super::counts::LastCounts;
use super::current::Current;
use super::descriptors;
use super::events::{Events, Recorder, Way};
use super::faults::Faults;
use super::figures::{Meter, Place};
use super::guard::Guard;
use super::handle::{Handle, Parts};
use super::instruments::Instruments;
use super::journal::Journal;
use super::listen::{Server, Terms, bind};
use super::log::{Log, node_span};
use super::metrics::{Observer, Timed};
use super::node::{Driver, Ended, Inboxes, Local, Waiting};
use super::secure::{self, Side};
use super::seeds::{Seeds, bootstrap};
use super::spans::{PublishSpans, Spans};
use super::start_error::StartError;
use super::store::Store;
use super::surroundings::leave_note;
use super::transport::{self, Caller, EncodeCache, Entrance, Inbound, Links};
use super::versions;
use super::wall::Wall;
use crate::cluster::{Address, EphemeralId, Node, NodeId, Uuid};
use crate::protocol::Rng;
use crate::settings::{DiscoveryKind, ListenSettings, NodeSettings, OWN_ATTRIBUTES};
use crate::zen::{Config, Memory, Zen};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

/// How much may wait for the core, from other nodes and from users each.
const INBOX: usize = 1_024;

/// How long connections that are busy when the node ends may go on.
const DRAIN: Duration = Duration::from_millis(100);

/// A node that was started, with the thread that it runs on.
pub struct Running {
    handle: Handle,
    thread: thread::JoinHandle<Option<Ended>>,
}

impl Running {
    /// The way to the node.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends the node without leaving, and waits for its thread; what was promised is on disk. None if the thread died.
    pub async fn stop(self) -> Option<Ended> {
        self.handle.stop().await;
        self.join()
    }

    /// Waits for the thread of a node that has ended.
    pub fn join(self) -> Option<Ended> {
        self.thread.join().ok().flatten()
    }
}

/// What a node is told at its start.
struct StartOptions {
    settings: NodeSettings,
    /// Where its users find it.
    users: Option<Place>,
    log: Log,
}

/// Starts a node and returns when its transport listens.
pub fn start(settings: NodeSettings, users: Option<Place>, log: Log) -> Result<Running, StartError> {
    let (ready, is_ready) = std_mpsc::channel();
    let work = move || run(StartOptions { settings, users, log }, &ready);
    let thread = thread::Builder::new().name("node".into()).spawn(work);
    let thread = thread.map_err(|error| StartError::System("start the node's thread", error))?;
    let died = || StartError::System("start the node", io::Error::other("its thread ended at once"));
    let handle = is_ready.recv().unwrap_or_else(|_| Err(died()))?;
    Ok(Running { handle, thread })
}

fn run(told: StartOptions, ready: &std_mpsc::Sender<Result<Handle, StartError>>) -> Option<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            // Whoever waits for it is there.
            let _ = ready.send(Err(StartError::System("make a runtime", error)));
            return None;
        }
    };
    runtime.block_on(async {
        match assemble(told).await {
            Ok((handle, driver, inboxes, server)) => {
                // The thread is the node's alone, so all that is logged on it is of this node.
                let _entered = node_span(handle.local(), &handle.settings().cluster_name).entered();
                leave_note(&handle.settings(), &handle.local().id, &handle.local().address);
                let _ = ready.send(Ok(handle));
                let ended = driver.run(inboxes).await;
                server.stop(DRAIN).await;
                Some(ended)
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                None
            }
        }
    })
}

/// Opens the ports for other nodes, where that is allowed.
async fn listen(settings: &NodeSettings) -> Result<(Vec<IpAddr>, Vec<TcpListener>), StartError> {
    let hosts = addresses::bind_addresses(&settings.transport).map_err(StartError::Address)?;
    secure::gate(settings, Side::Nodes, &hosts).map_err(StartError::Insecure)?;
    let listeners = bind(&hosts, &settings.transport.ports).await.map_err(StartError::Bind)?;
    Ok((hosts, listeners))
}

fn events(settings: &NodeSettings) -> Result<(Events, Way), StartError> {
    Events::start(&settings.path_data).map_err(|error| StartError::System("start the keeper of the history", error))
}

fn spans(settings: &NodeSettings, clock: Clock, local: &Node) -> Result<Arc<Spans>, StartError> {
    let spans = Spans::start(settings.tracing.endpoint.as_deref(), clock, local);
    spans.map(Arc::new).map_err(|error| StartError::System("start the thread of spans", error))
}

fn enough_files() -> Result<(), StartError> {
    match descriptors::too_few() {
        Some(limit) => Err(StartError::FewFiles(limit)),
        None => Ok(()),
    }
}

async fn assemble(told: StartOptions) -> Result<(Handle, Driver, Inboxes, Server), StartError> {
    let StartOptions { settings, users, log } = told;
    let current = Current::new(settings);
    let settings = current.get();
    enough_files()?;
    let (hosts, listeners) = listen(&settings).await?;
    let address = Address::from(published(&settings.transport, &listeners)?.to_string());
    let (zen, store) = core(&settings, &address)?;
    let meter = Arc::new(Meter::new(zen.local().id.clone(), current.clone()));
    users.into_iter().for_each(|place| meter.set_http(place));
    let guard = Guard::of(&settings, &address)?;
    let (peers, access) = guard.peers_beside(&meter)?;
    let faults = Arc::new(Faults::new(settings.faults));
    let (from_nodes, nodes) = mpsc::channel(INBOX);
    let (from_users, requests) = mpsc::channel(INBOX);
    let (to_outcomes, outcomes) = mpsc::unbounded_channel();
    let (local, from_local) = mpsc::unbounded_channel();
    let (states, newest) = watch::channel(zen.shown().clone());
    let instruments = meter.instruments().clone();
    watch_expiries(settings.clone(), instruments.clone());
    let journal = journal(store, &instruments, local.clone())?;
    let (clock, changes, coding) = (Clock::start(), Arc::new(Changes::new()), Coding::start());
    let ((events, way), spans) = (events(&settings)?, spans(&settings, clock, zen.local())?);
    let handle = Handle::of(Parts {
        settings: current,
        local: zen.local().clone(),
        requests: from_users,
        states: newest,
        counts: LastCounts::default(),
        changes: changes.clone(),
        faults: faults.clone(),
        meter: meter.clone(),
        budget: Budget::new(settings.rest.memory),
        events,
        tries: Arc::default(),
        surroundings: Arc::default(),
        drain: Arc::default(),
        spans: spans.clone(),
        coding: coding.clone(),
        rounds: Arc::default(),
    });
    let entrance = Entrance::new(Wall::new(&settings.transport, &[]), guard.sealer.clone());
    let router = router(&handle, from_nodes.clone(), entrance);
    let driver = Driver {
        publish_spans: PublishSpans::new(spans),
        observer: Observer::new(instruments.clone(), clock, zen.shown().clone()),
        clock,
        caller: Caller::new((peers.clone(), faults.clone()), (meter.tally().clone(), coding.clone()), to_outcomes),
        encode_cache: EncodeCache::new(instruments.state_bytes().clone(), coding),
        links: Links::new(peers.clone(), address.clone(), (faults, meter.tally().clone()), from_nodes),
        journal,
        seeds: Arc::new(Seeds::new(&settings, &address, &bound(&listeners)?)),
        log,
        recorder: Recorder::new(way),
        states,
        changes,
        local,
        waiting: Waiting::default(),
        spoken: versions::Spoken::default(),
        disk: super::store::FIRST,
        tally: meter.tally().clone(),
        zen,
    };
    let inboxes = Inboxes { nodes, requests, outcomes, local: from_local };
    let bound = bound(&listeners)?.iter().map(SocketAddr::to_string).collect();
    let server = Server::start(listeners, router, Terms { tls: guard.tls.clone(), ..Terms::of_nodes(&settings) });
    guard.keep_watch(&settings, [Some(peers), access], (address.clone(), &hosts));
    meter.set_transport(Place { bound, published: address.as_str().to_owned() }, Box::new(server.connections()));
    Ok((handle, driver, inboxes, server))
}

/// Has it told, and counted, when certificates end.
fn watch_expiries(settings: Arc<NodeSettings>, instruments: Arc<Instruments>) {
    let count = move |expiries| instruments.set_expiries(expiries);
    tokio::spawn(secure::watch_expiries(settings, count));
}

/// What other nodes are answered.
fn router(handle: &Handle, from_nodes: mpsc::Sender<Inbound>, entrance: Entrance) -> axum::Router {
    match handle.settings().discovery.kind {
        DiscoveryKind::Zen => transport::router(from_nodes, handle.clone(), entrance),
        DiscoveryKind::SingleNode => transport::report_only(handle.clone(), entrance),
        // What elects by another algorithm is no Zen node.
        DiscoveryKind::Lab(_) => axum::Router::new(),
    }
}

/// The thread that writes, which tells what became of it.
fn journal(
    store: Store,
    instruments: &Arc<Instruments>,
    local: mpsc::UnboundedSender<Local>,
) -> Result<Journal, StartError> {
    // Nobody is left to be told when the node has ended.
    let report = move |outcome| drop(local.send(Local::Written(outcome)));
    let journal = Journal::start(Timed::new(store, instruments.clone()), report);
    journal.map_err(|error| StartError::System("start the journal", error))
}

/// The core with what its disk holds, and the disk.
fn core(settings: &NodeSettings, address: &Address) -> Result<(Zen, Store), StartError> {
    let (store, memory) = Store::open(&settings.path_data).map_err(StartError::Store)?;
    check_cluster(settings, &memory)?;
    let config = Config {
        cluster_name: settings.cluster_name.clone(),
        node: identity(settings, &memory, address.clone()),
        bootstrap: bootstrap(settings),
        tuning: settings.tuning.clone(),
        rule: crate::settings::rule,
    };
    Ok((Zen::new(config, memory, Rng::new(seed())), store))
}

fn bound(listeners: &[TcpListener]) -> Result<Vec<SocketAddr>, StartError> {
    let bound: io::Result<Vec<SocketAddr>> = listeners.iter().map(TcpListener::local_addr).collect();
    bound.map_err(|error| StartError::System("tell the bound addresses", error))
}

/// What others are told of where something listens.
pub fn published(listen: &ListenSettings, listeners: &[TcpListener]) -> Result<SocketAddr, StartError> {
    let bound = bound(listeners)?;
    let hosts: Vec<IpAddr> = bound.iter().map(SocketAddr::ip).collect();
    let host = addresses::publish_address(listen, &hosts).map_err(StartError::Address)?;
    let port = addresses::publish_port(listen, host, &bound).map_err(StartError::Address)?;
    Ok(SocketAddr::new(host, port))
}

fn check_cluster(settings: &NodeSettings, memory: &Memory) -> Result<(), StartError> {
    let found = memory.accepted.as_ref().map(|state| &state.cluster_name);
    match found.filter(|found| **found != settings.cluster_name) {
        Some(found) => Err(StartError::OtherCluster {
            path: settings.path_data.display().to_string(),
            found: found.clone(),
            configured: settings.cluster_name.clone(),
        }),
        None => Ok(()),
    }
}

fn identity(settings: &NodeSettings, memory: &Memory, address: Address) -> Node {
    let id = memory.promise.node_id.clone().unwrap_or_else(|| NodeId::from(fresh_id()));
    let name = settings.node_name.clone().unwrap_or_else(|| id.as_str().chars().take(7).collect::<String>().into());
    let given = settings.attributes.clone().into_iter().filter(|(name, _)| !name.starts_with(OWN_ATTRIBUTES));
    Node {
        id,
        ephemeral_id: EphemeralId::from(fresh_id()),
        name,
        address,
        roles: settings.roles,
        attributes: Arc::new(given.chain(versions::attributes()).collect()),
        version: settings.rest.compatibility.clone(),
    }
}

/// 128 random bits, written as Elasticsearch writes ids.
fn fresh_id() -> String {
    Uuid::from_u128(uuid::Uuid::new_v4().as_u128()).to_string()
}

fn seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().1
}
