//! A follower watches its master.
//!
//! Says that the master is gone; what follows is decided in `finding`. A link that breaks makes it be probed at once; silence
//! counts only while this node itself was not stalled. Mirrors `MasterFaultDetection` (6.8).

use crate::cluster::{EphemeralId, Node};
use crate::protocol::{Effect, Failure, Time};
use crate::zen::fault_detection::out_of_patience;
use crate::zen::message::{MasterPong, Message};
use crate::zen::mode::Following;
use crate::zen::role::{Flow, Next, Role, STAYS};
use crate::zen::rules::Protection;
use crate::zen::{CallPurpose, Note, PingKind, Timer};

impl Role<'_, Following> {
    /// A ping of the master tells all that a ping to it would: it lives, it leads, and this node is one of its own. So
    /// the master is pinged only when its pings stay away, or to see whether it still takes longer to answer than is set.
    pub(in crate::zen) fn spare_master_ping(&mut self, from: &Node) {
        let spared = self.node.tuning.patience_with_master();
        let is_timeout_raised = self.node.fd_timeout(&from.address) > self.node.tuning.fd_ping_timeout;
        let following = &*self.mode;
        if !is_timeout_raised && following.master.same_process(from) && !following.is_pinging {
            self.node.timers.set(Timer::MasterPing, self.now + spared);
        }
    }

    pub(in crate::zen) fn ping_master(&mut self, kind: PingKind) {
        let term = self.node.ledger.promise.term;
        let following = &mut *self.mode;
        if kind == PingKind::Regular && following.is_pinging {
            return;
        }
        following.is_pinging |= kind == PingKind::Regular;
        let master = following.master.clone();
        let message = Message::MasterPing { from: self.node.sender.clone(), master: master.ephemeral_id.clone(), term };
        let purpose = CallPurpose::MasterPing { master: master.ephemeral_id.clone(), asked: self.now, kind };
        let timeout = self.node.fd_timeout(&master.address);
        self.node.call(&master.address, message, purpose, timeout, self.out);
    }

    pub(in crate::zen) fn on_master_pong(
        &mut self,
        master: &EphemeralId,
        (asked, kind): (Time, PingKind),
        pong: &MasterPong,
    ) -> Flow {
        self.node.note_round_trip(self.now, &self.mode.master, asked, self.out);
        let (interval, rules) = (self.node.tuning.fd_ping_interval, self.node.rules);
        let following = &mut *self.mode;
        if following.master.ephemeral_id != *master {
            return STAYS;
        }
        if !pong.leads && rules.keep(Protection::FatalAnswers) {
            return self.master_gone("no longer master");
        }
        if !pong.is_member && rules.keep(Protection::NonMembers) {
            if self.node.leaving.is_some() {
                // It was removed, as it asked for.
                self.node.has_left(self.out);
            }
            // It leads and answers: this node is lost to it, not the other way round, and may join at once.
            return self.leave_master("do not exists on master, act as master failure");
        }
        following.heard = self.now;
        following.failures = 0;
        if kind == PingKind::Regular {
            following.is_pinging = false;
            self.node.timers.set(Timer::MasterPing, self.now + interval);
        } else {
            self.out.push(Effect::Link { to: following.master.address.clone() });
            // What the broken link lost can be asked again at once.
            self.route_asks();
        }
        STAYS
    }

    pub(in crate::zen) fn on_master_silent(
        &mut self,
        master: &EphemeralId,
        (asked, kind): (Time, PingKind),
        why: Failure,
    ) -> Flow {
        let following = &*self.mode;
        if following.master.ephemeral_id != *master {
            return STAYS;
        }
        let (retries, timeout) = (self.node.tuning.fd_ping_retries, self.node.fd_timeout(&following.master.address));
        self.node.doubt_if_late(self.now, asked + timeout, self.out);
        let is_doubtful = self.now < self.node.doubts_until;
        let following = &mut *self.mode;
        if kind == PingKind::Regular {
            following.is_pinging = false;
        }
        match (why, kind) {
            (Failure::Refused, _) | (Failure::Reset, PingKind::Probe) => {
                return self.master_gone("transport disconnected");
            }
            (Failure::Reset, PingKind::Regular | PingKind::Confirm) => {
                self.node.timers.set(Timer::MasterPing, self.now);
                self.ping_master(PingKind::Probe);
            }
            (Failure::BadAnswer, _) => return self.master_gone("not master"),
            (Failure::TimedOut, PingKind::Regular) => {
                following.failures += u32::from(!is_doubtful && following.heard <= asked);
                if following.failures >= retries.max(1) {
                    let address = following.master.address.clone();
                    self.node.set_dead(address);
                    return self.master_gone(&out_of_patience(retries, timeout));
                }
                let (node, tried, heard) = (following.master.clone(), following.failures, following.heard);
                let silent = heard + self.silence_of(&node);
                self.out.note(Note::PingFailed { node, tried, of: retries });
                self.ping_master(PingKind::Regular);
                self.ask_through_others();
                if !is_doubtful {
                    self.node.timers.set(Timer::Silence, silent.max(self.now));
                }
            }
            (Failure::TimedOut, PingKind::Probe | PingKind::Confirm) => {
                // The link could not be made: it is tried again with the next ping that is answered.
                let address = following.master.address.clone();
                self.out.push(Effect::Link { to: address });
            }
        }
        STAYS
    }

    /// The master is gone for this node: it looks for another one, and for this one only when it is heard of again.
    pub(super) fn master_gone(&mut self, reason: &str) -> Flow {
        self.node.forget_master(self.now, &self.mode.master, format!("lost: {reason}"));
        self.leave_master(reason)
    }

    /// Follows its master no longer and looks for one.
    fn leave_master(&mut self, reason: &str) -> Flow {
        self.out.note(Note::MasterLeft { master: self.mode.master.clone(), reason: reason.into() });
        Next::find(format!("master left (reason = {reason})"))
    }
}
