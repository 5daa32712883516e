//! The way to other nodes: over TLS or not, with seals or without, the same for all that is said to them.
//!
//! A peer that was restarted does not know this node, and says which epoch a seal must be for; then it is asked once more.

mod failure;
pub(super) mod parts;
mod paths;

pub use failure::{failure, untrusted};
pub(super) use parts::PIECE_MAX;
pub(super) use paths::{kind_of, path_of};

use super::secure::{CHALLENGE, Head, SEAL, Shared, trusting};
use crate::cluster::Address;
use crate::protocol::Failure;
use bytes::Bytes;
use failure::next_chunk;
use parking_lot::{Mutex, RwLock};
use paths::answer_max;
use reqwest::{Method, Response, StatusCode};
use rustls::ClientConfig;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Idle connections are let go of before the other side does, which would break the next request.
const POOL_IDLE: Duration = Duration::from_secs(50);

/// How many idle connections to one peer are kept.
const POOL_SIZE: usize = 4;

/// How long a connection may be silent until its other end is asked whether it still has it: it may have given it up with an
/// answer that did not get through.
const SILENT_MAX: Duration = Duration::from_secs(2);

/// How long sent bytes may go unacknowledged before a connection is given up, so that none outlives a black hole. On a link
/// that comes and goes it would wait for longer and longer before it tries again.
pub(super) const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(1);

/// So long it counts how large a part a peer took in time, and of so many peers: links change.
const PACE_MAX: Duration = Duration::from_secs(5);
const PACES_MAX: usize = 1_024;

/// The longest epoch that a peer may name.
const CHALLENGE_MAX: usize = 64;

/// A client for nodes: no proxy, no redirects, no second tries.
pub fn client() -> reqwest::Result<reqwest::Client> {
    let nobody = trusting(None).ok();
    client_with(nobody)
}

/// The same with a configuration of TLS.
pub(super) fn client_with(tls: Option<ClientConfig>) -> reqwest::Result<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
        .tcp_user_timeout(UNACKNOWLEDGED_MAX)
        .tcp_keepalive(SILENT_MAX)
        .tcp_keepalive_interval(UNACKNOWLEDGED_MAX)
        .tcp_keepalive_retries(2)
        .pool_idle_timeout(POOL_IDLE)
        .pool_max_idle_per_host(POOL_SIZE);
    match tls {
        Some(tls) => builder.tls_backend_preconfigured(tls).build(),
        None => builder.build(),
    }
}

/// The way to other nodes. Clones are the same way.
#[derive(Clone)]
pub(super) struct Peers(Arc<Way>);

struct Way {
    client: RwLock<reqwest::Client>,
    is_tls: bool,
    sealer: Shared,
    /// How large the next part of a message may be, of those who took more than the least.
    paces: Mutex<BTreeMap<Address, (usize, Instant)>>,
}

/// What is asked of a peer.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) method: Method,
    /// The path with its query.
    pub(super) target: String,
    /// Which part of a message the body is, if it is one.
    pub(super) part: Option<String>,
    pub(super) body: Bytes,
    /// How long it may take until the answer begins.
    pub(super) patience: Duration,
}

/// What a peer answered.
#[derive(Clone, Debug)]
pub(super) struct PeerResponse {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// What came of asking once.
enum Heard {
    Answered(PeerResponse),
    /// The peer says which epoch a seal must be for.
    Challenged,
}

impl Peers {
    pub(super) fn new(client: reqwest::Client, is_tls: bool, sealer: Shared) -> Self {
        Peers(Arc::new(Way { client: RwLock::new(client), is_tls, sealer, paces: Mutex::default() }))
    }

    /// The way to nodes that demand nothing.
    pub(super) fn plain() -> reqwest::Result<Self> {
        client().map(|client| Peers::new(client, false, None))
    }

    /// Makes new connections with another client from now on; those that are open stay as long as they are used.
    pub(super) fn renew(&self, client: reqwest::Client) {
        *self.0.client.write() = client;
    }

    pub(super) fn client(&self) -> reqwest::Client {
        self.0.client.read().clone()
    }

    pub(super) fn is_tls(&self) -> bool {
        self.0.is_tls
    }

    pub(super) fn sealer(&self) -> &Shared {
        &self.0.sealer
    }

