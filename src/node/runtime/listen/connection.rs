//! One connection of a listener, from its first byte to its last.

use super::bodies::{Arriving, leaving};
use super::half_closed::HalfClosed;
use super::patient::Patient;
use super::places::{Place, Visit};
use super::{Dispatcher, Manners, Terms};
use crate::runtime::lenient_request_line::Lenient;
use crate::runtime::secure::Tls;
use axum::body::Body;
use axum::extract::connect_info::ConnectInfo;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::CertificateDer;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a connection may stay silent between two requests. Callers let go of theirs earlier.
const IDLE_MAX: Duration = Duration::from_secs(75);

/// How long a handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// How long a short visit may take.
const SHORT_MAX: Duration = Duration::from_secs(10);

/// How long a server that drains waits for the next request of somebody who asked as lately as that. Whoever is closed to
/// while its request is on the way never hears whether it was carried out.
pub(super) const NEXT_REQUEST_MAX: Duration = Duration::from_secs(1);

/// How much of an answer the system takes at a time: whoever takes much, or nothing, holds up nobody and holds little.
const SENT_AHEAD: usize = 256 << 10;

/// The longest head of a request.
const HEAD_MAX: usize = 64 << 10;

/// What every connection of a server is served with.
#[derive(Clone)]
pub(super) struct Serving<D> {
    pub(super) dispatcher: D,
    pub(super) terms: Arc<Terms>,
    /// Each connection ends with its next answer, or when none is to be expected.
    pub(super) drain: CancellationToken,
    /// Connections end as soon as they are not busy.
    pub(super) stop: CancellationToken,
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// Serves whoever connected until one of both ends it.
pub(super) async fn serve(stream: TcpStream, peer: SocketAddr, place: Place, serving: Serving<impl Dispatcher>) {
    // Without it a small answer waits for an acknowledgement of the one before it.
    let _ = stream.set_nodelay(true);
    if let Some(unacknowledged_max) = serving.terms.unacknowledged_max {
        // A node that lost an answer asks again; on a link that comes and goes the answer would be sent ever more rarely.
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, millis(unacknowledged_max));
    }
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SENT_AHEAD);
    let (is_short, is_ended) = (place.visit == Visit::Short, place.is_ended.clone());
    let stream = Patient::new(stream, serving.terms.write_timeout);
    let served = async {
        let acceptor = serving.terms.tls.as_ref().map(Tls::acceptor);
        let Some(acceptor) = acceptor else {
            return by_manners(stream, Caller { peer, shown: None }, place, serving).await;
        };
        // Whoever does not get so far never was a caller.
        if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await {
            let certificates = stream.get_ref().1.peer_certificates();
            let shown = certificates.and_then(<[_]>::first).map(|first| Shown(Arc::new(first.clone().into_owned())));
            by_manners(stream, Caller { peer, shown }, place, serving).await;
        }
    };
    if is_short {
        // Another one may be waiting for the place.
        let _ = tokio::time::timeout(SHORT_MAX, served).await;
    } else {
        let _ = is_ended.run_until_cancelled(served).await;
    }
}

/// Who is connected.
struct Caller {
    peer: SocketAddr,
    shown: Option<Shown>,
}

/// The certificate that whoever is connected showed, and that was found good.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Shown(pub(in crate::runtime) Arc<CertificateDer<'static>>);

async fn by_manners<S>(stream: S, caller: Caller, place: Place, serving: Serving<impl Dispatcher>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let place = Arc::new(place);
    match serving.terms.manners {
        Manners::Strict => converse(stream, caller, place, serving).await,
        Manners::Lenient => {
            let stream = HalfClosed::new(Lenient::new(stream), place.clone());
            converse(stream, caller, place, serving).await;
        }
    }
}

async fn converse<S>(stream: S, caller: Caller, place: Arc<Place>, serving: Serving<impl Dispatcher>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Serving { dispatcher, terms, drain, stop } = serving;
    let drained = drain.clone();
    let conversation = Arc::new(Conversation { dispatcher, terms, drain, caller, place: place.clone() });
    let service = service_fn(move |request| {
        let conversation = conversation.clone();
        // At once: an end behind the request that is seen before this begins to run is not to end it.
        let request = conversation.arriving(request);
        // It is large, and a connection on which nothing is asked would keep the room for it.
        Box::pin(async move { conversation.answer(request).await })
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .max_buf_size(HEAD_MAX.max(8_192))
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // How a connection ended is of no interest: whoever called knows better.
    tokio::select! {
        biased;
        // First, so that a request that is there is answered.
        _ = connection.as_mut() => return,
        () = place.gives_way.cancelled() => {
            if place.is_waiting() {
                return;
            }
            connection.as_mut().graceful_shutdown();
        }
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
        () = until_unused(&drained, &place) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// What all requests of a connection have in common.
struct Conversation<D> {
    dispatcher: D,
    terms: Arc<Terms>,
    drain: CancellationToken,
    caller: Caller,
    place: Arc<Place>,
}

impl<D: Dispatcher> Conversation<D> {
    async fn answer(&self, request: Request<Body>) -> Result<Response, Infallible> {
        let response = self.dispatcher.dispatch(request).await;
        Ok(self.leaving(response))
    }

    fn arriving(&self, mut request: Request<Incoming>) -> Request<Body> {
        self.place.begins();
        request.extensions_mut().insert(ConnectInfo(self.caller.peer));
        if let Some(shown) = &self.caller.shown {
            request.extensions_mut().insert(shown.clone());
        }
        let is_endless = self.terms.endless == Some(request.uri().path());
        request.map(|body| Arriving::body(body, &self.place, self.terms.read_timeout, is_endless))
    }

    fn leaving(&self, mut response: Response) -> Response {
        if self.drain.is_cancelled() || self.place.visit == Visit::Short {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response.map(|body| leaving(body, &self.place))
    }
}

/// Returns when the server drains and no request is to be expected on a connection that has this place.
async fn until_unused(drain: &CancellationToken, place: &Place) {
    drain.cancelled().await;
    loop {
        let expected = place.waiting_since().unwrap_or_else(Instant::now) + NEXT_REQUEST_MAX;
        if expected <= Instant::now() {
            return;
        }
        tokio::time::sleep_until(expected).await;
    }
}
