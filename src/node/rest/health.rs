//! How the cluster is.
//!
//! Zazen places no shards, so every count of shards is zero. Waiting until the cluster is as wanted is told in `health_wait`.
//! Mirrors `ClusterHealthResponse` and `ClusterStateHealth` (6.8).

use super::body::Json;
use super::snapshot;
use super::time::human_time;
use crate::cluster::ClusterState;
use crate::runtime::Handle;
use crate::service::{Answer, PendingTask, Question};
use std::sync::Arc;
use std::time::Duration;

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
    pub(super) fn of_local(handle: &Handle, state: &Arc<ClusterState>) -> Health {
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

    /// As users read it.
    pub(super) fn json(&self, cluster: &str, is_timed_out: bool, is_human: bool) -> Json {
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
