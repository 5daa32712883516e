//! `/_cat/health`: the health of the cluster in one row.

use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::health::Health;
use crate::rest::route::Call;
use crate::rest::snapshot::{self, MASTER_TIMEOUT};
use crate::rest::time::{clock, since_1970};
use std::time::Duration;

pub(super) static COLUMNS: [Column; 14] = [
    Column::new("epoch", &["t", "time"], "seconds since 1970-01-01 00:00:00").shown(),
    Column::new("timestamp", &["ts", "hms", "hhmmss"], "time of day in UTC, HH:MM:SS").shown(),
    Column::new("cluster", &["cl"], "name of the cluster").shown(),
    Column::new("status", &["st"], "green, yellow or red").shown(),
    Column::new("node.total", &["nt", "nodeTotal"], "how many nodes there are").right().shown(),
    Column::new("node.data", &["nd", "nodeData"], "how many of them hold data").right().shown(),
    Column::new("shards", &["t", "sh", "shards.total", "shardsTotal"], "how many shards are active").right().shown(),
    Column::new("pri", &["p", "shards.primary", "shardsPrimary"], "how many of them are primaries").right().shown(),
    Column::new("relo", &["r", "shards.relocating", "shardsRelocating"], "how many shards move").right().shown(),
    Column::new("init", &["i", "shards.initializing", "shardsInitializing"], "how many shards start").right().shown(),
    Column::new("unassign", &["u", "shards.unassigned", "shardsUnassigned"], "how many shards have no node")
        .right()
        .shown(),
    Column::new("pending_tasks", &["pt", "pendingTasks"], "how many tasks wait for the master").right().shown(),
    Column::new("max_task_wait_time", &["mtwt", "maxTaskWaitTime"], "how long the oldest of them waits")
        .right()
        .shown(),
    Column::new("active_shards_percent", &["asp", "activeShardsPercent"], "how many of all shards are active")
        .right()
        .shown(),
];

/// One row, as the master sees it.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let state = snapshot::confirmed(&call.handle, MASTER_TIMEOUT).await?;
    let health = Health::of(&call.handle, &state).await;
    let seconds = since_1970().as_secs();
    let wait = match health.longest_wait {
        Duration::ZERO => Cell::text("-"),
        wait => Cell::Time(wait),
    };
    let none = || Cell::Count(0);
    Ok(vec![vec![
        Cell::Count(seconds),
        Cell::text(clock(seconds)),
        Cell::text(state.cluster_name.as_str()),
        Cell::text(health.status.name()),
        Cell::Count(health.nodes as u64),
        Cell::Count(health.data_nodes as u64),
        none(),
        none(),
        none(),
        none(),
        none(),
        Cell::Count(health.pending_tasks as u64),
        wait,
        Cell::text(format!("{:.1}%", health.active_percent())),
    ]])
}
