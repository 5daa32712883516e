//! Listening sockets and the connections they accept, for nodes and for users alike.
//!
//! What is said on a connection is the business of the router that is handed in. Mirrors `NettyTransport.bindServer` and
//! `AbstractHttpServerTransport` (6.8).

use super::log::TRANSPORT;
use super::target::Lenient;
use crate::settings::Ports;
use axum::Router;
use axum::extract::connect_info::ConnectInfo;
use axum::http::{HeaderValue, header};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How many connections one listener serves at a time; more wait to be accepted.
const CONNECTIONS_MAX: usize = 8_192;

/// How long a connection may stay silent between two requests. Callers let go of theirs earlier.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(75);

/// The longest head of a request.
const HEAD_MAX: usize = 64 << 10;

/// How many connections that were made before a listener ends are taken all the same.
const BACKLOG: usize = 1_024;

/// How long to wait before the next connection when one could not be accepted, as when files run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// No port could be bound.
#[derive(Debug)]
pub struct BindError {
    host: IpAddr,
    ports: Ports,
    source: io::Error,
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

/// A service on some listeners. It ends when it is dropped or stopped.
pub struct Server {
    drain: CancellationToken,
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.drain.cancel();
        self.stop.cancel();
    }
}

impl Server {
    /// Serves a router on listeners, on the runtime that this is called on.
    pub fn start(listeners: Vec<TcpListener>, router: Router, manners: Manners) -> Self {
        let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
        let server = Server { drain, stop, connections: TaskTracker::new() };
        for listener in listeners {
            let (drain, stop) = (server.drain.clone(), server.stop.clone());
            let serving = Serving { router: router.clone(), manners, drain, stop };
            let connections = server.connections.clone();
            server.connections.spawn(accept(listener, serving, connections));
        }
        server
    }

    /// Takes no more connections and closes those that are kept, each with its next answer; the others go on for so long
    /// at the most. Returns when none is left or only such that wait for something.
    pub async fn drain(&self, patience: Duration, finish: Duration) {
        self.drain.cancel();
        self.connections.close();
        if tokio::time::timeout(patience, self.connections.wait()).await.is_err() {
            self.stop.cancel();
            // Whoever waits for longer is told when the node ends.
            let _ = tokio::time::timeout(finish, self.connections.wait()).await;
        }
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

/// What every connection of a listener is served with.
#[derive(Clone)]
struct Serving {
    router: Router,
    manners: Manners,
    /// Each connection ends with its next answer.
    drain: CancellationToken,
    /// Connections end as soon as they are not busy.
    stop: CancellationToken,
}

async fn accept(listener: TcpListener, serving: Serving, connections: TaskTracker) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            biased;
            () = serving.stop.cancelled() => return,
            () = serving.drain.cancelled() => break,
            accepted = accept_one(&listener, &room) => accepted,
        };
        if !begin(accepted, &serving, &connections) {
            tokio::time::sleep(ACCEPT_AGAIN).await;
        }
    }
    // Who is connected already is answered; who comes later is refused.
    for _ in 0..BACKLOG {
        let accepted = tokio::select! {
            biased;
            accepted = accept_one(&listener, &room) => accepted,
            () = std::future::ready(()) => return,
        };
        begin(accepted, &serving, &connections);
    }
}

/// Serves a connection, if one was accepted.
fn begin(accepted: io::Result<Accepted>, serving: &Serving, connections: &TaskTracker) -> bool {
    let (stream, peer, permit) = match accepted {
        Ok(accepted) => accepted,
        Err(error) => {
            tracing::warn!(target: TRANSPORT, "cannot accept a connection: {error}");
            return false;
        }
    };
    // Without it a small answer waits for an acknowledgement of the one before it.
    let _ = stream.set_nodelay(true);
    let serving = serving.clone();
    connections.spawn(async move {
        match serving.manners {
            Manners::Strict => serve(stream, peer, serving).await,
            Manners::Lenient => serve(Lenient::new(stream), peer, serving).await,
        }
        drop(permit);
    });
    true
}

/// A connection, and the place that it takes.
type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

async fn accept_one(listener: &TcpListener, room: &Arc<Semaphore>) -> io::Result<Accepted> {
    let permit = room.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

async fn serve<S>(stream: S, peer: SocketAddr, serving: Serving)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Serving { router, drain, stop, .. } = serving;
    let with_peer = tower::util::MapRequest::new(router, move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request.map(axum::body::Body::new)
    });
    let with_end = tower::util::MapResponse::new(with_peer, move |mut response: axum::response::Response| {
        if drain.is_cancelled() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .max_buf_size(HEAD_MAX.max(8_192))
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(with_end));
    let mut connection = std::pin::pin!(connection);
    // How a connection ended is of no interest: whoever called knows better.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
