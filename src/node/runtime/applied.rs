//! The state that other members have applied, for the users of a node that is cut off from the master alone.
//!
//! Which state is the newest the master has said before, through one of them (`zen::relay`); here it is fetched from whoever
//! has it. Takes the place of nothing: Elasticsearch (6.8) leaves such users waiting for a master.

use super::handle::Handle;
use super::transport::Wanted;
use crate::cluster::{Address, ClusterState, StateId};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::{Method, StatusCode};
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
    let (own, local) = (handle.state(), handle.local());
    let others: Vec<Address> =
        own.nodes.iter().filter(|node| node.id != local.id).map(|node| node.address.clone()).collect();
    let answers = stream::iter(others).map(|address| of_one(handle, address)).buffer_unordered(ASKED_AT_A_TIME);
    let is_wanted = |state: &ClusterState| {
        state.rank() >= at.rank() && state.cluster_uuid == own.cluster_uuid && state.nodes.master.is_some()
    };
    let found = answers.filter_map(|state| std::future::ready(state.filter(is_wanted)));
    std::pin::pin!(found).next().await.map(Arc::new)
}

async fn of_one(handle: &Handle, at: Address) -> Option<ClusterState> {
    if handle.faults().swallows_to(&at) || handle.faults().swallows_from(&at) {
        return None;
    }
    let wanted =
        Wanted { method: Method::GET, target: PATH.into(), part: None, body: Bytes::new(), patience: PATIENCE };
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
