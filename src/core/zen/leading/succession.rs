//! Handing the mastership over, on demand or because the own disk hangs.
//!
//! A master votes for its best follower in the next term and asks it to stand. Zen had no hand-over.

use crate::cluster::{Node, NodeId};
use crate::protocol::Effect;
use crate::service::{Answer, Refusal};
use crate::zen::ask::Origin;
use crate::zen::message::Message;
use crate::zen::mode::leadership::{Leadership, Peer, Succession};
use crate::zen::node::Successor;
use crate::zen::role::{Flow, Next, Role, STAYS};
use crate::zen::{Note, Timer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Role<'_, Leadership> {
    pub(in crate::zen) fn wish_succession(&mut self, origin: Origin, to: Option<NodeId>) -> Flow {
        let local = self.node.local.id.clone();
        let lead = &mut *self.mode;
        if to.as_ref() == Some(&local) {
            self.node.answer(self.now, origin, Answer::HandedOver { to: local }, self.out);
            return STAYS;
        }
        let until = self.now + self.node.tuning.fd_ping_timeout;
        if let Some(before) = lead.succession.replace(Succession { to, origin, until }) {
            let why = "another hand-over was asked for before this one was begun".to_string();
            self.node.answer(self.now, before.origin, Answer::Refused(Refusal::Invalid(why)), self.out);
        }
        self.advance()
    }

    /// This node is to be stopped, and hands over before.
    pub(in crate::zen) fn begin_leave(&mut self) -> Flow {
        // Whom somebody wants in its place is as good as the best one.
        let until = self.now + self.node.tuning.fd_ping_timeout;
        self.mode.succession.get_or_insert(Succession { to: None, origin: Origin::Nobody, until });
        self.advance()
    }

    /// Votes for the best follower in the next term and asks it to stand. From here on this node is no longer master.
    pub(super) fn hand_over(&mut self) -> Flow {
        let newest = self.node.ledger.accepted.id();
        let lead = &mut *self.mode;
        let Some(succession) = lead.succession.take() else {
            return STAYS;
        };
        let is_fit = |id: &&NodeId| succession.to.as_ref().is_none_or(|to| to == *id) && is_fit(lead, id, newest);
        let Some(node) = lead.peers.keys().find(is_fit).and_then(|id| lead.peers.get(id)).map(|peer| peer.node.clone())
        else {
            self.wait_for_heir(succession);
            return STAYS;
        };
        let followers = lead.peers.values().map(|peer| peer.node.clone()).filter(|peer| !peer.same_process(&node));
        let followers: Vec<Arc<Node>> = followers.collect();
        let term = self.node.ledger.promise.term.next();
        if term == self.node.ledger.promise.term {
            self.refuse_succession(succession);
            return STAYS;
        }
        self.out.note(Note::HandsOver { to: node.clone(), term });
        Flow::Break(Next::HandOver(Successor { node, term, followers, origin: succession.origin, stands: false }))
    }

    /// The own disk hangs: the best follower is told to stand, if the others can do without this node's vote.
    ///
    /// They need to hold no more than what is committed: a newer state may be one that never left this node.
    pub(in crate::zen) fn give_way(&mut self) -> Flow {
        let (committed, term) = (self.node.applied.rank(), self.node.ledger.promise.term.next());
        let requirement = self.node.requirement(BTreeSet::new());
        let lead = &*self.mode;
        let fit = lead.peers.iter().filter(|(id, peer)| is_able(lead, id) && peer.accepted.rank() >= committed);
        let fit: BTreeMap<NodeId, &Peer> = fit.map(|(id, peer)| (id.clone(), peer)).collect();
        let voters = fit.iter().map(|(id, peer)| (id.clone(), peer.node.clone())).collect();
        let best = fit.values().rev().max_by_key(|peer| peer.accepted.rank()).map(|peer| peer.node.clone());
        let Some(node) = best.filter(|_| lead.is_settled && requirement.is_met_by(&voters)) else {
            self.node.timers.set(Timer::Disk, self.now + self.node.tuning.write_patience());
            return STAYS;
        };
        let message = Message::CallVote { from: self.node.sender.clone(), term, candidate: node.clone() };
        self.out.push(Effect::Tell { to: node.address.clone(), message });
        self.step_down(format!("the disk hangs, {node} shall lead"))
    }

    /// Nobody is fit. Under load a follower is often a state behind: one that lives is waited for a moment, while no other state
    /// is made. A master that leaves waits for it as long as it stays, or its voting set may go with it.
    fn wait_for_heir(&mut self, succession: Succession) {
        let may_wait = self.node.leaving.is_some() || self.now < succession.until;
        let lead = &mut *self.mode;
        let may_lead = |(id, peer): &(&NodeId, &Peer)| {
            let is_wanted = succession.to.as_ref().is_none_or(|to| to == *id);
            is_wanted && peer.node.is_master_eligible() && peer.failed.is_none() && !lead.is_leaving(&peer.node)
        };
        if may_wait && lead.peers.iter().any(|peer| may_lead(&peer)) {
            lead.succession = Some(succession);
        } else {
            self.refuse_succession(succession);
        }
    }

    fn refuse_succession(&mut self, succession: Succession) {
        let wanted =
            succession.to.map_or_else(|| "no follower".to_string(), |to| format!("node [{to}] is not one that"));
        let why = format!("{wanted} is master-eligible, alive and up to date");
        self.node.answer(self.now, succession.origin, Answer::Refused(Refusal::Invalid(why)), self.out);
        if self.node.leaving.is_some() {
            self.node.has_left(self.out);
        }
    }
}

/// A fit successor holds the newest state as well.
fn is_fit(lead: &Leadership, id: &NodeId, newest: crate::cluster::StateId) -> bool {
    is_able(lead, id) && lead.peers.get(id).is_some_and(|peer| peer.accepted == newest)
}

/// Whether a follower can lead, lives and stays.
fn is_able(lead: &Leadership, id: &NodeId) -> bool {
    let stays = |peer: &Peer| peer.failed.is_none() && !lead.is_leaving(&peer.node);
    lead.peers.get(id).is_some_and(|peer| peer.node.is_master_eligible() && stays(peer))
}
