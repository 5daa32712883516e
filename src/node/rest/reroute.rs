//! `POST /_cluster/reroute`: moves shards, of which there are none.
//!
//! Mirrors `RestClusterRerouteAction` (6.8).

use super::body::Json;
use super::commands::{commands, no_shard};
use super::error::RestError;
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use super::state::part_of_reroute;
use crate::cluster::BlockLevel;

const fn flag(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values: Values::Flag, default: "false", doc }
}

/// What it understands besides what every change of Elasticsearch's understands.
pub(super) const PARAMETERS: &[Parameter] = &[
    flag("dry_run", "Understood, and without a meaning, as nothing is moved."),
    flag("explain", "Adds `explanations`: why commands are not carried out."),
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
    let commands = commands(&call)?;
    let state = snapshot::wanted(&call, Some(BlockLevel::MetadataWrite)).await?;
    if let Some(command) = commands.first().filter(|_| !explains) {
        return Err(no_shard(&call, &state, command));
    }
    let explained = commands.iter().map(|command| command.explained(&call, &state)).collect::<Result<Vec<_>, _>>()?;
    let body = Json::object([("acknowledged", true.into()), ("state", part_of_reroute(&call.parameters, &state))]);
    Ok(Reply::tree(body.with_some("explanations", explains.then_some(Json::List(explained)))))
}
