//! What a row about a node is made of, and what of it columns may tell.

use crate::cluster::Node;
use crate::rest::column::Cell;
use crate::runtime::figures::NodeFigures;
use std::sync::Arc;

/// How many characters of an id are shown to those who do not want it all.
const SHORT_ID: usize = 4;

/// What a row is made of.
pub(super) struct NodeRow {
    pub(super) node: Arc<Node>,
    pub(super) figures: Option<NodeFigures>,
    pub(super) id: String,
    pub(super) mark: &'static str,
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

/// The port of a node for other nodes.
pub(super) fn port(node: &Node) -> Cell {
    let port = node.address.as_str().rsplit_once(':').map(|(_, port)| port);
    port.map_or(Cell::Empty, Cell::text)
}

/// The beginning of an id.
pub(super) fn short(id: &str) -> String {
    id.chars().take(SHORT_ID).collect()
}
