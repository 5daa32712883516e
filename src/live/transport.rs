//! Letters over HTTP: `POST /_lab/letter` with a letter as JSON, answered with one, or with nothing if none is wanted.

use crate::cluster::Address;
use crate::lab::{Letter, Word};
use crate::protocol::{Call, Failure};
use crate::runtime::{Faults, failure};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

const PATH: &str = "/_lab/letter";
/// Who sends a letter: where it listens, and what it is called.
const ADDRESS: &str = "x-lab-address";
const NAME: &str = "x-lab-name";
/// There if a reply is wanted.
const WANTED: &str = "x-lab-wanted";
const NAME_MAX: usize = 128;
/// The longest letter.
const LETTER_MAX: usize = 64 << 10;
/// How long a letter is tried to be brought that nobody waits for.
const TELL_WITHIN: Duration = Duration::from_secs(1);

/// A letter that came in.
pub(super) struct Inbound<W> {
    pub(super) letter: Letter<W>,
    pub(super) name: Option<String>,
    /// Where a reply goes, if one is wanted.
    pub(super) reply: Option<oneshot::Sender<Letter<W>>>,
}

/// A letter that answers one, and what its sender is called.
pub(super) struct Reply<W> {
    pub(super) letter: Letter<W>,
    pub(super) name: Option<String>,
}

/// What became of a request.
pub(super) type CallOutcome<W> = (Call, Result<Reply<W>, Failure>);

/// What a process is called, as others are told.
#[derive(Clone)]
pub(super) struct Signature(HeaderValue);

impl Signature {
    pub(super) fn of(name: &str) -> Self {
        // A name with control characters cannot be sent, and its process goes by its rank.
        Signature(HeaderValue::from_bytes(name.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static("")))
    }

    fn read(headers: &HeaderMap) -> Option<String> {
        let name = headers.get(NAME).filter(|name| !name.is_empty())?;
        Some(String::from_utf8_lossy(name.as_bytes()).chars().take(NAME_MAX).collect())
    }
}

struct Port<W> {
    inbox: mpsc::Sender<Inbound<W>>,
    faults: Arc<Faults>,
    name: Signature,
}

impl<W> Clone for Port<W> {
    fn clone(&self) -> Self {
        Port { inbox: self.inbox.clone(), faults: self.faults.clone(), name: self.name.clone() }
    }
}

/// What other processes find at this one.
pub(super) fn router<W: Word + Send + 'static>(
    inbox: mpsc::Sender<Inbound<W>>,
    faults: Arc<Faults>,
    name: Signature,
) -> Router {
    Router::new().route(PATH, post(take::<W>)).with_state(Port { inbox, faults, name })
}

async fn take<W: Word + Send + 'static>(State(port): State<Port<W>>, headers: HeaderMap, body: Body) -> Response {
    let from = headers.get(ADDRESS).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let from = Address::from(from);
    let Ok(bytes) = to_bytes(body, LETTER_MAX).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, format!("a letter takes at most [{LETTER_MAX}] bytes\n"))
            .into_response();
    };
    let letter = match serde_json::from_slice(&bytes) {
        Ok(letter) => letter,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("no letter: {error}\n")).into_response(),
    };
    if port.faults.swallows_from(&from) {
        return std::future::pending().await;
    }
    let (reply, replied) = oneshot::channel();
    let reply = headers.contains_key(WANTED).then_some(reply);
    if port.inbox.send(Inbound { letter, name: Signature::read(&headers), reply }).await.is_err() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let Ok(letter) = replied.await else {
        // It was only told, or the process has nothing to say to it.
        return StatusCode::NO_CONTENT.into_response();
    };
    if port.faults.swallows_to(&from) {
        return std::future::pending().await;
    }
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (HeaderName::from_static(NAME), port.name.0.clone()),
    ];
    (headers, serde_json::to_vec(&letter).unwrap_or_default()).into_response()
}

/// Sends letters.
pub(super) struct Transport<W> {
    pub(super) client: reqwest::Client,
    pub(super) faults: Arc<Faults>,
    pub(super) outcomes: mpsc::UnboundedSender<CallOutcome<W>>,
    pub(super) own: String,
    pub(super) name: Signature,
}

impl<W: Word + Send + 'static> Transport<W> {
    /// Sends a request; exactly one outcome follows.
    pub(super) fn send(&self, to: SocketAddr, call: Call, letter: &Letter<W>, timeout: Duration) {
        let request = self.request(to, letter, timeout).map(|request| request.header(WANTED, "1"));
        let outcomes = self.outcomes.clone();
        tokio::spawn(async move {
            let reply = match request {
                Some(request) => reply(request).await,
                None => {
                    tokio::time::sleep(timeout).await;
                    Err(Failure::TimedOut)
                }
            };
            // Nobody is left to be told when the process has ended.
            let _ = outcomes.send((call, reply));
        });
    }

    /// Sends a letter whose fate nobody waits for.
    pub(super) fn tell(&self, to: SocketAddr, letter: &Letter<W>) {
        if let Some(request) = self.request(to, letter, TELL_WITHIN) {
            tokio::spawn(request.send());
        }
    }

    /// A request ready to be sent, unless the link is cut.
    fn request(&self, to: SocketAddr, letter: &Letter<W>, timeout: Duration) -> Option<reqwest::RequestBuilder> {
        if self.faults.swallows_to(&Address::from(to.to_string())) {
            return None;
        }
        let body = serde_json::to_vec(letter).ok()?;
        let request = self.client.post(format!("http://{to}{PATH}")).timeout(timeout);
        Some(request.header(ADDRESS, &self.own).header(NAME, &self.name.0).body(body))
    }
}

async fn reply<W: Word>(request: reqwest::RequestBuilder) -> Result<Reply<W>, Failure> {
    let mut response = request.send().await.map_err(|error| failure(&error))?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(&error))? {
        if body.len() + chunk.len() > LETTER_MAX {
            return Err(Failure::BadAnswer);
        }
        body.extend_from_slice(&chunk);
    }
    let name = Signature::read(response.headers());
    let letter = serde_json::from_slice(&body).map_err(|_| Failure::BadAnswer)?;
    Ok(Reply { letter, name })
}
