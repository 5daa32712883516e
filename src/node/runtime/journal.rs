//! The thread that writes: it owns the store and makes durable what the node promises, a group at a time.
//!
//! A slow disk stalls this thread and never the one that owns the node. A lazy write wakes nobody: it waits for the next
//! one that must be durable, or for a while. A write that fails is final: what reached the disk is not known then, so the
//! node must not go on. The same holds when this thread ends otherwise than it was told to, as by a bug: then
//! nothing more would be written, and nobody would hear of it.

use super::store::StoreError;
use crate::protocol::{Disk, StoreId, Time};
use crate::zen::{Memory, Write};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How many writes share a sync at most.
const GROUP_MAX: usize = 1_024;

/// How long a lazy write waits for another one to go with.
const LAZY_MAX: Duration = Duration::from_millis(5);

/// How often it is looked whether the files are there, when nothing is written. A write looks by itself.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What became of the writes.
pub(super) enum Written {
    /// This write and all before it are durable, except for lazy ones that no other followed.
    UpTo(StoreId),
    /// Nothing more will be.
    Failed(StoreError),
}

/// What the thread writes to.
pub(super) trait Keeper: Send + 'static {
    /// Makes writes durable.
    fn write(&mut self, writes: &[Write]) -> Result<(), StoreError>;

    /// Does some of what later writes need, after those who waited for these were told; says whether there is more to do.
    fn prepare(&mut self) -> Result<bool, StoreError>;

    /// Looks whether what was written is still there.
    fn look(&mut self) -> Result<(), StoreError>;

    /// Writes all anew in a newer version of the format.
    fn raise(&mut self, version: u32) -> Result<(), StoreError>;
}

type Group = Vec<(StoreId, Write)>;

/// What the thread is asked for.
enum Order {
    Write(Group),
    Raise(u32),
}

/// The way to the writing thread.
pub(super) struct Journal {
    writes: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    /// Lazy writes that wait for another one, and until when.
    waiting: Group,
    due: Option<Time>,
    /// Whether the thread takes nothing more.
    is_over: bool,
}

impl Journal {
    /// Starts the thread; `report` is called on it.
    pub(super) fn start(store: impl Keeper, report: impl Fn(Written) + Send + 'static) -> std::io::Result<Self> {
        let (writes, queue) = channel();
        let work = move || {
            let worked = catch_unwind(AssertUnwindSafe(|| work(store, &queue, &report)));
            if let Err(panic) = worked {
                report(Written::Failed(StoreError::Panicked { what: words_of(&*panic) }));
            }
        };
        let thread = Builder::new().name("journal".into()).spawn(work)?;
        Ok(Journal { writes: Some(writes), thread: Some(thread), waiting: Group::new(), due: None, is_over: false })
    }

    /// Why nothing more is written, if the thread takes nothing more. It has told a better reason, unless that is lost.
    pub(super) fn failure(&self) -> Option<StoreError> {
        let what = || "it takes no more writes".to_owned();
        self.is_over.then(|| StoreError::Panicked { what: what() })
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

    /// From here on a newer version of the format is written.
    pub(super) fn raise(&mut self, version: u32) {
        self.flush();
        if let Some(writes) = &self.writes {
            self.is_over |= writes.send(Order::Raise(version)).is_err();
        }
    }

    fn flush(&mut self) {
        self.due = None;
        let group = std::mem::take(&mut self.waiting);
        if let Some(writes) = self.writes.as_ref().filter(|_| !group.is_empty()) {
            self.is_over |= writes.send(Order::Write(group)).is_err();
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

/// What a panic said.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it says nothing").into()
}

fn work(mut store: impl Keeper, queue: &Receiver<Order>, report: &impl Fn(Written)) {
    let mut next = None;
    loop {
        let done = match next.take().map_or_else(|| queue.recv_timeout(LOOK_AGAIN), Ok) {
            Ok(Order::Write(group)) => write(&mut store, group, queue),
            Ok(Order::Raise(version)) => store.raise(version).map(|()| None),
            Err(RecvTimeoutError::Timeout) => store.look().map(|()| None),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let prepared = match done {
            Ok(Some(last)) => {
                report(Written::UpTo(last));
                prepare(&mut store, queue)
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match prepared {
            Ok(order) => next = order,
            Err(error) => return report(Written::Failed(error)),
        }
    }
}

/// Prepares for later writes until there is no more to do, or something is asked for, which is given back.
fn prepare(store: &mut impl Keeper, queue: &Receiver<Order>) -> Result<Option<Order>, StoreError> {
    while store.prepare()? {
        if let Ok(order) = queue.try_recv() {
            return Ok(Some(order));
        }
    }
    Ok(None)
}

/// Writes a group with those that wait behind it, and tells the last of them.
fn write(store: &mut impl Keeper, mut group: Group, queue: &Receiver<Order>) -> Result<Option<StoreId>, StoreError> {
    let mut raise = None;
    while group.len() < GROUP_MAX
        && raise.is_none()
        && let Ok(next) = queue.try_recv()
    {
        match next {
            Order::Write(next) => group.extend(next),
            Order::Raise(version) => raise = Some(version),
        }
    }
    let last = group.last().map(|(id, _)| *id);
    let writes: Vec<Write> = group.into_iter().map(|(_, write)| write).collect();
    store.write(&writes)?;
    raise.map_or(Ok(()), |version| store.raise(version)).map(|()| last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Uuid;
    use std::sync::mpsc;

    /// Writes so many groups, and then breaks.
    struct Brittle(usize);

    impl Keeper for Brittle {
        fn write(&mut self, _: &[Write]) -> Result<(), StoreError> {
            self.0 = self.0.checked_sub(1).expect("it holds for longer");
            Ok(())
        }

        fn prepare(&mut self) -> Result<bool, StoreError> {
            Ok(false)
        }

        fn look(&mut self) -> Result<(), StoreError> {
            Ok(())
        }

        fn raise(&mut self, _: u32) -> Result<(), StoreError> {
            Ok(())
        }
    }

    fn write(journal: &mut Journal, id: u64) {
        journal.write(Time::from_micros(id), StoreId(id), Write::Identity(Uuid::from_u128(1)));
    }

    #[test]
    fn a_thread_that_breaks_says_so_at_once_and_why() {
        let (told, tells) = mpsc::channel();
        let report = move |written| drop(told.send(written));
        let mut journal = Journal::start(Brittle(1), report).expect("threads can be started");
        write(&mut journal, 1);
        assert!(matches!(tells.recv(), Ok(Written::UpTo(StoreId(1)))));
        write(&mut journal, 2);
        let Ok(Written::Failed(error)) = tells.recv() else { panic!("it broke") };
        let expected = "the thread that writes to disk crashed (a bug in Zazen): it holds for longer";
        assert_eq!(error.to_string(), expected);
        assert!(tells.recv().is_err(), "that was the last word");
        write(&mut journal, 3);
        assert!(journal.failure().is_some(), "nothing more is taken as if it were written");
    }
}
