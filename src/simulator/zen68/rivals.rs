//! Two masters that meet: the higher version wins, and what the other one committed is gone. And good-byes.
//!
//! Mirrors `ZenDiscovery.handleAnotherMaster`, `NodeFaultDetectionListener`, `RejoinClusterRequestHandler` and
//! `MembershipAction.sendLeaveRequest` (6.8). The request to join anew travels as a call for a vote, which Zen does not know
//! otherwise.

use super::{CallPurpose, Mode, Timer, Zen68};
use crate::cluster::{EphemeralId, Node, StateId, Term, Version};
use crate::protocol::{Effect, Effects, Exchange, Ticket, Time};
use crate::service::Answer;
use crate::zen::Message;
use std::sync::Arc;
use std::time::Duration;

/// So many pings of another master were waited for (`discovery.zen.max_pings_from_another_master`).
const FOREIGN_PINGS_MAX: u32 = 3;
/// How many nodes a master told that it stops.
const TOLD_OF_STOP: usize = 4;
/// How long a stopping node waited for its master.
const GOOD_BYE: Duration = Duration::from_secs(1);

impl Zen68 {
    /// A master's ping is answered whoever the master is; another master does something about the third one.
    pub(super) fn on_node_ping(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Arc<Node>,
        target: &EphemeralId,
        told: Term,
        out: &mut Effects<Zen68>,
    ) {
        if *target != self.local.ephemeral_id {
            return self.reject(exchange, format!("got pinged as node [{target}] but I am [{}]", self.local), out);
        }
        self.report(exchange, StateId::NONE, out);
        let settles = self.dialect.has_two_phases() && self.is_master();
        let Some(mastership) = self.mastership().filter(|_| settles) else {
            return;
        };
        mastership.foreign_pings += 1;
        if mastership.foreign_pings >= FOREIGN_PINGS_MAX {
            mastership.foreign_pings = 0;
            let version = Version::new(told.get()).unwrap_or_default();
            self.meet_master(now, from, version, "node fd ping", out);
        }
    }

    /// Gives up before a higher version, and tells everybody else to give up.
    pub(super) fn meet_master(
        &mut self,
        now: Time,
        other: &Arc<Node>,
        version: Version,
        how: &str,
        out: &mut Effects<Zen68>,
    ) {
        if !matches!(self.mode, Mode::Leading(_)) {
            return;
        }
        if version > self.state.version {
            let reason = format!("zen-disco-discovered another master with a new cluster_state [{other}][{how}]");
            return self.rejoin(now, reason, out);
        }
        let (from, candidate) = (self.sender.clone(), self.local.clone());
        let message = Message::CallVote { from, term: Term::ZERO, candidate };
        out.push(Effect::Tell { to: other.address.clone(), message });
    }

    /// Whoever asks for it is obeyed.
    pub(super) fn on_rejoin_request(&mut self, now: Time, exchange: Exchange, from: &Node, out: &mut Effects<Zen68>) {
        self.report(exchange, StateId::NONE, out);
        match self.mode {
            Mode::Leading(_) | Mode::Following { .. } => {
                self.rejoin(now, format!("received a request to rejoin the cluster from [{}]", from.id), out)
            }
            Mode::Finding | Mode::Electing | Mode::Joining { .. } => {}
        }
    }

    /// A master tells a few others and waits for nobody.
    pub(super) fn leave(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen68>) {
        // Whoever asked before is told as much.
        self.has_left(out);
        self.leaving = Some(ticket);
        let message = Message::Leave { from: self.sender.clone(), answered: 0 };
        match &self.mode {
            Mode::Leading(_) => {
                let told = self.state.nodes.eligible().take(TOLD_OF_STOP).filter(|node| node.id != self.local.id);
                for node in told {
                    out.push(Effect::Tell { to: node.address.clone(), message: message.clone() });
                }
                self.has_left(out);
            }
            Mode::Following { master, .. } => {
                let address = master.address.clone();
                self.timers.set(Timer::Leave, now + GOOD_BYE);
                self.call(&address, message, CallPurpose::Leave, GOOD_BYE, out);
            }
            Mode::Finding | Mode::Electing | Mode::Joining { .. } => self.has_left(out),
        }
    }

    pub(super) fn has_left(&mut self, out: &mut Effects<Zen68>) {
        self.timers.stop(Timer::Leave);
        if let Some(ticket) = self.leaving.take() {
            out.push(Effect::Answer { ticket, answer: Answer::Left });
        }
    }

    pub(super) fn on_leave(&mut self, now: Time, exchange: Exchange, from: &Arc<Node>, out: &mut Effects<Zen68>) {
        out.push(Effect::Reply { exchange, message: Message::Gone });
        match &self.mode {
            Mode::Following { master, .. } if master.same_process(from) => self.master_gone(now, "shut_down", out),
            Mode::Leading(_) if self.state.nodes.contains_process(from) => self.remove(now, from, "left", true, out),
            Mode::Finding | Mode::Electing | Mode::Joining { .. } | Mode::Following { .. } | Mode::Leading(_) => {}
        }
    }
}
