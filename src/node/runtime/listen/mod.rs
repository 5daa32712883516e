//! Listening sockets and the connections they accept, for nodes and for users alike.
//!
//! What is said on a connection is the business of the dispatcher that is handed in. Mirrors `NettyTransport.bindServer` and
//! `AbstractHttpServerTransport` (6.8).

mod bodies;
mod connection;
mod count;
mod door;
mod half_closed;
mod patient;
mod places;

use super::descriptors::{self, Side};
use super::figures::Connections;
use super::secure::Tls;
use crate::settings::{NodeSettings, Ports};
pub use bodies::{TooSlow, keeping};
pub(in crate::runtime) use connection::Shown;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use connection::{NEXT_REQUEST_MAX, Serving, serve};
use count::{Count, Counted};
use door::Door;
use places::Places;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// No port could be bound.
#[derive(Debug)]
pub struct BindError {
    host: IpAddr,
    ports: Ports,
    source: io::Error,
}

impl BindError {
    /// That all of these are taken.
    pub(in crate::runtime) fn taken(host: IpAddr, ports: &Ports) -> Self {
        BindError { host, ports: ports.clone(), source: io::ErrorKind::AddrInUse.into() }
    }

    /// Whether all ports were taken.
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }

    /// Whether this user may not listen there, as at a port below 1024.
    pub fn is_denied(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }

    /// The address.
    pub fn host(&self) -> IpAddr {
        self.host
    }

    /// The ports that were tried.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// The first port that was tried.
    pub fn first_port(&self) -> u16 {
        self.ports.first.first
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BindError { host, ports, source } = self;
        write!(f, "cannot listen on [{host}], ports [{ports}]: {source}")
    }
}

impl std::error::Error for BindError {}

/// Binds all hosts to the first of these ports that is free on each of them.
pub async fn bind(hosts: &[IpAddr], ports: &Ports) -> Result<Vec<TcpListener>, BindError> {
    let mut last = None;
    for port in ports.iter() {
        match bind_all(hosts, port).await {
            Ok(listeners) => return Ok(listeners),
            Err((host, source)) if source.kind() == io::ErrorKind::AddrInUse => {
                last = Some(BindError { host, ports: ports.clone(), source });
            }
            Err((host, source)) => return Err(BindError { host, ports: ports.clone(), source }),
        }
    }
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "there is no port to try");
    let unspecified = IpAddr::from([0, 0, 0, 0]);
    Err(last.unwrap_or_else(|| BindError { host: unspecified, ports: ports.clone(), source: none() }))
}

async fn bind_all(hosts: &[IpAddr], port: u16) -> Result<Vec<TcpListener>, (IpAddr, io::Error)> {
    let mut port = port;
    let mut listeners = Vec::new();
    for host in hosts {
        let listener = TcpListener::bind(SocketAddr::new(*host, port)).await.map_err(|error| (*host, error))?;
        port = listener.local_addr().map_err(|error| (*host, error))?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

/// How request lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// As the standard has them.
    Strict,
    /// As users of Elasticsearch write them.
    Lenient,
}

/// On which terms a server takes connections. Those for other nodes are said by `transport`.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How request lines are read.
    pub manners: Manners,
    /// How many connections it has at a time.
    pub connections: usize,
    /// Whether those who asked once may stay, however many others come.
    pub keeps_known: bool,
    /// How long the body of a request may take to arrive.
    pub read_timeout: Duration,
    /// How long nothing may be taken of an answer.
    pub write_timeout: Duration,
    /// How long sent bytes may go unacknowledged before a connection is given up, where that is not left to the system.
    pub unacknowledged_max: Option<Duration>,
    /// The path at which the bodies of requests go on for as long as the connection does.
    pub endless: Option<&'static str>,
    /// What is shown to those who connect, where only TLS is spoken.
    pub tls: Option<Tls>,
}

