//! Good-bye and hand-over.
//!
//! A follower says that it leaves and is removed as soon as the cluster can do without it. A master hands over to its
//! best follower first. Mirrors `MembershipAction.sendLeaveRequest` and `ZenDiscovery.doStop` (6.8); Zen had no hand-over.

use super::leadership::{Leadership, Origin, Peer, Succession};
use super::message::Message;
use super::quorum::Requirement;
use super::{CallPurpose, Mode, NodeState, Note, Timer, Zen};
use crate::cluster::{Node, NodeId, Term};
use crate::protocol::{Effect, Effects, Exchange, Ticket, Time};
use crate::service::{Answer, Refusal, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many good-byes of one node wait for an answer: a few, since what it says may arrive twice.
const FAREWELLS_MAX: usize = 16;

/// A successor that was asked to stand.
#[derive(Clone, Debug, Hash)]
pub(super) struct Successor {
    node: Arc<Node>,
    term: Term,
    followers: Vec<Arc<Node>>,
    origin: Origin,
}

impl Zen {
    pub(super) fn begin_leave(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen>) {
        if let Some(earlier) = self.node.leaving.replace(ticket) {
            out.push(Effect::Answer { ticket: earlier, answer: Answer::Left });
        }
        self.node.timers.set(Timer::Leave, now + self.node.tuning.commit_timeout);
        let has_vote = self.node.has_vote();
        match &mut self.mode {
            Mode::Leading(lead) => {
                // Whom somebody wants in its place is as good as the best one.
                lead.succession.get_or_insert(Succession { to: None, origin: Origin::Nobody });
                self.advance(now, out);
            }
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

    pub(super) fn on_leave(&mut self, now: Time, exchange: Exchange, from: &Arc<Node>, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return self.node.reply(exchange, Message::Rejected("not master".into()), out);
        };
        let is_member = lead.peers.get(&from.id).is_some_and(|peer| peer.node.same_process(from));
        // One that is being removed is needed until that is committed.
        if !is_member && !lead.leaving.contains_key(&from.id) {
            return self.node.reply(exchange, Message::Gone, out);
        }
        let waiting = lead.leaving.entry(from.id.clone()).or_default();
        if waiting.len() >= FAREWELLS_MAX {
            return self.node.reply(exchange, Message::Rejected("said good-bye too often".into()), out);
        }
        waiting.push(exchange);
        self.remove_dispensable(now, out);
        self.advance(now, out);
    }

    /// Removes the leavers that the cluster can do without. For the others the voting set is changed first.
    fn remove_dispensable(&mut self, now: Time, out: &mut Effects<Zen>) {
        let requirement = self.node.requirement(BTreeSet::new());
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        if !can_do_without_leavers(lead, &requirement, &self.node.local) {
            return;
        }
        let queued: BTreeSet<NodeId> = lead.queue.iter().filter_map(|queued| removed(&queued.task)).collect();
        let leavers: Vec<Arc<Node>> = lead
            .leaving
            .keys()
            .filter(|id| !queued.contains(*id))
            .filter_map(|id| lead.peers.get(id).map(|peer| peer.node.clone()))
            .collect();
        for node in leavers {
            let (id, ephemeral_id) = (node.id.clone(), node.ephemeral_id.clone());
            self.enqueue(now, Task::Remove { id, ephemeral_id, reason: "left".into(), left: true }, out);
        }
    }

    /// After a commit: tells the leavers that are no longer needed, and sees to the others.
    pub(super) fn farewell(&mut self, now: Time, out: &mut Effects<Zen>) {
        let nodes = self.node.applied.nodes.clone();
        let Some(lead) = self.lead().filter(|lead| !lead.leaving.is_empty()) else {
            return;
        };
        let gone: Vec<NodeId> = lead.leaving.keys().filter(|id| !nodes.contains(id)).cloned().collect();
        let told: Vec<Exchange> = gone.iter().filter_map(|id| lead.leaving.remove(id)).flatten().collect();
        for exchange in told {
            self.node.reply(exchange, Message::Gone, out);
        }
        self.remove_dispensable(now, out);
    }

    pub(super) fn wish_succession(&mut self, now: Time, origin: Origin, to: Option<NodeId>, out: &mut Effects<Zen>) {
        let local = self.node.local.id.clone();
        let Some(lead) = self.lead() else {
            return self.answer(now, origin, Answer::NotMaster, out);
        };
        if to.as_ref() == Some(&local) {
            return self.answer(now, origin, Answer::HandedOver { to: local }, out);
        }
        if let Some(before) = lead.succession.replace(Succession { to, origin }) {
            let why = "another hand-over was asked for before this one was begun".to_string();
            self.answer(now, before.origin, Answer::Refused(Refusal::Invalid(why)), out);
        }
        self.advance(now, out);
    }

    /// Votes for the best follower in the next term and asks it to stand. From here on this node is no longer master.
    pub(super) fn hand_over(&mut self, now: Time, out: &mut Effects<Zen>) {
        let newest = self.node.ledger.accepted.id();
        let Some(lead) = self.lead() else {
            return;
        };
        let Some(succession) = lead.succession.take() else {
            return;
        };
        let is_fit = |id: &&NodeId| succession.to.as_ref().is_none_or(|to| to == *id) && is_fit(lead, id, newest);
        let Some(node) = lead.peers.keys().find(is_fit).and_then(|id| lead.peers.get(id)).map(|peer| peer.node.clone())
        else {
            return self.wait_for_heir(now, succession, out);
        };
        let followers = lead.peers.values().map(|peer| peer.node.clone()).filter(|peer| !peer.same_process(&node));
        let followers: Vec<Arc<Node>> = followers.collect();
        let term = self.node.ledger.promise.term.next();
        if term == self.node.ledger.promise.term {
            return self.refuse_succession(now, succession, out);
        }
        out.note(Note::HandsOver { to: node.clone(), term });
        self.vote_in(now, term, node.clone(), out);
        self.node.successor = Some(Successor { node, term, followers, origin: succession.origin });
    }

    /// The own disk hangs: the best follower is told to stand, if the others can do without this node's vote.
    ///
    /// They need to hold no more than what is committed: a newer state may be one that never left this node.
    pub(super) fn give_way(&mut self, now: Time, out: &mut Effects<Zen>) {
        let (committed, term) = (self.node.applied.rank(), self.node.ledger.promise.term.next());
        let requirement = self.node.requirement(BTreeSet::new());
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        let fit = lead.peers.iter().filter(|(id, peer)| is_able(lead, id) && peer.accepted.rank() >= committed);
        let fit: BTreeMap<NodeId, &Peer> = fit.map(|(id, peer)| (id.clone(), peer)).collect();
        let voters = fit.iter().map(|(id, peer)| (id.clone(), peer.node.clone())).collect();
        let best = fit.values().rev().max_by_key(|peer| peer.accepted.rank()).map(|peer| peer.node.clone());
        let Some(node) = best.filter(|_| lead.is_settled && requirement.is_met_by(&voters)) else {
            return self.node.timers.set(Timer::Disk, now + self.node.tuning.write_patience());
        };
        let message = Message::CallVote { from: self.node.sender.clone(), term, candidate: node.clone() };
        out.push(Effect::Tell { to: node.address.clone(), message });
        self.step_down(now, format!("the disk hangs, {node} shall lead"), out);
    }

    /// Nobody is fit. A master that leaves waits for one that lives to store the newest state, or its voting set may go with
    /// it; for how long it stays is bounded in any case.
    fn wait_for_heir(&mut self, now: Time, succession: Succession, out: &mut Effects<Zen>) {
        let is_leaving = self.node.leaving.is_some();
        let Some(lead) = self.lead() else {
            return;
        };
        let may_lead = |(id, peer): &(&NodeId, &Peer)| {
            let is_wanted = succession.to.as_ref().is_none_or(|to| to == *id);
            is_wanted && peer.node.is_master_eligible() && peer.failed.is_none() && !lead.leaving.contains_key(*id)
        };
        if is_leaving && lead.peers.iter().any(|peer| may_lead(&peer)) {
            lead.succession = Some(succession);
        } else {
            self.refuse_succession(now, succession, out);
        }
    }

    fn refuse_succession(&mut self, now: Time, succession: Succession, out: &mut Effects<Zen>) {
        let wanted =
            succession.to.map_or_else(|| "no follower".to_string(), |to| format!("node [{to}] is not one that"));
        let why = format!("{wanted} is master-eligible, alive and up to date");
        self.answer(now, succession.origin, Answer::Refused(Refusal::Invalid(why)), out);
        if self.node.leaving.is_some() {
            self.node.has_left(out);
        }
    }

    /// The successor stands: the other followers are asked to vote for it.
    pub(super) fn ask_for_succession(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Some(successor) = self.node.successor.take() else {
            return;
        };
        let is_current = matches!(&self.mode, Mode::Joining(joining) if joining.target.same_process(&successor.node));
        if !is_current || self.node.ledger.promise.term != successor.term {
            return self.answer(now, successor.origin, Answer::NotMaster, out);
        }
        for follower in &successor.followers {
            let message = Message::CallVote {
                from: self.node.sender.clone(),
                term: successor.term,
                candidate: successor.node.clone(),
            };
            out.push(Effect::Tell { to: follower.address.clone(), message });
        }
        self.answer(now, successor.origin, Answer::HandedOver { to: successor.node.id.clone() }, out);
    }

    /// A hand-over that did not come about is answered as such.
    pub(super) fn forget_successor(&mut self, now: Time, out: &mut Effects<Zen>) {
        if let Some(successor) = self.node.successor.take() {
            let reason = "the successor did not agree".to_string();
            self.answer(now, successor.origin, Answer::Unknown { reason }, out);
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

/// A fit successor holds the newest state as well.
fn is_fit(lead: &Leadership, id: &NodeId, newest: crate::cluster::StateId) -> bool {
    is_able(lead, id) && lead.peers.get(id).is_some_and(|peer| peer.accepted == newest)
}

/// Whether a follower can lead, lives and stays.
fn is_able(lead: &Leadership, id: &NodeId) -> bool {
    let lives = |peer: &Peer| peer.node.is_master_eligible() && peer.failed.is_none();
    lead.peers.get(id).is_some_and(lives) && !lead.leaving.contains_key(id)
}

fn can_do_without_leavers(lead: &Leadership, requirement: &Requirement, local: &Arc<Node>) -> bool {
    let staying = lead.peers.iter().filter(|(id, peer)| peer.failed.is_none() && !lead.leaving.contains_key(*id));
    let mut staying: BTreeMap<NodeId, Arc<Node>> = staying.map(|(id, peer)| (id.clone(), peer.node.clone())).collect();
    staying.insert(local.id.clone(), local.clone());
    requirement.is_met_by(&staying)
}

fn removed(task: &Task) -> Option<NodeId> {
    match task {
        Task::Remove { id, .. } => Some(id.clone()),
        Task::Join { .. }
        | Task::PutSettings { .. }
        | Task::Txn(_)
        | Task::GrantLease { .. }
        | Task::ReleaseLease(_)
        | Task::ExpireLeases { .. }
        | Task::PutIndex { .. }
        | Task::RemoveVoter { .. }
        | Task::Recover
        | Task::Once { .. }
        | Task::Forwarded { .. } => None,
    }
}
