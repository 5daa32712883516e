//! `/_cat/nodes`: the nodes of the cluster and what they use.
//!
//! What a node is comes from the state, what it uses from itself; one that does not answer in time has empty cells.

use super::column::{Cell, Row};
use super::node_columns::NODES;
use crate::cluster::{Node, Nodes};
use crate::rest::error::RestError;
use crate::rest::nodes::{TIMEOUT, figures};
use crate::rest::route::Call;
use crate::rest::snapshot;
use crate::runtime::figures::{Asked, NodeFigures};
use std::sync::Arc;

/// How many characters of an id are shown to those who do not want it all.
const SHORT_ID: usize = 4;

/// What a row is made of.
pub(super) struct NodeRow {
    pub(super) node: Arc<Node>,
    pub(super) figures: Option<NodeFigures>,
    id: String,
    mark: &'static str,
}

/// A row for each node, in the order of their ids.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let is_full = call.parameters.flag("full_id")?.unwrap_or(false);
    let state = snapshot::wanted(&call, None).await?;
    let nodes: Vec<Arc<Node>> = state.nodes.iter().cloned().collect();
    let measured = figures(&call.handle, nodes, TIMEOUT).await;
    let row = |(node, figures): Asked<NodeFigures>| {
        let length = if is_full { usize::MAX } else { SHORT_ID };
        let id = node.id.as_str().chars().take(length).collect();
        let row = NodeRow { id, mark: mark(&state.nodes, &node), node, figures: figures.ok() };
        NODES.iter().map(|(_, cell)| cell(&row)).collect()
    };
    Ok(measured.into_iter().map(row).collect())
}

/// The port of a node for other nodes.
pub(super) fn port(node: &Node) -> Cell {
    let port = node.address.as_str().rsplit_once(':').map(|(_, port)| port);
    port.map_or(Cell::Empty, Cell::text)
}

/// The beginning of an id.
pub(super) fn short(id: &str) -> String {
    id.chars().take(SHORT_ID).collect()
}

/// A star for the master; where no master is known, nobody is one for certain.
fn mark(nodes: &Nodes, node: &Node) -> &'static str {
    match &nodes.master {
        None => "x",
        Some(master) if *master == node.id => "*",
        Some(_) => "-",
    }
}

impl NodeRow {
    pub(super) fn id(&self) -> Cell {
        Cell::text(self.id.as_str())
    }

    pub(super) fn mark(&self) -> Cell {
        Cell::text(self.mark)
    }

    pub(super) fn port(&self) -> Cell {
        port(&self.node)
    }

    pub(super) fn roles(&self) -> Cell {
        let roles = &self.node.roles;
        let letters = [(roles.master, 'm'), (roles.data, 'd'), (roles.ingest, 'i')];
        let letters: String = letters.iter().filter(|(has, _)| *has).map(|(_, letter)| letter).collect();
        Cell::text(if letters.is_empty() { "-".into() } else { letters })
    }

    pub(super) fn http(&self) -> Cell {
        let address = self.figures.as_ref().and_then(|figures| figures.http_address.as_deref());
        Cell::text(address.unwrap_or("-"))
    }

    /// A cell of what the node told, empty if it told nothing of it.
    pub(super) fn told(&self, cell: impl FnOnce(&NodeFigures) -> Option<Cell>) -> Cell {
        self.figures.as_ref().and_then(cell).unwrap_or(Cell::Empty)
    }

    /// The load over 1, 5 or 15 minutes.
    pub(super) fn load(&self, place: usize) -> Cell {
        self.told(|figures| Some(Cell::Decimal(*figures.load?.get(place)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Roles;

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
