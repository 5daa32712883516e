//! `/{index}` and all that is refused: the metadata of indices, and why there are no documents.
//!
//! Whatever no other route understands comes here, as in Elasticsearch, so that a mistyped path gets an answer that says so.
//! Mirrors `RestGetIndicesAction` and, in its refusals, `RestIndexAction` (6.8).

use super::body::Json;
use super::empties::{DEFAULTS, INDEX, TYPES};
use super::error::{Kind, RestError};
use super::indices::{Options, resolve};
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

/// Why a request about documents, searches or changes of indices is not carried out: the same for all of them, but for a path
/// with nothing between two slashes, in which Elasticsearch misses the same.
pub(super) fn refusal(method: &str, path: &str, captured: &[(&'static str, String)]) -> RestError {
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
    RestError::new(
        Kind::UnsupportedOperation,
        format!(
            "[{method} {path}] is about documents, searches or changes of indices, which Zazen does not have: it keeps the \
             state of a cluster; allowed is what docs/rest.md lists"
        ),
    )
}
