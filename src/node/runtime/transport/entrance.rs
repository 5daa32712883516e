//! Who may speak to this node as a node: whoever seals what it says, and shows a certificate where one is demanded.
//!
//! Judged before a body is read. What is sealed is answered under a seal, so that nobody else can answer in this node's
//! name.

use super::lifeline::{FrameOpener, LIFELINE};
use crate::cluster::Address;
use crate::runtime::listen::Shown;
use crate::runtime::log::TRANSPORT;
use crate::runtime::peers::parts;
use crate::runtime::secure::{CHALLENGE, FrameKey, Head, Refusal, SEAL, Sealed, Shared, names};
use crate::runtime::wall::{self, Wall};
use crate::wire;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is demanded of other nodes.
#[derive(Clone)]
pub(in crate::runtime) struct Entrance {
    wall: Arc<Wall>,
    sealer: Shared,
    /// How many were refused.
    refused: Arc<AtomicU64>,
}

/// What is known of whoever sent a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    sealed: Option<Sealed>,
    shown: Option<Shown>,
}

impl Known {
    /// Whether this is the body that was sealed, where it must be.
    pub(super) fn sealed(&self, body: &[u8]) -> bool {
        self.sealed.as_ref().is_none_or(|sealed| sealed.fits(body))
    }

    /// Whether it may say what comes from this address.
    pub(super) fn speaks_for(&self, address: &Address) -> bool {
        let is_sealed = self.sealed.as_ref().is_none_or(|sealed| sealed.from == *address);
        is_sealed && self.shown.as_ref().is_none_or(|shown| names(&shown.0, address))
    }

    /// Whether it showed that it is of this cluster; nobody needs to where nothing is demanded.
    pub(super) fn is_of_cluster(&self) -> bool {
        self.sealed.is_some() || self.shown.is_some()
    }

    /// Whether it may begin a link.
    pub(super) fn begins_link(&self) -> bool {
        self.sealed.as_ref().is_none_or(Sealed::is_of_link)
    }

    /// What is heard over a link is judged by the first, and what is said sealed with the second.
    pub(super) fn link(&self) -> (FrameOpener, Option<FrameKey>) {
        let (key, says) = self.sealed.as_ref().map(Sealed::link).unzip();
        (FrameOpener { key, knows_peer: self.is_of_cluster() }, says)
    }
}

/// Lets in whoever may speak as a node.
pub(super) async fn pass(State(entrance): State<Entrance>, mut request: Request, next: Next) -> Response {
    let known = match entrance.judge(&request) {
        Ok(known) => known,
        Err(refusal) => {
            let count = entrance.refused.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_power_of_two() && refusal.status() != StatusCode::UNAUTHORIZED {
                tracing::warn!(target: TRANSPORT, "refused what does not come from a node of this cluster, [{count}] times");
            }
            return *refusal;
        }
    };
    let is_link = request.uri().path() == LIFELINE;
    let sealed = known.sealed.clone();
    request.extensions_mut().insert(known);
    let response = next.run(request).await;
    match sealed {
        Some(sealed) => under_seal(response, &sealed, is_link).await,
        None => response,
    }
}

async fn under_seal(response: Response, sealed: &Sealed, is_link: bool) -> Response {
    let (mut parts, body) = response.into_parts();
    let (body, seal) = if is_link && parts.status == StatusCode::OK {
        (body, sealed.answer(parts.status.as_u16(), None))
    } else {
        let Ok(bytes) = to_bytes(body, wire::SIZE_MAX).await else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let seal = sealed.answer(parts.status.as_u16(), Some(&bytes));
        (Body::from(bytes), seal)
    };
    if let Ok(seal) = HeaderValue::try_from(seal) {
        parts.headers.insert(SEAL, seal);
    }
    Response::from_parts(parts, body)
}

impl Entrance {
    /// One that lets in who names this node, and seals what it says if that is demanded.
    pub(in crate::runtime) fn new(wall: Wall, sealer: Shared) -> Self {
        Entrance { wall: Arc::new(wall), sealer, refused: Arc::default() }
    }

    fn judge(&self, request: &Request) -> Result<Known, Box<Response>> {
        let (uri, headers) = (request.uri(), request.headers());
        if wall::is_of_a_browser(headers) {
            return Err(forbidden("this is the transport of a Zazen node, which answers no browser".into()));
        }
        if let Err(host) = self.wall.admits_host(uri, headers) {
            let what = "allowed: addresses, [localhost] and the names of this node";
            return Err(forbidden(format!("no node is called [{host}]; {what}")));
        }
        let shown = request.extensions().get::<Shown>().cloned();
        let Some(sealer) = &self.sealer else {
            return Ok(Known { sealed: None, shown });
        };
        let part = headers.get(parts::HEADER).and_then(|part| part.to_str().ok()).unwrap_or_default();
        let target = uri.path_and_query().map_or("", |target| target.as_str());
        let head = Head { method: request.method().as_str(), target, part };
        match sealer.judge(head, headers) {
            Ok(sealed) if request.method() == "GET" && !sealed.fits(b"") => Err(forbidden(FORGED.into())),
            Ok(sealed) => Ok(Known { sealed: Some(sealed), shown }),
            Err(Refusal::Challenged(epoch)) => {
                let what = "only nodes of this cluster are answered here, which seal what they say\n";
                let mut response = (StatusCode::UNAUTHORIZED, what).into_response();
                response.headers_mut().extend(HeaderValue::try_from(epoch).ok().map(|epoch| (CHALLENGE, epoch)));
                Err(Box::new(response))
            }
            Err(Refusal::Forged) => Err(forbidden(FORGED.into())),
            Err(Refusal::Replayed) => Err(forbidden("this was heard before".into())),
        }
    }
}

const FORGED: &str = "the seal is not that of a node of this cluster";

fn forbidden(what: String) -> Box<Response> {
    let mut response = (StatusCode::FORBIDDEN, what + "\n").into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    Box::new(response)
}
