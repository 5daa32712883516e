//! The first phase of a publish, as the master sees it: a state is sent, stored and acknowledged.
//!
//! With enough acknowledgements it is committed (`commit`). What followers do with either stands in `accept`, what clients wait
//! for afterwards in `acks`. Mirrors
//! `PublishClusterStateAction` and `MasterService` (6.8), which counted acknowledgements of states that nobody had stored.

use super::acks::note_applied;
use crate::cluster::{Address, ClusterState, Diff, Node, NodeId, StateId};
use crate::protocol::{Failure, Time};
use crate::service::Task;
use crate::zen::message::{Message, Report};
use crate::zen::mode::leadership::{Finished, Joined, Leadership, Peer, Publish};
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::round_trip::intake_time;
use crate::zen::rules::Protection;
use crate::zen::steps::Steps;
use crate::zen::{CallPurpose, PingKind, Timer};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

impl Role<'_, Leadership> {
    /// Sends a state, made from `base`, to every node of it and stores it here meanwhile.
    pub(super) fn start_publish(
        &mut self,
        base: Arc<ClusterState>,
        state: ClusterState,
        tasks: Vec<Finished>,
        reason: String,
    ) {
        let state = Arc::new(state);
        let (local, rules) = (self.node.local.id.clone(), self.node.rules);
        let lead = &mut *self.mode;
        let diff = Arc::new(Diff::between(&base, &state));
        let made_from = base.id();
        let steps = lead.publish.take().map_or_else(Steps::default, |before| before.steps_on());
        if rules.keep(Protection::MetAnew) {
            forget_removed(lead, &tasks);
        }
        let has_newcomers = meet_peers(lead, &base, &state, &local);
        lead.publish = Some(Publish {
            state: state.clone(),
            base,
            diff,
            steps,
            tasks,
            acks: BTreeMap::new(),
            since: self.now,
            reason,
            is_committed: false,
        });
        for peer in lead.peers.values_mut() {
            peer.owes.get_or_insert(self.now);
        }
        let peers: Vec<NodeId> = lead.peers.keys().cloned().collect();
        for id in peers {
            self.send_state(&id);
        }
        self.node.accept(state, made_from, &[], self.out);
        self.node.timers.set(Timer::Commit, self.now + self.node.tuning.commit_patience());
        if has_newcomers {
            self.node.timers.set(Timer::NodePings, self.now);
        }
    }

    /// Sends a node the newest state, unless one is on its way to it or being stored: then it is sent when that is known.
    pub(super) fn send_state(&mut self, id: &NodeId) {
        let (with_diffs, mut timeout) = (self.node.tuning.publish_diff, self.node.tuning.commit_patience());
        let lead = &mut *self.mode;
        let term = lead.term;
        let (Some(peer), Some(publish)) = (lead.peers.get_mut(id), &lead.publish) else {
            return;
        };
        let address = peer.node.address.clone();
        if lead.sent.is_under_way(self.now, &address) || peer.storing.is_some() {
            return;
        }
        let body = publish.body_for(peer, &lead.sent, with_diffs);
        lead.sent.send(self.now, &address, publish.state.clone(), &body);
        if body.is_large() {
            let answer = self.node.round_trips.at_least(&address, self.node.tuning.fd_ping_timeout);
            timeout = answer + intake_time(&publish.state);
        }
        let purpose = CallPurpose::Publish { node: id.clone(), at: address.clone(), asked: self.now };
        let committed = self.committed_of(id);
        let message = Message::Publish { from: self.node.sender.clone(), term, committed, body };
        self.node.call(&address, message, purpose, timeout, self.out);
    }

    /// The last committed state, or the one before it that a peer has stored: where states follow each other faster than
    /// answers come, it would otherwise never have the one that it hears of, and apply none.
    fn committed_of(&self, id: &NodeId) -> StateId {
        let (lead, committed) = (&*self.mode, self.node.ledger.committed);
        let taken_back = lead.taken_back.filter(|_| self.node.keeps(Protection::GoneStates));
        let stored = lead.peers.get(id).map(|peer| (peer.accepted, &peer.node.address));
        let is_before = |(stored, at): &(StateId, &Address)| {
            let is_of_the_line = taken_back.is_none_or(|gone| stored.rank() > gone.rank());
            stored.rank() < committed.rank() && is_of_the_line && lead.sent.has(at, *stored)
        };
        stored.filter(is_before).map_or(committed, |(stored, _)| stored)
    }

    /// Forgets what was sent to nodes that are members no more.
    pub(super) fn forget_sent(&mut self) {
        let members: BTreeSet<Address> = self.mode.peers.values().map(|peer| peer.node.address.clone()).collect();
        self.mode.sent.keep(|to| members.contains(to));
    }

    /// Sends a node what it lacks, unless it was sent after the node was asked.
    fn nudge(&mut self, id: &NodeId, asked: Time) {
        if !self.node.keeps(Protection::LaggardsTold) {
            return;
        }
        let lead = &*self.mode;
        let (Some(peer), Some(publish)) = (lead.peers.get(id), &lead.publish) else {
            return;
        };
        let newest = publish.state.id();
        let is_told = peer.told.is_some_and(|(state, at)| state == newest && at >= asked);
        if peer.accepted != newest {
            if !lead.sent.was_sent(&peer.node.address, newest, asked) {
                self.send_state(id);
            }
        } else if publish.is_committed && peer.applied != newest && !is_told {
            self.send_commit(id);
        }
    }

    /// What a state that was sent to a node came to.
    pub(in crate::zen) fn on_published(&mut self, id: &NodeId, (at, asked): (&Address, Time), report: &Report) -> Flow {
        self.mode.sent.end(at, asked);
        self.on_report(id, asked, report)
    }

    /// What a node says that it has promised and knows may acknowledge, vote and confirm, whatever it was asked.
    pub(in crate::zen) fn on_report(&mut self, id: &NodeId, asked: Time, report: &Report) -> Flow {
        let local = self.node.local.id.clone();
        let (accepted_rank, rules, patience) =
            (self.node.ledger.accepted.rank(), self.node.rules, self.node.tuning.fd_ping_timeout);
        let lead = &mut *self.mode;
        let Some(peer) = lead.peers.get_mut(id).filter(|peer| peer.node.ephemeral_id == report.ephemeral_id) else {
            return STAYS;
        };
        peer.seen = self.now;
        let is_mine = report.follows.as_ref() == Some(&local);
        if is_mine && report.accepted.rank() > accepted_rank && rules.keep(Protection::Twins) {
            let node = peer.node.clone();
            let why = format!("{node} follows a node with the id of this one, which published {}", report.accepted);
            return self.step_down(why);
        }
        if report.accepted.term > lead.term {
            let why = format!("{} has accepted {} of a later master", peer.node, report.accepted);
            return self.step_down(why);
        }
        let votes_for_me = report.vote.as_ref() == Some(&local);
        let was_proven = peer.is_proven(lead.proven_above);
        let newest = lead.publish.as_ref().map(|publish| publish.state.id());
        lead.sent.note_stored(&peer.node.address, report.accepted);
        if report.needs_full {
            lead.sent.note_refused(&peer.node.address);
        }
        take_down(peer, (self.now, patience), report, is_mine, newest);
        let has_come = is_mine && report.term == lead.term && lead.recovery.has_come(&report.ephemeral_id);
        let is_awaited = is_mine && lead.wish.is_some_and(|wish| peer.heard < wish && asked >= wish);
        peer.heard = if is_mine { peer.heard.max(asked) } else { peer.heard };
        let is_proven_now = !was_proven && peer.is_proven(lead.proven_above);
        let applied = peer.applied;
        note_applied(&mut lead.awaiting, id, applied);
        peer.votes_elsewhere = report.term == lead.term && !votes_for_me;
        if votes_for_me && report.term == lead.term || !rules.keep(Protection::ReadsInTerm) {
            peer.confirmed = peer.confirmed.max(asked);
        }
        let is_followers = is_mine && report.term == lead.term
            || !rules.keep(Protection::CopiesAckNothing)
            || is_mine && !rules.keep(Protection::LowerTerms);
        if is_followers && let Some(publish) = &mut lead.publish {
            take_ack(publish, peer, report);
        }
        let own_term = lead.term;
        if let Some(term_bump) = &mut lead.term_bump
            && votes_for_me
            && report.term == term_bump.term
            && report.accepted.rank() <= accepted_rank
        {
            term_bump.votes.insert(id.clone(), peer.node.clone());
        }
        // A node in a higher term refuses every state of this one; it is sent one of its term or of a later one.
        if report.term <= own_term {
            self.nudge(id, asked);
        } else {
            self.judge_publish()?;
        }
        self.count_acks()?;
        self.count_term_bump();
        self.settle_acks();
        self.answer_reads()?;
        if has_come {
            self.recover()?;
        }
        self.go_on(is_proven_now || is_awaited)
    }

    /// A voting set may have waited for what was reported, or a hand-over, or whoever leaves, this node among them.
    fn go_on(&mut self, is_news: bool) -> Flow {
        let do_leavers_wait = !self.mode.leaving.is_empty();
        if do_leavers_wait {
            self.remove_dispensable()?;
        }
        let waits = do_leavers_wait || self.mode.succession.is_some() || self.node.leaving.is_some();
        if is_news || waits { self.advance() } else { STAYS }
    }

    /// A node that a state did not get to in time is asked whether it has it, and sent it again if not; after any other failure
    /// it is sent when the node is next heard of. Whether that one lives is told by its link and its beats: probed for each call that
    /// failed, one that answers over its link and refuses connections was sent the same without end.
    pub(in crate::zen) fn on_publish_failed(&mut self, id: &NodeId, (at, asked): (&Address, Time), why: Failure) {
        self.mode.sent.end(at, asked);
        if why == Failure::TimedOut {
            self.ping_node(id, PingKind::Confirm);
        }
    }
}

