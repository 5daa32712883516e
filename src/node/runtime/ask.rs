//! Asks nodes for what only they know, many at a time and each for a bounded time.

use super::figures::{Asked, Silence};
use super::handle::Handle;
use super::peers::{Peers, Wanted};
use crate::cluster::{Address, Node};
use crate::protocol::Failure;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How many nodes are asked at a time.
const ASKED_AT_A_TIME: usize = 64;

/// The longest answer of a node.
const ANSWER_BYTES_MAX: usize = 256 << 10;

/// Asks all of these nodes, in their order. What this node is asked is answered here.
pub(crate) async fn of_all<T, F, H>(
    handle: &Handle,
    nodes: Vec<Arc<Node>>,
    (target, timeout): (&str, Duration),
    here: F,
) -> Vec<Asked<T>>
where
    T: DeserializeOwned,
    F: Fn() -> H,
    H: Future<Output = Option<T>>,
{
    let ask = |node: Arc<Node>| {
        let here = here();
        async move {
            let told = if node.same_process(handle.local()) {
                let told = tokio::time::timeout(timeout, here).await;
                told.map_or(Err(Silence::TimedOut(timeout)), |told| told.ok_or(Silence::Strange))
            } else if handle.faults().swallows_to(&node.address) || handle.faults().swallows_from(&node.address) {
                tokio::time::sleep(timeout).await;
                Err(Silence::TimedOut(timeout))
            } else {
                let asked = of_one(handle.meter().access(), &node.address, (target, timeout));
                tokio::time::timeout(timeout, asked).await.unwrap_or(Err(Silence::TimedOut(timeout)))
            };
            (node, told)
        }
    };
    stream::iter(nodes).map(ask).buffered(ASKED_AT_A_TIME).collect().await
}

/// Asks one node, and waits so long for the beginning of its answer.
pub(super) async fn of_one<T: DeserializeOwned>(
    peers: Option<&Peers>,
    at: &Address,
    (target, patience): (&str, Duration),
) -> Result<T, Silence> {
    let began = Instant::now();
    let why = |failure: Failure| match failure {
        Failure::TimedOut if began.elapsed() >= patience => Silence::TimedOut(patience),
        // What takes less is a network that leads nowhere.
        Failure::Refused | Failure::Reset | Failure::TimedOut => Silence::NotConnected,
        Failure::BadAnswer => Silence::Strange,
    };
    let wanted = Wanted { method: Method::GET, target: target.to_owned(), part: None, body: Bytes::new(), patience };
    let told = peers.ok_or(Silence::NotConnected)?.ask(at, &wanted).await.map_err(why)?;
    if told.status != StatusCode::OK || told.body.len() > ANSWER_BYTES_MAX {
        return Err(Silence::Strange);
    }
    serde_json::from_slice(&told.body).map_err(|_| Silence::Strange)
}
