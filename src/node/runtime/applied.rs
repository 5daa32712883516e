//! The state that other members have applied, for the users of a node that is cut off from the master alone.
//!
//! Which state is the newest the master has said before, through one of them (`zen::relay`); here it is fetched from whoever
//! has it. Takes the place of nothing: Elasticsearch (6.8) leaves such users waiting for a master.

use super::handle::Handle;
use super::peers::Wanted;
use crate::cluster::{Address, ClusterState, Node, StateId};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// Where a node's transport tells its applied state.
pub(super) const PATH: &str = "/_zen/applied";

/// How many are asked at a time: the master itself, which does not answer, keeps nobody from it.
const ASKED_AT_A_TIME: usize = 2;

/// How long one of them is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// This state, or a later one, from another member.
pub(crate) async fn of_others(handle: &Handle, at: StateId) -> Option<Arc<ClusterState>> {
    let cluster_uuid = handle.state().cluster_uuid;
    let is_wanted = move |state: &ClusterState| {
        state.rank() >= at.rank() && state.cluster_uuid == cluster_uuid && state.nodes.master.is_some()
    };
    let of_one = |address| async {
        let state: ClusterState = ask_one(handle, address, PATH.into(), PATIENCE).await?;
        is_wanted(&state).then_some(state)
    };
    first_of_others(handle, usize::MAX, of_one).await.map(Arc::new)
}

/// What the first of the other members answers, of so many that are asked; the master, if there is one, is the first.
pub(super) async fn first_of_others<T, F: Future<Output = Option<T>>>(
    handle: &Handle,
    asked_max: usize,
    ask: impl FnMut(Address) -> F,
) -> Option<T> {
    let (own, local) = (handle.state(), handle.local());
    let members = || own.nodes.iter().filter(|node| node.id != local.id);
    let is_master = |node: &&Arc<Node>| own.nodes.master.as_ref() == Some(&node.id);
    let ordered = members().filter(is_master).chain(members().filter(|node| !is_master(node)));
    let others: Vec<Address> = ordered.take(asked_max).map(|node| node.address.clone()).collect();
    let answers = stream::iter(others).map(ask).buffer_unordered(ASKED_AT_A_TIME);
    std::pin::pin!(answers.filter_map(std::future::ready)).next().await
}

/// What one of them answers, within this time.
pub(super) async fn ask_one<T: DeserializeOwned + Send + 'static>(
    handle: &Handle,
    at: Address,
    target: String,
    patience: Duration,
) -> Option<T> {
    if handle.faults().swallows_to(&at) || handle.faults().swallows_from(&at) {
        return None;
    }
    let wanted = Wanted { method: Method::GET, target, part: None, body: Bytes::new(), patience };
    let told = handle.meter().access()?.ask(&at, &wanted).await.ok()?;
    if told.status != StatusCode::OK {
        return None;
    }
    tokio::task::spawn_blocking(move || serde_json::from_slice(&told.body).ok()).await.ok()?
}

/// What this node has applied, written by a thread that may take its time.
pub(super) async fn told(handle: &Handle) -> Response {
    let state = handle.state();
    match tokio::task::spawn_blocking(move || serde_json::to_vec(&*state)).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Ok(Err(_)) | Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
