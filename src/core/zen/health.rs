//! Whether this node does what others count on it for: its disk, and what it tried lately.
//!
//! A node that is not well says so in its pings, ranks last among the candidates, and does not hold on to what it cannot do.
//! Zen asked a node only whether it answers.

use super::node::NodeState;
use super::{Mode, Note, Timer, Zen};
use crate::cluster::NodeId;
use crate::protocol::{Effects, StoreId, Time};
use std::time::Duration;

impl Zen {
    /// A write is durable. One that took long makes the node rank last for some time: the next one may as well.
    pub(super) fn note_stored(&mut self, now: Time, id: StoreId, out: &mut Effects<Zen>) {
        let since = self.node.ledger.oldest_write();
        self.node.ledger.stored(id);
        match self.node.ledger.oldest_write() {
            // One that is overdue already is looked at now: a deadline that passed would look like a stall.
            Some(since) => self.node.timers.set(Timer::Disk, now.max(since + self.node.tuning.write_patience())),
            None => self.node.timers.stop(Timer::Disk),
        }
        let took = since.map_or_else(Default::default, |since| now.since(since));
        if took >= self.node.tuning.write_patience() && now >= self.node.doubts_until {
            out.note(Note::SlowWrite { took });
            self.node.set_back(now, &self.node.local.id.clone(), took * 4);
            if !self.node.is_write_overdue(now) {
                // What it held back for its disk can go on.
                self.as_seeker(now, out, |seeker| seeker.consider());
            }
        }
    }

    /// The disk hangs: a candidate cannot give itself its vote, and a master lets somebody else lead.
    pub(super) fn on_write_overdue(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Some(since) = self.node.ledger.oldest_write() else {
            return;
        };
        if !self.node.is_write_overdue(now) {
            return self
                .node
                .timers
                .set(Timer::Disk, self.node.doubts_until.max(since + self.node.tuning.write_patience()));
        }
        out.note(Note::WriteOverdue { since: now.since(since) });
        match self.mode {
            Mode::Electing(_) => {
                let why = "the disk has not stored the own vote in time";
                self.as_candidate(now, out, |candidate| candidate.end_candidacy(why))
            }
            Mode::Leading(_) => self.as_master(now, out, |master| master.give_way()),
            Mode::Finding | Mode::Joining(_) | Mode::Following(_) => {}
        }
    }
}

impl NodeState {
    /// Whether others should come first: a write is overdue, or what it tried lately did not work out.
    pub(super) fn is_unwell(&self, now: Time) -> bool {
        self.is_write_overdue(now) || self.setbacks.is_recent(now, &self.local.id)
    }

    /// Whether the disk has not finished a write that it should have finished by now.
    pub(super) fn is_write_overdue(&self, now: Time) -> bool {
        let oldest = self.ledger.oldest_write();
        let is_late = oldest.is_some_and(|since| now.since(since) >= self.tuning.write_patience());
        // A stalled node has not looked yet what its disk finished meanwhile.
        is_late && now >= self.doubts_until
    }

    /// Remembers that it did not work out with a node, and says for how long it is left alone.
    pub(super) fn set_back(&mut self, now: Time, id: &NodeId, first: Duration) -> Duration {
        self.setbacks.note(now, id, first)
    }
}
