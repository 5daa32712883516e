//! The names under which a node sends its clients' changes to masters, so that each is carried out once.
//!
//! A change has a slot to itself from when it is first sent until it is answered; what the cluster remembers of a slot
//! stands in `cluster::Forwards`, what is sent when in `client_requests`. Zen named nothing.

use crate::cluster::Forwards;
use crate::protocol::Ticket;
use std::collections::BTreeSet;

/// Which slots are taken, and who waits for one.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Slots {
    /// Slots that were taken and given back.
    free: BTreeSet<u16>,
    /// How many were ever taken.
    used: u16,
    /// The last number that was given to a change.
    sequence: u64,
    /// Changes that wait for a slot.
    waiting: BTreeSet<Ticket>,
}

impl Slots {
    /// Gives a change the lowest slot that is free and the next number; or lets it wait.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<(u16, u64)> {
        let slot = self.free.pop_first().or_else(|| (self.used < Forwards::SLOTS).then_some(self.used));
        let Some(slot) = slot else {
            self.waiting.insert(ticket);
            return None;
        };
        self.used = self.used.max(slot + 1);
        self.sequence += 1;
        Some((slot, self.sequence))
    }

    /// The number that was last given.
    pub(super) fn last(&self) -> u64 {
        self.sequence
    }

    /// A change is answered, or certainly in no master's hands.
    pub(super) fn give_back(&mut self, slot: u16) {
        self.free.insert(slot);
    }

    /// A change waits no longer.
    pub(super) fn forget(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket);
    }

    /// Whether a change waits for a slot, and for nothing else.
    pub(super) fn is_waited_for_by(&self, ticket: Ticket) -> bool {
        self.waiting.contains(&ticket)
    }

    /// The change that waits longest, if there is a slot for it.
    pub(super) fn next(&mut self) -> Option<Ticket> {
        let has_room = !self.free.is_empty() || self.used < Forwards::SLOTS;
        if has_room { self.waiting.pop_first() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_given_again_under_a_higher_number_and_who_finds_none_waits() {
        let mut slots = Slots::default();
        assert_eq!(slots.take(Ticket(1)), Some((0, 1)));
        assert_eq!(slots.take(Ticket(2)), Some((1, 2)));
        slots.give_back(0);
        assert_eq!(slots.take(Ticket(3)), Some((0, 3)), "the lowest one, so that few are ever used");
        for ticket in 4..=u64::from(Forwards::SLOTS) + 1 {
            assert!(slots.take(Ticket(ticket)).is_some());
        }
        let (one, other) = (Ticket(10_001), Ticket(10_000));
        assert_eq!((slots.take(one), slots.take(other), slots.next()), (None, None, None));
        slots.give_back(7);
        assert_eq!(slots.next(), Some(other));
        assert!(slots.is_waited_for_by(one) && !slots.is_waited_for_by(other));
        slots.forget(one);
        assert_eq!(slots.next(), None);
    }
}
