//! `/_cluster/state`: the state, or the parts of it that are asked for.
//!
//! Field by field as Elasticsearch 6.8 writes it, with two additions that its clients pass over: `term` beside `version`,
//! and `cluster_coordination` in the metadata, as 7.x has it. Mirrors `RestClusterStateAction` and `ClusterState.toXContent`.

use super::body::Json;
use super::error::{Kind, RestError};
use super::indices::{Options, resolve};
use super::parameters::{Parameter, Parameters, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use crate::cluster::{Block, ClusterState, Node, VotingSet};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long to wait for a version unless the request says so.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// What this route understands besides what every read of the state and all that is about indices understands.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "metric",
        values: Values::List,
        default: "_all",
        doc: "The parts that are wanted: `version`, `master_node`, `blocks`, `nodes`, `metadata`, `routing_table`, \
              `routing_nodes`, `customs`; others are passed over.",
    },
    Parameter {
        name: "indices",
        values: Values::List,
        default: "_all",
        doc: "The indices whose metadata and routing are wanted.",
    },
    FLAT_SETTINGS,
    Parameter {
        name: "wait_for_metadata_version",
        values: Values::Number,
        default: "none",
        doc: "Waits for a state of at least this version.",
    },
    Parameter {
        name: "wait_for_timeout",
        values: Values::Time,
        default: "1m",
        doc: "How long to wait for that version; then the answer says `wait_for_timed_out` and holds no state.",
    },
];

/// How settings of indices are written.
pub(super) const FLAT_SETTINGS: Parameter = Parameter {
    name: "flat_settings",
    values: Values::Flag,
    default: "false",
    doc: "Writes settings of indices with dots in their keys instead of nesting them.",
};

/// A part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Metric {
    Version,
    MasterNode,
    Blocks,
    Nodes,
    Metadata,
    RoutingTable,
    RoutingNodes,
    Customs,
}

impl Metric {
    const ALL: [(&'static str, Metric); 8] = [
        ("version", Metric::Version),
        ("master_node", Metric::MasterNode),
        ("blocks", Metric::Blocks),
        ("nodes", Metric::Nodes),
        ("metadata", Metric::Metadata),
        ("routing_table", Metric::RoutingTable),
        ("routing_nodes", Metric::RoutingNodes),
        ("customs", Metric::Customs),
    ];

    fn read(parameters: &Parameters) -> BTreeSet<Metric> {
        let names = parameters.list("metric").unwrap_or_else(|| vec!["_all"]);
        let is_wanted = |name: &str| names.contains(&"_all") || names.contains(&name);
        Metric::ALL.into_iter().filter(|(name, _)| is_wanted(name)).map(|(_, metric)| metric).collect()
    }
}

/// The version that is waited for.
fn version(call: &Call) -> Result<Option<u64>, RestError> {
    let name = "wait_for_metadata_version";
    match call.parameters.text(name).map(str::parse::<i64>) {
        Some(Ok(number @ ..=0)) => Err(RestError::illegal(format!(
            "provided waitForMetaDataVersion should be >= 1, but instead is [{number}]"
        ))),
        Some(_) | None => call.parameters.number(name),
    }
}

/// Answers with the parts that are wanted.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let view = View::read(&call.parameters);
    let options = Options::read(&call.parameters, true)?;
    let version = version(&call)?;
    let timeout = call.parameters.time("wait_for_timeout", WAIT_TIMEOUT)?;
    let mut state = snapshot::wanted(&call, None).await?;
    if let Some(version) = version.filter(|version| state.version.get() < *version) {
        let has_come = |state: &ClusterState| state.version.get() >= version;
        match snapshot::wait_long(&call.handle, Instant::now() + timeout, has_come).await? {
            Some(newer) => state = newer,
            None => return Ok(Reply::tree(timed_out(&state))),
        }
    }
    let names = call.parameters.list("indices").unwrap_or_default();
    let indices = match view.has_indices() && !names.is_empty() && names != ["_all"] {
        true => Some(resolve(&state, &names, options)?),
        false => None,
    };
    let body = if version.is_some() { Json::object([("wait_for_timed_out", false.into())]) } else { Json::object([]) };
    Ok(Reply::tree(view.write(body, &state, indices.as_ref())))
}

