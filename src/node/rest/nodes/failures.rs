//! How many nodes answered, and why the others did not.

use crate::cluster::{ClusterState, Node};
use crate::rest::body::Json;
use crate::runtime::figures::{Asked, Silence};

/// What nodes are asked to do, by Elasticsearch's names.
#[derive(Clone, Copy, Debug)]
pub(in crate::rest) struct Action(pub(in crate::rest) &'static str);

/// The head of an answer that several nodes gave.
pub(in crate::rest) fn header<T>(state: &ClusterState, action: Action, asked: &[Asked<T>]) -> Json {
    let failures = failures(action, asked);
    let failed = asked.iter().filter(|(_, told)| told.is_err()).count();
    let counts = Json::object([
        ("total", asked.len().into()),
        ("successful", (asked.len() - failed).into()),
        ("failed", failed.into()),
    ]);
    let cluster = state.cluster_name.as_str().into();
    Json::object([("_nodes", counts.with_some("failures", failures)), ("cluster_name", cluster)])
}

/// Why nodes did not answer, if there are such.
pub(in crate::rest) fn failures<T>(action: Action, asked: &[Asked<T>]) -> Option<Json> {
    let failed = asked.iter().filter_map(|(node, told)| Some((node, *told.as_ref().err()?)));
    let failures: Vec<Json> = failed.map(|(node, why)| failure(node, why, action)).collect();
    (!failures.is_empty()).then_some(Json::List(failures))
}

fn failure(node: &Node, why: Silence, Action(action): Action) -> Json {
    let place = format!("[{}][{}]", node.name, node.address);
    let (kind, reason) = match why {
        Silence::NotConnected => ("node_not_connected_exception", format!("{place} Node not connected")),
        Silence::TimedOut(after) => {
            let after = after.as_millis();
            let reason = format!("{place}[{action}[n]] request_id [0] timed out after [{after}ms]");
            ("receive_timeout_transport_exception", reason)
        }
        Silence::Strange => {
            let reason = format!("{place}[{action}[n]] what answered there is not this node, or another release of it");
            ("transport_serialization_exception", reason)
        }
    };
    Json::object([
        ("type", "failed_node_exception".into()),
        ("reason", format!("Failed node [{}]", node.id.as_str()).into()),
        ("node_id", node.id.as_str().into()),
        ("caused_by", Json::object([("type", kind.into()), ("reason", reason.into())])),
    ])
}
