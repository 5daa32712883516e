//! A master watches its nodes.
//!
//! A link that breaks makes a node be probed at once; silence counts only while this node itself was not stalled. Mirrors
//! `NodesFaultDetection` (6.8).

use crate::cluster::{Address, NodeId};
use crate::protocol::{Failure, Time};
use crate::service::Task;
use crate::zen::fault_detection::out_of_patience;
use crate::zen::message::{Message, Report};
use crate::zen::mode::leadership::{Leadership, Peer};
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::rules::Protection;
use crate::zen::{CallPurpose, Note, PingKind, Timer};
use std::sync::Arc;

impl Role<'_, Leadership> {
    pub(in crate::zen) fn ping_nodes(&mut self) -> Flow {
        let lead = &mut *self.mode;
        let idle = lead.peers.iter().filter(|(_, peer)| peer.failed.is_none() && !peer.is_pinging);
        let idle: Vec<NodeId> = idle.map(|(id, _)| id.clone()).collect();
        for id in idle {
            self.ping_node(&id, PingKind::Regular);
        }
        self.node.timers.set(Timer::NodePings, self.now + self.node.tuning.fd_ping_interval);
        self.reach_again()?;
        self.call_votes();
        self.remove_laggards()?;
        // Who was late may vote once some time has passed, and nothing else may happen then.
        self.advance()
    }

    /// A node that answers and takes no state is no member that anybody can count on. That it has taken none it says itself,
    /// asked when its time is over: what it said before may be old, on either side of a standstill.
    fn remove_laggards(&mut self) -> Flow {
        let (patience, lead) = (self.node.tuning.lag_patience(), &*self.mode);
        if self.now < self.node.doubts_until {
            return STAYS;
        }
        // A whole state takes as long as it takes to arrive.
        let is_arriving = |peer: &Peer| lead.sent.large_since(&peer.node.address).is_some();
        let lags = |peer: &Peer| peer.failed.is_none() && peer.has_owed(peer.heard, patience) && !is_arriving(peer);
        let late: Vec<NodeId> = lead.peers.iter().filter(|(_, peer)| lags(peer)).map(|(id, _)| id.clone()).collect();
        for id in late {
            let why = format!("it has stored no state for more than {patience:?}");
            let node = self.mode.peers.get(&id).map(|peer| peer.node.clone());
            self.node_failed(&id, why.clone())?;
            if let Some(node) = node {
                self.leave_alone(&node, why);
            }
        }
        STAYS
    }

    /// The link to a node closed: if it is a member, it is asked whether it lives.
    pub(in crate::zen) fn on_link_closed(&mut self, peer: &Address) {
        let at = self.mode.peers.iter().find(|(_, known)| known.node.address == *peer);
        if let Some(id) = at.map(|(id, _)| id.clone()) {
            self.probe_node(&id);
        }
    }

    fn probe_node(&mut self, id: &NodeId) {
        self.ping_node(id, PingKind::Probe);
    }

    pub(super) fn ping_node(&mut self, id: &NodeId, kind: PingKind) {
        let term = self.node.ledger.promise.term;
        let Some(peer) = self.mode.peers.get_mut(id) else {
            return;
        };
        peer.is_pinging |= kind == PingKind::Regular;
        let (address, target) = (peer.node.address.clone(), peer.node.ephemeral_id.clone());
        let message = Message::NodePing { from: self.node.sender.clone(), target, term };
        let purpose = CallPurpose::NodePing { node: id.clone(), asked: self.now, kind };
        let timeout = self.node.fd_timeout(&address);
        self.node.call(&address, message, purpose, timeout, self.out);
    }

    pub(in crate::zen) fn on_node_pong(&mut self, id: &NodeId, asked: Time, kind: PingKind, report: &Report) -> Flow {
        let local = self.node.local.id.clone();
        let (term, rules) = (self.node.ledger.promise.term, self.node.rules);
        let retries = self.node.tuning.fd_ping_retries;
        let Some(peer) = self.mode.peers.get_mut(id) else {
            return STAYS;
        };
        peer.is_pinging &= kind != PingKind::Regular;
        if peer.node.ephemeral_id != report.ephemeral_id {
            return self.node_failed(id, "another process answers at its address".into());
        }
        let is_master = report.follows.as_ref() == Some(id) || !rules.keep(Protection::OthersTerms);
        if report.term > term && is_master {
            let reason = format!("another master {} leads in term {}", peer.node, report.term);
            return self.step_down(reason);
        }
        // A node that has yet to store the state that makes it a follower cannot follow; how long it takes is judged apart.
        // What it was asked before it was known to follow may be answered late.
        let is_yet_to_follow = peer.follows.is_none_or(|since| asked < since) && report.term <= term;
        let is_well_again = peer.failures > 0 && report.follows.as_ref() == Some(&local);
        if report.follows.as_ref() == Some(&local) {
            peer.failures = 0;
        } else if kind == PingKind::Regular && !is_yet_to_follow {
            peer.failures += 1;
            if peer.failures >= retries.max(1) {
                return self.node_failed(id, "it does not follow this master".into());
            }
        }
        // Other reports wait for a disk as well.
        if let Some(node) = self.mode.peers.get(id).map(|peer| peer.node.clone()) {
            self.node.note_round_trip(self.now, &node, asked, self.out);
        }
        self.on_report(id, asked, report)?;
        if is_well_again {
            // It may become a voter.
            return self.advance();
        }
        STAYS
    }

    pub(in crate::zen) fn on_node_silent(
        &mut self,
        id: &NodeId,
        (asked, kind): (Time, PingKind),
        why: Failure,
    ) -> Flow {
        let Some(address) = self.mode.peers.get(id).map(|peer| peer.node.address.clone()) else {
            return STAYS;
        };
        let (retries, timeout) = (self.node.tuning.fd_ping_retries, self.node.fd_timeout(&address));
        self.node.doubt_if_late(self.now, asked + timeout, self.out);
        let is_doubtful = self.now < self.node.doubts_until;
        let Some(peer) = self.mode.peers.get_mut(id) else {
            return STAYS;
        };
        peer.is_pinging &= kind != PingKind::Regular;
        match (why, kind) {
            (Failure::Refused, _) | (Failure::Reset, PingKind::Probe) => {
                return self.node_failed(id, "transport disconnected".into());
            }
            (Failure::Reset, PingKind::Regular | PingKind::Confirm) => self.probe_node(id),
            (Failure::BadAnswer, _) => return self.node_failed(id, "it is of another cluster".into()),
            (Failure::TimedOut, PingKind::Regular) => {
                peer.failures += u32::from(!is_doubtful && peer.seen <= asked);
                if peer.failures >= retries.max(1) {
                    return self.node_failed(id, out_of_patience(retries, timeout));
                }
                self.out.note(Note::PingFailed { node: peer.node.clone(), tried: peer.failures, of: retries });
                self.ping_node(id, PingKind::Regular);
            }
            (Failure::TimedOut, PingKind::Probe | PingKind::Confirm) => {}
        }
        STAYS
    }

    /// Takes a node for dead: it is removed if the others are enough.
    fn node_failed(&mut self, id: &NodeId, reason: String) -> Flow {
        let newest = self.node.ledger.accepted.id();
        let lead = &mut *self.mode;
        let Some(peer) = lead.peers.get_mut(id) else {
            return STAYS;
        };
        if peer.failed.is_some() {
            return STAYS;
        }
        let reason: Arc<str> = reason.into();
        peer.failed = Some(reason.clone());
        let node = peer.node.clone();
        (lead.proven_above, lead.wish) = (newest, None);
        self.out.note(Note::NodeFailed { node: node.clone(), reason: reason.to_string() });
        self.give_up_acks_of(id);
        self.settle_acks();
        let ephemeral_id = node.ephemeral_id.clone();
        self.keep_needed();
        self.judge_quorum()?;
        self.enqueue(Task::Remove { id: id.clone(), ephemeral_id, reason, left: false, answered: 0 })
    }
}
