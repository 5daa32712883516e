//! The lab's algorithms on real sockets: `discovery.type: bully`, and each other name of the roster.
//!
//! An experiment, and none to keep anything in: the nodes elect and show whom, and no more. There is no cluster state
//! behind it, no quorum where the algorithm has none, and no promise of safety. The processes are the seed hosts of the
//! configuration, the node itself among them; their ranks are the order of their addresses.
//!
//! `places` says who takes part, `driver` owns the algorithm, `transport` carries letters over HTTP, `view` shows users who
//! leads. `kafka` elects through a real ZooKeeper, which `zookeeper` speaks to.

mod driver;
mod kafka;
mod places;
mod transport;
mod view;
mod zookeeper;

use crate::cluster::{Address, EphemeralId, Node};
use crate::lab::roster;
use crate::lab::{Algorithm, Rank};
use crate::runtime::listen::{Server, Terms, bind};
use crate::runtime::secure::{self, Side};
use crate::runtime::{self, Handle, RequestReceiver, VERSION, addresses};
use crate::settings::{KAFKA, NodeSettings};
use axum::Router;
use driver::{Driver, Inbox};
use places::Places;
use std::fmt::Display;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
use view::View;

type Playing = Pin<Box<dyn Future<Output = ()>>>;

/// How long connections that are busy at the end may go on.
const DRAIN: Duration = Duration::from_millis(100);

/// A process that elects.
pub struct Running {
    handle: Handle,
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Running {
    /// The way to it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends it, without a word to the others, and waits for its thread.
    pub fn stop(self) {
        // It ended by itself if it does not listen.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// Starts a process that elects by the algorithm of this name, and returns when it listens.
pub fn start(name: &'static str, settings: NodeSettings) -> Result<Running, String> {
    let (ready, is_ready) = std_mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let work = move || run(name, settings, &ready, stopped);
    let thread =
        thread::Builder::new().name("lab".into()).spawn(work).map_err(|error| said("start a thread", error))?;
    let handle = is_ready.recv().unwrap_or_else(|_| Err("the thread of the process ended at once".into()))?;
    Ok(Running { handle, stop, thread })
}

fn said(what: &str, error: impl Display) -> String {
    format!("cannot {what}: {error}")
}

fn run(
    name: &'static str,
    settings: NodeSettings,
    ready: &std_mpsc::Sender<Result<Handle, String>>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(ready.send(Err(said("make a runtime", error)))),
    };
    runtime.block_on(async {
        let (set, handle) = match assemble(name, settings).await {
            Ok(assembled) => assembled,
            Err(why) => return drop(ready.send(Err(why))),
        };
        let processes = set.places.len();
        // Whoever waits for it is there.
        let _ = ready.send(Ok(handle));
        let playing: Option<Playing> =
            if name == KAFKA { Some(Box::pin(kafka::play(set))) } else { roster::play(name, processes, set) };
        if let Some(playing) = playing {
            tokio::select! {
                () = playing => {}
                _ = stopped => {}
            }
        }
    });
}

/// All that a process needs but its rules.
struct Set {
    places: Places,
    listeners: Vec<tokio::net::TcpListener>,
    client: reqwest::Client,
    disk: PathBuf,
    view: View,
    desk: RequestReceiver,
    handle: Handle,
}

async fn assemble(name: &str, settings: NodeSettings) -> Result<(Set, Handle), String> {
    let hosts = addresses::bind_addresses(&settings.transport).map_err(|error| error.to_string())?;
    secure::gate(&settings, Side::Nodes, &hosts).map_err(|error| error.to_string())?;
    let listeners = bind(&hosts, &settings.transport.ports).await.map_err(|error| error.to_string())?;
    let own = runtime::published(&settings.transport, &listeners).map_err(|error| error.to_string())?;
    let places = Places::of(&settings, own)?;
    let mut attributes = settings.attributes.clone();
    attributes.insert(view::MARK.into(), name.into());
    let node_name = settings.node_name.clone().unwrap_or_else(|| places.me.to_string().into());
    let local = Arc::new(Node {
        id: view::id_of(places.me),
        ephemeral_id: EphemeralId::from(format!("{}-{own}", places.me)),
        name: node_name,
        address: Address::from(own.to_string()),
        roles: settings.roles,
        attributes: Arc::new(attributes),
        version: VERSION.into(),
    });
    let view = View::new(settings.cluster_name.clone(), local.clone(), &places);
    let disk = settings.path_data.join("lab.json");
    std::fs::create_dir_all(&settings.path_data)
        .map_err(|error| said(&format!("make the directory [{}]", settings.path_data.display()), error))?;
    let (handle, desk) = Handle::without_node(settings, local, view.state());
    let client = runtime::client().map_err(|error| said("make a client for other nodes", error))?;
    Ok((Set { places, listeners, client, disk, view, desk, handle: handle.clone() }, handle))
}

impl roster::Stage for Set {
    type Run = Playing;

    fn play<A: Algorithm + 'static>(self, make: impl Fn(Rank, A::Persisted) -> A + 'static) -> Self::Run {
        let Set { places, listeners, client, disk, view, desk, handle } = self;
        let door = (listeners, Terms::of_nodes(&handle.settings()));
        Box::pin(async move {
            let (driver, inbox, router) = Driver::new(places, client, disk, view, handle, None, make);
            perform(driver, inbox, router, door, desk).await;
        })
    }
}

/// Listens to the other processes, and runs this one.
async fn perform<A: Algorithm + 'static>(
    driver: Driver<A>,
    inbox: Inbox<A::Word>,
    router: Router,
    (listeners, terms): (Vec<tokio::net::TcpListener>, Terms),
    desk: RequestReceiver,
) {
    let server = Server::start(listeners, router, terms);
    driver.run(inbox, desk).await;
    server.stop(DRAIN).await;
}
