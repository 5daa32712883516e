//! Requests that wait: for changes, for a health, for a version of the state, for a lease.
//!
//! Each holds its connection for as long as it waits. Together they have three of four places at the most, so that whoever asks
//! and goes finds one; more of them are refused, and told when to come again. Stands where Elasticsearch has bounds for the
//! queues of its thread pools.

use super::error::RestError;
use super::length::WATCH;
use super::route::Way;
use super::uri;
use crate::runtime::descriptors::{self, Side};
use crate::runtime::listen::keeping;
use crate::settings::NodeSettings;
use axum::body::Body;
use axum::http::Response;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The logger of what comes in.
const TARGET: &str = "org.elasticsearch.http.AbstractHttpServerTransport";

/// The places of those who wait.
pub(super) struct Waits {
    places: Arc<Semaphore>,
    most: usize,
    refused: AtomicU64,
}

impl Waits {
    /// Those of a node with these settings.
    pub(super) fn of(settings: &NodeSettings) -> Arc<Self> {
        Arc::new(Waits::of_connections(descriptors::fitting(Side::Users, settings.rest.connections)))
    }

    fn of_connections(connections: usize) -> Self {
        let most = (connections - connections / 4).clamp(1, Semaphore::MAX_PERMITS);
        Waits { places: Arc::new(Semaphore::new(most)), most, refused: AtomicU64::new(0) }
    }

    /// A place for a request that may wait; none is needed for others.
    pub(super) fn take(
        &self,
        way: &Result<Way, RestError>,
        query: Option<&str>,
    ) -> Result<Option<OwnedSemaphorePermit>, TooManyWait> {
        if !may_wait(way, query.unwrap_or_default()) {
            return Ok(None);
        }
        self.places.clone().try_acquire_owned().map(Some).map_err(|_| {
            let refused = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
            if refused.is_power_of_two() {
                let why = TooManyWait(self.most);
                tracing::warn!(target: TARGET, "{why}, so that others are answered: [{refused}] were refused so far");
            }
            TooManyWait(self.most)
        })
    }
}

/// Whether a request may wait, by where it goes and what it says of waiting.
fn may_wait(way: &Result<Way, RestError>, query: &str) -> bool {
    let says = |text: &str| text.contains("wait") || text.contains("timeout");
    let is_watch = matches!(way, Ok(Way::Here(route, _)) if route.name == WATCH);
    is_watch || says(query) || query.contains('%') && uri::decode(query).is_ok_and(|query| says(&query))
}

/// So many wait already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyWait(usize);

impl fmt::Display for TooManyWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] requests wait at this node, and no more may wait beside them", self.0)
    }
}

/// An answer whose request has a place until all of it is gone.
pub(super) fn held(response: Response<Body>, place: Option<OwnedSemaphorePermit>) -> Response<Body> {
    match place {
        Some(place) => response.map(|body| keeping(body, place)),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_wait_leave_a_quarter_of_the_places_to_others() {
        let (waits, nowhere) = (Waits::of_connections(4), Ok(Way::Nowhere));
        let take = |query| waits.take(&nowhere, Some(query));
        let held: Vec<_> = (0..3).map(|_| take("wait=1m").expect("there is room")).collect();
        assert!(held.iter().all(Option::is_some));
        for query in ["wait=1m", "w%61it=1m", "wait_for_nodes=3", "master_timeout=1h"] {
            assert_eq!(take(query).err(), Some(TooManyWait(3)), "{query}");
        }
        assert!(take("pretty").expect("it goes at once").is_none());
        drop(held);
        assert!(take("wait=1m").expect("there is room again").is_some());
    }
}
