//! What is to happen, by time; what was queued first comes first where times are equal.
//!
//! The heap orders small keys, the events themselves stay where they were put: messages are moved in and out once.

use crate::protocol::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    serial: u64,
    slot: u32,
}

/// Events in the order of their times.
pub(super) struct Queue<E> {
    due: BinaryHeap<Reverse<Due>>,
    slots: Vec<Option<E>>,
    free: Vec<u32>,
    serial: u64,
}

impl<E> Queue<E> {
    pub(super) fn new() -> Self {
        Queue { due: BinaryHeap::new(), slots: Vec::new(), free: Vec::new(), serial: 0 }
    }

    pub(super) fn push(&mut self, at: Time, event: E) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(event);
                slot
            }
            None => {
                self.slots.push(Some(event));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 events wait")
            }
        };
        self.serial += 1;
        self.due.push(Reverse(Due { at, serial: self.serial, slot }));
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.due.peek().map(|due| due.0.at)
    }

    pub(super) fn pop(&mut self) -> Option<(Time, E)> {
        let due = self.due.pop()?.0;
        self.free.push(due.slot);
        let event = self.slots[due.slot as usize].take();
        Some((due.at, event.expect("a queued slot is filled")))
    }

    pub(super) fn len(&self) -> usize {
        self.due.len()
    }
}
