//! Every node watches its master; how that one watches its nodes stands in `leading`.
//!
//! Says that the master is gone; what follows is decided in `ping`. Mirrors `MasterFaultDetection` (6.8). A link that breaks
//! makes the master be probed at once; silence counts only while this node itself was not stalled.

use super::message::{MasterPong, Message};
use super::node::NodeState;
use super::rules::Protection;
use super::{CallPurpose, Mode, Note, PingKind, Timer, Zen};
use crate::cluster::{Address, EphemeralId, Node, Term};
use crate::protocol::{Effect, Effects, Exchange, Failure, Time};
use crate::service::Task;
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    pub(super) fn on_link_closed(&mut self, now: Time, peer: &Address, out: &mut Effects<Zen>) {
        match &self.mode {
            Mode::Following(following) if following.master.address == *peer => {
                self.ping_master(now, PingKind::Probe, out)
            }
            Mode::Joining(joining) if joining.target.address == *peer => self.join_again(now, out),
            Mode::Leading(_) => self.as_master(now, out, |master| master.on_link_closed(peer)),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => {}
        }
    }

    /// The master asks after this node; another master of a higher term ends the own mastership.
    pub(super) fn on_node_ping(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Arc<Node>,
        target: &EphemeralId,
        term: Term,
        out: &mut Effects<Zen>,
    ) {
        let is_for_me = *target == self.node.local.ephemeral_id;
        let is_deposed = matches!(self.mode, Mode::Leading(_)) && term > self.node.ledger.promise.term;
        if is_for_me && is_deposed {
            self.step_down(now, format!("another master {from} leads in term {term}"), out);
        }
        self.hear(now, from);
        if is_for_me {
            self.follow_again(now, from, term, out);
            self.spare_master_ping(now, from);
        }
        self.reply_report(exchange, out);
    }

    /// A ping of the master tells all that a ping to it would: it lives, it leads, and this node is one of its own. So
    /// the master is pinged only when its pings stay away, or to see whether it still takes longer to answer than is set.
    fn spare_master_ping(&mut self, now: Time, from: &Node) {
        let spared = self.node.tuning.patience_with_master();
        let is_timeout_raised = self.node.fd_timeout(&from.address) > self.node.tuning.fd_ping_timeout;
        if let Mode::Following(following) = &self.mode
            && !is_timeout_raised
            && following.master.same_process(from)
            && !following.is_pinging
        {
            self.node.timers.set(Timer::MasterPing, now + spared);
        }
    }

    pub(super) fn ping_master(&mut self, now: Time, kind: PingKind, out: &mut Effects<Zen>) {
        let term = self.node.ledger.promise.term;
        let Mode::Following(following) = &mut self.mode else {
            return;
        };
        if kind == PingKind::Regular && following.is_pinging {
            return;
        }
        following.is_pinging |= kind == PingKind::Regular;
        let master = following.master.clone();
        let message = Message::MasterPing { from: self.node.sender.clone(), master: master.ephemeral_id.clone(), term };
        let purpose = CallPurpose::MasterPing { master: master.ephemeral_id.clone(), asked: now, kind };
        let timeout = self.node.fd_timeout(&master.address);
        self.node.call(&master.address, message, purpose, timeout, out);
    }

    pub(super) fn on_master_ping(
        &mut self,
        exchange: Exchange,
        from: &Node,
        master: &EphemeralId,
        out: &mut Effects<Zen>,
    ) {
        let leads = matches!(self.mode, Mode::Leading(_)) && *master == self.node.local.ephemeral_id;
        let is_member = self.node.ledger.accepted.nodes.contains_process(from);
        let term = self.node.ledger.promise.term;
        self.node.reply(exchange, Message::MasterPong(MasterPong { leads, is_member, term }), out);
    }

    pub(super) fn on_master_pong(
        &mut self,
        now: Time,
        master: &EphemeralId,
        (asked, kind): (Time, PingKind),
        pong: &MasterPong,
        out: &mut Effects<Zen>,
    ) {
        if let Mode::Following(following) = &self.mode {
            self.node.note_round_trip(now, &following.master.clone(), asked, out);
        }
        let (interval, rules) = (self.node.tuning.fd_ping_interval, self.node.rules);
        let Mode::Following(following) = &mut self.mode else {
            return;
        };
        if following.master.ephemeral_id != *master {
            return;
        }
        if !pong.leads && rules.keep(Protection::FatalAnswers) {
            return self.master_gone(now, "no longer master", out);
        }
        if !pong.is_member && rules.keep(Protection::NonMembers) {
            // It leads and answers: this node is lost to it, not the other way round, and may join at once.
            return self.leave_master(now, "do not exists on master, act as master failure", out);
        }
        following.heard = now;
        following.failures = 0;
        if kind == PingKind::Regular {
            following.is_pinging = false;
            self.node.timers.set(Timer::MasterPing, now + interval);
        } else {
            out.push(Effect::Link { to: following.master.address.clone() });
            // What the broken link lost can be asked again at once.
            self.route_asks(now, out);
        }
    }

    pub(super) fn on_master_silent(
        &mut self,
        now: Time,
        master: &EphemeralId,
        (asked, kind): (Time, PingKind),
        why: Failure,
        out: &mut Effects<Zen>,
    ) {
        let Mode::Following(following) = &self.mode else {
            return;
        };
        if following.master.ephemeral_id != *master {
            return;
        }
        let (retries, timeout) = (self.node.tuning.fd_ping_retries, self.node.fd_timeout(&following.master.address));
        self.node.doubt_if_late(now, asked + timeout, out);
        let is_doubtful = now < self.node.doubts_until;
        let Mode::Following(following) = &mut self.mode else {
            return;
        };
        if kind == PingKind::Regular {
            following.is_pinging = false;
        }
        match (why, kind) {
            (Failure::Refused, _) | (Failure::Reset, PingKind::Probe) => {
                self.master_gone(now, "transport disconnected", out)
            }
            (Failure::Reset, PingKind::Regular | PingKind::Confirm) => {
                self.node.timers.set(Timer::MasterPing, now);
                self.ping_master(now, PingKind::Probe, out);
            }
            (Failure::BadAnswer, _) => self.master_gone(now, "not master", out),
            (Failure::TimedOut, PingKind::Regular) => {
                following.failures += u32::from(!is_doubtful && following.heard <= asked);
                if following.failures >= retries.max(1) {
                    let address = following.master.address.clone();
                    self.node.set_dead(address);
                    return self.master_gone(now, &out_of_patience(retries, timeout), out);
                }
                let (node, tried, heard) = (following.master.clone(), following.failures, following.heard);
                let silent = heard + self.node.silence_of(&node);
                out.note(Note::PingFailed { node, tried, of: retries });
                self.ping_master(now, PingKind::Regular, out);
                if !is_doubtful {
                    self.node.timers.set(Timer::Silence, silent.max(now));
                }
            }
            (Failure::TimedOut, PingKind::Probe | PingKind::Confirm) => {
                // The link could not be made: it is tried again with the next ping that is answered.
                let address = following.master.address.clone();
                out.push(Effect::Link { to: address });
            }
        }
    }

    /// The master is gone for this node: it looks for another one, and for this one only when it is heard of again.
    pub(super) fn master_gone(&mut self, now: Time, reason: &str, out: &mut Effects<Zen>) {
        if let Mode::Following(following) = &self.mode {
            let master = following.master.clone();
            self.node.forget_master(now, &master, format!("lost: {reason}"));
            self.leave_master(now, reason, out);
        }
    }

    /// Follows its master no longer and looks for one.
    fn leave_master(&mut self, now: Time, reason: &str, out: &mut Effects<Zen>) {
        let Mode::Following(following) = &self.mode else {
            return;
        };
        let master = following.master.clone();
        out.note(Note::MasterLeft { master, reason: reason.into() });
        self.find(now, Duration::ZERO, format!("master left (reason = {reason})"), out);
    }
}

impl NodeState {
    /// The master in whose place this node was elected, to be removed by its first state: if it was lost, did not vote and
    /// answers nothing, nobody waits for its silence a second time.
    pub(super) fn replaced_master(&self, joiners: &[Arc<Node>]) -> Option<Task> {
        let old = self.ledger.accepted.nodes.master_node()?;
        let has_joined = joiners.iter().any(|node| node.id == old.id);
        let answers = self.search.seen.get(&old.address).is_some_and(|seen| seen.sight.node.same_process(old));
        let lost = self.lost.get(&old.ephemeral_id).filter(|_| !has_joined && !answers && old.id != self.local.id)?;
        let (id, ephemeral_id) = (old.id.clone(), old.ephemeral_id.clone());
        Some(Task::Remove { id, ephemeral_id, reason: lost.why.clone(), left: false })
    }
}

pub(super) fn out_of_patience(retries: u32, timeout: Duration) -> String {
    format!("failed to ping, tried [{retries}] times, each with maximum [{timeout:?}] timeout")
}
