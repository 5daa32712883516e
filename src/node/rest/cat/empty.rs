//! The tables that never have a row: about indices, and about what Elasticsearch keeps beside them.
//!
//! What is asked for is checked all the same, as in a cluster without indices. Mirrors the tables of `rest.action.cat` (6.8).

use crate::rest::column::{Column, Row};
use crate::rest::error::{Kind, RestError};
use crate::rest::indices::{Options, resolve};
use crate::rest::route::Call;
use crate::rest::snapshot;

/// There is no index that could tell anything here.
const IDLE: &str = "of indices, of which there are none";

pub(super) static ALIASES: [Column; 5] = [
    Column::new("alias", &["a"], "name of the alias").shown(),
    Column::new("index", &["i", "idx"], "the index that it stands for").shown(),
    Column::new("filter", &["f", "fi"], "whether it shows a part of it").shown(),
    Column::new("routing.index", &["ri", "routingIndex"], "where documents are stored").shown(),
    Column::new("routing.search", &["rs", "routingSearch"], "where documents are looked for").shown(),
];

pub(super) static TEMPLATES: [Column; 4] = [
    Column::new("name", &["n"], "name of the template").shown(),
    Column::new("index_patterns", &["t"], "the indices that it is for").shown(),
    Column::new("order", &["o"], "which of several goes first").shown(),
    Column::new("version", &["v"], "its version").shown(),
];

pub(super) static REPOSITORIES: [Column; 2] = [
    Column::new("id", &["id", "repoId"], "name of the repository").shown(),
    Column::new("type", &["t", "type"], "what kind of place it is").shown(),
];

pub(super) static FIELDDATA: [Column; 6] = [
    Column::new("id", &[], "id of the node").shown(),
    Column::new("host", &["h"], "host of the node").shown(),
    Column::new("ip", &[], "address of the node without the port").shown(),
    Column::new("node", &["n"], "name of the node").shown(),
    Column::new("field", &["f"], "name of the field").shown(),
    Column::new("size", &["s"], "memory that it takes").shown(),
];

#[rustfmt::skip]
pub(super) static SEGMENTS: [Column; 15] = [
    Column::new("index", &["i", "idx"], IDLE).shown(),
    Column::new("shard", &["s", "sh"], IDLE).shown(),
    Column::new("prirep", &["p", "pr", "primaryOrReplica"], IDLE).shown(),
    Column::new("ip", &[], IDLE).shown(),
    Column::new("id", &[], IDLE),
    Column::new("segment", &["seg"], IDLE).shown(),
    Column::new("generation", &["g", "gen"], IDLE).right().shown(),
    Column::new("docs.count", &["dc", "docsCount"], IDLE).right().shown(),
    Column::new("docs.deleted", &["dd", "docsDeleted"], IDLE).right().shown(),
    Column::new("size", &["si"], IDLE).right().shown(),
    Column::new("size.memory", &["sm", "sizeMemory"], IDLE).right().shown(),
    Column::new("committed", &["ic", "isCommitted"], IDLE).shown(),
    Column::new("searchable", &["is", "isSearchable"], IDLE).shown(),
    Column::new("version", &["v", "ver"], IDLE).shown(),
    Column::new("compound", &["ico", "isCompound"], IDLE).shown(),
];

