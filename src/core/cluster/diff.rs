//! What makes one state of another, so that a publish need not carry all of it.
//!
//! Finding out costs what the two states do not share. Mirrors `ClusterState.ClusterStateDiff` (6.8).

use super::{
    Blocks, Carried, Client, ClusterName, ClusterState, EphemeralId, Forwarder, Forwards, KeyValue, Lease, Metadata,
    Node, NodeId, Nodes, Remembered, RequestId, Requests, Slot, StateId, TableChange, TableDiff, Token, Uuid, Version,
    VotingSets,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What makes one state of another. What is absent stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The state it is applied to.
    pub from: StateId,
    /// The state it makes.
    pub to: StateId,
    /// The new name of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<ClusterName>,
    /// The new uuid of the cluster, or that it has none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub cluster_uuid: Option<Option<Uuid>>,
    /// The change of the nodes.
    #[serde(default, skip_serializing_if = "NodesDiff::is_empty")]
    pub nodes: NodesDiff,
    /// The change of the metadata.
    #[serde(default, skip_serializing_if = "MetadataDiff::is_empty")]
    pub metadata: MetadataDiff,
    /// All new blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// The change of the routing.
    #[serde(default, skip_serializing_if = "TableDiff::is_empty")]
    pub routing: TableDiff<Arc<str>, Arc<Value>>,
    /// The steps from the one state to the one that the other was made from, for those who want to know of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<Arc<Diff>>,
}

impl Diff {
    /// What makes `to` of `from`.
    pub fn between(from: &ClusterState, to: &ClusterState) -> Self {
        Diff {
            from: from.id(),
            to: to.id(),
            cluster_name: changed(&from.cluster_name, &to.cluster_name),
            cluster_uuid: changed(&from.cluster_uuid, &to.cluster_uuid),
            nodes: NodesDiff::between(&from.nodes, &to.nodes),
            metadata: MetadataDiff::between(&from.metadata, &to.metadata),
            blocks: changed(&from.blocks, &to.blocks),
            routing: TableDiff::between(&from.routing, &to.routing),
            passed: Vec::new(),
        }
    }

    /// How many bytes of keys and values it carries.
    pub fn key_bytes(&self) -> usize {
        let own = self.metadata.keys.put.iter().map(|(key, held)| key.len() + held.value.as_bytes().len());
        own.chain(self.passed.iter().map(|diff| diff.key_bytes())).sum()
    }

    /// Makes the new state of `base`, if it is the one this was made from.
    pub fn apply(&self, base: &ClusterState) -> Result<ClusterState, WrongBase> {
        if base.id() != self.from {
            return Err(WrongBase { expected: self.from, found: base.id() });
        }
        let mut state = base.clone();
        (state.term, state.version, state.uuid) = (self.to.term, self.to.version, self.to.uuid);
        replace(&mut state.cluster_name, &self.cluster_name);
        replace(&mut state.cluster_uuid, &self.cluster_uuid);
        self.nodes.apply(&mut state.nodes);
        self.metadata.apply(&mut state.metadata);
        replace(&mut state.blocks, &self.blocks);
        self.routing.apply(&mut state.routing);
        Ok(state)
    }
}

/// The two ids stand for the content.
impl Hash for Diff {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.from, self.to).hash(hasher);
    }
}

/// A diff was applied to another state than the one it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongBase {
    /// The state that the diff was made from.
    pub expected: StateId,
    /// The state that it was applied to.
    pub found: StateId,
}

impl fmt::Display for WrongBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongBase { expected, found } = self;
        write!(f, "a diff from state {expected} [{}] does not apply to ", expected.uuid)?;
        write!(f, "state {found} [{}]", found.uuid)
    }
}

impl std::error::Error for WrongBase {}

/// What makes the nodes of one state of those of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodesDiff {
    /// The new master, or that there is none.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub master: Option<Option<NodeId>>,
    /// Who went.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<NodeId>,
    /// Who came or is not as before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<Arc<Node>>,
}

impl NodesDiff {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.master.is_none() && self.removed.is_empty() && self.put.is_empty()
    }

    fn between(from: &Nodes, to: &Nodes) -> Self {
        let mut diff = NodesDiff { master: changed(&from.master, &to.master), ..NodesDiff::default() };
        for change in to.changes_since(from) {
            match change {
                TableChange::Removed(id, _) => diff.removed.push(id.clone()),
                TableChange::Put(_, node) => diff.put.push(Arc::clone(node)),
            }
        }
        diff
    }

    fn apply(&self, nodes: &mut Nodes) {
        replace(&mut nodes.master, &self.master);
        for id in &self.removed {
            nodes.remove(id);
        }
        for node in &self.put {
            nodes.insert(Arc::clone(node));
        }
    }
}

