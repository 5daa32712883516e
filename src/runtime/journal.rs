//! The thread that writes: it owns the store and makes durable what the node promises, a group at a time.
//!
//! A slow disk stalls this thread and never the one that owns the node. A lazy write wakes nobody: it waits for the next
//! one that must be durable, or for a while. A write that fails is final: what reached the disk is not known then, so the
//! node must not go on.

use super::store::{Store, StoreError};
use crate::protocol::{Disk, StoreId, Time};
use crate::zen::{Memory, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How many writes share a sync at most.
const GROUP_MAX: usize = 1_024;

/// How long a lazy write waits for another one to go with.
const LAZY_MAX: Duration = Duration::from_millis(5);

/// What became of the writes.
pub(super) enum Written {
    /// This write and all before it are durable, except for lazy ones that no other followed.
    UpTo(StoreId),
    /// Nothing more will be.
    Failed(StoreError),
}

type Group = Vec<(StoreId, Write)>;

/// The way to the writing thread.
pub(super) struct Journal {
    writes: Option<Sender<Group>>,
    thread: Option<JoinHandle<()>>,
    /// Lazy writes that wait for another one, and until when.
    waiting: Group,
    due: Option<Time>,
}

impl Journal {
    /// Starts the thread; `report` is called on it.
    pub(super) fn start(store: Store, report: impl Fn(Written) + Send + 'static) -> std::io::Result<Self> {
        let (writes, queue) = channel();
        let thread = Builder::new().name("journal".into()).spawn(move || work(store, &queue, &report))?;
        Ok(Journal { writes: Some(writes), thread: Some(thread), waiting: Group::new(), due: None })
    }

    pub(super) fn write(&mut self, now: Time, id: StoreId, write: Write) {
        let is_lazy = Memory::is_lazy(&write);
        self.waiting.push((id, write));
        if !is_lazy {
            self.flush();
        } else if self.due.is_none() {
            self.due = Some(now + LAZY_MAX);
        }
    }

    /// When the lazy writes have waited long enough.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due
    }

    pub(super) fn flush_if_due(&mut self, now: Time) {
        if self.due.is_some_and(|due| due <= now) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.due = None;
        let group = std::mem::take(&mut self.waiting);
        if let Some(writes) = self.writes.as_ref().filter(|_| !group.is_empty()) {
            // The thread ended only if it reported a failure.
            let _ = writes.send(group);
        }
    }
}

impl Drop for Journal {
    /// What was asked for is written before the store is closed.
    fn drop(&mut self) {
        self.flush();
        self.writes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(mut store: Store, queue: &Receiver<Group>, report: &impl Fn(Written)) {
    while let Ok(mut group) = queue.recv() {
        while group.len() < GROUP_MAX
            && let Ok(next) = queue.try_recv()
        {
            group.extend(next);
        }
        let Some(last) = group.last().map(|(id, _)| *id) else {
            continue;
        };
        let writes: Vec<Write> = group.into_iter().map(|(_, write)| write).collect();
        match store.write(&writes) {
            Ok(()) => report(Written::UpTo(last)),
            Err(error) => return report(Written::Failed(error)),
        }
    }
}
