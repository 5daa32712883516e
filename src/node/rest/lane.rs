//! Where requests are answered that take long: on a thread of their own, which goes behind all others of the process.
//!
//! What is short is answered by whoever reads it, and never waits behind what is long: ranges of keys, figures of all nodes,
//! whole states, large bodies. These wait for each other instead. Stands where Elasticsearch has the thread pool
//! `management`.

use super::error::RestError;
use super::route::Way;
use crate::runtime::go_behind;
use crate::service::Queue;
use axum::http::HeaderMap;
use axum::http::header;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

/// A request with a larger body takes long, whatever it asks for.
const SHORT_BODY: usize = Queue::<()>::HEAVY_BYTES;

/// So many KiB of those are on their way to the master at a time, and one whatever it has.
const LARGE_KIB: u32 = 1 << 10;

/// No longer than this one waits for its turn.
const TURN_MAX: Duration = Duration::from_secs(10);

/// And what one had rests no longer than this before the next one has it.
const REST_MAX: Duration = Duration::from_millis(250);

/// So many steps the thread goes behind those of the node.
const STEPS_BEHIND: i32 = 10;

/// What is short whoever asks: one key, one lease, one number. All other routes may have much to tell.
const SHORT: [&str; 17] = [
    "cluster_health_action",
    "main_action",
    "refused_action",
    "zazen_drain_post_action",
    "zazen_handover_post_action",
    "zazen_kv_one_delete_action",
    "zazen_kv_one_get_action",
    "zazen_kv_one_put_action",
    "zazen_lease_one_delete_action",
    "zazen_lease_one_get_action",
    "zazen_lease_one_post_action",
    "zazen_lease_one_put_action",
    "zazen_livez_get_action",
    "zazen_readyz_get_action",
    "zazen_safe_to_stop_get_action",
    "zazen_startupz_get_action",
    "zazen_txn_post_action",
];

/// What goes on as long as it is listened to, and sends its long parts here itself.
const WATCH: &str = "zazen_watch_get_action";

/// Whether a request takes no longer than any other.
pub(super) fn is_short(way: &Result<Way, RestError>, headers: &HeaderMap, body: &[u8]) -> bool {
    let Ok(Way::Here(route, _)) = way else {
        return true;
    };
    let accepts =
        |kind| headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|it| it.contains(kind));
    let is_listener = route.name == WATCH && accepts(super::watch::EVENT_STREAM);
    body.len() <= SHORT_BODY && (is_listener || SHORT.contains(&route.name))
}

/// The turn of a large body. What it had rests for as long as it took: the disk and the links are not for large bodies alone.
pub(super) struct Turn {
    place: Option<OwnedSemaphorePermit>,
    began: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let rest = self.began.elapsed().min(REST_MAX);
        let place = self.place.take();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(rest).await;
                drop(place);
            });
        }
    }
}

/// The thread. Clones are the same one; it ends with the last of them.
#[derive(Clone)]
pub(super) struct Lane {
    thread: Option<Arc<Thread>>,
    turns: Arc<Semaphore>,
}

struct Thread(Option<Runtime>);

impl Drop for Thread {
    fn drop(&mut self) {
        // What still runs there is for users who are gone.
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// Ends what it waits for when nobody waits any more.
struct Awaited<T>(JoinHandle<T>);

impl<T> Drop for Awaited<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Lane {
    /// Starts the thread. Where none can be had, what is long is done where it is asked for.
    pub(super) fn start() -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("rest-long")
            .on_thread_start(|| go_behind(STEPS_BEHIND))
            .enable_all()
            .build();
        let thread = runtime.ok().map(|runtime| Arc::new(Thread(Some(runtime))));
        Lane { thread, turns: Arc::new(Semaphore::new(LARGE_KIB as usize)) }
    }

    /// Waits until it is the turn of a large body, if it is one: few at a time are as fast as many, and whoever asks for little
    /// does not wait for all of them.
    pub(super) async fn turn(&self, body: &[u8]) -> Option<Turn> {
        if body.len() <= SHORT_BODY {
            return None;
        }
        // Those whose turn it is may be waiting for a master.
        let kibibytes = u32::try_from(body.len() >> 10).map_or(LARGE_KIB, |size| size.min(LARGE_KIB));
        let place = tokio::time::timeout(TURN_MAX, self.turns.clone().acquire_many_owned(kibibytes)).await;
        place.ok()?.ok().map(|place| Turn { place: Some(place), began: Instant::now() })
    }

    /// Does this on the thread, as long as somebody waits for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        match self.thread.as_ref().and_then(|thread| thread.0.as_ref()) {
            Some(runtime) => (&mut Awaited(runtime.spawn(work)).0).await,
            None => Ok(work.await),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::routes;

    #[test]
    fn every_name_is_one_of_a_route() {
        for name in SHORT.iter().chain([&WATCH]) {
            assert!(routes::routes().any(|route| route.name == *name), "no route is called {name}");
        }
    }

    #[tokio::test]
    async fn large_bodies_take_turns_and_their_places_rest() {
        let (lane, large) = (Lane::start(), vec![0; 600 << 10]);
        assert!(lane.turn(b"small").await.is_none());
        let (first, second) = (lane.turn(&large).await, lane.turn(&large[..400 << 10]).await);
        assert!(first.is_some() && second.is_some());
        let is_had = async |within| tokio::time::timeout(within, lane.turn(&large)).await.is_ok();
        assert!(!is_had(REST_MAX).await);
        drop(first);
        assert!(!is_had(Duration::from_millis(1)).await, "its place rests");
        assert!(is_had(Duration::from_secs(20)).await);
    }

    #[tokio::test]
    async fn what_is_long_is_done_on_another_thread_and_given_up_with_whoever_asked() {
        let lane = Lane::start();
        let here = std::thread::current().id();
        let there = lane.run(async { std::thread::current().id() }).await.expect("it is done");
        assert_ne!(here, there);
        let (held, dropped) = tokio::sync::oneshot::channel::<()>();
        let asked = lane.run(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), asked).await.is_err());
        assert!(dropped.await.is_err(), "it is dropped");
    }
}
