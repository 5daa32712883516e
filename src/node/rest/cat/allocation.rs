//! `/_cat/allocation`: the disks of nodes that hold data.

use crate::rest::column::{Cell, Column, Row};
use crate::rest::error::RestError;
use crate::rest::nodes::{TIMEOUT, figures, select};
use crate::rest::route::Call;
use crate::rest::snapshot;
use crate::runtime::figures::{Asked, Disk, NodeFigures};

pub(super) static COLUMNS: [Column; 9] = [
    Column::new("shards", &["s"], "shards on the node").right().shown(),
    Column::new("disk.indices", &["di", "diskIndices"], "space that shards take").right().shown(),
    Column::new("disk.used", &["du", "diskUsed"], "space that is used").right().shown(),
    Column::new("disk.avail", &["da", "diskAvail"], "space that is left").right().shown(),
    Column::new("disk.total", &["dt", "diskTotal"], "size of the disk").right().shown(),
    Column::new("disk.percent", &["dp", "diskPercent"], "share of it that is used").right().shown(),
    Column::new("host", &["h"], "host of the node").shown(),
    Column::new("ip", &[], "address of the node without the port").shown(),
    Column::new("node", &["n"], "name of the node").shown(),
];

/// A row for each node, with empty cells for one that does not answer; without a filter for those that hold data.
pub(super) async fn rows(call: Call) -> Result<Vec<Row>, RestError> {
    let filter = call.parameters.list("nodes").unwrap_or_else(|| vec!["data:true"]);
    let state = snapshot::wanted(&call, None).await?;
    let nodes = select(&state.nodes, &call.handle.local().id, Some(&filter))?;
    Ok(figures(&call.handle, nodes, TIMEOUT).await.iter().map(row).collect())
}

fn row((node, figures): &Asked<NodeFigures>) -> Row {
    let disk = figures.as_ref().ok().and_then(|figures| figures.disk);
    let bytes = |bytes: fn(Disk) -> u64| disk.map_or(Cell::Empty, |disk| Cell::Bytes(bytes(disk)));
    let used = |disk: Disk| disk.total.saturating_sub(disk.available);
    let percent = disk.map_or(Cell::Empty, |disk| {
        let percent = u128::from(used(disk)) * 100 / u128::from(disk.total.max(1));
        Cell::Count(u64::try_from(percent).unwrap_or(u64::MAX))
    });
    vec![
        Cell::Count(0),
        disk.map_or(Cell::Empty, |_| Cell::Bytes(0)),
        bytes(|disk| disk.total.saturating_sub(disk.available)),
        bytes(|disk| disk.available),
        bytes(|disk| disk.total),
        percent,
        Cell::text(node.host()),
        Cell::text(node.host()),
        Cell::text(&*node.name),
    ]
}
