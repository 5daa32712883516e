//! The thread that writes what is large as JSON and reads it: neither the node nor its users wait meanwhile.
//!
//! One thread for all of it, so that what it takes of memory is taken once, and given back to where the next one takes it.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Builder;
use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// The way to the thread, which ends with the last of them.
#[derive(Clone)]
pub(super) struct Coding(Option<Arc<Way>>);

/// What is to be done, and whether more may come.
struct Queues {
    /// What all nodes wait for.
    states: VecDeque<Work>,
    /// What users wait for.
    others: VecDeque<Work>,
    is_over: bool,
}

struct Shared {
    queues: Mutex<Queues>,
    changed: Condvar,
}

struct Way(Arc<Shared>);

impl Drop for Way {
    fn drop(&mut self) {
        self.0.queues.lock().is_over = true;
        self.0.changed.notify_one();
    }
}

impl Coding {
    /// Starts the thread. Where none can be had, all is done where it is asked for.
    pub(super) fn start() -> Self {
        let queues = Queues { states: VecDeque::new(), others: VecDeque::new(), is_over: false };
        let shared = Arc::new(Shared { queues: Mutex::new(queues), changed: Condvar::new() });
        let here = shared.clone();
        let thread = Builder::new().name("coding".into()).spawn(move || work(&here));
        Coding(thread.ok().map(|_| Arc::new(Way(shared))))
    }

    /// Has this done for a message of this kind, unless nobody waits for it by then. None if it panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        kind: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let Some(way) = &self.0 else {
            return Some(work());
        };
        let (done, is_done) = oneshot::channel();
        let work = move || {
            if !done.is_closed() {
                // Who waits for it may have gone away meanwhile.
                let _ = done.send(work());
            }
        };
        {
            let mut queues = way.0.queues.lock();
            let queue = if STATES.contains(&kind) { &mut queues.states } else { &mut queues.others };
            queue.push_back(Box::new(work));
        }
        way.0.changed.notify_one();
        is_done.await.ok()
    }
}

/// The kinds of messages that carry states: the rest waits for them.
const STATES: [&str; 3] = ["publish", "fetch", "fetched"];

fn work(shared: &Shared) {
    loop {
        let next = {
            let mut queues = shared.queues.lock();
            loop {
                let next = queues.states.pop_front().or_else(|| queues.others.pop_front());
                if next.is_some() || queues.is_over {
                    break next;
                }
                shared.changed.wait(&mut queues);
            }
        };
        let Some(next) = next else {
            return;
        };
        // What a message makes go wrong, it does to whoever waits for it; the thread is there for all.
        let _ = catch_unwind(AssertUnwindSafe(next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[tokio::test]
    async fn it_goes_on_after_what_went_wrong_passes_over_what_nobody_waits_for_and_takes_states_first() {
        let coding = Coding::start();
        assert_eq!(coding.run("submit", || -> u8 { panic!("as a bug would") }).await, None);
        let (open, is_open) = channel::<()>();
        let first = coding.run("submit", move || is_open.recv().is_ok());
        let (told, was_told) = channel();
        let second = coding.run("submit", move || told.send(()));
        let both = async { tokio::join!(first, second) };
        // Both are asked for, and given up before the first is through.
        assert!(tokio::time::timeout(Duration::from_millis(20), both).await.is_err());
        let (order, done) = channel();
        let also = order.clone();
        let later = coding.run("submit", move || also.send("submit").is_ok());
        let sooner = coding.run("publish", move || order.send("publish").is_ok());
        let release = async move { drop(open) };
        assert_eq!(tokio::join!(later, sooner, release), (Some(true), Some(true), ()));
        assert_eq!(done.try_iter().collect::<Vec<_>>(), ["publish", "submit"]);
        assert!(was_told.try_recv().is_err(), "nobody waited for it");
    }
}