/// Answers with all of the state, as nodes keep it.
pub(super) async fn show_whole(call: Call) -> Result<Reply, RestError> {
    let state = snapshot::wanted(&call, None).await?;
    let value = serde_json::to_value(&*state);
    let value = value.map_err(|error| RestError::new(Kind::IllegalState, error.to_string()))?;
    Ok(Reply::tree(Json::from(&value)))
}

/// The state as it stands in the answer to a reroute: without the name of the cluster, and without metadata unless that is
/// asked for.
pub(super) fn part_of_reroute(parameters: &Parameters, state: &ClusterState) -> Json {
    let mut view = View::read(parameters);
    if parameters.text("metric").is_none() {
        view.metrics.remove(&Metric::Metadata);
    }
    view.has_routed_nodes = true;
    let mut body = view.write(Json::object([]), state, None);
    if let Json::Object(fields) = &mut body {
        fields.retain(|(name, _)| name != "cluster_name");
    }
    body
}

fn timed_out(state: &ClusterState) -> Json {
    Json::object([("wait_for_timed_out", true.into()), ("cluster_name", state.cluster_name.as_str().into())])
}

/// What of a state is shown, and how.
struct View {
    metrics: BTreeSet<Metric>,
    is_flat: bool,
    /// Whether the nodes that shards may be on are named though nodes are not shown.
    has_routed_nodes: bool,
}

impl View {
    fn read(parameters: &Parameters) -> View {
        let metrics = Metric::read(parameters);
        let has_routed_nodes = metrics.contains(&Metric::Nodes) || metrics.contains(&Metric::MasterNode);
        View { metrics, is_flat: is_flat(parameters), has_routed_nodes }
    }

    /// Whether anything is shown of indices; names are looked at only then.
    fn has_indices(&self) -> bool {
        [Metric::Metadata, Metric::RoutingTable, Metric::RoutingNodes]
            .iter()
            .any(|metric| self.metrics.contains(metric))
    }

    fn write(&self, body: Json, state: &ClusterState, indices: Option<&BTreeSet<String>>) -> Json {
        let shown = |name: &str| indices.is_none_or(|indices| indices.contains(name));
        let body = body.with("cluster_name", state.cluster_name.as_str());
        let body = body.with("cluster_uuid", snapshot::cluster_uuid(state));
        self.metrics.iter().fold(body, |body, metric| match metric {
            Metric::Version => body
                .with("version", state.version.get())
                .with("state_uuid", state.uuid.to_string())
                .with("term", state.term.get()),
            Metric::MasterNode => body.with("master_node", state.nodes.master.as_ref().map(|id| id.as_str())),
            Metric::Blocks => body.with("blocks", blocks(state)),
            Metric::Nodes => body.with("nodes", nodes(state)),
            Metric::Metadata => body.with("metadata", self.metadata(state, shown)),
            Metric::RoutingTable => body.with("routing_table", routing_table(state, shown)),
            Metric::RoutingNodes => body.with("routing_nodes", self.routing_nodes(state)),
            Metric::Customs => customs(body),
        })
    }

    fn metadata(&self, state: &ClusterState, shown: impl Fn(&str) -> bool) -> Json {
        let metadata = &state.metadata;
        let set = |set: &VotingSet| set.iter().map(|id| id.as_str()).collect::<Json>();
        // A state that is shown is committed, and its own voting set is with it; as in Elasticsearch the two never differ here.
        let coordination = Json::object([
            ("term", state.term.get().into()),
            ("last_committed_config", set(&metadata.voting.own)),
            ("last_accepted_config", set(&metadata.voting.own)),
        ]);
        let write = |(name, index): (&Arc<str>, &Arc<Value>)| (name.to_string(), index_json(index, self.is_flat));
        let indices = metadata.indices.iter().filter(|(name, _)| shown(name));
        Json::object([
            ("cluster_uuid", snapshot::cluster_uuid(state)),
            ("cluster_coordination", coordination),
            ("templates", Json::map(metadata.templates.iter().map(write))),
            ("indices", Json::map(indices.map(write))),
            ("index-graveyard", Json::object([("tombstones", Json::List(Vec::new()))])),
        ])
    }

