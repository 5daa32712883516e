//! Whether a node is to be stopped soon. What it does then is the business of `drain`.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Whether a node is to be stopped soon.
#[derive(Debug, Default)]
pub struct Drain {
    is_on: AtomicBool,
    pub(super) changed: Notify,
    closing: CancellationToken,
}

impl Drain {
    /// Whether it is.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// It is to be stopped; tells whether that is news.
    pub(super) fn begin(&self) -> bool {
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
