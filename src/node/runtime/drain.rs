//! A node that is to be stopped soon: it tells its users to go elsewhere, and leads only if nobody else can.
//!
//! It stays a member and answers whoever comes all the same, until it is stopped. Nothing of it is kept on disk: a node that
//! is started again is not drained.

pub use super::drained::Drain;

use super::handle::Handle;
use crate::service::{Answer, Question};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a drained node that was elected all the same waits before it asks another one to lead, so that a cluster in
/// which nobody else can is not kept busy.
const PAUSE: Duration = Duration::from_secs(5);

/// How long it waits at the most.
const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);

/// How long a wish to hand over may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Drains a node until it is told otherwise or ends. Whoever drains it first gives it a task that watches over it.
pub fn begin(handle: &Handle) {
    if handle.drain().begin() {
        tokio::spawn(watch(handle.clone(), handle.drain().clone()));
    }
}

/// When a drained node may ask another one to lead.
struct Pace {
    not_before: Instant,
    pause: Duration,
}

impl Pace {
    /// It asked. Without a successor it stays master, and soon asks again. What it gave away may come back, where all are
    /// drained again and again: it keeps it for longer each time.
    fn asked(&mut self, now: Instant, was_handed_over: bool) {
        self.not_before = now + if was_handed_over { self.pause } else { PAUSE };
        if was_handed_over {
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
    }
}

async fn watch(handle: Handle, drain: Arc<Drain>) {
    let mut states = handle.states();
    let mut pace = Pace { not_before: Instant::now(), pause: PAUSE };
    while drain.is_on() {
        let leads = states.borrow_and_update().nodes.master.as_ref() == Some(&handle.local().id);
        if leads && Instant::now() >= pace.not_before {
            let answer = handle.ask(Question::HandOver { to: None, master_timeout: PATIENCE }).await;
            pace.asked(Instant::now(), matches!(answer, Answer::HandedOver { .. }));
        }
        let news = async {
            tokio::select! {
                () = tokio::time::sleep_until(pace.not_before), if leads => true,
                news = states.changed() => news.is_ok(),
            }
        };
        let goes_on = tokio::select! {
            goes_on = news => goes_on,
            () = drain.changed.notified() => false,
            () = handle.ended() => false,
        };
        if !goes_on {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_kept_for_longer_and_a_successor_is_looked_for_as_often_as_ever() {
        let now = Instant::now();
        let mut pace = Pace { not_before: now, pause: PAUSE };
        let mut waits = |was_handed_over| {
            pace.asked(now, was_handed_over);
            (pace.not_before - now).as_secs()
        };
        assert_eq!([true, true, false, true].map(&mut waits), [5, 10, 5, 20]);
        assert_eq!((0..20).map(|_| waits(true)).last(), Some(3_600));
        assert_eq!(waits(false), 5);
    }
}
