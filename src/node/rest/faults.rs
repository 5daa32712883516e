//! `/_zazen/faults`: cuts links between nodes and mends them, in nodes that were started so that it can be done.
//!
//! Elasticsearch's tests do it in their own process (`MockTransportService`, 6.8).

use super::body::Json;
use super::error::{Kind, RestError};
use super::reply::Reply;
use super::route::Call;
use crate::cluster::Address;
use crate::runtime::{Cut, Faults};
use axum::http::Method;
use serde::Deserialize;
use std::net::SocketAddr;

/// The body of a request that cuts a link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    peer: String,
    #[serde(default = "yes")]
    to: bool,
    #[serde(default = "yes")]
    from: bool,
}

fn yes() -> bool {
    true
}

/// Does what is asked, and tells which links are cut then.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let faults = call.handle.faults();
    if !faults.is_allowed() {
        let reason = "links can be cut only in a node that was started with [zazen.faults.enabled: true]";
        return Err(RestError::illegal(reason));
    }
    if call.method == Method::POST {
        cut(faults, &call.body)?;
    } else if call.method == Method::DELETE {
        faults.heal();
    }
    let cuts = faults.cuts().into_iter().map(|(peer, cut)| {
        Json::object([("peer", peer.as_str().into()), ("to", cut.to.into()), ("from", cut.from.into())])
    });
    Ok(Reply::tree(Json::object([("faults", cuts.collect())])))
}

fn cut(faults: &Faults, body: &[u8]) -> Result<(), RestError> {
    let allowed = r#"allowed: {"peer": "127.0.0.1:9301", "to": true, "from": true}"#;
    let wanted: Wanted = serde_json::from_slice(body)
        .map_err(|error| RestError::illegal(format!("the body names no link to cut: {error}; {allowed}")))?;
    // Nodes know each other by what is written, so it is written in one way.
    let peer: SocketAddr = wanted.peer.parse().map_err(|_| {
        RestError::illegal(format!("peer: [{}] is no transport address; allowed: IP:PORT", wanted.peer))
    })?;
    let cut = Cut { to: wanted.to, from: wanted.from };
    if faults.cut(Address::from(peer.to_string()), cut) {
        Ok(())
    } else {
        let reason = format!("no more links can be cut than the [{}] that are", faults.cuts().len());
        Err(RestError::new(Kind::EsRejectedExecution, reason))
    }
}
