//! Looks at many nodes, one after the other, over kept connections.

use crate::http::Http;
use crate::site::Place;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long one look may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one node shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// The id of its master.
    pub(super) master: Option<String>,
    pub(super) term: u64,
    pub(super) version: u64,
}

/// Connections to the nodes.
pub(super) struct Sweep(Vec<Http>);

impl Sweep {
    pub(super) fn new(places: &[Place]) -> Self {
        Sweep(places.iter().map(|place| Http::new(place.client(), PATIENCE)).collect())
    }

    /// What a node shows, if it answers.
    pub(super) fn look(&mut self, index: usize) -> Option<Sight> {
        let state = self.0[index].get("/_cluster/state/version,master_node?local=true").ok()?.json()?;
        Some(Sight {
            master: state["master_node"].as_str().map(String::from),
            term: state["term"].as_u64()?,
            version: state["version"].as_u64()?,
        })
    }

    /// The id of the one master that all these name.
    pub(super) fn agreement(&mut self, nodes: &[usize]) -> Option<String> {
        let mut agreed = None;
        for index in nodes {
            let master = self.look(*index)?.master?;
            if *agreed.get_or_insert_with(|| master.clone()) != master {
                return None;
            }
        }
        agreed
    }

    /// The members by their ids, as a node sees them, with the numbers in their names.
    pub(super) fn members(&mut self, index: usize) -> Option<BTreeMap<String, usize>> {
        let state = self.0[index].get("/_cluster/state/nodes?local=true").ok()?.json()?;
        let numbered = |(id, node): (&String, &Value)| {
            let number = node["name"].as_str()?.strip_prefix('n')?.parse().ok()?;
            Some((id.clone(), number))
        };
        state["nodes"].as_object()?.iter().map(numbered).collect()
    }
}
