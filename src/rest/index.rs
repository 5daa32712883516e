//! `/{index}` and `/{index}/{type}`: the metadata of indices, and why there are no documents.
//!
//! Whatever no other route understands comes here, as in Elasticsearch, so that a mistyped path gets the same answer.
//! Mirrors `RestGetIndicesAction` and, in its refusals, `RestIndexAction` (6.8).

use super::body::Json;
use super::error::RestError;
use super::indices::{Options, bad_name, resolve};
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::{Answering, Call};
use super::snapshot;
use super::state::{FLAT_SETTINGS, index_json, is_flat};
use crate::cluster::BlockLevel;

const INDEX: Parameter = Parameter {
    name: "index",
    values: Values::List,
    default: "all",
    doc: "The names of indices, or patterns of names.",
};

/// What the metadata of indices is asked for with, besides what all that is about indices understands.
pub(super) const PARAMETERS: &[Parameter] = &[INDEX, FLAT_SETTINGS];

/// Where a document would lie.
pub(super) const DOCUMENT: &[Parameter] =
    &[INDEX, Parameter { name: "type", values: Values::Text, default: "none", doc: "The type of a document." }];

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

/// No document is ever taken.
pub(super) fn refuse(call: Call) -> Answering<Reply> {
    let index = call.parameters.text("index").unwrap_or_default();
    let error = if index.starts_with('_') {
        bad_name(index)
    } else {
        RestError::illegal(format!(
            "cannot store a document in [{index}]: Zazen keeps the state of a cluster and no documents"
        ))
    };
    Box::pin(async { Err(error) })
}