    /// How large the next part of a message to a peer may be: as large as the last one was quick.
    pub(super) fn pace(&self, peer: &Address) -> usize {
        let paces = self.0.paces.lock();
        let known = paces.get(peer).filter(|(_, since)| since.elapsed() < PACE_MAX);
        known.map_or(PIECE_MAX, |(size, _)| *size)
    }

    pub(super) fn set_pace(&self, peer: &Address, size: usize) {
        let mut paces = self.0.paces.lock();
        paces.remove(peer);
        if paces.len() >= PACES_MAX {
            paces.retain(|_, (_, since)| since.elapsed() < PACE_MAX);
        }
        if size > PIECE_MAX && paces.len() < PACES_MAX {
            paces.insert(peer.clone(), (size, Instant::now()));
        }
    }

    /// The place of something at a peer.
    pub(super) fn url(&self, peer: &Address, target: &str) -> String {
        format!("{}://{peer}{target}", if self.0.is_tls { "https" } else { "http" })
    }

    /// Asks a peer, and reads all that it answers. A chunk of it that takes as long as the answer may is the end.
    pub(super) async fn ask(&self, to: &Address, wanted: &Wanted) -> Result<PeerResponse, Failure> {
        if let Heard::Answered(told) = self.ask_once(to, wanted).await? {
            return Ok(told);
        }
        match self.ask_once(to, wanted).await? {
            Heard::Answered(told) => Ok(told),
            Heard::Challenged => Err(Failure::BadAnswer),
        }
    }

    async fn ask_once(&self, to: &Address, wanted: &Wanted) -> Result<Heard, Failure> {
        let Wanted { method, target, part, body, patience } = wanted;
        let mut request = self.client().request(method.clone(), self.url(to, target)).body(body.clone());
        request = request.header("content-type", "application/json");
        if let Some(part) = part {
            request = request.header(parts::HEADER, part);
        }
        let head = Head { method: method.as_str(), target, part: part.as_deref().unwrap_or_default() };
        let asked = self.0.sealer.as_ref().map(|sealer| (sealer, sealer.seal(to, head, Some(body))));
        if let Some((sealer, asked)) = &asked {
            for (name, value) in asked.headers(sealer.local()) {
                request = request.header(name, value);
            }
        }
        let response = tokio::time::timeout(*patience, request.send()).await.map_err(|_| Failure::TimedOut)?;
        let response = response.map_err(|error| failure(&error))?;
        if self.is_challenge(to, &response) {
            return Ok(Heard::Challenged);
        }
        let status = response.status();
        let seal = response.headers().get(SEAL).and_then(|seal| seal.to_str().ok()).map(str::to_owned);
        let body = read(response, *patience, answer_max(target)).await?;
        let is_genuine =
            asked.is_none_or(|(_, asked)| asked.is_answered_by(seal.as_deref(), status.as_u16(), Some(&body)));
        if is_genuine || !status.is_success() {
            Ok(Heard::Answered(PeerResponse { status, body }))
        } else {
            Err(Failure::BadAnswer)
        }
    }

    /// Whether a peer demands a seal, or answers without one; none if it demands something else.
    pub(super) async fn demands_seal(&self, of: &Address, target: &str) -> Option<bool> {
        let response = self.client().get(self.url(of, target)).send().await.ok()?;
        let is_challenge = response.headers().contains_key(CHALLENGE);
        (is_challenge || response.status().is_success()).then_some(is_challenge)
    }

    /// Whether a peer asks for a seal of another epoch, which is remembered.
    pub(super) fn is_challenge(&self, to: &Address, response: &Response) -> bool {
        let epoch = response.headers().get(CHALLENGE).and_then(|epoch| epoch.to_str().ok());
        let (Some(sealer), Some(epoch)) = (&self.0.sealer, epoch) else {
            return false;
        };
        let is_challenge = response.status() == StatusCode::UNAUTHORIZED && epoch.len() <= CHALLENGE_MAX;
        if is_challenge {
            sealer.learn(to, epoch);
        }
        is_challenge
    }
}

async fn read(mut response: Response, patience: Duration, most: usize) -> Result<Bytes, Failure> {
    let patience = parts::patience(patience, PIECE_MAX);
    let Some(first) = next_chunk(&mut response, patience).await? else {
        return Ok(Bytes::new());
    };
    let Some(second) = next_chunk(&mut response, patience).await? else {
        return Ok(first);
    };
    let mut body = [first, second].concat();
    while let Some(chunk) = next_chunk(&mut response, patience).await? {
        if body.len() + chunk.len() > most {
            return Err(Failure::BadAnswer);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}
