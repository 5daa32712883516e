//! The thread that writes: it owns the store and makes durable what the node promises, a group at a time.
//!
//! A slow disk stalls this thread and never the one that owns the node. A write that fails is final: what reached the
//! disk is not known then, so the node must not go on.

use super::store::{Store, StoreError};
use crate::protocol::StoreId;
use crate::zen::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// How many writes share a sync at most.
const GROUP_MAX: usize = 1_024;

/// What became of the writes.
pub(super) enum Written {
    /// This write and all before it are durable.
    UpTo(StoreId),
    /// Nothing more will be.
    Failed(StoreError),
}

/// The way to the writing thread.
pub(super) struct Journal {
    writes: Option<Sender<(StoreId, Write)>>,
    thread: Option<JoinHandle<()>>,
}

impl Journal {
    /// Starts the thread; `report` is called on it.
    pub(super) fn start(store: Store, report: impl Fn(Written) + Send + 'static) -> std::io::Result<Self> {
        let (writes, queue) = channel();
        let thread = Builder::new().name("journal".into()).spawn(move || work(store, &queue, &report))?;
        Ok(Journal { writes: Some(writes), thread: Some(thread) })
    }

    pub(super) fn write(&self, id: StoreId, write: Write) {
        if let Some(writes) = &self.writes {
            // The thread ended only if it reported a failure.
            let _ = writes.send((id, write));
        }
    }
}

impl Drop for Journal {
    /// What was asked for is written before the store is closed.
    fn drop(&mut self) {
        self.writes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(mut store: Store, queue: &Receiver<(StoreId, Write)>, report: &impl Fn(Written)) {
    while let Ok((mut last, write)) = queue.recv() {
        let mut group = vec![write];
        while group.len() < GROUP_MAX
            && let Ok((id, write)) = queue.try_recv()
        {
            last = id;
            group.push(write);
        }
        match store.write(&group) {
            Ok(()) => report(Written::UpTo(last)),
            Err(error) => return report(Written::Failed(error)),
        }
    }
}
