//! `/_cat/nodes`: the nodes of the cluster and what they use.
//!
//! What a node is comes from the state, what it uses from itself; one that does not answer in time has empty cells.

use super::node_columns::NODES;
use super::node_row::{NodeRow, short};
use crate::cluster::{Node, Nodes};
use crate::rest::column::Row;
use crate::rest::error::RestError;
use crate::rest::nodes::{TIMEOUT, figures};
use crate::rest::route::Call;
use crate::rest::snapshot;
use crate::runtime::figures::{Asked, NodeFigures};
use std::sync::Arc;

/// A row for each node, in the order of their ids.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let is_full = call.parameters.flag("full_id")?.unwrap_or(false);
    let state = snapshot::wanted(&call, None).await?;
    let nodes: Vec<Arc<Node>> = state.nodes.iter().cloned().collect();
    let measured = figures(&call.handle, nodes, TIMEOUT).await;
    let row = |(node, figures): Asked<NodeFigures>| {
        let id = if is_full { node.id.to_string() } else { short(node.id.as_str()) };
        let row = NodeRow { id, mark: mark(&state.nodes, &node), node, figures: figures.ok() };
        NODES.iter().map(|(_, cell)| cell(&row)).collect()
    };
    Ok(measured.into_iter().map(row).collect())
}

/// A star for the master; where no master is known, nobody is one for certain.
fn mark(nodes: &Nodes, node: &Node) -> &'static str {
    match &nodes.master {
        None => "x",
        Some(master) if *master == node.id => "*",
        Some(_) => "-",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Roles;
    use crate::rest::column::Cell;

    fn row(roles: Roles, address: &str) -> NodeRow {
        let node = Node {
            id: "A".into(),
            ephemeral_id: "a".into(),
            name: "n".into(),
            address: address.into(),
            roles,
            attributes: Arc::default(),
            version: "6.8.23".into(),
        };
        NodeRow { node: Arc::new(node), figures: None, id: "A".into(), mark: "x" }
    }

    #[test]
    fn roles_are_letters_and_no_role_is_a_dash() {
        let cases = [(Roles::ALL, "mdi"), (Roles::NONE, "-"), (Roles { data: true, ..Roles::NONE }, "d")];
        for (roles, expected) in cases {
            assert_eq!(row(roles, "h:1").roles(), Cell::text(expected));
        }
    }

    #[test]
    fn a_node_that_tells_nothing_has_empty_cells_but_for_what_the_state_tells() {
        let silent = row(Roles::ALL, "[::1]:9301");
        let known: Vec<String> = NODES
            .iter()
            .filter_map(|(column, cell)| Some(format!("{}={}", column.name, cell(&silent).show(&Default::default())?)))
            .collect();
        let expected =
            ["id=A", "ip=::1", "port=9301", "http_address=-", "version=6.8.23", "node.role=mdi", "master=x", "name=n"];
        assert_eq!(known, expected);
    }
}