/// What makes the metadata of one state of that of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetadataDiff {
    /// The change of the persistent settings.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub persistent: TableDiff<Arc<str>, Arc<str>>,
    /// The change of the transient settings.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub transient: TableDiff<Arc<str>, Arc<str>>,
    /// Both new voting sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voting: Option<VotingSets>,
    /// The change of the users' keys.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub keys: TableDiff<Arc<str>, KeyValue>,
    /// How many bytes the keys have together, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_bytes: Option<u64>,
    /// The change of the leases.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub leases: TableDiff<Arc<str>, Lease>,
    /// The last fencing token, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_token: Option<Token>,
    /// The change of the recent requests.
    #[serde(skip_serializing_if = "RequestsDiff::is_empty")]
    pub requests: RequestsDiff,
    /// The change of what nodes sent on.
    #[serde(skip_serializing_if = "ForwardsDiff::is_empty")]
    pub forwards: ForwardsDiff,
    /// The change of the indices.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub indices: TableDiff<Arc<str>, Arc<Value>>,
    /// The change of the templates.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub templates: TableDiff<Arc<str>, Arc<Value>>,
}

impl MetadataDiff {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        let MetadataDiff {
            persistent,
            transient,
            voting,
            keys,
            key_bytes,
            leases,
            last_token,
            requests,
            forwards,
            indices,
            templates,
        } = self;
        let are_settings_empty = persistent.is_empty() && transient.is_empty() && voting.is_none();
        let are_keys_empty = keys.is_empty() && key_bytes.is_none() && requests.is_empty() && forwards.is_empty();
        let are_leases_empty = leases.is_empty() && last_token.is_none();
        are_settings_empty && are_keys_empty && are_leases_empty && indices.is_empty() && templates.is_empty()
    }

    fn between(from: &Metadata, to: &Metadata) -> Self {
        MetadataDiff {
            persistent: TableDiff::between(&from.persistent, &to.persistent),
            transient: TableDiff::between(&from.transient, &to.transient),
            voting: changed(&from.voting, &to.voting),
            keys: TableDiff::between(&from.keys, &to.keys),
            key_bytes: changed(&from.key_bytes, &to.key_bytes),
            leases: TableDiff::between(&from.leases, &to.leases),
            last_token: changed(&from.last_token, &to.last_token),
            requests: RequestsDiff::between(&from.requests, &to.requests),
            forwards: ForwardsDiff::between(&from.forwards, &to.forwards),
            indices: TableDiff::between(&from.indices, &to.indices),
            templates: TableDiff::between(&from.templates, &to.templates),
        }
    }

    fn apply(&self, metadata: &mut Metadata) {
        self.persistent.apply(&mut metadata.persistent);
        self.transient.apply(&mut metadata.transient);
        replace(&mut metadata.voting, &self.voting);
        self.keys.apply(&mut metadata.keys);
        replace(&mut metadata.key_bytes, &self.key_bytes);
        self.leases.apply(&mut metadata.leases);
        replace(&mut metadata.last_token, &self.last_token);
        self.requests.apply(&mut metadata.requests);
        self.forwards.apply(&mut metadata.forwards);
        self.indices.apply(&mut metadata.indices);
        self.templates.apply(&mut metadata.templates);
    }
}

/// What makes the recent requests of one state of those of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestsDiff {
    /// The change of the clients.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub clients: TableDiff<Uuid, Client>,
    /// The change of what became of their requests.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub done: TableDiff<RequestId, Remembered>,
    /// How many clients were forgotten, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<u64>,
    /// Up to which state they asked, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_up_to: Option<Version>,
}

impl RequestsDiff {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.done.is_empty() && self.forgotten.is_none()
    }

    fn between(from: &Requests, to: &Requests) -> Self {
        RequestsDiff {
            clients: TableDiff::between(&from.clients, &to.clients),
            done: TableDiff::between(&from.done, &to.done),
            forgotten: changed(&from.forgotten, &to.forgotten),
            forgotten_up_to: to.forgotten_up_to.filter(|_| from.forgotten_up_to != to.forgotten_up_to),
        }
    }

    fn apply(&self, requests: &mut Requests) {
        self.clients.apply(&mut requests.clients);
        self.done.apply(&mut requests.done);
        replace(&mut requests.forgotten, &self.forgotten);
        requests.forgotten_up_to = self.forgotten_up_to.or(requests.forgotten_up_to);
    }
}

/// What makes the changes that nodes sent on of one state of those of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForwardsDiff {
    /// The change of the processes.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub processes: TableDiff<EphemeralId, Forwarder>,
    /// The change of what became of their changes.
    #[serde(skip_serializing_if = "TableDiff::is_empty")]
    pub done: TableDiff<Slot, Carried>,
}

impl ForwardsDiff {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.done.is_empty()
    }

    fn between(from: &Forwards, to: &Forwards) -> Self {
        ForwardsDiff {
            processes: TableDiff::between(&from.processes, &to.processes),
            done: TableDiff::between(&from.done, &to.done),
        }
    }

    fn apply(&self, forwards: &mut Forwards) {
        self.processes.apply(&mut forwards.processes);
        self.done.apply(&mut forwards.done);
    }
}

fn changed<T: PartialEq + Clone>(from: &T, to: &T) -> Option<T> {
    (from != to).then(|| to.clone())
}

fn replace<T: Clone>(part: &mut T, new: &Option<T>) {
    if let Some(new) = new {
        part.clone_from(new);
    }
}

/// Tells a part that is `null` from one that is absent.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
