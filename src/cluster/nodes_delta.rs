//! Who came, who went and whether the master changed, in the words of Elasticsearch's log.
//!
//! Tells processes apart, not contents: a node whose attributes alone differ neither came nor went. Mirrors
//! `DiscoveryNodes.Delta` (6.8).

use super::{Node, NodeId, Nodes, TableChange};
use std::fmt;
use std::sync::Arc;

/// How the nodes of one state differ from those of the state before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodesDelta {
    /// Processes that came, the lowest id first.
    pub added: Vec<Arc<Node>>,
    /// Processes that went, the lowest id first.
    pub removed: Vec<Arc<Node>>,
    /// The new master if there is one and its id is not that of the one before.
    pub new_master: Option<Arc<Node>>,
    /// The master before, if the new one is another.
    pub previous_master: Option<Arc<Node>>,
}

impl Nodes {
    /// How these differ from the nodes of `previous`.
    pub fn delta(&self, previous: &Nodes) -> NodesDelta {
        let mut delta = NodesDelta::default();
        for change in self.changes_since(previous) {
            match change {
                TableChange::Removed(_, node) => delta.removed.push(Arc::clone(node)),
                TableChange::Put(id, node) => {
                    let before = previous.get(id);
                    if before.is_none_or(|before| !before.same_process(node)) {
                        delta.added.push(Arc::clone(node));
                        delta.removed.extend(before.cloned());
                    }
                }
            }
        }
        if self.master.is_some() && self.master != previous.master {
            delta.new_master = self.master_node().cloned();
            delta.previous_master = previous.master_node().cloned();
        }
        delta
    }
}

impl NodesDelta {
    /// Whether nobody came or went and the master did not change.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.new_master.is_none()
    }

    /// What `local` logs of it.
    pub fn summary<'a>(&'a self, local: &'a NodeId) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            let parts = [self.master_part(local), self.removed_part(), self.added_part(local)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            f.write_str(&parts.join(", "))
        })
    }

    fn master_part(&self, local: &NodeId) -> Option<String> {
        let master = self.new_master.as_ref()?;
        Some(match &self.previous_master {
            _ if self.removed.is_empty() && master.id == *local => format!("new_master {master}"),
            _ if self.removed.is_empty() => format!("detected_master {master}"),
            Some(previous) => format!("master {{new {master}, previous {previous}}}"),
            None => format!("master {{new {master}}}"),
        })
    }

    fn removed_part(&self) -> Option<String> {
        (!self.removed.is_empty()).then(|| format!("removed {}", listed(&self.removed, None)))
    }

    fn added_part(&self, local: &NodeId) -> Option<String> {
        let is_other = |node: &Arc<Node>| node.id != *local;
        self.added
            .iter()
            .any(is_other)
            .then(|| format!("added {}", listed(&self.added, Some(local))))
    }
}

fn listed(nodes: &[Arc<Node>], omitted: Option<&NodeId>) -> String {
    let named = nodes.iter().filter(|node| Some(&node.id) != omitted);
    let names: String = named.map(|node| format!("{node},")).collect();
    format!("{{{names}}}")
}
