//! The two phases of a publish, as the master sees them.
//!
//! A state is sent, stored and acknowledged; with enough acknowledgements it is committed, and the commit goes out. What
//! followers do with either stands in `follow`, what clients wait for afterwards in `acks`. Mirrors
//! `PublishClusterStateAction` and `MasterService` (6.8), which counted acknowledgements of states that nobody had stored.

use super::acks::note_applied;
use super::leadership::{Finished, Joined, Leadership, Peer, Publish};
use super::message::{Body, Message, Report};
use super::rules::Protection;
use super::sent::intake_time;
use super::steps::Steps;
use super::{CallPurpose, Mode, NodeState, Note, PingKind, Timer, Tuning, Write, Zen};
use crate::cluster::{Address, ClusterState, Diff, Node, NodeId, StateId};
use crate::protocol::{Effects, Failure, Time};
use crate::service::Task;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// After a mastership that failed a node makes no choice for this part of the time in which others come first.
const REIGNS_PER_REST: u32 = 10;

/// Nodes that lag and were named are not named again within this time.
const NAMED_AGAIN: Duration = Duration::from_secs(60);

impl Zen {
    /// Sends a state, made from `base`, to every node of it and stores it here meanwhile.
    pub(super) fn start_publish(
        &mut self,
        now: Time,
        base: Arc<ClusterState>,
        state: ClusterState,
        tasks: Vec<Finished>,
        reason: String,
        out: &mut Effects<Zen>,
    ) {
        let state = Arc::new(state);
        let (local, rules) = (self.node.local.id.clone(), self.node.rules);
        let Some(lead) = self.lead() else {
            return;
        };
        let diff = Arc::new(Diff::between(&base, &state));
        let made_from = base.id();
        let steps = lead.publish.take().map_or_else(Steps::default, |before| before.steps_on());
        if rules.keep(Protection::MetAnew) {
            forget_removed(lead, &tasks);
        }
        let has_newcomers = meet_peers(lead, &state, &local);
        lead.publish = Some(Publish {
            state: state.clone(),
            base,
            diff,
            steps,
            tasks,
            acks: BTreeMap::new(),
            since: now,
            reason,
            is_committed: false,
        });
        let Some(lead) = self.lead() else {
            return;
        };
        for peer in lead.peers.values_mut() {
            peer.owes.get_or_insert(now);
        }
        let peers: Vec<NodeId> = lead.peers.keys().cloned().collect();
        for id in peers {
            self.send_state(now, &id, out);
        }
        self.node.accept(state, made_from, &[], out);
        self.node.timers.set(Timer::Commit, now + self.node.tuning.commit_timeout);
        if has_newcomers {
            self.node.timers.set(Timer::NodePings, now);
        }
    }

    /// Sends a node the newest state, unless one is on its way to it or being stored: then it is sent when that is known.
    pub(super) fn send_state(&mut self, now: Time, id: &NodeId, out: &mut Effects<Zen>) {
        let (with_diffs, mut timeout) = (self.node.tuning.publish_diff, self.node.tuning.commit_timeout);
        let Mode::Leading(lead) = &mut self.mode else {
            return;
        };
        let term = lead.term;
        let (Some(peer), Some(publish)) = (lead.peers.get_mut(id), &lead.publish) else {
            return;
        };
        let address = peer.node.address.clone();
        if self.node.sent.is_under_way(now, &address) || peer.storing.is_some() {
            return;
        }
        let body = publish.body_for(peer, &self.node.sent, with_diffs);
        self.node.sent.send(now, &address, publish.state.clone(), &body);
        if let Body::Full(state) = &body {
            timeout = self.node.round_trips.at_least(&address, self.node.tuning.fd_ping_timeout) + intake_time(state);
        }
        let purpose = CallPurpose::Publish { node: id.clone(), at: address.clone(), asked: now };
        let committed = self.node.ledger.committed;
        let message = Message::Publish { from: self.node.sender.clone(), term, committed, body };
        self.node.call(&address, message, purpose, timeout, out);
    }

