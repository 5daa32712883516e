//! Two old masters that meet: the higher version wins, and what the other one committed is gone.
//!
//! Mirrors `ZenDiscovery.handleAnotherMaster`, `NodeFaultDetectionListener` and `RejoinClusterRequestHandler` (6.8). The
//! request to join anew travels as a call for a vote, which old nodes do not know otherwise.

use super::Dialect;
use crate::cluster::{EphemeralId, Node, Term, Version};
use crate::protocol::{Effect, Effects, Exchange, Time};
use crate::zen::message::Message;
use crate::zen::{Mode, Zen};
use std::sync::Arc;
use std::time::Duration;

/// So many pings of another master were waited for (`discovery.zen.max_pings_from_another_master`).
const FOREIGN_PINGS_MAX: u32 = 3;

impl Zen {
    /// A master's ping is answered whoever the master is; another master does something about the third one.
    pub(in crate::zen) fn on_old_node_ping(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Arc<Node>,
        target: &EphemeralId,
        told: Term,
        out: &mut Effects<Zen>,
    ) {
        self.hear(now, from);
        self.reply_report(exchange, out);
        let counts = *target == self.local.ephemeral_id && !self.speaks(Dialect::Zen13);
        if !counts || !matches!(self.mode, Mode::Leading(_)) {
            self.old.foreign_pings = 0;
            return;
        }
        self.old.foreign_pings += 1;
        if self.old.foreign_pings >= FOREIGN_PINGS_MAX {
            self.old.foreign_pings = 0;
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
        out: &mut Effects<Zen>,
    ) {
        if !matches!(self.mode, Mode::Leading(_)) {
            return;
        }
        if version > self.applied.version {
            let reason = format!("zen-disco-discovered another master with a new cluster_state [{other}][{how}]");
            return self.step_down(now, reason, out);
        }
        let (from, candidate) = (self.sender.clone(), self.local.clone());
        let message = Message::CallVote { from, term: Term::ZERO, candidate };
        out.push(Effect::Tell { to: other.address.clone(), message });
    }

    /// Whoever asks for it is obeyed.
    pub(in crate::zen) fn on_rejoin_request(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Node,
        out: &mut Effects<Zen>,
    ) {
        self.reply_report(exchange, out);
        let reason = format!("received a request to rejoin the cluster from [{}]", from.id);
        match &self.mode {
            Mode::Leading(_) => self.step_down(now, reason, out),
            Mode::Following(_) => self.find(now, Duration::ZERO, reason, out),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => {}
        }
    }
}
