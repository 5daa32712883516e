//! What a node sees of its cluster, told to whoever watches: why it has a master or none, what its process uses, what it was
//! told at its start, and which members answer it.
//!
//! What that is, how it is asked for, and what of it is kept. It is looked for by `outlook`. Elasticsearch has nothing like it.

mod reaches;
mod trial;

pub use reaches::{Reach, ReachOutcome, Reaches};
pub use trial::DiskTrial;

use super::figures::{Asked, NodeFigures};
use super::latest::Latest;
use crate::cluster::{ClusterState, EphemeralId, Node, NodeId, Term};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Where a node's transport tells what it sees.
pub const PATH: &str = "/_zen/sight";

/// Where a node's transport tells which process it is, and nothing else.
pub const HERE_PATH: &str = "/_zen/here";

/// What a node tries when it is asked what it sees, and what it was told of all last.
#[derive(Default)]
pub struct Tries {
    pub(super) reaches: Reaches,
    pub(super) trial: DiskTrial,
    pub(super) views: Views,
}

/// What all see, as it was told last.
pub type Views = Latest<ViewQuestion, Arc<View>>;

/// What is asked of all: how many events of each, for how long, and in which state. Who has another master is asked anew.
pub type ViewQuestion = (usize, Duration, Term, Option<NodeId>);

/// What all see at one moment.
#[derive(Debug)]
pub struct View {
    /// When it was asked for, since 1970.
    pub at: Duration,
    /// The state of the node that asked.
    pub state: Arc<ClusterState>,
    /// What became of asking each.
    pub members: Vec<Asked<Sight>>,
}

/// What one node sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sight {
    /// Whose sight this is.
    pub node: NodeId,
    /// Why it has a master or none, as `/_zazen/explain` tells it.
    pub explanation: serde_json::Value,
    /// Whether it is to be stopped soon, so that users are told to go elsewhere.
    #[serde(default)]
    pub drained: bool,
    /// Why its disk is not counted on, if a write was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// What its process uses.
    #[serde(default)]
    pub figures: Option<NodeFigures>,
    /// What it was told at its start, by key.
    #[serde(default)]
    pub settings: BTreeMap<String, Configured>,
    /// Which members answered it when they were last tried.
    #[serde(default)]
    pub reaches: Vec<Reach>,
    /// The newest of what became of its cluster, as it saw it, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<serde_json::Value>,
}

/// What is asked of a node beside what it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// How many of its newest events.
    pub events: usize,
    /// Whether a write to its disk, and whom it reaches now and not a while ago.
    pub trial: bool,
}

impl Wanted {
    /// The path of the question. A node of before, which tries no write, understands it as well.
    pub fn path(self) -> String {
        let Wanted { events, trial } = self;
        if trial { format!("{PATH}?events={events}&trial=true") } else { format!("{PATH}?events={events}") }
    }

    /// What such a query asks for.
    pub fn of(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        let mut wanted = Wanted::default();
        for (name, value) in pairs {
            match name {
                "events" => wanted.events = value.parse().unwrap_or(0).min(EVENTS_MAX),
                "trial" => wanted.trial = value == "true",
                _ => {}
            }
        }
        wanted
    }
}

/// How many events are told at the most.
pub const EVENTS_MAX: usize = 300;

/// What a node was told for one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configured {
    /// The value; a list has its elements behind commas.
    pub value: String,
    /// Where it was told.
    pub from: String,
}

/// A process, as it names itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Here {
    /// The node.
    pub node: NodeId,
    /// The process.
    pub process: EphemeralId,
}

impl Here {
    /// The process of a node.
    pub fn of(node: &Node) -> Self {
        Here { node: node.id.clone(), process: node.ephemeral_id.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_query_asks_for_more_events_than_there_may_be() {
        for (query, expected) in [
            (None, 0),
            (Some("events=7"), 7),
            (Some("events=9999"), EVENTS_MAX),
            (Some("events=x"), 0),
            (Some("x=1"), 0),
        ] {
            assert_eq!(Wanted::of(query), Wanted { events: expected, trial: false }, "{query:?}");
        }
        for wanted in [Wanted { events: 12, trial: false }, Wanted { events: 0, trial: true }] {
            assert_eq!(Wanted::of(wanted.path().split_once('?').map(|(_, query)| query)), wanted);
        }
    }
}
