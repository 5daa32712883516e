//! `/_cat/thread_pool`: the pools of threads that Elasticsearch has, as clients look for them.
//!
//! There are none here: `generic` stands for all threads of a node, and nothing waits for the others.

use super::node_row::port;
use crate::cluster::Node;
use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::nodes::{POOLS, Pool, TIMEOUT, figures};
use crate::rest::route::Call;
use crate::rest::snapshot;
use crate::runtime::figures::{Asked, NodeFigures};
use crate::service::matches;

pub(super) static COLUMNS: [Column; 19] = [
    Column::new("node_name", &["nn"], "name of the node").shown(),
    Column::new("node_id", &["id"], "id of the node"),
    Column::new("ephemeral_node_id", &["eid"], "id of its process, new with every start"),
    Column::new("pid", &["p"], "number of its process"),
    Column::new("host", &["h"], "its host"),
    Column::new("ip", &["i"], "its address without the port"),
    Column::new("port", &["po"], "port for other nodes"),
    Column::new("name", &["n"], "name of the pool").shown(),
    Column::new("type", &["t"], "how the pool grows"),
    Column::new("active", &["a"], "threads that work").right().shown(),
    Column::new("size", &["s"], "threads that there are").right(),
    Column::new("queue", &["q"], "tasks that wait").right().shown(),
    Column::new("queue_size", &["qs"], "tasks that may wait, -1 for any number").right(),
    Column::new("rejected", &["r"], "tasks that were refused").right().shown(),
    Column::new("largest", &["l"], "most threads that there were").right(),
    Column::new("completed", &["c"], "tasks that were done").right(),
    Column::new("min", &["mi"], "least threads").right(),
    Column::new("max", &["ma"], "most threads").right(),
    Column::new("keep_alive", &["ka"], "how long idle threads are kept").right(),
];

/// A row for each pool that is wanted of each node; one that does not answer has empty cells.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let patterns = call.parameters.list("thread_pool_patterns");
    let is_wanted = |pool: &&Pool| {
        let fits = |pattern: &&str| matches(pattern, pool.name);
        patterns.as_ref().is_none_or(|patterns| patterns.iter().any(fits))
    };
    let state = snapshot::wanted(&call, None).await?;
    let measured = figures(&call.handle, state.nodes.iter().cloned().collect(), TIMEOUT).await;
    let of_node = |(node, figures): &Asked<NodeFigures>| {
        let row = |pool: &Pool| row(node, figures.as_ref().ok(), pool);
        POOLS.iter().filter(&is_wanted).map(row).collect::<Vec<Row>>()
    };
    Ok(measured.iter().flat_map(of_node).collect())
}

fn row(node: &Node, figures: Option<&NodeFigures>, pool: &Pool) -> Row {
    let told = |cell: fn(&NodeFigures, &Pool) -> Cell| figures.map_or(Cell::Empty, |figures| cell(figures, pool));
    let threads = || told(|figures, pool| Cell::Count(pool.threads(figures.process.threads)));
    let none = || told(|_, _| Cell::Count(0));
    vec![
        Cell::text(&*node.name),
        Cell::text(node.id.as_str()),
        Cell::text(node.ephemeral_id.as_str()),
        told(|figures, _| Cell::text(figures.pid.to_string())),
        Cell::text(node.host()),
        Cell::text(node.host()),
        port(node),
        Cell::text(pool.name),
        told(|_, pool| Cell::text(pool.kind)),
        none(),
        threads(),
        none(),
        told(|_, pool| Cell::text(pool.queue.to_string())),
        none(),
        threads(),
        none(),
        none(),
        none(),
        told(|_, pool| pool.keep_alive.map_or(Cell::Empty, Cell::text)),
    ]
}
