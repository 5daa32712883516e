//! What a node answers to the fault detectors of others, which of its own a closed link is for, and how long they wait.
//!
//! How a master watches its nodes stands in `leading`, how a node watches its master in `following`. Mirrors the request
//! handlers of `NodesFaultDetection` and `MasterFaultDetection` (6.8).

use super::message::{MasterPong, Message};
use super::node::NodeState;
use super::{Mode, Note, PingKind, Zen};
use crate::cluster::{Address, EphemeralId, Node, Term};
use crate::protocol::{Effects, Exchange, Time};
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    pub(super) fn on_link_closed(&mut self, now: Time, peer: &Address, out: &mut Effects<Zen>) {
        match &self.mode {
            Mode::Following(following) if following.master.address == *peer => {
                self.as_follower(now, out, |follower| follower.ping_master(PingKind::Probe))
            }
            Mode::Joining(joining) if joining.target.address == *peer => {
                self.as_joiner(now, out, |joiner| joiner.join_again())
            }
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
        self.as_follower(now, out, |follower| follower.hear(from));
        if is_for_me {
            self.follow_again(now, from, term, out);
            self.as_follower(now, out, |follower| follower.spare_master_ping(from));
        }
        self.reply_report(exchange, out);
    }

    pub(super) fn on_master_ping(
        &mut self,
        exchange: Exchange,
        from: &Node,
        master: &EphemeralId,
        out: &mut Effects<Zen>,
    ) {
        let leads = matches!(self.mode, Mode::Leading(_)) && *master == self.node.local.ephemeral_id;
        // Until its removal is committed its vote may be needed.
        let states = [&self.node.ledger.accepted, &self.node.applied];
        let is_member = states.iter().any(|state| state.nodes.contains_process(from));
        let term = self.node.ledger.promise.term;
        self.node.reply(exchange, Message::MasterPong(MasterPong { leads, is_member, term }), out);
    }
}

impl NodeState {
    /// A peer answered what was asked then. The operator is told of a timeout that the link is too slow for.
    pub(super) fn note_round_trip(&mut self, now: Time, node: &Node, asked: Time, out: &mut Effects<Zen>) {
        if now < self.doubts_until {
            return;
        }
        self.round_trips.note(&node.address, now.since(asked));
        let (set, needed) = (self.tuning.fd_ping_timeout, self.round_trips.needed(&node.address));
        if self.round_trips.is_news(&node.address, needed > set) {
            out.note(Note::TimeoutRaised { node: node.clone().into(), round_trip: needed / 2, set, to: needed });
        }
    }

    /// How long an answer of a peer takes, if the fault detectors are set to wait for less than it needs.
    pub(super) fn long_round_trip(&self, peer: &Address) -> Duration {
        let needed = self.round_trips.needed(peer);
        if needed > self.tuning.fd_ping_timeout { needed / 2 } else { Duration::ZERO }
    }

    /// How long a fault detector waits for an answer of a peer: as it is set, unless the link takes longer.
    pub(super) fn fd_timeout(&self, peer: &Address) -> Duration {
        self.answer_timeout(peer, self.tuning.fd_ping_timeout)
    }

    /// How long an answer of a peer is waited for.
    pub(super) fn answer_timeout(&self, peer: &Address, set: Duration) -> Duration {
        self.round_trips.at_least(peer, set)
    }
}

pub(super) fn out_of_patience(retries: u32, timeout: Duration) -> String {
    format!("failed to ping, tried [{retries}] times, each with maximum [{timeout:?}] timeout")
}
