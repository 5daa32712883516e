//! `/_nodes/usage`: how often which routes of a node were asked.
//!
//! Mirrors `RestNodesUsageAction` and `NodeUsage` (6.8).

use super::{Action, chosen, header, own};
use crate::rest::body::Json;
use crate::rest::error::RestError;
use crate::rest::parameters::{Parameter, Values};
use crate::rest::reply::Reply;
use crate::rest::route::Call;
use crate::runtime::ask;
use crate::runtime::figures::{self, NodeUsage};

/// Which parts.
pub(in crate::rest) const METRIC_PARAMETER: Parameter = Parameter {
    name: "metric",
    values: Values::List,
    default: "_all",
    doc: "The parts that are wanted: `rest_actions` is the only one; others are passed over.",
};

/// How often what was asked.
pub(in crate::rest) async fn show(call: Call) -> Result<Reply, RestError> {
    let metrics = call.parameters.list("metric").unwrap_or_else(|| vec!["_all"]);
    if metrics.contains(&"_all") && metrics.iter().any(|metric| *metric != "_all") {
        let given = call.parameters.text("metric").unwrap_or_default();
        let reason = format!("request [{}] contains _all and individual metrics [{given}]", call.path);
        return Err(RestError::illegal(reason));
    }
    let has_actions = metrics.contains(&"_all") || metrics.contains(&"rest_actions");
    let chosen = chosen(&call, "NodesUsageRequest")?;
    let meter = call.handle.meter();
    let here = || std::future::ready(Some(meter.usage()));
    let asked = ask::of_all(&call.handle, chosen.nodes, (figures::USAGE_PATH, chosen.timeout), here).await;
    let asked = own(asked, |usage: &NodeUsage| &usage.node);
    let head = header(&chosen.state, Action("cluster:monitor/nodes/usage"), &asked);
    let told = asked.iter().filter_map(|(node, told)| Some((node.id.as_str(), told.as_ref().ok()?)));
    let show = |usage: &NodeUsage| {
        let actions = has_actions.then(|| Json::map(usage.actions.iter().map(|(name, count)| (name, (*count).into()))));
        let times = [("timestamp", usage.at_millis), ("since", usage.began_millis)];
        Json::object(times.map(|(name, millis)| (name, millis.into()))).with_some("rest_actions", actions)
    };
    Ok(Reply::tree(head.with("nodes", Json::map(told.map(|(id, usage)| (id, show(usage)))))))
}
