//! `/_nodes`: what nodes are, what they use and what they do, as each of them tells it.
//!
//! Nodes are chosen by the state of the node that is asked, which needs no master. Each is asked itself, for a bounded time;
//! one that does not answer is counted and named. Mirrors `TransportNodesAction` and `RestActions.buildNodesHeader` (6.8).

mod failures;
mod filter;
mod hot_threads;
mod indices;
mod info;
mod jvm;
mod pools;
mod reload;
mod stats;
mod system;
mod usage;

pub(super) use failures::{Action, failures, header};
pub(super) use filter::select;
pub(super) use hot_threads::{PARAMETERS as HOT_THREADS, show as hot_threads};
pub(super) use indices::all as idle_indices;
pub(super) use info::{PARAMETERS as INFO, show as info};
pub(super) use jvm::NO_JAVA;
pub(super) use pools::{POOLS, Pool};
pub(super) use reload::reload;
pub(super) use stats::{
    INDEX_METRIC_PARAMETER as STATS_INDEX_METRICS, METRIC_PARAMETER as STATS_METRICS, PARAMETERS as STATS,
    show as stats,
};
pub(super) use system::{account, memory};
pub(super) use usage::{METRIC_PARAMETER as USAGE_METRICS, show as usage};

use super::error::RestError;
use super::parameters::{Parameter, Values};
use super::route::Call;
use super::section::Section;
use super::snapshot;
use super::time::{self, since_1970};
use crate::cluster::{ClusterState, Node};
use crate::runtime::Handle;
use crate::runtime::ask;
use crate::runtime::figures::{self, Asked, Meter, NodeFigures, NodeInfo, Silence};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a node may take to answer unless the request says otherwise.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);

/// The longest time that a request may give the nodes.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// Which nodes.
pub(super) const NODES: Parameter = Parameter {
    name: "nodeId",
    values: Values::List,
    default: "all",
    doc: "The nodes that are asked: ids, names, hosts, patterns of names and hosts, `_local`, `_master`, `_all`, roles as in \
          `data:true`, attributes as in `rack:r*`; worked off from left to right, and `master:false` takes away.",
};

/// How long they may take.
pub(super) const NODE_TIMEOUT: Parameter = Parameter {
    name: "timeout",
    values: Values::Time,
    default: "1s",
    doc: "How long each node may take to answer, at most 60s; one that takes longer is counted as failed.",
};

/// What every request to nodes understands.
pub(super) const TO_NODES: &[Parameter] = &[NODES, NODE_TIMEOUT];

/// The nodes that a request is about.
pub(super) struct Chosen {
    /// The state that they were chosen by.
    pub(super) state: Arc<ClusterState>,
    /// The nodes, by id.
    pub(super) nodes: Vec<Arc<Node>>,
    /// How long each may take.
    pub(super) timeout: Duration,
}

/// Chooses the nodes; `request` is what Elasticsearch calls the request where its timeout is wrong.
pub(super) fn chosen(call: &Call, request: &str) -> Result<Chosen, RestError> {
    choose(call, &format!("{request}.timeout"), call.parameters.list("nodeId").as_deref())
}

/// The same by a filter of another name; `name` is what Elasticsearch calls the time.
pub(super) fn choose(call: &Call, name: &str, filter: Option<&[&str]>) -> Result<Chosen, RestError> {
    let timeout = call.parameters.text("timeout").map(|text| time::parse(name, text));
    let timeout = timeout.transpose()?.map_or(TIMEOUT, |timeout| timeout.min(TIMEOUT_MAX));
    let state = snapshot::local(&call.handle);
    let nodes = select(&state.nodes, &call.handle.local().id, filter)?;
    Ok(Chosen { state, nodes, timeout })
}

/// What these nodes use.
pub(super) async fn figures(handle: &Handle, nodes: Vec<Arc<Node>>, timeout: Duration) -> Vec<Asked<NodeFigures>> {
    let (asking, asked) = (handle.clone(), nodes.clone());
    let ask = async move {
        let here = || read(&asking, Meter::measure);
        ask::of_all(&asking, asked, (figures::PATH, timeout), here).await
    };
    let told = handle.rounds().figures.next((nodes, timeout), Instant::now(), ask).await;
    own(told.unwrap_or_default(), |figures| &figures.node)
}

/// What these nodes are.
pub(super) async fn infos(handle: &Handle, nodes: Vec<Arc<Node>>, timeout: Duration) -> Vec<Asked<NodeInfo>> {
    let (asking, asked) = (handle.clone(), nodes.clone());
    let ask = async move {
        let here = || read(&asking, Meter::describe);
        ask::of_all(&asking, asked, (figures::INFO_PATH, timeout), here).await
    };
    let told = handle.rounds().infos.next((nodes, timeout), Instant::now(), ask).await;
    own(told.unwrap_or_default(), |info| &info.node)
}

/// Reads what the system tells, on a thread that may wait.
fn read<T: Send + 'static>(handle: &Handle, read: fn(&Meter) -> T) -> impl Future<Output = Option<T>> + use<T> {
    let meter = handle.meter().clone();
    async move { meter.read(read).await }
}

/// What another process told under a node's address is nothing that the node told.
pub(super) fn own<T>(told: Vec<Asked<T>>, id: fn(&T) -> &crate::cluster::NodeId) -> Vec<Asked<T>> {
    let check = |(node, told): Asked<T>| {
        let told = told.and_then(|told| if *id(&told) == node.id { Ok(told) } else { Err(Silence::Strange) });
        (node, told)
    };
    told.into_iter().map(check).collect()
}

/// What time it is, in milliseconds since 1970.
pub(super) fn now_millis() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// What a node is called and what it does, as all answers about nodes begin.
pub(super) fn roles(node: &Node, section: Section) -> Section {
    let words = [("master", node.roles.master), ("data", node.roles.data), ("ingest", node.roles.ingest)];
    let roles = words.iter().filter(|(_, has)| *has).map(|(word, _)| *word).collect::<super::body::Json>();
    let attributes = node.attributes.iter().map(|(name, value)| (name.to_string(), (&**value).into()));
    let attributes = (!node.attributes.is_empty()).then(|| super::body::Json::map(attributes));
    section.with("roles", roles).with_some("attributes", attributes)
}
