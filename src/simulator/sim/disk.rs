//! One node's disk: an ordered queue of writes, and what of it survives a crash.
//!
//! Effects that wait for a write wait here, beside it. A crash keeps a random prefix of what was not synced; a torn
//! last write counts as lost, because checksums find it. A disk that hangs finishes nothing, what it is writing included.
//! One that is mended begins anew what it is writing, at its new speed: a fault that has ended holds nothing up.

use crate::protocol::{Disk, Effect, Protocol, Rng, StoreId};
use std::collections::VecDeque;

/// How long a synced write takes unless told otherwise, in microseconds.
pub(super) const LATENCY_US: (u64, u64) = (100, 400);
/// A lazy write only reaches the page cache: it is this many times faster.
const LAZY_SPEEDUP: u64 = 20;

type Write<P> = <<P as Protocol>::Disk as Disk>::Write;

struct Waiting<P: Protocol> {
    id: StoreId,
    write: Write<P>,
    held: Vec<Effect<P>>,
}

/// One node's disk.
pub(super) struct Storage<P: Protocol> {
    synced: P::Disk,
    lazy: Vec<Write<P>>,
    queue: VecDeque<Waiting<P>>,
    /// How many writes left the queue.
    done: u64,
    /// Whether the first write of the queue is under way.
    begun: bool,
    /// How often a write was begun; only the newest attempt can finish.
    attempt: u64,
    hangs: bool,
    latency_us: (u64, u64),
}

impl<P: Protocol> Storage<P> {
    pub(super) fn new() -> Self {
        Storage {
            synced: P::Disk::default(),
            lazy: Vec::new(),
            queue: VecDeque::new(),
            done: 0,
            begun: false,
            attempt: 0,
            hangs: false,
            latency_us: LATENCY_US,
        }
    }

    /// Queues a write and tells its number.
    pub(super) fn store(&mut self, id: StoreId, write: Write<P>) -> u64 {
        let held = Vec::new();
        self.queue.push_back(Waiting { id, write, held });
        self.done + self.queue.len() as u64 - 1
    }

    /// Works at this speed. What is under way is begun anew if that is faster or it hung; else the next write is the first.
    pub(super) fn mend(&mut self, latency_us: (u64, u64)) {
        if self.hangs || latency_us.1 < self.latency_us.1 {
            self.begun = false;
        }
        self.latency_us = latency_us;
        self.hangs = false;
    }

    /// Whether it finishes nothing.
    pub(super) fn is_hanging(&self) -> bool {
        self.hangs
    }

    /// Whether it finishes writes, but takes longer than this.
    pub(super) fn is_slower_than(&self, latency_us: (u64, u64)) -> bool {
        !self.hangs && self.latency_us > latency_us
    }

    /// Finishes nothing until it is mended.
    pub(super) fn hang(&mut self) {
        self.hangs = true;
    }

    /// Begins the first write of the queue, unless there is none, or it is under way, or the disk hangs: how long it
    /// takes, in microseconds, and which attempt this is.
    pub(super) fn begin(&mut self, rng: &mut Rng) -> Option<(u64, u64)> {
        let first = self.queue.front().filter(|_| !self.begun && !self.hangs)?;
        self.begun = true;
        self.attempt += 1;
        let drawn = rng.between(self.latency_us.0, self.latency_us.1);
        let takes = if P::Disk::is_lazy(&first.write) { drawn / LAZY_SPEEDUP } else { drawn };
        Some((takes.max(1), self.attempt))
    }

    /// Lets an effect wait for write `number`.
    pub(super) fn hold(&mut self, number: u64, effect: Effect<P>) {
        let waiting = &mut self.queue[(number - self.done) as usize];
        waiting.held.push(effect);
    }

    /// The time that an attempt at the first write of the queue takes is over: its name, and what waited for it; nothing
    /// if the disk hangs or has begun anew since.
    pub(super) fn finish(&mut self, attempt: u64) -> Option<(StoreId, Vec<Effect<P>>)> {
        if self.hangs || !self.begun || attempt != self.attempt {
            return None;
        }
        self.begun = false;
        let Waiting { id, write, held } = self.queue.pop_front().expect("a finished write was queued");
        self.done += 1;
        if P::Disk::is_lazy(&write) {
            self.lazy.push(write);
        } else {
            self.sync();
            self.synced.apply(&write);
        }
        Some((id, held))
    }

    fn sync(&mut self) {
        for write in self.lazy.drain(..) {
            self.synced.apply(&write);
        }
    }

    /// Keeps a random prefix of what was not synced, or nothing of it, and says how many writes are gone.
    pub(super) fn crash(&mut self, rng: &mut Rng, loses_unsynced: bool) -> u64 {
        self.begun = false;
        let queued = self.queue.drain(..).map(|waiting| waiting.write);
        let unsynced: Vec<Write<P>> = self.lazy.drain(..).chain(queued).collect();
        let kept = if loses_unsynced { 0 } else { rng.between(0, unsynced.len() as u64) as usize };
        for write in &unsynced[..kept] {
            self.synced.apply(write);
        }
        (unsynced.len() - kept) as u64
    }

    pub(super) fn wipe(&mut self) {
        self.replace(P::Disk::default());
    }

    /// Puts something else in the place of all that is there.
    pub(super) fn replace(&mut self, contents: P::Disk) {
        self.synced = contents;
    }

    /// What a process finds when it starts.
    pub(super) fn contents(&self) -> &P::Disk {
        &self.synced
    }
}
