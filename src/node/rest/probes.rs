//! `/livez`, `/readyz`, `/startupz`: what load balancers and those who watch over processes ask.
//!
//! The answer is a status and a line of text, at once, from this node alone; but that it is the master it has a quorum
//! confirm, or there would be two for a moment when one is cut off. Whether a process lives never depends on other
//! nodes: a cluster without a quorum gets none back by restarts. Elasticsearch 6.8 has nothing like it; the names are those
//! of Kubernetes.

use super::error::RestError;
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use crate::runtime::Handle;
use crate::service::{Answer, Query, Question};
use axum::http::{StatusCode, header};
use std::time::Duration;

/// The paths, which are answered without a login.
pub(super) const PATHS: [&str; 3] = ["/livez", "/readyz", "/startupz"];

/// So long a master may take to have its word confirmed.
const CONFIRMATION: Duration = Duration::from_millis(500);

/// Which node is meant.
pub(super) const ROLE: Parameter = Parameter {
    name: "role",
    values: Values::Text,
    default: "any",
    doc: "With `master` only the master is ready, so that a load balancer follows it.",
};

/// The process lives: it answers, and the thread that owns the node runs.
pub(super) async fn livez(call: Call) -> Result<Reply, RestError> {
    Ok(verdict(if call.handle.has_ended() { Err("the node has ended".into()) } else { Ok(()) }))
}

/// The node has read its disk and listens, which it does before it can be asked.
pub(super) async fn startupz(call: Call) -> Result<Reply, RestError> {
    livez(call).await
}

/// The node can carry out what users ask: it follows a master or is one, and is not to be stopped.
pub(super) async fn readyz(call: Call) -> Result<Reply, RestError> {
    let wants_master = match call.parameters.text("role").unwrap_or("any") {
        "any" => false,
        "master" => true,
        other => return Err(RestError::illegal(format!("role: there is no [{other}]; allowed: [any, master]"))),
    };
    let mut found = readiness(&call.handle, wants_master);
    if wants_master && found.is_ok() && !is_confirmed(&call.handle).await {
        found = Err("no quorum confirms in time that this node is the master still".into());
    }
    Ok(verdict(found))
}

/// Whether a quorum still follows this node.
async fn is_confirmed(handle: &Handle) -> bool {
    let question = Question::Read { query: Query::Newest, master_timeout: CONFIRMATION };
    let answer = tokio::time::timeout(CONFIRMATION, handle.ask(question)).await;
    // Another master may have answered.
    matches!(answer, Ok(Answer::Newest { .. })) && readiness(handle, true).is_ok()
}

fn readiness(handle: &Handle, wants_master: bool) -> Result<(), String> {
    if handle.has_ended() {
        return Err("the node has ended".into());
    }
    if handle.drain().is_on() {
        return Err("the node is drained: it is to be stopped soon".into());
    }
    let state = handle.state();
    let Some(master) = state.nodes.master_node() else {
        return Err("the node has no master: GET /_zazen/explain tells why".into());
    };
    if wants_master && master.id != handle.local().id {
        return Err(format!("the master is {}", master.name));
    }
    Ok(())
}

fn verdict(verdict: Result<(), String>) -> Reply {
    let reply = match verdict {
        Ok(()) => Reply::text("ok\n".into()),
        Err(why) => Reply::text(format!("{why}\n")).with_status(StatusCode::SERVICE_UNAVAILABLE),
    };
    reply.with_header(header::CACHE_CONTROL, "no-store")
}
