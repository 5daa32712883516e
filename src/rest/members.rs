//! `/_zazen/members` and `/_zazen/handover`: who is in the cluster and counts, and who leads it.

use super::body::Json;
use super::error::RestError;
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use crate::cluster::{ClusterState, NodeId};
use crate::service::{Answer, Question};
use super::parameters::{Parameter, Values};
use std::collections::BTreeSet;

/// Who shall lead.
pub(super) const TO: Parameter = Parameter {
    name: "to",
    values: Values::Text,
    default: "the best one",
    doc: "The id or the name of the node that shall lead.",
};

/// All nodes, and all that count without being there.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let state = snapshot::wanted(&call, None).await?;
    let voting = &state.metadata.voting;
    let ids: BTreeSet<&NodeId> =
        state.nodes.iter().map(|node| &node.id).chain(voting.committed.iter()).chain(voting.own.iter()).collect();
    let member = |id: &NodeId| {
        let node = state.nodes.get(id);
        Json::object([
            ("id", id.as_str().into()),
            ("name", node.map(|node| node.name.to_string()).into()),
            ("transport_address", node.map(|node| node.address.as_str().to_owned()).into()),
            ("present", node.is_some().into()),
            ("master", (state.nodes.master.as_ref() == Some(id)).into()),
            ("master_eligible", node.map(|node| node.is_master_eligible()).into()),
            ("voting", (voting.own.contains(id) || voting.committed.contains(id)).into()),
        ])
    };
    let members = ids.into_iter().map(member).collect();
    Ok(Reply::tree(Json::object([("at", state.id().to_string().into()), ("members", members)])))
}

/// Moves the mastership.
pub(super) async fn hand_over(call: Call) -> Result<Reply, RestError> {
    let master_timeout = call.parameters.time("master_timeout", MASTER_TIMEOUT)?;
    let to = call.parameters.text("to").map(|to| named(&call.handle.state(), to)).transpose()?;
    let answer = call.handle.ask(Question::HandOver { to, master_timeout }).await;
    let Answer::HandedOver { to } = answer else {
        return Err(answer.into());
    };
    Ok(Reply::tree(Json::object([("acknowledged", true.into()), ("to", to.as_str().into())])))
}

/// The node of this id or name.
pub(super) fn named(state: &ClusterState, text: &str) -> Result<NodeId, RestError> {
    let by_name = || state.nodes.iter().find(|node| *node.name == *text).map(|node| node.id.clone());
    let by_id = state.nodes.get(&NodeId::from(text)).map(|node| node.id.clone());
    by_id.or_else(by_name).ok_or_else(|| RestError::no_resource(format!("no node has the id or the name [{text}]")))
}
