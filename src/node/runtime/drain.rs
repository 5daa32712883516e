//! A node that is to be stopped soon: it tells its users to go elsewhere, and leads only if nobody else can.
//!
//! It stays a member and answers whoever comes all the same, until it is stopped. Nothing of it is kept on disk: a node that
//! is started again is not drained.

use super::Handle;
use crate::service::Question;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a drained node that was elected all the same waits before it asks another one to lead, so that a cluster in
/// which nobody else can is not kept busy; twice as long each time, up to the second.
const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);

/// How long a wish to hand over may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a node is to be stopped soon.
#[derive(Debug, Default)]
pub struct Drain {
    is_on: AtomicBool,
    changed: Notify,
    closing: CancellationToken,
}

impl Drain {
    /// Whether it is.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// It is to be stopped; tells whether that is news.
    fn begin(&self) -> bool {
        !self.is_on.swap(true, Ordering::Relaxed)
    }

    /// Cancelled when it is being stopped.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// It is not, after all.
    pub fn end(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        self.changed.notify_waiters();
    }
}

/// Drains a node until it is told otherwise or ends. Whoever drains it first gives it a task that watches over it.
pub fn begin(handle: &Handle) {
    if handle.drain().begin() {
        tokio::spawn(watch(handle.clone(), handle.drain().clone()));
    }
}

async fn watch(handle: Handle, drain: Arc<Drain>) {
    let mut states = handle.states();
    let (mut not_before, mut pause) = (Instant::now(), PAUSE);
    while drain.is_on() {
        let leads = states.borrow_and_update().nodes.master.as_ref() == Some(&handle.local().id);
        let is_due = leads && Instant::now() >= not_before;
        if is_due {
            // Without a successor it stays master, and asks again. Where all are drained it comes back to each, ever more rarely.
            handle.ask(Question::HandOver { to: None, master_timeout: PATIENCE }).await;
            (not_before, pause) = (Instant::now() + pause, (pause * 2).min(PAUSE_MAX));
        }
        let news = async {
            tokio::select! {
                () = tokio::time::sleep_until(not_before), if leads => true,
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
