//! What a cluster without indices answers where its indices are asked for: nothing, in the shape that clients read.
//!
//! Names are looked at all the same: one that is given without a pattern is missing. Mirrors the read side of
//! `rest.action.admin.indices`, `rest.action.search` and their kin (6.8).

use super::body::Json;
use super::error::{Kind, RestError};
use super::indices::{Options, resolve};
use super::parameters::{Parameter, Values, unrecognized};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use crate::cluster::{BlockLevel, ClusterState};
use axum::http::StatusCode;
use std::time::Duration;
use tokio::time::Instant;

/// How long a master that has gone is waited for where nothing says how long.
const MASTER_CHANGE: Duration = Duration::from_secs(1);

const fn parameter(name: &'static str, values: Values, doc: &'static str) -> Parameter {
    Parameter { name, values, default: "none", doc }
}

/// Understood where indices are asked for, and without a meaning without any.
pub(super) const fn idle(name: &'static str) -> Parameter {
    idle_as(name, Values::Text)
}

/// The same, of which only values of one kind are understood.
pub(super) const fn idle_as(name: &'static str, values: Values) -> Parameter {
    parameter(name, values, "Understood, and without a meaning, as there are no indices.")
}

/// Which indices.
pub(super) const INDEX: Parameter = Parameter {
    name: "index",
    values: Values::List,
    default: "all",
    doc: "The names of indices, or patterns of names.",
};

/// Which type.
pub(super) const TYPE: Parameter = parameter("type", Values::List, "A type of documents.");

/// Which one of what has names.
pub(super) const NAME: Parameter =
    Parameter { name: "name", values: Values::List, default: "all", doc: "Names, or patterns of names." };

/// What is asked for with types in it or without.
pub(super) const TYPES: Parameter = parameter(
    "include_type_name",
    Values::Flag,
    "Whether types are named; without it the answer warns of their removal.",
);

/// What is understood besides.
pub(super) const DEFAULTS: Parameter = idle_as("include_defaults", Values::Flag);

/// The fields that are meant.
pub(super) const FIELD: Parameter = parameter("fields", Values::List, "The names of fields.");

/// The repository that is meant.
pub(super) const REPOSITORY: Parameter = parameter("repository", Values::List, "The names of repositories.");

/// The snapshot that is meant.
pub(super) const SNAPSHOT: Parameter = parameter("snapshot", Values::List, "The names of snapshots.");

/// Whether what is missing is passed over.
pub(super) const IGNORED: Parameter =
    parameter("ignore_unavailable", Values::Flag, "Understood, and without a meaning, as there are no snapshots.");

/// How much is told of snapshots.
pub(super) const VERBOSE: Parameter =
    parameter("verbose", Values::Flag, "Understood, and without a meaning, as there are no snapshots.");

/// Which one of what has an id.
pub(super) const ID: Parameter = parameter("id", Values::Text, "Its id.");

/// What statistics are asked for with.
pub(super) const STATS: &[Parameter] = &[
    Parameter {
        name: "metric",
        values: Values::List,
        default: "_all",
        doc: "The parts that are wanted, as `index_metric` under `/_nodes/stats`.",
    },
    Parameter {
        name: "level",
        values: Values::Text,
        default: "indices",
        doc: "In which detail they are told: `cluster`, `indices` or `shards`.",
    },
    idle("groups"),
    idle("types"),
    idle("fields"),
    idle("completion_fields"),
    idle("fielddata_fields"),
    idle_as("include_segment_file_sizes", Values::Flag),
];

/// What recoveries are asked for with.
pub(super) const RECOVERY: &[Parameter] = &[idle_as("active_only", Values::Flag), idle_as("detailed", Values::Flag)];

/// What a search would go by.
pub(super) const SHARDS: &[Parameter] = &[idle("routing"), idle("preference")];

/// What segments are asked for with.
pub(super) const SEGMENTS: &[Parameter] = &[idle_as("verbose", Values::Flag)];

/// What shards are asked for with.
pub(super) const STORES: &[Parameter] = &[parameter(
    "status",
    Values::List,
    "How shards are that are wanted: `green`, `yellow`, `red` or `all`; there are none.",
)];

/// What is asked for where all is to be written to disks.
pub(super) const FLUSH: &[Parameter] = &[idle_as("force", Values::Flag), idle_as("wait_if_ongoing", Values::Flag)];

