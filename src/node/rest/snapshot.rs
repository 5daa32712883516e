//! The state that a request sees: the node's own, or one that the master has just vouched for.
//!
//! The original forwards a read to the master. Here the master is asked for nothing but the name of its newest state, which
//! it tells once a majority has confirmed it; the node waits for that state and answers by itself, or fetches it from another
//! member if it is cut off from the master alone. Mirrors `TransportMasterNodeReadAction` (6.8).

use super::body::Json;
use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::route::Call;
use crate::cluster::{BlockLevel, ClusterState, StateId};
use crate::runtime::{Handle, applied};
use crate::service::{Answer, Query, Question};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a read waits for a master unless it says otherwise.
pub(super) const MASTER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a master that is known may at least take to vouch for itself. `master_timeout` is for finding one: users who
/// do not want to wait for that still want an answer where there is one.
const CONFIRM_MIN: Duration = Duration::from_secs(1);

/// How long a state that is committed is waited for before others are asked for it.
const ARRIVAL: Duration = Duration::from_millis(100);

/// What every read of the state understands.
pub(super) const READ: &[Parameter] = &[LOCAL, MASTER];

/// Whether the node's own state will do.
pub(super) const LOCAL: Parameter = Parameter {
    name: "local",
    values: Values::Flag,
    default: "false",
    doc: "Answers from the node's own state, which may be behind, without asking the master.",
};

/// How long to wait for a master.
pub(super) const MASTER: Parameter = Parameter {
    name: "master_timeout",
    values: Values::Time,
    default: "30s",
    doc: "How long to wait for a master; without one the answer is 503 `master_not_discovered_exception`.",
};

/// The node's own state. One that never had any knows itself at least.
pub(super) fn local(handle: &Handle) -> Arc<ClusterState> {
    let state = handle.state();
    if state.id() != StateId::NONE || state.nodes.contains(&handle.local().id) {
        return state;
    }
    let mut alone = (*state).clone();
    alone.nodes.insert(handle.local().clone());
    Arc::new(alone)
}

/// How long a read waits for the master's word.
pub(super) fn patience(handle: &Handle, master_timeout: Duration) -> Duration {
    let has_master = handle.state().nodes.master.is_some();
    if has_master { master_timeout.max(CONFIRM_MIN) } else { master_timeout }
}

/// The newest committed state, or a later one.
pub(super) async fn confirmed(handle: &Handle, master_timeout: Duration) -> Result<Arc<ClusterState>, RestError> {
    let patience = patience(handle, master_timeout);
    let deadline = Instant::now() + patience;
    let question = Question::Read { query: Query::Newest, master_timeout: patience };
    let answer = handle.ask(question).await;
    let Answer::Newest { at } = answer else {
        return Err(answer.into());
    };
    let has_come = |state: &ClusterState| state.rank() >= at.rank() && state.nodes.master.is_some();
    loop {
        if let Some(state) = wait(handle, deadline.min(Instant::now() + ARRIVAL), has_come).await? {
            return Ok(state);
        }
        // A node that has no master got the answer through another one, and no state comes to it.
        if handle.state().nodes.master.is_none()
            && let Some(state) = applied::of_others(handle, at).await
        {
            return Ok(state);
        }
        if Instant::now() >= deadline {
            return Err(RestError::no_master());
        }
    }
}

/// The first state that fits, the newest one to begin with; none if the time is over before.
pub(super) async fn wait(
    handle: &Handle,
    deadline: Instant,
    mut fits: impl FnMut(&ClusterState) -> bool,
) -> Result<Option<Arc<ClusterState>>, RestError> {
    let mut states = handle.states();
    match tokio::time::timeout_at(deadline, states.wait_for(|state| fits(state))).await {
        Ok(Ok(state)) => Ok(Some(state.clone())),
        Ok(Err(_)) => Err(closed(handle)),
        Err(_) => Ok(None),
    }
}

/// As [`wait`], for what may come late or never. A node that is about to leave refuses to wait on: clients ask the next one.
pub(super) async fn wait_long(
    handle: &Handle,
    deadline: Instant,
    fits: impl FnMut(&ClusterState) -> bool,
) -> Result<Option<Arc<ClusterState>>, RestError> {
    let waiting = wait(handle, deadline, fits);
    let leaves = || RestError::no_master_because(closed(handle));
    // A node that ended by itself, as for its disk, is no other case for clients.
    handle.closing().run_until_cancelled(waiting).await.and_then(Result::ok).ok_or_else(leaves)
}

/// Whether who waits for what may come late has waited long enough.
pub(super) fn is_over(handle: &Handle, deadline: Instant) -> bool {
    Instant::now() >= deadline || handle.closing().is_cancelled()
}

/// The node ended while it was asked.
pub(super) fn closed(handle: &Handle) -> RestError {
    RestError::new(Kind::NodeClosed, format!("node closed {}", handle.local()))
}

/// The state that a request wants, once nothing blocks requests of this level.
pub(super) async fn wanted(call: &Call, level: Option<BlockLevel>) -> Result<Arc<ClusterState>, RestError> {
    let is_local = call.parameters.flag("local")?.unwrap_or(false);
    let timeout = call.parameters.time("master_timeout", MASTER_TIMEOUT)?;
    let deadline = Instant::now() + timeout;
    let state = if is_local { local(&call.handle) } else { confirmed(&call.handle, timeout).await? };
    match level {
        Some(level) => unblocked(&call.handle, state, level, deadline).await,
        None => Ok(state),
    }
}

/// Waits for blocks to go that may go by themselves, and is refused by the others.
async fn unblocked(
    handle: &Handle,
    state: Arc<ClusterState>,
    level: BlockLevel,
    deadline: Instant,
) -> Result<Arc<ClusterState>, RestError> {
    let is_decided = |state: &ClusterState| {
        let blocks = state.blocks.at(level);
        blocks.is_empty() || !blocks.is_retryable()
    };
    let state = if is_decided(&state) { Some(state) } else { wait(handle, deadline, is_decided).await? };
    let Some(state) = state else {
        return Err(RestError::no_master_because(RestError::blocked(&handle.state().blocks.at(level))));
    };
    let blocks = state.blocks.at(level);
    if blocks.is_empty() { Ok(state) } else { Err(RestError::blocked(&blocks)) }
}

/// Whether the cluster is not there for its users: it has no master, or did not get its state back yet.
pub(super) fn is_unavailable(state: &ClusterState) -> bool {
    state.blocks.iter().any(|block| block.status == 503)
}

/// The uuid of the cluster as users see it, even while there is none.
pub(super) fn cluster_uuid(state: &ClusterState) -> Json {
    state.cluster_uuid.map_or_else(|| "_na_".into(), |uuid| uuid.to_string().into())
}
