//! How many connections a server has, and how many it had.

use crate::runtime::figures::Connections;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The connections of a server.
#[derive(Default)]
pub(super) struct Count {
    open: AtomicU64,
    total: AtomicU64,
}

impl Count {
    pub(super) fn read(&self, max: usize) -> Connections {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Connections { open: read(&self.open), total: read(&self.total), max: max as u64 }
    }
}

/// A connection that is counted as long as this lives.
pub(super) struct Counted(Arc<Count>);

impl Counted {
    pub(super) fn begin(count: &Arc<Count>) -> Self {
        count.open.fetch_add(1, Ordering::Relaxed);
        count.total.fetch_add(1, Ordering::Relaxed);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
