//! What a node says of its cluster when it is asked for the state that it holds.

use serde_json::Value;
use std::collections::BTreeSet;

/// The parts of a state that tests look at; nodes go by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) term: u64,
    pub(crate) version: u64,
    pub(crate) uuid: String,
    pub(crate) master: Option<String>,
    pub(crate) members: BTreeSet<String>,
    /// The blocks on everything.
    pub(crate) blocks: BTreeSet<String>,
}

impl View {
    pub(crate) fn of(state: &Value) -> Self {
        let name = |node: &Value| node["name"].as_str().expect("a node has a name").to_string();
        let text = |value: &Value| value.as_str().expect("it is a text").to_string();
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let nodes = object(&state["nodes"]);
        View {
            term: state["term"].as_u64().expect("a state has a term"),
            version: state["version"].as_u64().expect("a state has a version"),
            uuid: text(&state["cluster_uuid"]),
            master: state["master_node"].as_str().map(|id| nodes.get(id).map_or_else(|| id.to_string(), name)),
            members: nodes.values().map(name).collect(),
            blocks: object(&state["blocks"]["global"]).into_iter().map(|(id, _)| id).collect(),
        }
    }
}
