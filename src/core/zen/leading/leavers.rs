//! Nodes that said good-bye to their master: each is removed as soon as the cluster can do without it.
//!
//! Mirrors `MembershipAction.LeaveRequestRequestHandler` (6.8), which removed it at once.

use crate::cluster::{Node, NodeId};
use crate::protocol::Exchange;
use crate::service::Task;
use crate::zen::PingKind;
use crate::zen::message::Message;
use crate::zen::mode::leadership::{Leadership, Leaver, Peer};
use crate::zen::quorum::Requirement;
use crate::zen::role::{Flow, Role, STAYS};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many good-byes of one node wait for an answer: a few, since what it says may arrive twice.
const FAREWELLS_MAX: usize = 16;

impl Role<'_, Leadership> {
    pub(in crate::zen) fn on_leave(&mut self, exchange: Exchange, from: &Arc<Node>, answered: u64) -> Flow {
        let lead = &mut *self.mode;
        let is_member = lead.peers.get(&from.id).is_some_and(|peer| peer.node.same_process(from));
        // One that is being removed is needed until that is committed.
        if !is_member && !lead.is_leaving(from) {
            self.node.reply(exchange, Message::Gone, self.out);
            return STAYS;
        }
        let (is_new, since) = (!lead.is_leaving(from), (self.now, self.node.applied.id()));
        let new = || Leaver { node: from.clone(), since, answered, waiting: Vec::new() };
        let leaver = lead.leaving.entry(from.ephemeral_id.clone()).or_insert_with(new);
        if leaver.waiting.len() >= FAREWELLS_MAX {
            self.node.reply(exchange, Message::Rejected("said good-bye too often".into()), self.out);
            return STAYS;
        }
        leaver.waiting.push(exchange);
        if is_new {
            self.ask_who_stays();
        }
        self.remove_dispensable()?;
        self.advance()
    }

    /// Asks those on whom it depends whether a leaver is needed: one of them may be silent, and not be taken for dead yet.
    fn ask_who_stays(&mut self) {
        let lead = &*self.mode;
        let asked = lead.peers.values().filter(|peer| peer.node.is_master_eligible() && lead.may_stay(peer));
        let asked: Vec<NodeId> = asked.map(|peer| peer.node.id.clone()).collect();
        for id in asked {
            self.ping_node(&id, PingKind::Confirm);
        }
    }

    /// Removes the leavers that the cluster can do without. For the others the voting set is changed first.
    pub(super) fn remove_dispensable(&mut self) -> Flow {
        let requirement = self.node.requirement(BTreeSet::new());
        let lead = &*self.mode;
        if !can_do_without_leavers(lead, &requirement, &self.node.local) {
            return STAYS;
        }
        let queued: BTreeSet<NodeId> = lead.queue.iter().filter_map(|queued| removed(&queued.task)).collect();
        let is_member = |node: &Node| lead.peers.get(&node.id).is_some_and(|peer| peer.node.same_process(node));
        let leavers =
            lead.leaving.values().filter(|leaver| !queued.contains(&leaver.node.id) && is_member(&leaver.node));
        let removals: Vec<Task> = leavers.map(removal).collect();
        for removal in removals {
            self.enqueue(removal)?;
        }
        STAYS
    }

    /// Keeps those leavers whose removal is queued, if the cluster cannot do without them any more.
    pub(super) fn keep_needed(&mut self) {
        let requirement = self.requirement();
        let lead = &mut *self.mode;
        if !lead.leaving.is_empty() && !can_do_without_leavers(lead, &requirement, &self.node.local) {
            lead.queue.extract(|queued| matches!(queued.task, Task::Remove { left: true, .. }));
        }
    }

    /// After a commit: tells the leavers that are no longer needed, and sees to the others.
    pub(super) fn farewell(&mut self) -> Flow {
        let nodes = self.node.applied.nodes.clone();
        let lead = &mut *self.mode;
        if lead.leaving.is_empty() {
            return STAYS;
        }
        let told = lead.leaving.extract_if(.., |_, leaver| !nodes.contains_process(&leaver.node));
        let told: Vec<Exchange> = told.flat_map(|(_, leaver)| leaver.waiting).collect();
        for exchange in told {
            self.node.reply(exchange, Message::Gone, self.out);
        }
        self.remove_dispensable()
    }
}

/// Whether those are enough who stay, and have shown since the last good-bye that they are there and can store a state.
fn can_do_without_leavers(lead: &Leadership, requirement: &Requirement, local: &Arc<Node>) -> bool {
    let last = lead.last_good_bye();
    let has_shown = |peer: &Peer| last.is_none_or(|(at, held)| peer.heard >= at && peer.accepted.rank() >= held.rank());
    let staying = lead.peers.iter().filter(|(_, peer)| lead.may_stay(peer) && has_shown(peer));
    let mut staying: BTreeMap<NodeId, Arc<Node>> = staying.map(|(id, peer)| (id.clone(), peer.node.clone())).collect();
    staying.insert(local.id.clone(), local.clone());
    requirement.is_met_by(&staying)
}

fn removal(leaver: &Leaver) -> Task {
    let (id, ephemeral_id) = (leaver.node.id.clone(), leaver.node.ephemeral_id.clone());
    Task::Remove { id, ephemeral_id, reason: "left".into(), left: true, answered: leaver.answered }
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
