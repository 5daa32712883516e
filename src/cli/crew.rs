//! Several threads that share the same work.

use super::interrupt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// Does each task once, on so many threads; `listen` hears what came of them, in the order in which they end. What is not
/// begun when it stops listening, or when Ctrl-C is pressed, is not done.
pub(super) fn share<T: Sync, D: Send, R>(
    tasks: &[T],
    threads: usize,
    work: impl Fn(&T) -> D + Sync,
    listen: impl FnOnce(Receiver<D>) -> R,
) -> R {
    let (next, work) = (AtomicUsize::new(0), &work);
    thread::scope(|scope| {
        let (tell, hear) = mpsc::channel();
        for _ in 0..threads {
            let (tell, next) = (tell.clone(), &next);
            scope.spawn(move || {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if interrupt::came() || tell.send(work(task)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        listen(hear)
    })
}