/// What is asked for where segments are to be merged.
pub(super) const MERGE: &[Parameter] = &[
    idle_as("max_num_segments", Values::Number),
    idle_as("only_expunge_deletes", Values::Flag),
    idle_as("flush", Values::Flag),
];

/// What is asked for where caches are to be cleared.
pub(super) const CACHES: &[Parameter] = &[
    idle_as("query", Values::Flag),
    idle_as("fielddata", Values::Flag),
    idle_as("field_data", Values::Flag),
    idle_as("request", Values::Flag),
    idle_as("request_cache", Values::Flag),
    idle("fields"),
];

/// What is asked for where indices are to be written anew.
pub(super) const UPGRADE: &[Parameter] =
    &[idle_as("only_ancient_segments", Values::Flag), idle_as("wait_for_completion", Values::Flag)];

/// Understood by routes whose own readers say what is wrong with them.
const READ_ELSEWHERE: [&str; 5] =
    ["ignore_unavailable", "allow_no_indices", "ignore_throttled", "flat_settings", "include_type_name"];

/// Refuses values that are not of the kind that is wanted.
pub(super) fn check_kinds(call: &Call, groups: &[&[Parameter]]) -> Result<(), RestError> {
    let parameters = groups.iter().flat_map(|group| group.iter());
    for parameter in parameters.filter(|parameter| !READ_ELSEWHERE.contains(&parameter.name)) {
        match parameter.values {
            Values::Flag => call.parameters.flag(parameter.name).map(drop)?,
            Values::Number => call.parameters.int(parameter.name).map(drop)?,
            Values::Time => call.parameters.time(parameter.name, Duration::ZERO).map(drop)?,
            Values::Text | Values::List => {}
        }
    }
    Ok(())
}

/// What is about fields and segments, with the parts of which any reads it.
const READ_BY: [(&str, &[&str]); 4] = [
    ("completion_fields", &["completion"]),
    ("fielddata_fields", &["fielddata"]),
    ("fields", &["completion", "fielddata"]),
    ("include_segment_file_sizes", &["segments"]),
];

/// Refuses what nobody reads, as the parts that do are not wanted.
fn check_unread(call: &Call, metrics: &[&str]) -> Result<(), RestError> {
    let is_all = matches!(metrics, [] | ["_all"]);
    let is_wanted = |parts: &[&str]| is_all || parts.iter().any(|part| metrics.contains(part));
    let unread = READ_BY.iter().filter(|(_, parts)| !is_wanted(parts)).map(|(name, _)| *name);
    let given: Vec<&str> = unread.filter(|name| call.parameters.text(name).is_some()).collect();
    if given.is_empty() {
        return Ok(());
    }
    let known = ["level", "groups", "types", "metric", "index", "expand_wildcards", "ignore_unavailable"];
    Err(unrecognized(&call.path, "parameter", &given, &known.into()))
}

/// The parts that `_stats` can be asked for.
const METRICS: [&str; 18] = [
    "_all",
    "completion",
    "docs",
    "fielddata",
    "flush",
    "get",
    "indexing",
    "merge",
    "query_cache",
    "recovery",
    "refresh",
    "request_cache",
    "search",
    "segments",
    "store",
    "suggest",
    "translog",
    "warmer",
];

fn nothing() -> Json {
    Json::object([])
}

/// How many shards took part.
fn no_shards() -> Json {
    Json::object(["total", "successful", "failed"].map(|name| (name, 0_u64.into())))
}

/// Refuses names that are missing, by what the node that is asked knows.
pub(super) fn check_names(call: &Call) -> Result<(), RestError> {
    let names = call.parameters.list("index").unwrap_or_default();
    resolve(&snapshot::local(&call.handle), &names, Options::read(&call.parameters, false)?).map(drop)
}

/// The same, once there is a master to ask or `local=true`.
async fn check_names_by_master(call: &Call) -> Result<(), RestError> {
    let state = snapshot::wanted(call, None).await?;
    let names = call.parameters.list("index").unwrap_or_default();
    resolve(&state, &names, Options::read(&call.parameters, false)?).map(drop)
}

