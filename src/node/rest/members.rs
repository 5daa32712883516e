//! `/_zazen/members` and `/_zazen/handover`: who is in the cluster and counts, and who leads it.

use super::body::Json;
use super::error::RestError;
use super::kv::written;
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use super::submit::{Done, submit};
use crate::cluster::{ClusterState, NodeId, RequestOutcome, VotingSet};
use crate::runtime::events::{ENTRIES_MAX, Subject};
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
    let is_whole = voters.iter().all(|id| state.nodes.contains(id));
    let gone = if is_whole { BTreeMap::new() } else { gone(&call, &state) };
    let member = |id: &NodeId| {
        let node = state.nodes.get(id);
        let known = node.map(|node| Subject::from(&**node)).or_else(|| gone.get(id).cloned());
        let (name, address) = known.map(|node| (node.name.to_string(), node.address)).unzip();
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

/// Who was here once and is not, as the history has it.
pub(super) fn gone(call: &Call, state: &ClusterState) -> BTreeMap<NodeId, Subject> {
    let entries = call.handle.events().since(None, ENTRIES_MAX).into_iter().filter_map(|entry| entry.node);
    entries.filter(|node| !state.nodes.contains(&node.id)).map(|node| (node.id.clone(), node)).collect()
}

/// Takes a node that is gone for good out of the voting set. One that has no vote is not missed any more.
pub(super) async fn remove(call: Call) -> Result<Reply, RestError> {
    let text = call.parameters.text("id").unwrap_or_default();
    let state = call.handle.state();
    let (gone, voters) = (gone(&call, &state), &state.metadata.voting.own);
    let id = named(&state, text).ok().or_else(|| of_name(&gone, voters, text)).unwrap_or_else(|| NodeId::from(text));
    match gone.get(&id).filter(|_| !voters.contains(&id)) {
        Some(node) => {
            call.handle.events().removed(node.clone(), state.id());
            let done = Done { at: state.id(), acknowledged: true, outcome: RequestOutcome::Applied };
            Ok(Reply::tree(written(&done)))
        }
        // The id of one that is gone may not be known here.
        None => Ok(Reply::tree(written(&submit(&call, Task::RemoveVoter { id }).await?))),
    }
}

/// The one of those that are gone that had this name: the one whose vote counts, or the only one.
fn of_name(gone: &BTreeMap<NodeId, Subject>, voters: &VotingSet, name: &str) -> Option<NodeId> {
    let called = || gone.values().filter(|node| *node.name == *name).map(|node| &node.id);
    let only = |mut ids: Vec<&NodeId>| ids.pop().filter(|_| ids.is_empty()).cloned();
    only(called().filter(|id| voters.contains(id)).collect()).or_else(|| only(called().collect()))
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
