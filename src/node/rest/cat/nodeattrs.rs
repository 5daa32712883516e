//! `/_cat/nodeattrs`: the attributes of nodes.

use super::node_row::{port, short};
use crate::cluster::Node;
use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::nodes::{TIMEOUT, figures};
use crate::rest::route::Call;
use crate::rest::snapshot;
use crate::runtime::figures::{Asked, NodeFigures};

pub(super) static COLUMNS: [Column; 8] = [
    Column::new("node", &["name"], "name of the node").shown(),
    Column::new("id", &["id", "nodeId"], "id of the node"),
    Column::new("pid", &["p"], "id of its process"),
    Column::new("host", &["h"], "its host").shown(),
    Column::new("ip", &["i"], "its address without the port").shown(),
    Column::new("port", &["po"], "port for other nodes"),
    Column::new("attr", &["attr.name"], "name of the attribute").shown(),
    Column::new("value", &["attr.value"], "value of the attribute").shown(),
];

/// A row for each attribute of each node.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let state = snapshot::wanted(&call, None).await?;
    let measured = figures(&call.handle, state.nodes.iter().cloned().collect(), TIMEOUT).await;
    Ok(measured.iter().flat_map(of_node).collect())
}

fn of_node((node, figures): &Asked<NodeFigures>) -> Vec<Row> {
    let pid = figures.as_ref().map_or(Cell::Empty, |figures| Cell::text(figures.pid.to_string()));
    let row = |(name, value): (&String, &String)| {
        let Node { name: node_name, .. } = &**node;
        vec![
            Cell::text(&**node_name),
            Cell::text(short(node.id.as_str())),
            pid.clone(),
            Cell::text(node.host()),
            Cell::text(node.host()),
            port(node),
            Cell::text(name.as_str()),
            Cell::text(value.as_str()),
        ]
    };
    node.attributes.iter().map(row).collect()
}
