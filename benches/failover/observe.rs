//! Observers: one thread a node, looking a thousand times a second and noting when what it sees changes.

use super::clock::{now, pause};
use super::peer::{View, Watch};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The pace of the looks: 1,400 a second, so that 1,000 remain where a sleep is a little too long.
const PERIOD: Duration = Duration::from_micros(700);

/// What an observer has seen last.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) view: View,
    /// When it was seen for the first time without another view since; the moment when the answer was read.
    pub(crate) since: Instant,
    /// When the node took a connection for the first time.
    pub(crate) reached: Option<Instant>,
}

struct Board {
    seen: Mutex<Vec<Seen>>,
    changed: Condvar,
    is_over: AtomicBool,
}

/// The observers of some nodes; they stop when this is dropped.
pub(crate) struct Observers<'scope> {
    board: Arc<Board>,
    threads: Vec<ScopedJoinHandle<'scope, f64>>,
}

impl<'scope> Observers<'scope> {
    pub(crate) fn start(scope: &'scope Scope<'scope, '_>, watches: Vec<Box<dyn Watch>>) -> Self {
        let unseen = Seen { view: View::Silent, since: now(), reached: None };
        let seen = Mutex::new(vec![unseen; watches.len()]);
        let board = Arc::new(Board { seen, changed: Condvar::new(), is_over: AtomicBool::new(false) });
        let watches = watches.into_iter().enumerate();
        let threads = watches.map(|(at, watch)| {
            let board = board.clone();
            scope.spawn(move || observe(&board, at, watch))
        });
        let threads = threads.collect();
        Observers { board, threads }
    }

    /// Waits until what they see, taken together, is what is waited for; tells that, or nothing if it takes too long.
    pub(crate) fn wait_for<T>(&self, patience: Duration, wanted: impl Fn(&[Seen]) -> Option<T>) -> Option<T> {
        let deadline = now() + patience;
        let mut seen = self.board.seen.lock();
        loop {
            if let Some(found) = wanted(&seen) {
                return Some(found);
            }
            if self.board.changed.wait_until(&mut seen, deadline).timed_out() {
                return wanted(&seen);
            }
        }
    }

    /// Stops them; tells how often a second the slowest one looked.
    pub(crate) fn stop(mut self) -> f64 {
        self.board.is_over.store(true, Ordering::Relaxed);
        let rates = self.threads.drain(..).map(|thread| thread.join().expect("an observer cannot fail"));
        rates.fold(f64::INFINITY, f64::min)
    }
}

impl Drop for Observers<'_> {
    fn drop(&mut self) {
        self.board.is_over.store(true, Ordering::Relaxed);
    }
}

fn observe(board: &Board, at: usize, mut watch: Box<dyn Watch>) -> f64 {
    let began = now();
    let mut looks = 0_u64;
    let mut next = began;
    while !board.is_over.load(Ordering::Relaxed) {
        let view = watch.look();
        let moment = now();
        looks += 1;
        note(board, at, view, watch.reached(), moment);
        next = (next + PERIOD).max(moment);
        pause(next - moment);
    }
    looks as f64 / (now() - began).as_secs_f64()
}

fn note(board: &Board, at: usize, view: View, reached: Option<Instant>, moment: Instant) {
    let mut seen = board.seen.lock();
    let last = &mut seen[at];
    if last.view != view || last.reached != reached {
        let since = if last.view == view { last.since } else { moment };
        *last = Seen { view, since, reached };
        board.changed.notify_all();
    }
}

/// The one master that all name, and since when they all do.
pub(crate) fn agreement(seen: &[Seen]) -> Option<(Arc<str>, Instant)> {
    let View::Master(name) = &seen.first()?.view else {
        return None;
    };
    let is_shared = seen.iter().all(|seen| matches!(&seen.view, View::Master(other) if other == name));
    let last = seen.iter().map(|seen| seen.since).max()?;
    is_shared.then(|| (name.clone(), last))
}
