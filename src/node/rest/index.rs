//! `/{index}` and all that is refused: the metadata of indices, and why there are no documents.
//!
//! Whatever no other route understands comes here, as in Elasticsearch, so that a mistyped path gets an answer that says so.
//! Mirrors `RestGetIndicesAction` and, in its refusals, `RestIndexAction` (6.8).

use super::body::Json;
use super::empties::{DEFAULTS, INDEX, TYPES};
use super::error::{Kind, RestError};
use super::indices::{Options, bad_name, resolve};
use super::parameters::{Parameter, Parameters};
use super::reply::Reply;
use super::response_format::COMMON;
use super::route::Call;
use super::snapshot;
use super::state::{FLAT_SETTINGS, index_json, is_flat};
use crate::cluster::BlockLevel;

/// What the metadata of indices is asked for with, besides what all that is about indices understands.
pub(super) const PARAMETERS: &[Parameter] = &[INDEX, FLAT_SETTINGS, TYPES, DEFAULTS];

/// The metadata of the indices that are named.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let options = Options::read(&call.parameters, false)?;
    let is_flat = is_flat(&call.parameters);
    let state = snapshot::wanted(&call, Some(BlockLevel::MetadataRead)).await?;
    let names = call.parameters.list("index").unwrap_or_default();
    let found = resolve(&state, &names, options)?;
    let indices = found.iter().filter_map(|name| Some((name.as_str(), state.metadata.indices.get(name.as_str())?)));
    Ok(Reply::tree(Json::map(indices.map(|(name, index)| (name, index_json(index, is_flat))))))
}

/// What Elasticsearch understands beside a document that is read.
const READS: &[&str] = &[
    "_source",
    "_source_exclude",
    "_source_excludes",
    "_source_include",
    "_source_includes",
    "fields",
    "parent",
    "preference",
    "realtime",
    "refresh",
    "routing",
    "stored_fields",
    "version",
    "version_type",
];

/// The same beside one that is written or removed, and beside an index that is made.
const WRITES: &[&str] = &[
    "op_type",
    "parent",
    "pipeline",
    "refresh",
    "routing",
    "timeout",
    "version",
    "version_type",
    "wait_for_active_shards",
];
const REMOVES: &[&str] =
    &["parent", "refresh", "routing", "timeout", "version", "version_type", "wait_for_active_shards"];
const MAKES: &[&str] =
    &["include_type_name", "master_timeout", "timeout", "update_all_types", "wait_for_active_shards"];

/// Refuses what Elasticsearch does not understand where a path means a document, or an index that is to be made.
fn check_understood(method: &str, path: &str, has_type: bool, parameters: &Parameters) -> Result<(), RestError> {
    let own = match (method, has_type) {
        ("GET" | "HEAD", true) => READS,
        ("DELETE", true) => REMOVES,
        ("PUT" | "POST", true) => WRITES,
        ("PUT", false) => MAKES,
        _ => return Ok(()),
    };
    let common = COMMON.iter().map(|parameter| parameter.name);
    parameters.check_known((path, "refused_action"), &own.iter().copied().chain(common).collect())
}

/// What Elasticsearch says where a path that begins with a line under it is none of its own, and so about an index that
/// cannot be.
fn misspelt((method, path, has_body): Asked<'_>, index: &str, has_type: bool, parameters: &Parameters) -> RestError {
    let is_empty = matches!(method, "PUT" | "POST") && has_type && !has_body;
    if let Some(unknown) = check_understood(method, path, has_type, parameters).err().filter(|_| !is_empty) {
        return unknown;
    }
    match (method, has_type) {
        ("GET" | "HEAD" | "DELETE", true) => RestError::new(Kind::IndexNotFound, "no such index")
            .about("resource.type", "index_expression")
            .about("resource.id", index)
            .about("index_uuid", "_na_")
            .about("index", index),
        ("PUT" | "POST", true) if is_empty => RestError::new(Kind::ElasticsearchParse, "request body is required"),
        ("PUT" | "POST", true) | ("PUT", false) => {
            let reason = format!("Invalid index name [{index}], must not start with '_', '-', or '+'");
            RestError::new(Kind::InvalidIndexName, reason).about("index_uuid", "_na_").about("index", index)
        }
        _ => bad_name(index),
    }
}

/// The method and the path of a request, and whether it has a body.
pub(super) type Asked<'a> = (&'a str, &'a str, bool);

/// Why a request about documents, searches or changes of indices is not carried out: the same for all of them, but for a path
/// with nothing between two slashes, in which Elasticsearch misses the same.
pub(super) fn refusal(asked: Asked<'_>, captured: &[(&'static str, String)], parameters: &Parameters) -> RestError {
    let (method, path, has_body) = asked;
    let is_empty = |wanted: &str| captured.iter().any(|(name, piece)| *name == wanted && piece.is_empty());
    if is_empty("index") {
        return RestError::new(Kind::IndexNotFound, "no such index")
            .about("resource.type", "index_expression")
            .about("resource.id", "")
            .about("index_uuid", "_na_")
            .about("index", "");
    }
    if is_empty("type") {
        return RestError::asks_for_nothing("type is missing");
    }
    let find = |wanted: &str| captured.iter().find(|(name, _)| *name == wanted).map(|(_, piece)| piece.as_str());
    // Names that Elasticsearch captures on a way that leads nowhere, and finds that nobody asks for them.
    let quirks = [
        ("/_tasks/", "task_id"),
        ("/_cluster/nodes/", "nodeId"),
        ("/_stats/", "metric"),
        ("/_template/", "name"),
        ("/_alias/", "name"),
        ("/_aliases/", "name"),
        ("/_settings/", "name"),
    ];
    // A body that is missing is missed first.
    let is_read = has_body || !matches!(method, "PUT" | "POST");
    let strays = quirks.iter().find(|(begin, _)| is_read && path.starts_with(begin));
    if let Some((_, name)) = strays.filter(|_| find("id").is_some()) {
        return RestError::illegal(format!("request [{path}] contains unrecognized parameter: [{name}]"));
    }
    if let Some(index) = find("index").filter(|index| index.starts_with('_') && *index != "_all") {
        return misspelt(asked, index, find("type").is_some(), parameters);
    }
    RestError::new(
        Kind::UnsupportedOperation,
        format!(
            "[{method} {path}] is about {}, which Zazen does not have: it keeps the state of a cluster; allowed is what \
             docs/rest.md lists",
            subject(path)
        ),
    )
}

/// What a request is about that is refused.
fn subject(path: &str) -> &'static str {
    match path.split('/').nth(1) {
        Some("_ingest") => "pipelines of documents",
        Some("_scripts") => "scripts",
        Some("_snapshot") => "snapshots",
        Some(_) | None => "documents, searches or changes of indices",
    }
}
