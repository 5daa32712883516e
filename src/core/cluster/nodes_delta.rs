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
        self.added.iter().any(is_other).then(|| format!("added {}", listed(&self.added, Some(local))))
    }
}

fn listed(nodes: &[Arc<Node>], omitted: Option<&NodeId>) -> String {
    let named = nodes.iter().filter(|node| Some(&node.id) != omitted);
    let names: String = named.map(|node| format!("{node},")).collect();
    format!("{{{names}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Roles;

    fn node(id: &str, start: u32) -> Arc<Node> {
        Arc::new(Node {
            id: id.into(),
            ephemeral_id: format!("{id}{start}").into(),
            name: "".into(),
            address: "h:1".into(),
            roles: Roles::ALL,
            attributes: Arc::default(),
            version: "6.8.23".into(),
        })
    }

    fn nodes(master: Option<&str>, starts: &[(&str, u32)]) -> Nodes {
        let mut nodes: Nodes = starts.iter().map(|&(id, start)| node(id, start)).collect();
        nodes.master = master.map(NodeId::from);
        nodes
    }

    fn summary(from: &Nodes, to: &Nodes, local: &str) -> String {
        to.delta(from).summary(&local.into()).to_string()
    }

    #[test]
    fn the_first_master_and_its_followers_name_it_differently() {
        let alone = nodes(None, &[("a", 1)]);
        let formed = nodes(Some("a"), &[("a", 1), ("b", 1)]);
        assert_eq!(summary(&alone, &formed, "a"), "new_master {a}{a1}{h}{h:1}, added {{b}{b1}{h}{h:1},}");
        let alone = nodes(None, &[("b", 1)]);
        assert_eq!(summary(&alone, &formed, "b"), "detected_master {a}{a1}{h}{h:1}, added {{a}{a1}{h}{h:1},}");
    }

    #[test]
    fn a_new_master_is_named_with_the_one_that_went() {
        let before = nodes(Some("a"), &[("a", 1), ("b", 1), ("c", 1)]);
        let after = nodes(Some("b"), &[("b", 1), ("c", 1)]);
        let expected = "master {new {b}{b1}{h}{h:1}, previous {a}{a1}{h}{h:1}}, removed {{a}{a1}{h}{h:1},}";
        assert_eq!(summary(&before, &after, "c"), expected);
        let leaderless = nodes(None, &[("a", 1), ("b", 1), ("c", 1)]);
        let expected = "master {new {b}{b1}{h}{h:1}}, removed {{a}{a1}{h}{h:1},}";
        assert_eq!(summary(&leaderless, &after, "c"), expected);
    }

    #[test]
    fn losing_the_master_or_joining_oneself_is_no_news() {
        let before = nodes(Some("a"), &[("a", 1), ("b", 1)]);
        let leaderless = nodes(None, &[("a", 1), ("b", 1)]);
        assert!(leaderless.delta(&before).is_empty());
        assert_eq!(summary(&nodes(None, &[]), &nodes(None, &[("b", 1)]), "b"), "");
    }

    #[test]
    fn a_restarted_node_went_and_came() {
        let before = nodes(Some("a"), &[("a", 1), ("b", 1)]);
        let after = nodes(Some("a"), &[("a", 2), ("b", 1)]);
        assert_eq!(summary(&before, &after, "b"), "removed {{a}{a1}{h}{h:1},}, added {{a}{a2}{h}{h:1},}");
        assert!(!after.contains_process(&node("a", 1)) && after.contains_process(&node("a", 2)));
    }
}
