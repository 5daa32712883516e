//! What Zazen and Elasticsearch have in common: the REST interface.

use crate::http::Http;
use crate::peer::{View, Watch, Writer};
use crate::site::Place;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long one look may take; a node that says nothing for so long is silent.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a write may take; the node itself waits for a master meanwhile.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// A dynamic setting that changes nothing while it is at or above its default.
const HARMLESS: &str = "discovery.zen.publish_timeout";

pub(super) struct RestWatch(Http);

impl RestWatch {
    pub(super) fn new(place: &Place) -> Self {
        RestWatch(Http::at(place.door(), PATIENCE))
    }
}

impl Watch for RestWatch {
    fn look(&mut self) -> View {
        let Ok(reply) = self.0.get("/_cluster/state/master_node?local=true") else {
            return View::Silent;
        };
        let state = reply.json();
        match state.as_ref().and_then(|state| state["master_node"].as_str()) {
            Some(master) => View::Master(master.into()),
            None => View::Masterless,
        }
    }

    fn reached(&self) -> Option<Instant> {
        self.0.reached()
    }
}

/// The node that all these name as their master, found by its name.
pub(super) fn leader(places: &[&Place]) -> Option<usize> {
    let named: Option<Vec<usize>> = places.iter().map(|place| named_by(place)).collect();
    let named = named?;
    let first = *named.first()?;
    named.iter().all(|named| *named == first).then_some(first)
}

fn named_by(place: &Place) -> Option<usize> {
    let state = state(place)?;
    let master = state["master_node"].as_str()?;
    state["nodes"][master]["name"].as_str()?.strip_prefix('n')?.parse().ok()
}

/// A node's own view of the nodes and their master.
pub(super) fn state(place: &Place) -> Option<Value> {
    Http::at(place.door(), PATIENCE).get("/_cluster/state/master_node,nodes?local=true").ok()?.json()
}

pub(super) struct RestWriter(Http);

impl RestWriter {
    pub(super) fn new(place: &Place) -> Self {
        RestWriter(Http::at(place.door(), WRITE_PATIENCE))
    }
}

impl Writer for RestWriter {
    fn write(&mut self, number: u64) -> bool {
        let body = format!(r#"{{"transient":{{"{HARMLESS}":"{}ms"}}}}"#, 30_000 + number);
        let reply = self.0.ask("PUT", "/_cluster/settings?master_timeout=60s", body.as_bytes());
        let said = reply.ok().and_then(|reply| reply.json());
        said.is_some_and(|said| said["acknowledged"] == true)
    }
}
