//! Where events wait for their hooks.
//!
//! It is bounded. When it is full the oldest goes, for what came later tells more of how things are; but what tells that the
//! node is master no more stays, since somebody else waits for that.

use super::{Event, HookOutcome, LOGGER, Tally, Trigger};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// How many events may wait for their hooks.
const WAITING_MAX: usize = 256;

/// The events, between those who see them and the one worker.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Notify,
    tally: Arc<Tally>,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<(Instant, Event)>,
    /// The node ends.
    is_ending: bool,
    /// No more will come.
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(tally: Arc<Tally>) -> Self {
        Queue { waiting: Mutex::default(), changed: Notify::new(), tally }
    }

    /// One more.
    pub(super) fn push(&self, event: Event) {
        let mut waiting = self.waiting.lock();
        waiting.events.push_back((Instant::now(), event));
        if waiting.events.len() > WAITING_MAX {
            let may_go = |(_, event): &(Instant, Event)| event.trigger != Trigger::StepDown;
            let oldest = waiting.events.iter().position(may_go).unwrap_or(0);
            if let Some((_, gone)) = waiting.events.remove(oldest) {
                self.tally.count(gone.trigger, HookOutcome::Dropped);
                let (name, Event { number, term, .. }) = (gone.trigger.name(), gone);
                tracing::warn!(target: LOGGER, "[{name}], event [{number}] of term [{term}], is dropped: [{WAITING_MAX}] others wait for their hooks");
            }
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// The node ends from now on.
    pub(super) fn end(&self) {
        self.waiting.lock().is_ending = true;
        self.changed.notify_one();
    }

    /// No more will come.
    pub(super) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.changed.notify_one();
    }

    pub(super) fn is_ending(&self) -> bool {
        self.waiting.lock().is_ending
    }

    /// The oldest, and when it came; nothing once no more will come.
    pub(super) async fn next(&self) -> Option<(Instant, Event)> {
        loop {
            {
                let mut waiting = self.waiting.lock();
                if let Some(event) = waiting.events.pop_front() {
                    return Some(event);
                }
                if waiting.is_closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Waits for so long, or until the node ends or what tells that it is master no more waits; tells whether one of these is
    /// so.
    pub(super) async fn hurries_within(&self, pause: Duration) -> bool {
        let hurries = || {
            let waiting = self.waiting.lock();
            waiting.is_ending || waiting.events.iter().any(|(_, event)| event.trigger == Trigger::StepDown)
        };
        let hurry = async {
            while !hurries() {
                self.changed.notified().await;
            }
        };
        timeout(pause, hurry).await.is_ok()
    }
}