/// Takes down what a peer says of itself. Reports overtake each other; what a process accepted only rises.
fn take_down(
    peer: &mut Peer,
    (now, patience): (Time, Duration),
    report: &Report,
    is_mine: bool,
    newest: Option<StateId>,
) {
    peer.note_accepted(now, patience, report.accepted, newest);
    peer.promised = peer.promised.max(report.term);
    peer.applied = peer.applied.max(report.committed);
    // What it was storing when it gave an older answer is stored by now.
    peer.storing = report.storing.filter(|storing| storing.rank() > peer.accepted.rank());
    if is_mine {
        peer.follows.get_or_insert(now);
    }
}

/// Counts a report as an acknowledgement if it is one.
fn take_ack(publish: &mut Publish, peer: &Peer, report: &Report) {
    if report.accepted == publish.state.id() && peer.node.is_master_eligible() {
        publish.acks.insert(peer.node.id.clone(), peer.node.clone());
    }
}

/// Who was removed is no peer any more. If the same state has the same process all the same, it was taken in anew, and is
/// not taken for dead. Zen did not ping it any more.
fn forget_removed(lead: &mut Leadership, tasks: &[Finished]) {
    for finished in tasks {
        if let Task::Remove { id, ephemeral_id, .. } = &finished.queued.task
            && lead.peers.get(id).is_some_and(|peer| peer.node.ephemeral_id == *ephemeral_id)
        {
            lead.peers.remove(id);
        }
    }
}

