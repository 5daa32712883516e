//! `/_cluster/allocation/explain`: why a shard is where it is. There are none, so there is nothing to explain.
//!
//! Mirrors `RestClusterAllocationExplainAction` and `ClusterAllocationExplainRequest` (6.8).

use super::error::{Kind, RestError};
use super::object::{self, Fields, Wanted, fields, unknown_field};
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use crate::cluster::BlockLevel;

/// What Elasticsearch calls the body.
const BODY: &str = "cluster/allocation/explain";

const fn flag(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values: Values::Flag, default: "false", doc }
}

/// What it understands.
pub(super) const PARAMETERS: &[Parameter] = &[
    flag("include_yes_decisions", "Understood, and without a meaning, as there are no shards."),
    flag("include_disk_info", "Understood, and without a meaning, as there are no shards."),
];

/// Says that there is no such shard, and that none is without a node.
pub(super) async fn explain(call: Call) -> Result<Reply, RestError> {
    let has_yes = call.parameters.flag("include_yes_decisions")?.unwrap_or(false);
    call.parameters.flag("include_disk_info")?;
    let index = index(&call)?;
    snapshot::wanted(&call, Some(BlockLevel::MetadataRead)).await?;
    match index {
        Some(index) => {
            Err(RestError::new(Kind::IndexNotFound, "no such index").about("index_uuid", "_na_").about("index", index))
        }
        None => Err(RestError::illegal(format!(
            "unable to find any unassigned shards to explain \
             [ClusterAllocationExplainRequest[useAnyUnassignedShard=true,includeYesDecisions?={has_yes}]"
        ))),
    }
}

/// The index of the shard that is meant, if one is.
fn index(call: &Call) -> Result<Option<String>, RestError> {
    let known = ["index", "shard", "primary", "current_node"];
    let Fields { text, fields } = fields(call, BODY)?;
    for (name, value) in object::in_order(&text, &fields) {
        let wanted = match name {
            "index" | "current_node" => Wanted::Text,
            "shard" => Wanted::Number,
            "primary" => Wanted::Flag,
            _ => return Err(unknown_field(&text, BODY, name)),
        };
        object::check(&text, BODY, name, value, wanted)?;
    }
    if fields.is_empty() {
        return Ok(None);
    }
    let missing: Vec<&str> = known[..3].iter().filter(|name| !fields.contains_key(**name)).copied().collect();
    if missing.is_empty() {
        return Ok(fields.get("index").map(|index| index.as_str().unwrap_or_default().to_owned()));
    }
    let missing = missing.iter().zip(1..).map(|(name, number)| format!("{number}: {name} must be specified;"));
    let reason = format!("Validation Failed: {}", missing.collect::<String>());
    Err(RestError::new(Kind::ActionRequestValidation, reason))
}
