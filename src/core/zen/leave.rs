//! A node that is to be stopped: its good-bye, and the successor that it asks to stand.
//!
//! A follower says that it leaves and is removed as soon as the cluster can do without it. A master hands over to its
//! best follower first; how both look to a master stands in `leading`. Mirrors `MembershipAction.sendLeaveRequest` and `ZenDiscovery.doStop` (6.8); Zen had no hand-over.

use super::leading::Origin;
use super::message::Message;
use super::node::NodeState;
use super::{CallPurpose, Mode, Timer, Zen};
use crate::cluster::{Node, Term};
use crate::protocol::{Effect, Effects, Ticket, Time};
use crate::service::Answer;
use std::hash::Hash;
use std::sync::Arc;

/// A successor that was asked to stand.
#[derive(Clone, Debug, Hash)]
pub(super) struct Successor {
    pub(super) node: Arc<Node>,
    pub(super) term: Term,
    pub(super) followers: Vec<Arc<Node>>,
    pub(super) origin: Origin,
}

impl Zen {
    pub(super) fn begin_leave(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen>) {
        if let Some(earlier) = self.node.leaving.replace(ticket) {
            out.push(Effect::Answer { ticket: earlier, answer: Answer::Left });
        }
        self.node.timers.set(Timer::Leave, now + self.node.tuning.commit_timeout);
        let has_vote = self.node.has_vote();
        match &self.mode {
            Mode::Leading(_) => self.as_master(now, out, |master| master.begin_leave()),
            Mode::Following(_) => self.say_good_bye(out),
            // Whom it voted for may be able to do nothing without it; it says good-bye once it follows.
            Mode::Joining(_) if has_vote => {}
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => self.node.leave_without_master(now, out),
        }
    }

    /// Tells the master, if this node is leaving, once no change is open that it asked for: what a node that left had asked
    /// for is remembered by nobody, and a master that gets it after another one cannot tell whether it was carried out.
    pub(super) fn say_good_bye(&mut self, out: &mut Effects<Zen>) {
        let Mode::Following(following) = &self.mode else {
            return;
        };
        if self.node.leaving.is_some() && !self.node.has_open_change() {
            let address = following.master.address.clone();
            let message = Message::Leave { from: self.node.sender.clone() };
            self.node.call(&address, message, CallPurpose::Leave, self.node.tuning.commit_timeout, out);
        }
    }

    /// The successor stands: the other followers are asked to vote for it.
    pub(super) fn ask_for_succession(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Some(successor) = self.node.successor.take() else {
            return;
        };
        let is_current = matches!(&self.mode, Mode::Joining(joining) if joining.target.same_process(&successor.node));
        if !is_current || self.node.ledger.promise.term != successor.term {
            return self.node.answer(now, successor.origin, Answer::NotMaster, out);
        }
        for follower in &successor.followers {
            let message = Message::CallVote {
                from: self.node.sender.clone(),
                term: successor.term,
                candidate: successor.node.clone(),
            };
            out.push(Effect::Tell { to: follower.address.clone(), message });
        }
        self.node.answer(now, successor.origin, Answer::HandedOver { to: successor.node.id.clone() }, out);
    }

    /// A hand-over that did not come about is answered as such.
    pub(super) fn forget_successor(&mut self, now: Time, out: &mut Effects<Zen>) {
        if let Some(successor) = self.node.successor.take() {
            let reason = "the successor did not agree".to_string();
            self.node.answer(now, successor.origin, Answer::Unknown { reason }, out);
        }
    }
}

impl NodeState {
    /// There is nobody to tell. But the next master answers the clients of this node, if there is one after a round and an
    /// election.
    pub(super) fn leave_without_master(&mut self, now: Time, out: &mut Effects<Zen>) {
        if self.asks.is_empty() {
            self.has_left(out);
        } else {
            self.timers.set(Timer::Leave, now + self.tuning.ping_timeout * 2);
        }
    }

    /// Whether elections and commits may depend on this node.
    fn has_vote(&self) -> bool {
        let voting = &self.ledger.accepted.metadata.voting;
        voting.own.contains(&self.local.id) || voting.committed.contains(&self.local.id)
    }

    pub(super) fn has_left(&mut self, out: &mut Effects<Zen>) {
        self.timers.stop(Timer::Leave);
        if let Some(ticket) = self.leaving.take() {
            out.push(Effect::Answer { ticket, answer: Answer::Left });
        }
    }
}