/// What a process held that is taken in now, if that is known.
fn take_holding(lead: &mut Leadership, node: &Node) -> Option<Joined> {
    lead.holdings.get(&node.id).filter(|held| held.process == node.ephemeral_id)?;
    lead.holdings.remove(&node.id)
}

/// Brings the peers in step with the nodes of a state, and says whether there are new ones.
fn meet_peers(lead: &mut Leadership, base: &ClusterState, state: &ClusterState, local: &NodeId) -> bool {
    let mut before = mem::take(&mut lead.peers);
    let mut has_newcomers = false;
    for node in state.nodes.iter().filter(|node| node.id != *local) {
        let known = before.remove(&node.id).filter(|peer| peer.node.same_process(node));
        has_newcomers |= known.is_none();
        if lead.turned_away.get(&node.id).is_some_and(|away| away.node.same_process(node)) {
            lead.turned_away.remove(&node.id);
        }
        if lead.joiners.get(&node.id).is_some_and(|joiner| joiner.same_process(node)) {
            lead.joiners.remove(&node.id);
        }
        let holding = take_holding(lead, node);
        let is_carried = base.term < lead.term && base.nodes.contains_process(node);
        let met = || Peer { is_carried, ..Peer::joined(node.clone(), holding) };
        lead.peers.insert(node.id.clone(), known.unwrap_or_else(met));
    }
    has_newcomers
}
