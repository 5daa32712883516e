//! Which nodes a request is about: names, ids, addresses, roles, attributes, in the order in which they are given.
//!
//! Mirrors `DiscoveryNodes.resolveNodes` (6.8). Differs from ES: the order is kept wherever the filter stands.

use crate::cluster::{Node, NodeId, Nodes};
use crate::rest::error::RestError;
use crate::rest::parameters::flag;
use crate::service::matches;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The nodes that a filter selects, by id. Without a filter that is all of them.
pub(in crate::rest) fn select(
    nodes: &Nodes,
    local: &NodeId,
    filter: Option<&[&str]>,
) -> Result<Vec<Arc<Node>>, RestError> {
    let Some(filter) = filter.filter(|filter| !filter.is_empty()) else {
        return Ok(nodes.iter().cloned().collect());
    };
    let mut selected = BTreeSet::new();
    for item in filter {
        match *item {
            "_local" => selected.extend(nodes.get(local).map(|node| node.id.clone())),
            "_master" => selected.extend(nodes.master_node().map(|node| node.id.clone())),
            item if nodes.contains(&item.into()) => drop(selected.insert(item.into())),
            item => apply(nodes, item, &mut selected)?,
        }
    }
    Ok(nodes.iter().filter(|node| selected.contains(&node.id)).cloned().collect())
}

/// A pattern of names and hosts, or what stands on both sides of a colon.
fn apply(nodes: &Nodes, item: &str, selected: &mut BTreeSet<NodeId>) -> Result<(), RestError> {
    let is_named = |node: &&Arc<Node>| item == "_all" || matches(item, &node.name) || matches(item, node.host());
    selected.extend(nodes.iter().filter(is_named).map(|node| node.id.clone()));
    let Some((name, value)) = item.split_once(':') else {
        return Ok(());
    };
    let Some(has_role) = role(name) else {
        let fits = |node: &&Arc<Node>| {
            node.attributes.iter().any(|(known, held)| matches(name, known) && matches(value, held))
        };
        selected.extend(nodes.iter().filter(fits).map(|node| node.id.clone()));
        return Ok(());
    };
    let found = nodes.iter().filter(|node| has_role(node)).map(|node| node.id.clone());
    if flag(value)? {
        selected.extend(found);
    } else {
        for id in found {
            selected.remove(&id);
        }
    }
    Ok(())
}

/// Whether a node has the role of this name, if there is such a role.
fn role(name: &str) -> Option<fn(&Node) -> bool> {
    match name {
        "master" => Some(|node| node.roles.master),
        "data" => Some(|node| node.roles.data),
        "ingest" => Some(|node| node.roles.ingest),
        "coordinating_only" => Some(|node| !node.roles.master && !node.roles.data && !node.roles.ingest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Roles;

    fn nodes() -> Nodes {
        let node = |id: &str, name: &str, address: &str, roles, rack: &str| {
            Arc::new(Node {
                id: id.into(),
                ephemeral_id: "e".into(),
                name: name.into(),
                address: address.into(),
                roles,
                attributes: Arc::new([("rack".into(), rack.into())].into()),
                version: "6.8.23".into(),
            })
        };
        let mut nodes: Nodes = [
            node("A", "one", "10.0.0.1:9300", Roles::ALL, "r1"),
            node("B", "two", "10.0.0.2:9300", Roles { master: true, ..Roles::NONE }, "r1"),
            node("C", "three", "[::1]:9300", Roles { data: true, ..Roles::NONE }, "r2"),
            node("D", "four", "10.1.0.1:9300", Roles::NONE, "x"),
        ]
        .into_iter()
        .collect();
        nodes.master = Some("B".into());
        nodes
    }

    fn selected(filter: &str) -> String {
        let filter: Vec<&str> = filter.split(',').collect();
        let nodes = select(&nodes(), &"A".into(), Some(&filter)).unwrap_or_else(|error| panic!("{filter:?}: {error}"));
        nodes.iter().map(|node| node.id.as_str()).collect()
    }

    #[test]
    fn a_filter_is_worked_off_from_left_to_right() {
        let cases = [
            ("_all", "ABCD"),
            ("*", "ABCD"),
            ("_local", "A"),
            ("_master", "B"),
            ("_master,_local", "AB"),
            ("C", "C"),
            ("t*", "BC"),
            ("one,nope", "A"),
            ("10.0.*", "AB"),
            ("::1", "C"),
            ("10.0.0.1:9300", ""),
            ("master:true", "AB"),
            ("master:false", ""),
            ("_all,master:false", "CD"),
            ("master:false,_all", "ABCD"),
            ("_master,master:false", ""),
            ("master:false,_master", "B"),
            ("data:true,master:false", "C"),
            ("data:", "AC"),
            ("ingest:true", "A"),
            ("coordinating_only:true", "D"),
            ("*,coordinating_only:false", "ABC"),
            ("rack:r1", "AB"),
            ("ra*:r*", "ABC"),
            ("rack:r1,data:false", "B"),
            ("nope", ""),
        ];
        for (filter, expected) in cases {
            assert_eq!(selected(filter), expected, "{filter}");
        }
    }

    #[test]
    fn no_filter_is_all_nodes_and_a_strange_role_is_refused() {
        let all = |filter| select(&nodes(), &"A".into(), filter).map(|nodes| nodes.len());
        assert_eq!((all(None), all(Some(&[]))), (Ok(4), Ok(4)));
        assert!(all(Some(&["master:perhaps"])).is_err());
        let mut leaderless = nodes();
        leaderless.master = None;
        assert_eq!(select(&leaderless, &"Z".into(), Some(&["_master", "_local"])), Ok(Vec::new()));
    }
}
