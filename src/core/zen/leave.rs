//! A node that is to be stopped: its good-bye, and the successor that it asks to stand.
//!
//! A follower says that it leaves and is removed as soon as the cluster can do without it. A master hands over to its
//! best follower first; how both look to a master stands in `leading`. Mirrors `MembershipAction.sendLeaveRequest` and
//! `ZenDiscovery.doStop` (6.8); Zen had no hand-over.

use super::node::NodeState;
use super::{Mode, Timer, Zen};
use crate::cluster::Node;
use crate::protocol::{Effect, Effects, Ticket, Time};
use crate::service::Answer;

impl Zen {
    pub(super) fn begin_leave(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen>) {
        if let Some(earlier) = self.node.leaving.replace(ticket) {
            out.push(Effect::Answer { ticket: earlier, answer: Answer::Left });
        }
        self.node.timers.set(Timer::Leave, now + self.node.tuning.commit_timeout);
        let has_vote = self.node.has_vote();
        match &self.mode {
            Mode::Leading(_) => self.as_master(now, out, |master| master.begin_leave()),
            Mode::Following(_) => self.as_follower(now, out, |follower| follower.say_good_bye()),
            // Whom it voted for may be able to do nothing without it; it says good-bye once it follows.
            Mode::Joining(_) if has_vote => {}
            // So may those who look for a master beside it.
            Mode::Finding if has_vote => self.as_seeker(now, out, |seeker| seeker.consider()),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => self.node.leave_without_master(now, out),
        }
    }
}

impl NodeState {
    /// Whether a successor was asked to stand and has not said yet that it does.
    pub(super) fn awaits_successor(&self) -> bool {
        self.successor.as_ref().is_some_and(|successor| !successor.stands)
    }

    /// The hand-over came about if the master that is followed now is the successor.
    pub(super) fn greet_successor(&mut self, now: Time, master: &Node, out: &mut Effects<Zen>) {
        if let Some(successor) = self.successor.take_if(|successor| successor.node.same_process(master)) {
            self.answer(now, successor.origin, Answer::HandedOver { to: master.id.clone() }, out);
        }
    }

    /// A hand-over that did not come about is answered as such.
    pub(super) fn forget_successor(&mut self, now: Time, out: &mut Effects<Zen>) {
        if let Some(successor) = self.successor.take() {
            let reason = "the successor did not agree".to_string();
            self.answer(now, successor.origin, Answer::Unknown { reason }, out);
        }
    }

    /// There is nobody to tell. But the next master answers the clients of this node, if there is one after a round and an
    /// election.
    pub(super) fn leave_without_master(&mut self, now: Time, out: &mut Effects<Zen>) {
        if self.asks.is_empty() {
            self.has_left(out);
        } else {
            self.timers.set_earlier(Timer::Leave, now + self.tuning.ping_timeout * 2);
        }
    }

    /// Whether elections and commits may depend on this node.
    pub(super) fn has_vote(&self) -> bool {
        let voting = &self.ledger.accepted.metadata.voting;
        voting.own.contains(&self.local.id) || voting.committed.contains(&self.local.id)
    }

    pub(super) fn has_left(&mut self, out: &mut Effects<Zen>) {
        self.timers.stop(Timer::Leave);
        if let Some(ticket) = self.leaving.take() {
            // What waits for a master finds one elsewhere.
            for open in self.open_asks() {
                let answer = self.given_up(open);
                self.close_ask(open, answer, out);
            }
            out.push(Effect::Answer { ticket, answer: Answer::Left });
        }
    }
}
