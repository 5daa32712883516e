//! `/_zazen/history`: what became of the cluster, as the node that is asked saw it.
//!
//! What is recorded is decided in `runtime::events`. Elasticsearch 6.8 has nothing like it.

use super::body::Json;
use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use crate::runtime::events::ENTRIES_MAX;

/// What can be said.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "since",
        values: Values::Number,
        default: "none",
        doc: "Only what has a greater `sequence` than this.",
    },
    Parameter { name: "size", values: Values::Number, default: "1000", doc: "How many at most: the newest ones." },
];

/// The transitions.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let since = call.parameters.number("since")?;
    let size = call.parameters.number("size")?.and_then(|size| usize::try_from(size).ok()).unwrap_or(ENTRIES_MAX);
    let (events, local) = (call.handle.events(), call.handle.local());
    let entries = serde_json::to_value(events.since(since, size.min(ENTRIES_MAX)));
    let entries = entries.map_err(|error| RestError::new(Kind::IllegalState, error.to_string()))?;
    let (total, last) = events.extent();
    Ok(Reply::tree(Json::object([
        ("cluster_name", call.handle.settings().cluster_name.as_str().into()),
        ("node", Json::object([("id", local.id.as_str().into()), ("name", (&*local.name).into())])),
        ("total", total.into()),
        ("last", last.into()),
        ("entries", (&entries).into()),
    ])))
}
