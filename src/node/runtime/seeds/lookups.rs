//! Things that are looked up again and again, and may take long: names, services, files.
//!
//! Only the first look-up of each is waited for. Later the last answer is given at once while the next look-up runs, so
//! that an election waits for no name server. One look-up of a thing runs at a time, however long it takes.

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// Beyond so many, things whose look-up has ended are forgotten.
const THINGS_MAX: usize = 4_096;

/// How one thing is looked up.
pub(super) type LookUp<A> = Arc<dyn Fn(Arc<str>) -> BoxFuture<'static, Result<A, String>> + Send + Sync>;

/// What is known of one thing.
#[derive(Clone, Debug)]
pub(super) struct Known<A> {
    /// The last answer that there was.
    pub(super) answer: Option<A>,
    /// Why the last look-up gave none, if it did not.
    pub(super) trouble: Option<Arc<str>>,
}

/// How long a first answer is waited for, and what is said when there is none by then.
pub(super) struct Patience {
    pub(super) until: Instant,
    pub(super) excuse: Arc<str>,
}

/// Look-ups of one kind.
pub(super) struct Lookups<A> {
    look_up: LookUp<A>,
    /// How many may run at a time, with those of other kinds.
    permits: Arc<Semaphore>,
    things: Mutex<BTreeMap<Arc<str>, Thing<A>>>,
}

struct Thing<A> {
    teller: Arc<watch::Sender<Known<A>>>,
    task: JoinHandle<()>,
}

impl<A> Drop for Thing<A> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<A: Clone + Send + Sync + 'static> Lookups<A> {
    pub(super) fn new(look_up: LookUp<A>, permits: Arc<Semaphore>) -> Self {
        Lookups { look_up, permits, things: Mutex::default() }
    }

    /// What is known of `thing`, looked up anew for the next time.
    pub(super) async fn ask(&self, thing: &Arc<str>, patience: &Patience) -> Known<A> {
        let Some(teller) = self.start(thing) else {
            let why = format!("{THINGS_MAX} others are being looked up");
            return Known { answer: None, trouble: Some(why.into()) };
        };
        let mut known = teller.subscribe();
        let is_told = |known: &Known<A>| known.answer.is_some() || known.trouble.is_some();
        if timeout_at(patience.until, known.wait_for(is_told)).await.is_err() {
            // Whoever asks after this waits no more.
            teller.send_if_modified(|known| {
                let is_untold = !is_told(known);
                if is_untold {
                    known.trouble = Some(patience.excuse.clone());
                }
                is_untold
            });
        }
        teller.borrow().clone()
    }

    /// Starts a look-up if none is on its way.
    fn start(&self, thing: &Arc<str>) -> Option<Arc<watch::Sender<Known<A>>>> {
        let mut things = self.things.lock();
        if let Some(state) = things.get_mut(thing) {
            if state.task.is_finished() {
                state.task = self.spawn(thing, state.teller.clone());
            }
            return Some(state.teller.clone());
        }
        if things.len() >= THINGS_MAX {
            things.retain(|_, state| !state.task.is_finished());
        }
        if things.len() >= THINGS_MAX {
            return None;
        }
        let teller = Arc::new(watch::Sender::new(Known { answer: None, trouble: None }));
        let state = Thing { task: self.spawn(thing, teller.clone()), teller: teller.clone() };
        things.insert(thing.clone(), state);
        Some(teller)
    }

    fn spawn(&self, thing: &Arc<str>, teller: Arc<watch::Sender<Known<A>>>) -> JoinHandle<()> {
        let (look_up, permits, thing) = (self.look_up.clone(), self.permits.clone(), thing.clone());
        tokio::spawn(async move {
            let _permit = permits.acquire().await.expect("the permits are never closed");
            let outcome = look_up(thing).await;
            teller.send_modify(|known| match outcome {
                Ok(answer) => *known = Known { answer: Some(answer), trouble: None },
                Err(why) => known.trouble = Some(why.into()),
            });
        })
    }
}
