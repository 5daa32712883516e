//! `/_cluster/health`: how the cluster is, and waiting until it is as wanted.
//!
//! Zazen places no shards, so every count of shards is zero and an index lacks nothing. What to wait for is told in
//! `health_wait`. Mirrors `ClusterHealthResponse`, `ClusterStateHealth` and `TransportClusterHealthAction` (6.8).

use super::body::Json;
use super::error::RestError;
use super::health_wait::Conditions;
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use super::time::human_time;
use crate::cluster::ClusterState;
use crate::runtime::Handle;
use crate::service::{Answer, PendingTask, Question};
use axum::http::StatusCode;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long to wait unless the request says so.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The colours, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    /// All is well.
    Green,
    /// A node whose vote counts is gone; of copies none are missing without shards.
    Yellow,
    /// The cluster, or an index that is asked for, is not there.
    Red,
}

impl Status {
    /// Its name in an answer.
    pub(super) fn name(self) -> &'static str {
        match self {
            Status::Green => "green",
            Status::Yellow => "yellow",
            Status::Red => "red",
        }
    }
}

/// How a cluster is.
pub(super) struct Health {
    pub(super) status: Status,
    pub(super) nodes: usize,
    pub(super) data_nodes: usize,
    pub(super) pending_tasks: usize,
    pub(super) longest_wait: Duration,
    is_unavailable: bool,
}

impl Health {
    /// The health of the whole cluster in this state.
    pub(super) async fn of(handle: &Handle, state: &Arc<ClusterState>) -> Health {
        let tasks = pending(handle).await;
        let longest_wait = tasks.iter().map(|task| task.time_in_queue_millis).max().unwrap_or(0);
        Health::with(handle, (tasks.len(), Duration::from_millis(longest_wait)), state)
    }

    /// The same as this node knows it, without asking anybody, not even its own core: only a master has a queue.
    fn of_local(handle: &Handle, state: &Arc<ClusterState>) -> Health {
        let (count, longest_wait) = handle.meter().instruments().queue();
        Health::with(handle, (usize::try_from(count).unwrap_or(usize::MAX), longest_wait), state)
    }

    fn with(handle: &Handle, (pending_tasks, longest_wait): (usize, Duration), state: &Arc<ClusterState>) -> Health {
        let is_unavailable = snapshot::is_unavailable(state);
        Health {
            status: status(handle, state),
            nodes: state.nodes.len(),
            data_nodes: handle.counts(state).data_nodes,
            pending_tasks,
            longest_wait,
            is_unavailable,
        }
    }

    /// Of no shards all are active, unless the cluster is not there. Elasticsearch divides by zero then, and typed clients
    /// fail on what it writes.
    pub(super) fn active_percent(&self) -> f64 {
        if self.is_unavailable { 0.0 } else { 100.0 }
    }

    fn json(&self, cluster: &str, is_timed_out: bool, is_human: bool) -> Json {
        let zero = || Json::from(0_u64);
        let wait = u64::try_from(self.longest_wait.as_millis()).unwrap_or(u64::MAX);
        let percent = self.active_percent();
        Json::object([
            ("cluster_name", cluster.into()),
            ("status", self.status.name().into()),
            ("timed_out", is_timed_out.into()),
            ("number_of_nodes", self.nodes.into()),
            ("number_of_data_nodes", self.data_nodes.into()),
            ("active_primary_shards", zero()),
            ("active_shards", zero()),
            ("relocating_shards", zero()),
            ("initializing_shards", zero()),
            ("unassigned_shards", zero()),
            ("delayed_unassigned_shards", zero()),
            ("number_of_pending_tasks", self.pending_tasks.into()),
            ("number_of_in_flight_fetch", zero()),
        ])
        .with_some("task_max_waiting_in_queue", is_human.then(|| human_time(self.longest_wait)))
        .with("task_max_waiting_in_queue_millis", wait)
        .with_some("active_shards_percent", is_human.then(|| format!("{percent:.1}%")))
        .with("active_shards_percent_as_number", percent)
    }
}

/// The colour of a cluster in this state.
pub(super) fn status(handle: &Handle, state: &Arc<ClusterState>) -> Status {
    if snapshot::is_unavailable(state) {
        Status::Red
    } else if handle.counts(state).lacks_voter && !handle.settings().rest.green_without_redundancy {
        Status::Yellow
    } else {
        Status::Green
    }
}

/// The tasks that wait, as the master has them; none while there is no master to ask.
pub(super) async fn pending(handle: &Handle) -> Vec<PendingTask> {
    let Answer::Pending(tasks) = handle.ask(Question::PendingTasks { master_timeout: Duration::ZERO }).await else {
        return Vec::new();
    };
    tasks
}

/// Answers when the cluster is as wanted, or says 408 and how it is when the time is over.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let conditions = Conditions::read(&call.parameters)?;
    let has_indices = matches!(call.parameters.text("level"), Some("indices" | "shards"));
    let is_local = call.parameters.flag("local")?.unwrap_or(false);
    let timeout = call.parameters.time("timeout", TIMEOUT)?;
    // Who gives the one time means it for all.
    let master_timeout = if call.parameters.text("timeout").is_some() { timeout } else { MASTER_TIMEOUT };
    let master_timeout = call.parameters.time("master_timeout", master_timeout)?;
    let deadline = Instant::now() + timeout;
    let first = match is_local {
        true => snapshot::local(&call.handle),
        false => snapshot::confirmed(&call.handle, master_timeout).await?,
    };
    conditions.check(&first)?;
    let (state, is_met) = conditions.wait(&call.handle, first, is_local, deadline).await?;
    let mut health = match is_local {
        true => Health::of_local(&call.handle, &state),
        false => Health::of(&call.handle, &state).await,
    };
    let indices = conditions.indices(&state);
    if indices.is_none() {
        health.status = Status::Red;
    }
    let body = health.json(state.cluster_name.as_str(), !is_met, call.is_human);
    let has_shards = call.parameters.text("level") == Some("shards");
    let indices = has_indices.then(|| indices_json(&indices.unwrap_or_default(), has_shards));
    let status = if is_met { StatusCode::OK } else { StatusCode::REQUEST_TIMEOUT };
    Ok(Reply::tree(body.with_some("indices", indices)).with_status(status))
}

/// An index without shards lacks none.
fn indices_json(names: &BTreeSet<String>, has_shards: bool) -> Json {
    let counts = [
        "number_of_shards",
        "number_of_replicas",
        "active_primary_shards",
        "active_shards",
        "relocating_shards",
        "initializing_shards",
        "unassigned_shards",
    ];
    let green = || Json::object([("status", Status::Green.name().into())]);
    let index = || counts.iter().fold(green(), |index, name| index.with(name, 0_u64));
    let shards = || has_shards.then(|| Json::object([]));
    Json::map(names.iter().map(|name| (name, index().with_some("shards", shards()))))
}