impl Terms {
    /// Those for users.
    pub fn of_users(settings: &NodeSettings) -> Self {
        let connections = descriptors::connections(Side::Users, settings.rest.connections);
        Terms {
            manners: Manners::Lenient,
            connections,
            keeps_known: false,
            read_timeout: settings.rest.read_timeout,
            write_timeout: settings.rest.write_timeout,
            unacknowledged_max: None,
            endless: None,
            tls: None,
        }
    }
}

/// What answers the requests of a server. Mirrors `HttpServerTransport.Dispatcher` (6.8).
pub trait Dispatcher: Clone + Send + Sync + 'static {
    /// The answer to one of them.
    fn dispatch(&self, request: Request<Body>) -> impl Future<Output = Response> + Send;
}

impl Dispatcher for Router {
    async fn dispatch(&self, request: Request<Body>) -> Response {
        self.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}

/// A service on some listeners. It ends when it is dropped or stopped.
pub struct Server {
    drain: CancellationToken,
    stop: CancellationToken,
    connections: TaskTracker,
    count: Arc<Count>,
    places: Arc<Places>,
    max: usize,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.drain.cancel();
        self.stop.cancel();
    }
}

impl Server {
    /// Serves a dispatcher on listeners, on the runtime that this is called on.
    pub fn start(listeners: Vec<TcpListener>, dispatcher: impl Dispatcher, terms: Terms) -> Self {
        let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
        let max = terms.connections;
        let places = Places::new(max, terms.keeps_known);
        let server = Server { drain, stop, connections: TaskTracker::new(), count: Arc::default(), places, max };
        let (drain, stop) = (server.drain.clone(), server.stop.clone());
        let serving = Serving { dispatcher, terms: Arc::new(terms), drain, stop };
        for listener in listeners {
            let door = Door::new(listener, server.places.clone());
            let (connections, count) = (server.connections.clone(), server.count.clone());
            server.connections.spawn(keep(door, connections, count, serving.clone()));
        }
        server
    }

    /// Tells how many connections there are, as long as it is kept.
    pub fn connections(&self) -> impl Fn() -> Connections + Send + Sync + 'static {
        let (count, max) = (self.count.clone(), self.max);
        move || count.read(max)
    }

    /// Takes no more connections and closes those that are kept, each with its next answer or, if it was not used lately,
    /// at once. Returns when none is left, or only such that have been answered for so long.
    pub async fn drain(&self, busy: Duration) {
        self.drain.cancel();
        self.connections.close();
        // Somebody who connected and never asks is not waited for any longer than the others.
        let _ = tokio::time::timeout(NEXT_REQUEST_MAX, self.places.wait_all_served()).await;
        // Whoever waits for longer is told when the node ends.
        let _ = tokio::time::timeout(busy, self.connections.wait()).await;
    }

    /// Takes no more connections, lets those that are busy finish their request, and returns when all are closed or the
    /// time is over.
    pub async fn stop(self, patience: Duration) {
        self.drain.cancel();
        self.stop.cancel();
        self.connections.close();
        // Whoever is not done by then is cut off when the runtime ends.
        let _ = tokio::time::timeout(patience, self.connections.wait()).await;
    }
}

/// Takes connections until the server ends.
async fn keep(door: Door, connections: TaskTracker, count: Arc<Count>, serving: Serving<impl Dispatcher>) {
    let begin = |(stream, peer), place| {
        let (serving, counted) = (serving.clone(), Counted::begin(&count));
        connections.spawn(async move {
            serve(stream, peer, place, serving).await;
            drop(counted);
        });
    };
    loop {
        tokio::select! {
            biased;
            () = serving.stop.cancelled() => return,
            () = serving.drain.cancelled() => break,
            accepted = door.accept() => match serving.stop.run_until_cancelled(door.place(accepted.1)).await {
                Some(place) => begin(accepted, place),
                None => return,
            },
        }
    }
    // Who is connected already is answered; who comes later is refused.
    let (here, places) = door.close();
    for accepted in here {
        match serving.stop.run_until_cancelled(places.take(accepted.1.ip().to_canonical())).await {
            Some(place) => begin(accepted, place),
            None => return,
        }
    }
}