#[rustfmt::skip]
pub(super) static RECOVERY: [Column; 22] = [
    Column::new("index", &["i", "idx"], IDLE).shown(),
    Column::new("shard", &["s", "sh"], IDLE).shown(),
    Column::new("time", &["t", "ti"], IDLE).shown(),
    Column::new("type", &["ty"], IDLE).shown(),
    Column::new("stage", &["st"], IDLE).shown(),
    Column::new("source_host", &["shost"], IDLE).shown(),
    Column::new("source_node", &["snode"], IDLE).shown(),
    Column::new("target_host", &["thost"], IDLE).shown(),
    Column::new("target_node", &["tnode"], IDLE).shown(),
    Column::new("repository", &["rep"], IDLE).shown(),
    Column::new("snapshot", &["snap"], IDLE).shown(),
    Column::new("files", &["f"], IDLE).shown(),
    Column::new("files_recovered", &["fr"], IDLE).shown(),
    Column::new("files_percent", &["fp"], IDLE).shown(),
    Column::new("files_total", &["tf"], IDLE).shown(),
    Column::new("bytes", &["b"], IDLE).shown(),
    Column::new("bytes_recovered", &["br"], IDLE).shown(),
    Column::new("bytes_percent", &["bp"], IDLE).shown(),
    Column::new("bytes_total", &["tb"], IDLE).shown(),
    Column::new("translog_ops", &["to"], IDLE).shown(),
    Column::new("translog_ops_recovered", &["tor"], IDLE).shown(),
    Column::new("translog_ops_percent", &["top"], IDLE).shown(),
];

/// The columns of snapshots.
pub(super) static SNAPSHOTS: [Column; 12] = [
    Column::new("id", &["id", "snapshot"], "name of the snapshot").shown(),
    Column::new("status", &["s", "status"], "how it ended").shown(),
    Column::new("start_epoch", &["ste", "startEpoch"], "when it began, in seconds since 1970").shown(),
    Column::new("start_time", &["sti", "startTime"], "when it began, time of day").shown(),
    Column::new("end_epoch", &["ete", "endEpoch"], "when it ended, in seconds since 1970").shown(),
    Column::new("end_time", &["eti", "endTime"], "when it ended, time of day").shown(),
    Column::new("duration", &["dur", "duration"], "how long it took").right().shown(),
    Column::new("indices", &["i", "indices"], "indices in it").right().shown(),
    Column::new("successful_shards", &["ss", "successful_shards"], "shards in it").right().shown(),
    Column::new("failed_shards", &["fs", "failed_shards"], "shards that are missing in it").right().shown(),
    Column::new("total_shards", &["ts", "total_shards"], "shards that there were").right().shown(),
    Column::new("reason", &["r", "reason"], "why shards are missing"),
];

/// Of indices that are named, none may be missing.
pub(super) async fn of_indices(call: Call) -> Result<Vec<Row>, RestError> {
    let state = snapshot::wanted(&call, None).await?;
    let names = call.parameters.list("index").unwrap_or_default();
    resolve(&state, &names, Options::read(&call.parameters, false)?)?;
    let health = call.parameters.text("health");
    match health.filter(|health| !["green", "yellow", "red"].contains(&health.to_ascii_lowercase().as_str())) {
        Some(health) => Err(RestError::illegal(format!("unknown cluster health status [{health}]"))),
        None => Ok(Vec::new()),
    }
}

/// The same where the node that is asked knows it by itself, with a master and without.
pub(super) async fn of_local_indices(call: Call) -> Result<Vec<Row>, RestError> {
    let state = snapshot::local(&call.handle);
    let names = call.parameters.list("index").unwrap_or_default();
    resolve(&state, &names, Options::read(&call.parameters, false)?)?;
    Ok(Vec::new())
}

/// The same of recoveries.
pub(super) async fn of_recoveries(call: Call) -> Result<Vec<Row>, RestError> {
    for name in ["active_only", "detailed"] {
        call.parameters.flag(name)?;
    }
    of_local_indices(call).await
}

/// What the state would tell.
pub(super) async fn of_state(call: Call) -> Result<Vec<Row>, RestError> {
    snapshot::wanted(&call, None).await?;
    Ok(Vec::new())
}

/// There is no repository, so no snapshot.
pub(super) async fn of_repository(call: Call) -> Result<Vec<Row>, RestError> {
    call.parameters.flag("ignore_unavailable")?;
    call.parameters.time("master_timeout", snapshot::MASTER_TIMEOUT)?;
    let Some(repository) = call.parameters.text("repository") else {
        return Err(RestError::asks_for_nothing("repository is missing"));
    };
    let missing = RestError::new(Kind::RepositoryMissing, format!("[{repository}] missing"));
    snapshot::wanted(&call, None).await?;
    Err(missing)
}
