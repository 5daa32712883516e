//! Elasticsearch's HTTP API over the snapshots and answers of a node.
//!
//! One table of routes says what there is: dispatch, the methods of a path, the parameters that are known and [`page()`] all
//! come from it. What is the same for every request is done in one place, `serve`; so is the mapping of errors, in `error`.
//! Sockets are not touched here: whoever listens hands requests to the [`router`].

mod allocation;
mod audit;
mod body;
mod calendar;
mod cat;
mod cluster_stats;
mod column;
mod commands;
mod cors;
mod dashboard;
mod date_math;
mod door;
mod empties;
mod error;
mod explain;
mod faults;
mod health;
mod health_wait;
mod history;
mod icon;
mod index;
mod indices;
mod kv;
mod lane;
mod lease;
mod length;
mod login;
mod members;
mod metrics;
mod nodes;
mod object;
mod openapi;
mod overview;
mod packing;
mod page;
mod parameters;
mod pending;
mod probes;
mod query;
mod receive;
mod release;
mod remote;
mod removal;
mod reply;
mod reroute;
mod response_format;
mod rights;
mod route;
mod routes;
mod safety;
mod search_body;
mod searches;
mod section;
mod sent;
mod serve;
mod settings;
mod snapshot;
mod state;
mod submit;
mod tasks;
mod time;
mod txn;
mod uri;
mod waits;
mod watch;
mod welcome;

pub use page::page;
pub use reply::HINT;

use crate::runtime::Handle;
use crate::runtime::listen::Dispatcher;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use door::Door;
use lane::Lane;
use std::sync::Arc;
use waits::Waits;

/// The whole API of one node.
#[derive(Clone)]
pub struct Api {
    handle: Handle,
    door: Arc<Door>,
    lane: Lane,
    waits: Arc<Waits>,
}

impl Api {
    /// In a node's name.
    pub fn new(handle: Handle) -> Self {
        let (door, waits) = (Arc::new(Door::of(&handle.settings())), Waits::of(&handle.settings()));
        Api { handle, door, lane: Lane::start(), waits }
    }
}

impl Dispatcher for Api {
    fn dispatch(&self, request: Request<Body>) -> impl Future<Output = Response> + Send {
        serve::serve(self.handle.clone(), (self.door.clone(), self.lane.clone(), self.waits.clone()), request)
    }
}

/// The same as a router, for a program that serves it itself.
pub fn router(handle: Handle) -> Router {
    let api = Api::new(handle);
    // The paths are matched here and not by axum, whose rules are others than Elasticsearch's.
    Router::new().fallback(move |request: Request<Body>| async move { api.dispatch(request).await })
}
