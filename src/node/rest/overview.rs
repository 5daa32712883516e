//! `/_zazen/overview`: what every member sees, each asked itself.
//!
//! What a page or a terminal shows of a whole cluster comes from here, by one request to any node; it needs no master.

use super::body::Json;
use super::error::{Kind, RestError};
use super::members;
use super::nodes::own;
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use super::time::since_1970;
use crate::cluster::{Address, ClusterState, Node, NodeId};
use crate::runtime::Handle;
use crate::runtime::ask::of_all;
use crate::runtime::events::Subject;
use crate::runtime::figures::{Asked, Silence};
use crate::runtime::outlook;
use crate::runtime::sight::{self, Sight, View, Wanted};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a member may take to answer unless the request says otherwise.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The longest time that a request may give the members.
const TIMEOUT_MAX: Duration = Duration::from_secs(10);

/// How many nodes that are no members are asked as well.
const OTHERS_MAX: usize = 64;

/// What it understands.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "timeout",
        values: Values::Time,
        default: "500ms",
        doc: "How long each member may take to answer, at most 10s.",
    },
    Parameter {
        name: "events",
        values: Values::Number,
        default: "0",
        doc: "How many of the newest entries of its history each member tells as well, at most 300.",
    },
    Parameter {
        name: "max_age",
        values: Values::Time,
        default: "0ms",
        doc: "What somebody was told at this node no longer ago than this will do, unless it has another master since: pages \
              that are open for good ask all nodes once for all of them.",
    },
];

/// What all see.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let timeout = call.parameters.time("timeout", TIMEOUT)?.min(TIMEOUT_MAX);
    let max_age = call.parameters.time("max_age", Duration::ZERO)?;
    let events = call.parameters.number("events")?.unwrap_or(0);
    let events = usize::try_from(events).unwrap_or(usize::MAX).min(sight::EVENTS_MAX);
    let here = snapshot::local(&call.handle);
    let question = (events, timeout, here.term, here.nodes.master.clone());
    let ask = look_around(call.handle.clone(), Wanted { events, trial: false }, timeout);
    let view = match max_age.is_zero() {
        true => ask.await,
        false => call.handle.views().get(question, (Instant::now(), max_age), ask).await,
    };
    let view = view.ok_or_else(|| RestError::new(Kind::NodeClosed, "node closed"))?;
    let state = &view.state;
    let members: Json = view.members.iter().map(|asked| member(state, asked)).collect();
    Ok(Reply::tree(Json::object([
        ("at_millis", u64::try_from(view.at.as_millis()).unwrap_or(u64::MAX).into()),
        ("release", env!("CARGO_PKG_VERSION").into()),
        ("asked", call.handle.local().id.as_str().into()),
        ("cluster_name", state.cluster_name.as_str().into()),
        ("state", described(state)?),
        ("members", members),
        ("gone", gone(&call, state)),
    ])))
}

/// Asks all what they see; nothing once this node has ended.
async fn look_around(handle: Handle, wanted: Wanted, timeout: Duration) -> Option<Arc<View>> {
    let (at, state) = (since_1970(), snapshot::local(&handle));
    let explanation = handle.explain().await?;
    let found = explanation.hosts.iter().filter_map(|host| host.node.clone()).take(OTHERS_MAX);
    let nodes = whom_to_ask(&state, handle.local(), found);
    let here = || outlook::look(handle.clone(), wanted);
    let asked = of_all(&handle, nodes, (&wanted.path(), timeout), here).await;
    let members = own(asked, |sight: &Sight| &sight.node);
    Some(Arc::new(View { at, state, members }))
}

/// The members of the state, this node, and whoever its pings found besides, by id.
fn whom_to_ask(state: &ClusterState, local: &Arc<Node>, found: impl Iterator<Item = Arc<Node>>) -> Vec<Arc<Node>> {
    let mut members: BTreeMap<NodeId, Arc<Node>> = BTreeMap::new();
    // The state may know a process that is gone; who answered a ping is the one that runs.
    for node in state.nodes.iter().cloned().chain(found).chain([local.clone()]) {
        members.insert(node.id.clone(), node);
    }
    members.into_values().collect()
}

/// Those who count in elections and are no members, as far as the history names them.
fn gone(call: &Call, state: &ClusterState) -> Json {
    let missing: Vec<&NodeId> = state.metadata.voting.own.iter().filter(|id| !state.nodes.contains(id)).collect();
    let known = if missing.is_empty() { BTreeMap::new() } else { members::gone(call, state) };
    let named = |node: &Subject| {
        Json::object([
            ("id", node.id.as_str().into()),
            ("name", (&*node.name).into()),
            ("address", node.address.as_str().into()),
        ])
    };
    missing.into_iter().filter_map(|id| known.get(id)).map(named).collect()
}

/// What the state says of the cluster, as far as it is short.
fn described(state: &ClusterState) -> Result<Json, RestError> {
    let tree = |value: serde_json::Result<serde_json::Value>| {
        value.map(|value| Json::from(&value)).map_err(|error| RestError::new(Kind::IllegalState, error.to_string()))
    };
    let master = state.nodes.master.as_ref().map(|id| Json::from(id.as_str()));
    Ok(Json::object([
        ("id", tree(serde_json::to_value(state.id()))?),
        ("master_node", master.unwrap_or(Json::Null)),
        ("voting", tree(serde_json::to_value(&state.metadata.voting))?),
        ("blocks", tree(serde_json::to_value(&state.blocks))?),
        ("keys", state.metadata.keys.len().into()),
        ("key_bytes", state.metadata.key_bytes.into()),
        ("leases", state.metadata.leases.len().into()),
    ]))
}

fn member(state: &ClusterState, (node, told): &Asked<Sight>) -> Json {
    let address = |address: &Address| Json::from(address.as_str());
    let member = Json::object([
        ("id", node.id.as_str().into()),
        ("ephemeral_id", node.ephemeral_id.as_str().into()),
        ("name", (&*node.name).into()),
        ("address", address(&node.address)),
        ("roles", serde_json::to_value(node.roles).map_or(Json::Null, |roles| (&roles).into())),
        ("attributes", Json::map(node.attributes.iter().map(|(name, value)| (name, value.as_str().into())))),
        ("in_state", state.nodes.contains_process(node).into()),
    ]);
    match told {
        Ok(sight) => match serde_json::to_value(sight) {
            Ok(value) => member.with("sight", Json::from(&value)),
            Err(_) => member.with("silence", Json::from("strange")),
        },
        Err(silence) => member.with("silence", Json::from(word(*silence))),
    }
}

fn word(silence: Silence) -> &'static str {
    match silence {
        Silence::NotConnected => "not_connected",
        Silence::TimedOut(_) => "timed_out",
        Silence::Strange => "strange",
    }
}
