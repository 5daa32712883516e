//! Where requests are answered that take long: on a thread of their own, which goes behind all others of the process.
//!
//! What is short is answered by whoever reads it, and never waits behind what is long: ranges of keys, figures of all nodes,
//! whole states, large bodies. These wait for each other instead. Which requests take long is told in `length`. Stands where
//! Elasticsearch has the thread pool `management`.

use crate::runtime::go_behind;
use crate::service::Queue;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

/// A request with a larger body takes long, whatever it asks for.
pub(super) const SHORT_BODY: usize = Queue::<()>::HEAVY_BYTES;

/// So many KiB of those are on their way to the master at a time, and one whatever it has.
const LARGE_KIB: u32 = 1 << 10;

/// No longer than this one waits for its turn: most clients have given up soon after.
const TURN_MAX: Duration = Duration::from_secs(10);

/// When whoever had none should come again, in seconds.
pub(super) const RETRY_AFTER: &str = "5";

/// And what one had rests no longer than this before the next one has it.
const REST_MAX: Duration = Duration::from_millis(600);

/// It rests as long as it took for each so many that wait.
const WAITING_EACH: u32 = 4;

/// And so many times as long at the most.
const REST_TIMES: u32 = 16;

/// So many steps the thread goes behind those of the node.
const STEPS_BEHIND: i32 = 10;

/// The turn of a large body. What it had rests the longer the more wait: the disk and the links are not for large bodies alone,
/// and it is crowds that are slowed, not whoever writes one after the other.
pub(super) struct Turn {
    place: Option<OwnedSemaphorePermit>,
    waiting: Arc<AtomicU32>,
    began: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let waiting = self.waiting.load(Ordering::Relaxed).min(REST_TIMES * WAITING_EACH);
        let rest = (self.began.elapsed() * waiting / WAITING_EACH).min(REST_MAX);
        let place = self.place.take().filter(|_| !rest.is_zero());
        if let (Some(place), Ok(runtime)) = (place, Handle::try_current()) {
            runtime.spawn(async move {
                tokio::time::sleep(rest).await;
                drop(place);
            });
        }
    }
}

/// So many wait for their turns that one did not have its own in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany {
    patience: Duration,
    others: u32,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooMany { patience, others } = self;
        write!(
            f,
            "bodies above [{SHORT_BODY}] bytes take turns at a node, and this one had none within [{patience:?}], beside \
             [{others}] others that wait: send fewer at once, or ask again later"
        )
    }
}

/// One that waits for its turn, as long as it does.
struct Waits<'a>(&'a AtomicU32);

impl<'a> Waits<'a> {
    fn among(waiting: &'a AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Waits(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The thread. Clones are the same one; it ends with the last of them.
#[derive(Clone)]
pub(super) struct Lane {
    thread: Option<Arc<Thread>>,
    turns: Arc<Semaphore>,
    /// How many wait for one.
    waiting: Arc<AtomicU32>,
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
        Lane { thread, turns: Arc::new(Semaphore::new(LARGE_KIB as usize)), waiting: Arc::default() }
    }

    /// Waits until it is the turn of a large body, if it is one: few at a time are as fast as many, and whoever asks for little
    /// does not wait for all of them. An error tells how many others wait, if it does not come to that.
    pub(super) async fn turn(&self, body: &[u8]) -> Result<Option<Turn>, TooMany> {
        self.turn_within(body, TURN_MAX).await
    }

    async fn turn_within(&self, body: &[u8], patience: Duration) -> Result<Option<Turn>, TooMany> {
        if body.len() <= SHORT_BODY {
            return Ok(None);
        }
        let kibibytes = u32::try_from(body.len() >> 10).map_or(LARGE_KIB, |size| size.min(LARGE_KIB));
        let waits = Waits::among(&self.waiting);
        let place = tokio::time::timeout(patience, self.turns.clone().acquire_many_owned(kibibytes)).await;
        drop(waits);
        let waiting = Arc::clone(&self.waiting);
        match place {
            Ok(place) => Ok(place.ok().map(|place| Turn { place: Some(place), waiting, began: Instant::now() })),
            Err(_) => Err(TooMany { patience, others: waiting.load(Ordering::Relaxed) }),
        }
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

    #[tokio::test]
    async fn large_bodies_take_turns_and_their_places_rest() {
        let (lane, large) = (Lane::start(), vec![0; 600 << 10]);
        assert!(matches!(lane.turn(b"small").await, Ok(None)));
        let (first, second) = (lane.turn(&large).await, lane.turn(&large[..400 << 10]).await);
        assert!(matches!((&first, &second), (Ok(Some(_)), Ok(Some(_)))));
        let is_had = async |within| tokio::time::timeout(within, lane.turn(&large)).await.is_ok();
        assert!(!is_had(REST_MAX).await);
        let waits = Waits::among(&lane.waiting);
        drop(first);
        assert!(!is_had(Duration::from_millis(1)).await, "its place rests");
        assert!(is_had(Duration::from_secs(20)).await);
        drop(waits);
        assert_eq!(lane.waiting.load(Ordering::Relaxed), 0, "who gave up waits no more");
    }

    #[tokio::test]
    async fn the_place_of_one_for_whom_nobody_waits_does_not_rest() {
        let (lane, large) = (Lane::start(), vec![0; 1 << 20]);
        let turn = lane.turn(&large).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(turn);
        tokio::task::yield_now().await;
        assert_eq!(lane.turns.available_permits(), LARGE_KIB as usize);
    }

    #[tokio::test]
    async fn who_has_no_turn_in_time_is_told_how_many_others_wait() {
        let (lane, large) = (Lane::start(), vec![0; 1 << 20]);
        let held = lane.turn(&large).await;
        assert!(matches!(held, Ok(Some(_))));
        let (patient, hasty) = (lane.turn(&large), lane.turn_within(&large, Duration::from_millis(20)));
        let told = tokio::select! {
            told = hasty => told.err().expect("there is one place").to_string(),
            _ = patient => panic!("there is one place"),
        };
        assert!(told.contains("had none within [20ms], beside [1] others"), "{told}");
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
