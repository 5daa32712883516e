//! `/_cat/tasks`: the requests that nodes are answering.

use super::node_row::{port, short};
use crate::cluster::Node;
use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::nodes::TIMEOUT;
use crate::rest::route::Call;
use crate::rest::snapshot;
use crate::rest::tasks::asked;
use crate::rest::time::clock;
use crate::runtime::tasks::Task;
use std::time::Duration;

pub(super) static COLUMNS: [Column; 14] = [
    Column::new("id", &[], "number of the task"),
    Column::new("action", &["ac"], "what it does").shown(),
    Column::new("task_id", &["ti"], "node and number of the task").shown(),
    Column::new("parent_task_id", &["pti"], "the task that it is a part of").shown(),
    Column::new("type", &["ty"], "how it came").shown(),
    Column::new("start_time", &["start"], "when it began, in milliseconds since 1970").shown(),
    Column::new("timestamp", &["ts", "hms", "hhmmss"], "when it began, time of day in UTC").shown(),
    Column::new("running_time_ns", &["time"], "how long it has been running, in nanoseconds"),
    Column::new("running_time", &["time"], "how long it has been running").shown(),
    Column::new("node_id", &["ni"], "id of the node"),
    Column::new("ip", &["i"], "address of the node without the port").shown(),
    Column::new("port", &["po"], "port of the node for other nodes"),
    Column::new("node", &["n"], "name of the node").shown(),
    Column::new("version", &["v"], "release of Elasticsearch that the node stands for"),
];

/// A row for each task of each node that answers.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    call.parameters.flag("detailed")?;
    let state = snapshot::local(&call.handle);
    let asked = asked(&call, state.nodes.iter().cloned().collect(), TIMEOUT).await;
    let told = asked.iter().filter_map(|(node, told)| Some((node, told.as_ref().ok()?)));
    Ok(told.flat_map(|(node, told)| told.tasks.iter().map(|task| row(node, task))).collect())
}

fn row(node: &Node, task: &Task) -> Row {
    vec![
        Cell::Count(task.id),
        Cell::text(task.action.as_str()),
        Cell::text(format!("{}:{}", node.id.as_str(), task.id)),
        Cell::text(task.parent.as_deref().unwrap_or("-")),
        Cell::text(task.kind.as_str()),
        Cell::Count(task.began_millis),
        Cell::text(clock(task.began_millis / 1_000)),
        Cell::Count(task.running_nanos),
        Cell::Time(Duration::from_nanos(task.running_nanos)),
        Cell::text(short(node.id.as_str())),
        Cell::text(node.host()),
        port(node),
        Cell::text(&*node.name),
        Cell::text(&*node.version),
    ]
}
