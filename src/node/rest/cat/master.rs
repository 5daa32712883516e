//! `/_cat/master`: who leads.

use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::route::Call;
use crate::rest::snapshot;

pub(super) static COLUMNS: [Column; 4] = [
    Column::new("id", &[], "id of the node").shown(),
    Column::new("host", &["h"], "its host").shown(),
    Column::new("ip", &[], "its address without the port").shown(),
    Column::new("node", &["n"], "its name").shown(),
];

/// One row; of dashes where no master is known.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let state = snapshot::wanted(&call, None).await?;
    let master = state.nodes.master_node();
    let texts = match master {
        Some(node) => [node.id.as_str(), node.host(), node.host(), &node.name],
        None => ["-"; 4],
    };
    Ok(vec![texts.map(Cell::text).to_vec()])
}