/// Statistics of indices.
pub(super) async fn stats(call: Call) -> Result<Reply, RestError> {
    let metrics = call.parameters.words("metric").unwrap_or_default();
    let unknown: Vec<&str> = metrics.iter().filter(|metric| !METRICS.contains(metric)).copied().collect();
    if !unknown.is_empty() {
        return Err(unrecognized(&call.path, "metric", &unknown, &METRICS.into()));
    }
    if metrics.len() > 1 && metrics.contains(&"_all") {
        let given = metrics.join(",");
        return Err(RestError::illegal(format!(
            "request [{}] contains _all and individual metrics [{given}]",
            call.path
        )));
    }
    let level = call.parameters.text("level").unwrap_or("indices");
    if !["cluster", "indices", "shards"].contains(&level) {
        let allowed = "level parameter must be one of [cluster] or [indices] or [shards]";
        return Err(RestError::illegal(format!("{allowed} but was [{level}]")));
    }
    check_unread(&call, &metrics)?;
    check_names(&call)?;
    let all = Json::object([("primaries", nothing()), ("total", nothing())]);
    let body = Json::object([("_shards", no_shards()), ("_all", all)]);
    let reply = Reply::tree(if level == "cluster" { body } else { body.with("indices", nothing()) });
    Ok(match metrics.contains(&"suggest") {
        true => {
            reply.with_warning(&format!("the suggest metric is deprecated on the indices stats API [{}]", call.target))
        }
        false => reply,
    })
}

/// Segments of shards.
pub(super) async fn segments(call: Call) -> Result<Reply, RestError> {
    check_names(&call)?;
    Ok(Reply::tree(Json::object([("_shards", no_shards()), ("indices", nothing())])))
}

/// Where copies of shards lie.
pub(super) async fn shard_stores(call: Call) -> Result<Reply, RestError> {
    let wanted = call.parameters.list("status").unwrap_or_default();
    let known = ["all", "green", "red", "yellow"];
    if let Some(strange) = wanted.iter().find(|status| !known.contains(&status.to_ascii_lowercase().as_str())) {
        return Err(RestError::illegal(format!("unknown cluster health status [{strange}]")));
    }
    check_names_by_master(&call).await?;
    Ok(Reply::tree(Json::object([("indices", nothing())])))
}

/// How shards came to their nodes.
pub(super) async fn recoveries(call: Call) -> Result<Reply, RestError> {
    check_names(&call)?;
    Ok(Reply::tree(nothing()))
}

/// What is told of each index by its name.
pub(super) async fn by_index(call: Call) -> Result<Reply, RestError> {
    check_names_by_master(&call).await?;
    Ok(Reply::tree(nothing()))
}

/// The settings of indices.
pub(super) async fn settings(call: Call) -> Result<Reply, RestError> {
    call.parameters.flag("flat_settings")?;
    by_index(call).await
}

/// What shards would do at once.
pub(super) async fn broadcast(call: Call) -> Result<Reply, RestError> {
    check_names(&call)?;
    Ok(Reply::tree(Json::object([("_shards", no_shards())])))
}

/// The same of what Elasticsearch refuses while changes are blocked.
pub(super) async fn broadcast_unless_blocked(call: Call) -> Result<Reply, RestError> {
    check_blocks(&call).await?;
    broadcast(call).await
}

/// Elasticsearch refuses at once; a master that only changes is waited for.
async fn check_blocks(call: &Call) -> Result<(), RestError> {
    let blocks = |state: &ClusterState| state.blocks.at(BlockLevel::MetadataWrite);
    let is_decided = |state: &ClusterState| blocks(state).is_empty() || !blocks(state).is_retryable();
    snapshot::wait(&call.handle, Instant::now() + MASTER_CHANGE, is_decided).await?;
    let blocks = blocks(&snapshot::local(&call.handle));
    if blocks.is_empty() { Ok(()) } else { Err(RestError::blocked(&blocks)) }
}

/// Which indices were written anew: none.
pub(super) async fn upgraded(call: Call) -> Result<Reply, RestError> {
    check_blocks(&call).await?;
    check_names(&call)?;
    Ok(Reply::tree(Json::object([("_shards", no_shards()), ("upgraded_indices", nothing())])))
}

/// The shards that a search would go to: none. Whoever names an index that there is not, is told the same.
pub(super) async fn search_shards(call: Call) -> Result<Reply, RestError> {
    let options = Options::read(&call.parameters, true)?;
    let state = snapshot::wanted(&call, None).await?;
    resolve(&state, &call.parameters.list("index").unwrap_or_default(), options)?;
    Ok(Reply::tree(Json::object([("nodes", nothing()), ("indices", nothing()), ("shards", Json::List(Vec::new()))])))
}

