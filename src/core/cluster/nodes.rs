//! The nodes of a cluster, and which of them is its master.
//!
//! Does not know which one is the local node: whoever asks tells it. Mirrors `DiscoveryNodes` (6.8).

use super::{Address, Node, NodeId, Table, TableChange};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// Nodes by id, and the master's id. Each node stands under its own id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nodes {
    /// The master, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master: Option<NodeId>,
    #[serde(rename = "nodes", serialize_with = "write_list", deserialize_with = "read_list")]
    table: Table<NodeId, Arc<Node>>,
}

impl Nodes {
    /// No nodes.
    pub fn new() -> Self {
        Nodes::default()
    }

    /// The node with this id.
    pub fn get(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.table.get(id)
    }

    /// Whether there is a node with this id.
    pub fn contains(&self, id: &NodeId) -> bool {
        self.table.contains_key(id)
    }

    /// The node that listens there; the lowest id if it was given twice.
    pub fn by_address(&self, address: &Address) -> Option<&Arc<Node>> {
        self.iter().find(|node| node.address == *address)
    }

    /// Puts a node in the place of the one with its id, and returns that.
    pub fn insert(&mut self, node: Arc<Node>) -> Option<Arc<Node>> {
        self.table.insert(node.id.clone(), node)
    }

    /// Takes the node with this id out; the master's id stays as it is.
    pub fn remove(&mut self, id: &NodeId) -> Option<Arc<Node>> {
        self.table.remove(id)
    }

    /// The nodes, the lowest id first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Node>> + Clone {
        self.table.values()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Whether both are clones of one set of nodes that has not changed since; masters are not compared.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.table.ptr_eq(&other.table)
    }

    /// The master, if there is one and it is among the nodes.
    pub fn master_node(&self) -> Option<&Arc<Node>> {
        self.table.get(self.master.as_ref()?)
    }

    /// Whether this very process is among the nodes, and not only one with its id.
    pub fn contains_process(&self, node: &Node) -> bool {
        self.get(&node.id).is_some_and(|held| held.same_process(node))
    }

    /// The nodes that may become master.
    pub fn eligible(&self) -> impl Iterator<Item = &Arc<Node>> + Clone {
        self.iter().filter(|node| node.is_master_eligible())
    }

    /// The nodes that hold data.
    pub fn data(&self) -> impl Iterator<Item = &Arc<Node>> + Clone {
        self.iter().filter(|node| node.is_data())
    }

    /// What must be done to `base` to make it hold the same nodes, in the order of their ids.
    pub fn changes_since<'a>(&'a self, base: &'a Nodes) -> impl Iterator<Item = TableChange<'a, NodeId, Arc<Node>>> {
        self.table.changes_since(&base.table)
    }
}

impl FromIterator<Arc<Node>> for Nodes {
    fn from_iter<I: IntoIterator<Item = Arc<Node>>>(nodes: I) -> Self {
        Nodes { master: None, table: nodes.into_iter().map(|node| (node.id.clone(), node)).collect() }
    }
}

fn write_list<S: Serializer>(table: &Table<NodeId, Arc<Node>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(table.values())
}

fn read_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Table<NodeId, Arc<Node>>, D::Error> {
    let nodes = Vec::<Arc<Node>>::deserialize(deserializer)?;
    Ok(nodes.into_iter().collect::<Nodes>().table)
}
