//! `/_cluster/pending_tasks`: what waits for the master, and what it is at.
//!
//! Mirrors `TransportPendingClusterTasksAction` and `PendingClusterTasksResponse` (6.8).

use super::body::Json;
use super::error::RestError;
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use super::time::human_time;
use crate::cluster::BlockLevel;
use crate::service::{Answer, PendingTask, Question};
use std::time::Duration;

/// How long a task has been waiting.
pub(super) fn age(task: &PendingTask) -> Duration {
    Duration::from_millis(task.time_in_queue_millis)
}

/// The tasks, in the order in which they are carried out.
pub(super) async fn tasks(call: &Call) -> Result<Vec<PendingTask>, RestError> {
    let is_local = call.parameters.flag("local")?.unwrap_or(false);
    let state = snapshot::wanted(call, Some(BlockLevel::MetadataRead)).await?;
    if is_local && state.nodes.master.as_ref() != Some(&call.handle.local().id) {
        // The queue of a node that does not lead is empty.
        return Ok(Vec::new());
    }
    let master_timeout = call.parameters.time("master_timeout", MASTER_TIMEOUT)?;
    let answer = call.handle.ask(Question::PendingTasks { master_timeout }).await;
    let Answer::Pending(tasks) = answer else {
        return Err(answer.into());
    };
    Ok(tasks)
}

/// The tasks as a tree.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let task = |task: PendingTask| {
        Json::object([
            ("insert_order", task.insert_order.into()),
            ("priority", task.priority.to_string().into()),
            ("source", task.source.as_str().into()),
            ("executing", task.executing.into()),
            ("time_in_queue_millis", task.time_in_queue_millis.into()),
            ("time_in_queue", human_time(age(&task)).into()),
        ])
    };
    Ok(Reply::tree(Json::object([("tasks", tasks(&call).await?.into_iter().map(task).collect())])))
}
