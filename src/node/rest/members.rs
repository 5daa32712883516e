//! `/_zazen/members` and `/_zazen/handover`: who is in the cluster and counts, and who leads it.

use super::body::Json;
use super::error::RestError;
use super::kv::written;
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use super::submit::submit;
use crate::cluster::{Address, ClusterState, NodeId};
use crate::runtime::events::ENTRIES_MAX;
use crate::service::{Answer, Question, Task};
use std::collections::{BTreeMap, BTreeSet};

/// Who is gone for good.
pub(super) const ID: Parameter = Parameter {
    name: "id",
    values: Values::Text,
    default: "none",
    doc: "The id of the node, or its name, as the list of the members has it.",
};

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
    // The state is committed, so its own set is the one that counts.
    let voters = &state.metadata.voting.own;
    let ids: BTreeSet<&NodeId> = state.nodes.iter().map(|node| &node.id).chain(voters.iter()).collect();
    let gone = gone(&call, &state);
    let member = |id: &NodeId| {
        let node = state.nodes.get(id);
        let known = node.map(|node| (node.name.to_string(), node.address.clone())).or_else(|| gone.get(id).cloned());
        let (name, address) = known.unzip();
        Json::object([
            ("id", id.as_str().into()),
            ("name", name.into()),
            ("transport_address", address.map(|address| address.as_str().to_owned()).into()),
            ("present", node.is_some().into()),
            ("master", (state.nodes.master.as_ref() == Some(id)).into()),
            ("master_eligible", node.map(|node| node.is_master_eligible()).into()),
            ("voting", voters.contains(id).into()),
        ])
    };
    let members = ids.into_iter().map(member).collect();
    Ok(Reply::tree(Json::object([("at", state.id().to_string().into()), ("members", members)])))
}

/// What those were called who count without being there, and where they were, as the history has it.
fn gone(call: &Call, state: &ClusterState) -> BTreeMap<NodeId, (String, Address)> {
    let absent: BTreeSet<&NodeId> = state.metadata.voting.own.iter().filter(|id| !state.nodes.contains(id)).collect();
    if absent.is_empty() {
        return BTreeMap::new();
    }
    let entries = call.handle.events().since(None, ENTRIES_MAX).into_iter().filter_map(|entry| entry.node);
    let gone = entries.filter(|node| absent.contains(&node.id));
    gone.map(|node| (node.id.clone(), (node.name.to_string(), node.address.clone()))).collect()
}

/// Takes a node that is gone for good out of the voting set.
pub(super) async fn remove(call: Call) -> Result<Reply, RestError> {
    let text = call.parameters.text("id").unwrap_or_default();
    let state = call.handle.state();
    let by_name = || {
        let mut called = gone(&call, &state).into_iter().filter(|(_, (name, _))| name == text);
        called.next().filter(|_| called.next().is_none()).map(|(id, _)| id)
    };
    // The id of one that is gone may not be known here.
    let id = named(&state, text).ok().or_else(by_name).unwrap_or_else(|| NodeId::from(text));
    let done = submit(&call, Task::RemoveVoter { id }).await?;
    Ok(Reply::tree(written(&done)))
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