/// How much has to be written anew for a newer release.
pub(super) async fn upgrade(call: Call) -> Result<Reply, RestError> {
    check_names(&call)?;
    let sizes = ["size_in_bytes", "size_to_upgrade_in_bytes", "size_to_upgrade_ancient_in_bytes"];
    Ok(Reply::tree(Json::object(sizes.map(|name| (name, 0_u64.into()))).with("indices", nothing())))
}

/// Aliases; one that is named without a pattern is missing.
pub(super) async fn aliases(call: Call) -> Result<Reply, RestError> {
    check_names_by_master(&call).await?;
    let named = call.parameters.list("name").unwrap_or_default();
    let mut missing: Vec<&str> = named.into_iter().filter(|name| *name != "_all" && !name.contains('*')).collect();
    missing.sort_unstable();
    if missing.is_empty() {
        return Ok(Reply::tree(nothing()));
    }
    let plural = if missing.len() == 1 { "" } else { "es" };
    let text = format!("alias{plural} [{}] missing", missing.join(","));
    Ok(Reply::simple_error(StatusCode::NOT_FOUND, text))
}

/// Templates; what is named is missing.
pub(super) async fn templates(call: Call) -> Result<Reply, RestError> {
    snapshot::wanted(&call, None).await?;
    let is_missing = call.parameters.text("name").is_some_and(|names| !names.is_empty());
    let status = if is_missing { StatusCode::NOT_FOUND } else { StatusCode::OK };
    Ok(Reply::tree(nothing()).with_status(status))
}

/// Mappings; a type that is named is missing.
pub(super) async fn mappings(call: Call) -> Result<Reply, RestError> {
    let has_types = call.parameters.flag("include_type_name")?.unwrap_or(true);
    let kind = call.parameters.text("type").filter(|kind| !matches!(*kind, "" | "_all" | "*"));
    if kind.is_some() && !has_types {
        let reason = "Types cannot be provided in get mapping requests, unless include_type_name is set to true.";
        return Err(RestError::illegal(reason));
    }
    check_names_by_master(&call).await?;
    match kind {
        None => Ok(Reply::tree(nothing())),
        Some(kind) => {
            let error = RestError::new(Kind::TypeMissing, format!("type[[{kind}]] missing"));
            Err(error.about("index_uuid", "_na_").about("index", "_all"))
        }
    }
}

/// Mappings of fields, which are missing.
pub(super) async fn fields(call: Call) -> Result<Reply, RestError> {
    call.parameters.flag("include_type_name")?;
    check_names(&call)?;
    Ok(Reply::tree(nothing()).with_status(StatusCode::NOT_FOUND))
}

/// Repositories and their snapshots; what is named is missing, and a pattern is no name of one.
pub(super) async fn repositories(call: Call) -> Result<Reply, RestError> {
    call.parameters.flag("ignore_unavailable")?;
    snapshot::wanted(&call, None).await?;
    let named = call.parameters.list("repository").unwrap_or_default();
    let missing = named.iter().find(|name| **name != "_all");
    match missing {
        Some(name) => Err(RestError::new(Kind::RepositoryMissing, format!("[{name}] missing"))),
        None => Ok(Reply::tree(nothing())),
    }
}

/// Snapshots of a repository, which is missing by whatever name: patterns are none here.
pub(super) async fn snapshots(call: Call) -> Result<Reply, RestError> {
    call.parameters.flag("ignore_unavailable")?;
    snapshot::wanted(&call, None).await?;
    let name = call.parameters.text("repository").unwrap_or_default();
    Err(RestError::new(Kind::RepositoryMissing, format!("[{name}] missing")))
}

/// Snapshots that are being taken.
pub(super) async fn snapshot_status(call: Call) -> Result<Reply, RestError> {
    call.parameters.flag("ignore_unavailable")?;
    snapshot::wanted(&call, None).await?;
    Ok(Reply::tree(Json::object([("snapshots", Json::List(Vec::new()))])))
}

/// Pipelines, of which none is found.
pub(super) async fn pipelines(call: Call) -> Result<Reply, RestError> {
    snapshot::wanted(&call, None).await?;
    Ok(Reply::tree(nothing()).with_status(StatusCode::NOT_FOUND))
}

/// A script, which is not found.
pub(super) async fn script(call: Call) -> Result<Reply, RestError> {
    snapshot::wanted(&call, None).await?;
    let id = call.parameters.text("id").unwrap_or_default();
    let body = Json::object([("_id", id.into()), ("found", false.into())]);
    Ok(Reply::tree(body).with_status(StatusCode::NOT_FOUND))
}