    /// Nodes are listed only where they, or the master, are asked for as well.
    fn routing_nodes(&self, state: &ClusterState) -> Json {
        let nodes = state.nodes.data().filter(|_| self.has_routed_nodes);
        let nodes = Json::map(nodes.map(|node| (node.id.as_str(), Json::List(Vec::new()))));
        Json::object([("unassigned", Json::List(Vec::new())), ("nodes", nodes)])
    }
}

fn blocks(state: &ClusterState) -> Json {
    let block = |block: &Block| {
        let is_set = block.disable_state_persistence.then_some(true);
        let levels: Json = block.levels.iter().map(|level| level.name()).collect();
        let json = Json::object([("description", (&*block.description).into()), ("retryable", block.retryable.into())]);
        (block.id.to_string(), json.with_some("disable_state_persistence", is_set).with("levels", levels))
    };
    let has_blocks = !state.blocks.is_empty();
    Json::object([]).with_some("global", has_blocks.then(|| Json::map(state.blocks.iter().map(block))))
}

fn nodes(state: &ClusterState) -> Json {
    let node = |node: &Arc<Node>| {
        let attributes = Json::map(node.attributes.iter().map(|(name, value)| (name, value.as_str().into())));
        let json = Json::object([
            ("name", (&*node.name).into()),
            ("ephemeral_id", node.ephemeral_id.as_str().into()),
            ("transport_address", node.address.as_str().into()),
            ("attributes", attributes),
        ]);
        (node.id.to_string(), json)
    };
    Json::map(state.nodes.iter().map(node))
}

fn routing_table(state: &ClusterState, shown: impl Fn(&str) -> bool) -> Json {
    let routing = state.routing.iter().filter(|(name, _)| shown(name));
    Json::object([("indices", Json::map(routing.map(|(name, routing)| (name.to_string(), (&**routing).into()))))])
}

/// What Elasticsearch keeps of snapshots that are being taken, deleted and restored; there never are any.
fn customs(body: Json) -> Json {
    let none = |name| Json::object([(name, Json::List(Vec::new()))]);
    body.with("snapshots", none("snapshots"))
        .with("restore", none("snapshots"))
        .with("snapshot_deletions", none("snapshot_deletions"))
}

/// Whether settings are wanted flat. Anything but the very word is no, as in Elasticsearch.
pub(super) fn is_flat(parameters: &Parameters) -> bool {
    matches!(parameters.text("flat_settings"), Some("" | "true"))
}

/// The metadata of an index or a template, its settings nested or flat.
pub(super) fn index_json(index: &Value, is_flat: bool) -> Json {
    let Value::Object(fields) = index else {
        return index.into();
    };
    Json::map(fields.iter().map(|(name, value)| {
        let settings = value.as_object().filter(|_| is_flat && name == "settings");
        (name, settings.map_or_else(|| value.into(), flat))
    }))
}

fn flat(settings: &serde_json::Map<String, Value>) -> Json {
    let mut flat = BTreeMap::new();
    flatten("", settings, &mut flat);
    Json::map(flat)
}

/// No deeper than the metadata of indices may nest.
fn flatten(prefix: &str, settings: &serde_json::Map<String, Value>, flat: &mut BTreeMap<String, Json>) {
    for (name, value) in settings {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if let Value::Object(inner) = value {
            flatten(&key, inner, flat);
        } else {
            flat.insert(key, value.into());
        }
    }
}
