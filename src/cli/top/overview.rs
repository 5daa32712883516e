//! What a node tells of all members: the state, and what each of them sees itself.

use crate::cluster::{ClusterName, NodeId, StateId, VotingSets};
use crate::runtime::events::Entry;
use crate::runtime::sight::Sight;
use serde::Deserialize;

/// What a node tells of all.
#[derive(Debug, Deserialize)]
pub(super) struct Overview {
    pub(super) cluster_name: ClusterName,
    pub(super) state: Short,
    pub(super) members: Vec<Member>,
}

/// What is told of a state.
#[derive(Debug, Deserialize)]
pub(super) struct Short {
    pub(super) id: StateId,
    pub(super) master_node: Option<NodeId>,
    pub(super) voting: VotingSets,
}

/// One node, and what it sees itself.
#[derive(Debug, Deserialize)]
pub(super) struct Member {
    pub(super) id: NodeId,
    pub(super) name: String,
    pub(super) address: String,
    pub(super) in_state: bool,
    #[serde(default)]
    pub(super) sight: Option<Sight>,
    #[serde(default)]
    pub(super) silence: Option<String>,
}

/// What people call a node.
pub(super) fn name(overview: &Overview, id: &NodeId) -> String {
    let member = overview.members.iter().find(|member| member.id == *id).map(|member| member.name.clone());
    // One that is gone keeps its name in what happened to it.
    let gone =
        || entries(overview).find_map(|(_, entry)| Some(entry.node.filter(|node| node.id == *id)?.name.to_string()));
    member.or_else(gone).unwrap_or_else(|| id.to_string())
}

/// What happened, as each member tells it.
pub(super) fn entries(overview: &Overview) -> impl Iterator<Item = (&Member, Entry)> {
    overview.members.iter().flat_map(|member| {
        let events = member.sight.iter().flat_map(|sight| &sight.events);
        events.filter_map(move |event| Some((member, serde_json::from_value(event.clone()).ok()?)))
    })
}
