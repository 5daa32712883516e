//! The calls that still wait for their outcome, and when they time out.
//!
//! A call is a connection: its reply comes back on it, and the end of either process ends it. Timeouts of equal length
//! expire in the order in which they began, so each length has a plain queue and one event; calls that ended meanwhile
//! are skipped when their turn comes.

use crate::protocol::{Call, Exchange, Time};
use std::collections::{BTreeMap, VecDeque};

const SLOT_BITS: u32 = 24;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// Stands for no slot: what is told has no outcome.
const NO_SLOT: u64 = SLOT_MASK;

/// Names a call in the world; rises with each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallId(u64);

impl CallId {
    /// What the receiver of the request, or of its second `copy`, names it by.
    pub(super) fn exchange(self, copy: bool) -> Exchange {
        Exchange(self.0 << 1 | u64::from(copy))
    }

    pub(super) fn of(exchange: Exchange) -> Self {
        CallId(exchange.0 >> 1)
    }

    fn slot(self) -> usize {
        (self.0 & SLOT_MASK) as usize
    }
}

/// A call that waits for its outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The process that received the request; zero while it travels.
    pub(super) to_life: u32,
    /// What the sender calls it.
    pub(super) call: Call,
    /// Whether a reply is on its way.
    pub(super) replying: bool,
    /// When something large of it will have arrived: until then it gets on, and nobody takes it for late.
    pub(super) moving: Time,
}

/// All calls that wait for their outcome.
pub(super) struct Calls {
    slots: Vec<Option<(CallId, Pending)>>,
    free: Vec<usize>,
    serial: u64,
    timeouts: BTreeMap<u64, VecDeque<(Time, CallId)>>,
}

impl Calls {
    pub(super) fn new() -> Self {
        Calls { slots: Vec::new(), free: Vec::new(), serial: 0, timeouts: BTreeMap::new() }
    }

    pub(super) fn open(&mut self, pending: Pending) -> CallId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        assert!((slot as u64) < NO_SLOT, "fewer than 2^24 calls wait");
        let id = self.next_id(slot as u64);
        self.slots[slot] = Some((id, pending));
        id
    }

    /// Names a message that needs no reply.
    pub(super) fn tell(&mut self) -> CallId {
        self.next_id(NO_SLOT)
    }

    fn next_id(&mut self, slot: u64) -> CallId {
        self.serial += 1;
        CallId(self.serial << SLOT_BITS | slot)
    }

    pub(super) fn get(&mut self, id: CallId) -> Option<&mut Pending> {
        match self.slots.get_mut(id.slot()) {
            Some(Some((open, pending))) if *open == id => Some(pending),
            Some(_) | None => None,
        }
    }

    pub(super) fn close(&mut self, id: CallId) -> Option<Pending> {
        let pending = *self.get(id)?;
        self.slots[id.slot()] = None;
        self.free.push(id.slot());
        Some(pending)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(CallId, Pending)> {
        self.slots.iter().flatten()
    }

    /// Notes that `id` times out at `at`, `span` after it began; true if an event for that span is needed.
    pub(super) fn time_out(&mut self, span: u64, at: Time, id: CallId) -> bool {
        let queue = self.timeouts.entry(span).or_default();
        queue.push_back((at, id));
        queue.len() == 1
    }

    /// The next call of those with this span that timed out, or else when to look again.
    pub(super) fn expired(&mut self, span: u64, now: Time) -> Result<CallId, Option<Time>> {
        while let Some(&(at, id)) = self.timeouts.get(&span).and_then(VecDeque::front) {
            let waits = self.get(id).is_some();
            if waits && at > now {
                return Err(Some(at));
            }
            self.timeouts.get_mut(&span).and_then(VecDeque::pop_front);
            if waits {
                return Ok(id);
            }
        }
        self.timeouts.remove(&span);
        Err(None)
    }
}