    /// Forgets what was sent to nodes that are members no more.
    fn forget_sent(&mut self) {
        if let Mode::Leading(lead) = &self.mode {
            let members: BTreeSet<Address> = lead.peers.values().map(|peer| peer.node.address.clone()).collect();
            self.node.sent.keep(|to| members.contains(to));
        }
    }

    pub(super) fn send_commit(&mut self, now: Time, id: &NodeId, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return;
        };
        let (Some(peer), Some(publish)) = (lead.peers.get_mut(id), &lead.publish) else {
            return;
        };
        let state = publish.state.id();
        peer.told = Some((state, now));
        let address = peer.node.address.clone();
        let purpose = CallPurpose::Commit { node: id.clone(), asked: now };
        let message = Message::Commit { from: self.node.sender.clone(), id: state };
        self.node.call(&address, message, purpose, self.node.tuning.commit_timeout, out);
    }

    /// Sends a node what it lacks, unless it was sent after the node was asked.
    pub(super) fn nudge(&mut self, now: Time, id: &NodeId, asked: Time, out: &mut Effects<Zen>) {
        if !self.node.keeps(Protection::LaggardsTold) {
            return;
        }
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        let (Some(peer), Some(publish)) = (lead.peers.get(id), &lead.publish) else {
            return;
        };
        let newest = publish.state.id();
        let is_told = peer.told.is_some_and(|(state, at)| state == newest && at >= asked);
        if peer.accepted != newest {
            if !self.node.sent.was_sent(&peer.node.address, newest, asked) {
                self.send_state(now, id, out);
            }
        } else if publish.is_committed && peer.applied != newest && !is_told {
            self.send_commit(now, id, out);
        }
    }

    /// What a node says that it has promised and knows may acknowledge, vote and confirm, whatever it was asked.
    pub(super) fn on_report(&mut self, now: Time, id: &NodeId, asked: Time, report: &Report, out: &mut Effects<Zen>) {
        let local = self.node.local.id.clone();
        let (accepted_rank, rules, patience) =
            (self.node.ledger.accepted.rank(), self.node.rules, self.node.tuning.fd_ping_timeout);
        let Mode::Leading(lead) = &mut self.mode else {
            return;
        };
        let Some(peer) = lead.peers.get_mut(id).filter(|peer| peer.node.ephemeral_id == report.ephemeral_id) else {
            return;
        };
        peer.seen = now;
        let is_mine = report.follows.as_ref() == Some(&local);
        if is_mine && report.accepted.rank() > accepted_rank && rules.keep(Protection::Twins) {
            let node = peer.node.clone();
            let why = format!("{node} follows a node with the id of this one, which published {}", report.accepted);
            return self.step_down(now, why, out);
        }
        let votes_for_me = report.vote.as_ref() == Some(&local);
        let was_proven = peer.is_proven(lead.proven_above);
        let newest = lead.publish.as_ref().map(|publish| publish.state.id());
        self.node.sent.note_stored(&peer.node.address, report.accepted);
        if report.needs_full {
            self.node.sent.note_refused(&peer.node.address);
        }
        take_down(peer, (now, patience), report, is_mine, newest);
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
            self.nudge(now, id, asked, out);
        }
        self.count_acks(now, out);
        self.count_term_bump(now, out);
        self.settle_acks(now, out);
        self.answer_reads(now, out);
        if is_proven_now || is_awaited || self.node.leaving.is_some() {
            // A voting set may have waited for it, or a master that leaves.
            self.advance(now, out);
        }
    }

    /// Commits the publish under way if enough nodes have stored it, this one included once it has.
    pub(super) fn count_acks(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        let Some(publish) = lead.publish.as_ref().filter(|publish| !publish.is_committed) else {
            return;
        };
        // A cheap bound first: in a large cluster the first half of the acknowledgements cannot suffice.
        if (publish.acks.len() + 2) * 2 <= publish.state.metadata.voting.own.len() {
            return;
        }
        let mut backers = publish.acks.clone();
        if self.node.ledger.durable_id() == publish.state.id() || !self.node.keeps(Protection::OwnAckStored) {
            backers.insert(self.node.local.id.clone(), self.node.local.clone());
        }
        if !self.node.keeps(Protection::WholeCommits) {
            self.node.count_one_more(&mut backers);
        }
        let bootstrap = if self.node.is_formed() { Default::default() } else { lead.bootstrap.clone() };
        if self.node.requirement(bootstrap).is_met_by(&backers) {
            self.commit(now, out);
        }
    }

    pub(super) fn commit(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return;
        };
        let Some(publish) = &mut lead.publish else {
            return;
        };
        publish.is_committed = true;
        lead.is_settled = true;
        lead.bootstrap.clear();
        let (state, reason, took) = (publish.state.clone(), mem::take(&mut publish.reason), now.since(publish.since));
        let id = state.id();
        let acked = lead.peers.iter().filter(|(_, peer)| peer.accepted == id);
        let acked: Vec<NodeId> = acked.map(|(id, _)| id.clone()).collect();
        let tasks = mem::take(&mut publish.tasks);
        self.node.timers.stop(Timer::Commit);
        self.node.setbacks.forget(&self.node.local.id);
        for id in acked {
            self.send_commit(now, &id, out);
        }
        self.expect_of_all(now, id, self.node.tuning.commit_timeout);
        self.node.tell_of_commit(&state, reason, took, out);
        let before = self.node.minimum_and_eligible();
        let has_lost = !state.nodes.delta(&self.node.applied.nodes).removed.is_empty();
        self.apply(state.clone(), out);
        self.node.warn_of_minimum(before, out);
        self.node.record_commit(&state, out);
        self.keep_leases(now);
        self.await_acks(now, tasks, out);
        if has_lost {
            self.give_up_acks_of_gone(now, out);
            self.forget_sent();
        }
        self.recover(now, out);
        if before.0 != self.node.tuning.minimum() {
            // A higher number may have come down from an earlier master: it is not waited for in a publish.
            self.judge_quorum(now, out);
        }
        self.farewell(now, out);
        self.advance(now, out);
    }

    /// Starts the deadline for all nodes to apply a state, unless one runs for an earlier state.
    fn expect_of_all(&mut self, now: Time, id: StateId, timeout: Duration) {
        if let Some(lead) = self.lead()
            && lead.expected.is_none()
        {
            lead.expected = Some(id);
            self.node.timers.set(Timer::Behind, now + timeout);
        }
    }

    /// Tells which nodes live and have not applied what was committed long ago.
    pub(super) fn name_those_behind(&mut self, now: Time, out: &mut Effects<Zen>) {
        let (timeout, newest) = (self.node.tuning.commit_timeout, self.node.applied.id());
        let Some(lead) = self.lead() else {
            return;
        };
        let Some(state) = lead.expected.take() else {
            return;
        };
        let live = || lead.peers.values().filter(|peer| peer.failed.is_none());
        let behind = live().filter(|peer| peer.applied.rank() < state.rank());
        let nodes: Vec<Arc<Node>> = behind.map(|peer| peer.node.clone()).collect();
        let is_late = live().any(|peer| peer.applied.rank() < newest.rank());
        let again = if nodes.is_empty() { timeout } else { timeout.max(NAMED_AGAIN) };
        if !nodes.is_empty() {
            out.note(Note::Behind { state, timeout, nodes });
        }
        if is_late {
            self.expect_of_all(now, newest, again);
        }
    }

    pub(super) fn commit_timed_out(&mut self, now: Time, out: &mut Effects<Zen>) {
        if !self.node.keeps(Protection::CommitTimeout) {
            return;
        }
        let timeout = self.node.tuning.commit_timeout;
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        // A disk that hangs may be what keeps the state here.
        if lead.awaits_whole(&self.node.sent, timeout) && !self.node.is_write_overdue(now) {
            return self.node.timers.set(Timer::Commit, now + Tuning::GRACE);
        }
        match &lead.publish {
            Some(publish) if !publish.is_committed => {
                let state = publish.state.id();
                out.note(Note::CommitFailed { state, timeout });
                self.fail_leading(now, "failed to publish cluster state", out);
            }
            Some(_) | None if lead.term_bump.is_some() => {
                self.fail_leading(now, "not enough followers voted in the higher term", out)
            }
            Some(_) | None => {}
        }
    }

    /// Steps down after a mastership that came to nothing, and rests for longer each time before the next choice.
    fn fail_leading(&mut self, now: Time, reason: &str, out: &mut Effects<Zen>) {
        let rest = self.node.set_back(now, &self.node.local.id.clone(), self.node.tuning.ping_timeout);
        self.step_down_for(now, rest / REIGNS_PER_REST, reason.into(), out);
    }

    /// A node that a state did not get to in time is asked whether it has it, and sent it again if not; after any other failure
    /// it is sent when the node is next heard of. Whether that one lives is told by its link and its beats: probed for each call that
    /// failed, one that answers over its link and refuses connections was sent the same without end.
    pub(super) fn on_publish_failed(
        &mut self,
        now: Time,
        id: &NodeId,
        (at, asked): (&Address, Time),
        why: Failure,
        out: &mut Effects<Zen>,
    ) {
        self.node.sent.end(at, asked);
        if why == Failure::TimedOut {
            self.ping_node(now, id, PingKind::Confirm, out);
        }
    }
}

