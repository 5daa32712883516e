//! `/_cluster/pending_tasks`: what waits for the master, and what it is at.
//!
//! Mirrors `TransportPendingClusterTasksAction` and `PendingClusterTasksResponse` (6.8).

use super::body::Json;
use super::error::RestError;
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
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
    snapshot::wanted(call, Some(BlockLevel::MetadataRead)).await?;
    let answer = call.handle.ask(Question::PendingTasks).await;
    if let Answer::Pending(tasks) = answer {
        return Ok(tasks);
    }
    // The queue of a node that does not lead is empty.
    if is_local && answer == Answer::NotMaster { Ok(Vec::new()) } else { Err(answer.into()) }
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
