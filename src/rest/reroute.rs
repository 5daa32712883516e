//! `POST /_cluster/reroute`: moves shards, of which there are none.
//!
//! Mirrors `RestClusterRerouteAction` and `AllocationCommands` (6.8).

use super::body::Json;
use super::error::{Kind, RestError};
use super::nodes::select;
use super::object::{Fields, fields, position_behind, unknown_field};
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use super::state::part_of_reroute;
use crate::cluster::{BlockLevel, ClusterState};
use serde_json::Value;

/// What Elasticsearch calls the body.
const BODY: &str = "cluster_reroute";

/// What shards can be told to do.
const COMMANDS: [&str; 5] = ["move", "cancel", "allocate_replica", "allocate_stale_primary", "allocate_empty_primary"];

const fn flag(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values: Values::Flag, default: "false", doc }
}

/// What it understands besides what every change of Elasticsearch's understands.
pub(super) const PARAMETERS: &[Parameter] = &[
    flag("dry_run", "Understood, and without a meaning, as nothing is moved."),
    flag("explain", "Adds `explanations`, of which there are none."),
    flag("retry_failed", "Understood, and without a meaning, as no shard ever failed."),
    Parameter {
        name: "metric",
        values: Values::List,
        default: "all but `metadata`",
        doc: "The parts of the state that are shown, as under `/_cluster/state`.",
    },
    Parameter {
        name: "timeout",
        values: Values::Time,
        default: "30s",
        doc: "Understood, and without a meaning, as nothing is changed.",
    },
];

/// Answers with the state as it is; a command is about a shard that there is not.
pub(super) async fn reroute(call: Call) -> Result<Reply, RestError> {
    for name in ["dry_run", "retry_failed"] {
        call.parameters.flag(name)?;
    }
    let explains = call.parameters.flag("explain")?.unwrap_or(false);
    call.parameters.time("timeout", snapshot::MASTER_TIMEOUT)?;
    let commands = if call.body.is_empty() { Vec::new() } else { commands(&call)? };
    let state = snapshot::wanted(&call, Some(BlockLevel::MetadataWrite)).await?;
    if let Some(command) = commands.first().filter(|_| !explains) {
        return Err(no_shard(&call, &state, command));
    }
    let body = Json::object([("acknowledged", true.into()), ("state", part_of_reroute(&call.parameters, &state))]);
    Ok(Reply::tree(body.with_some("explanations", explains.then(|| Json::List(Vec::new())))))
}

/// A command, and what it is told.
struct Command {
    name: String,
    told: Value,
}

/// The commands of a body.
fn commands(call: &Call) -> Result<Vec<Command>, RestError> {
    let Fields { text, fields } = fields(call)?;
    if let Some(name) = fields.keys().find(|name| !["commands", "dry_run"].contains(&name.as_str())) {
        return Err(unknown_field(&text, BODY, name));
    }
    let list = match fields.get("commands") {
        None | Some(Value::Null) => &Vec::new(),
        Some(Value::Array(list)) => list,
        Some(other) => {
            let reason = format!("[{BODY}] [commands] holds [{other}]; allowed: a list of commands");
            return Err(RestError::new(Kind::ElasticsearchParse, reason));
        }
    };
    let command = |value: &Value| {
        let command = value.as_object().and_then(|fields| fields.iter().next());
        let Some((name, told)) = command else {
            let reason = format!("[{BODY}] [commands] holds [{value}]; allowed: objects of one command");
            return Err(RestError::new(Kind::ElasticsearchParse, reason));
        };
        if COMMANDS.contains(&name.as_str()) {
            return Ok(Command { name: name.clone(), told: told.clone() });
        }
        let at = position_behind(&text, name);
        let reason = format!("[{at}] unable to parse AllocationCommand with name [{name}]: parser not found");
        let cause = RestError::new(Kind::NamedObjectNotFound, reason);
        let error = RestError::new(Kind::XContentParse, format!("[{at}] [{BODY}] failed to parse field [commands]"));
        Err(error.caused_by(cause.clone()).rooted_in(cause))
    };
    list.iter().map(command).collect()
}

/// Why a command cannot be carried out.
fn no_shard(call: &Call, state: &ClusterState, command: &Command) -> RestError {
    let told = |name: &str| {
        command.told.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let index = told("index").unwrap_or_default();
    if command.name != "move" {
        return RestError::new(Kind::IndexNotFound, "no such index").about("index_uuid", "_na_").about("index", index);
    }
    let from = told("from_node").unwrap_or_default();
    let node = select(&state.nodes, &call.handle.local().id, Some(&[from.as_str()])).ok();
    match node.and_then(|nodes| nodes.first().cloned()) {
        Some(node) => {
            let shard = told("shard").unwrap_or_default();
            RestError::illegal(format!("[move_allocation] can't move {shard}, failed to find it on node {node}"))
        }
        None => RestError::illegal(format!("failed to resolve [{from}], no matching nodes")),
    }
}
