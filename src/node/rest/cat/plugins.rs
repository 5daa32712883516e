//! `/_cat/plugins`: the plugins of nodes, of which there are none.

use crate::rest::column::Column;

pub(super) static COLUMNS: [Column; 5] = [
    Column::new("id", &[], "id of the node"),
    Column::new("name", &["n"], "name of the node").shown(),
    Column::new("component", &["c"], "name of the plugin").shown(),
    Column::new("version", &["v"], "release of the plugin").shown(),
    Column::new("description", &["d"], "what the plugin does"),
];
