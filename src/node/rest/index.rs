//! `/{index}` and all that is refused: the metadata of indices, and why there are no documents.
//!
//! Whatever no other route understands comes here, as in Elasticsearch, so that a mistyped path gets an answer that says so.
//! Mirrors `RestGetIndicesAction` and, in its refusals, `RestIndexAction` (6.8).

use super::body::Json;
use super::empties::{DEFAULTS, INDEX, TYPES};
use super::error::{Kind, RestError};
use super::indices::{Options, bad_name, resolve};
use super::parameters::Parameter;
use super::reply::Reply;
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

/// What Elasticsearch says where a path that begins with a line under it is none of its own, and so about an index that
/// cannot be.
fn misspelt(method: &str, index: &str, has_type: bool, has_body: bool) -> RestError {
    match (method, has_type) {
        ("GET" | "HEAD" | "DELETE", true) => RestError::new(Kind::IndexNotFound, "no such index")
            .about("resource.type", "index_expression")
            .about("resource.id", index)
            .about("index_uuid", "_na_")
            .about("index", index),
        ("PUT" | "POST", true) if !has_body => RestError::new(Kind::ElasticsearchParse, "request body is required"),
        ("PUT" | "POST", true) | ("PUT", false) => {
            let reason = format!("Invalid index name [{index}], must not start with '_', '-', or '+'");
            RestError::new(Kind::InvalidIndexName, reason).about("index_uuid", "_na_").about("index", index)
        }
        _ => bad_name(index),
    }
}

/// Why a request about documents, searches or changes of indices is not carried out: the same for all of them, but for a path
/// with nothing between two slashes, in which Elasticsearch misses the same.
pub(super) fn refusal(method: &str, path: &str, captured: &[(&'static str, String)], has_body: bool) -> RestError {
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
    let strays = quirks.iter().find(|(begin, _)| method == "GET" && path.starts_with(begin));
    if let Some((_, name)) = strays.filter(|_| find("id").is_some()) {
        return RestError::illegal(format!("request [{path}] contains unrecognized parameter: [{name}]"));
    }
    if let Some(index) = find("index").filter(|index| index.starts_with('_') && *index != "_all") {
        return misspelt(method, index, find("type").is_some(), has_body);
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