impl NodeState {
    fn tell_of_commit(&self, state: &ClusterState, reason: String, took: Duration, out: &mut Effects<Zen>) {
        let threshold = self.tuning.slow_publish();
        if took >= threshold {
            out.note(Note::SlowPublish { source: reason.clone(), took, threshold });
        }
        let delta = state.nodes.delta(&self.applied.nodes);
        if !delta.is_empty() {
            out.note(Note::Published { state: state.id(), delta, local: self.local.id.clone(), reason });
        }
    }

    /// Remembers that a state is committed, and of which cluster this node is from then on.
    pub(super) fn record_commit(&mut self, state: &Arc<ClusterState>, out: &mut Effects<Zen>) {
        if let Some(uuid) = state.cluster_uuid.filter(|uuid| self.ledger.cluster_uuid != Some(*uuid)) {
            self.store(Write::Identity(uuid), out);
        }
        let voting = &state.metadata.voting;
        let is_change = voting.committed != voting.own && !voting.committed.is_empty();
        let write = if is_change { Write::Settled } else { Write::Committed };
        self.store(write(state.id()), out);
    }

    fn minimum_and_eligible(&self) -> (usize, usize) {
        (self.tuning.minimum(), self.applied.nodes.eligible().count())
    }

    /// Says so when the operator's number has become too low to prevent what the voting sets prevent anyhow.
    fn warn_of_minimum(&self, before: (usize, usize), out: &mut Effects<Zen>) {
        let (minimum, eligible) = self.minimum_and_eligible();
        if (minimum, eligible) != before && minimum > 0 && eligible > 1 && minimum <= eligible / 2 {
            out.note(Note::MinimumTooLow { minimum, eligible });
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
    peer.applied = peer.applied.max(report.committed);
    // What it was storing when it gave an older answer is stored by now.
    peer.storing = report.storing.filter(|storing| storing.rank() > peer.accepted.rank());
    peer.follows |= is_mine;
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
fn meet_peers(lead: &mut Leadership, state: &ClusterState, local: &NodeId) -> bool {
    let mut before = mem::take(&mut lead.peers);
    let mut has_newcomers = false;
    for node in state.nodes.iter().filter(|node| node.id != *local) {
        let known = before.remove(&node.id).filter(|peer| peer.node.same_process(node));
        has_newcomers |= known.is_none();
        lead.turned_away.remove(&node.id);
        let holding = take_holding(lead, node);
        lead.peers.insert(node.id.clone(), known.unwrap_or_else(|| Peer::joined(node.clone(), holding)));
    }
    has_newcomers
}
