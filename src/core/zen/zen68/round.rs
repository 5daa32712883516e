//! The two phases of an old publish: acknowledged before anything is stored, committed in memory, applied by all before the
//! next one begins.
//!
//! Mirrors `PublishClusterStateAction`, `PendingClusterStatesQueue` and `ZenDiscovery.publish` (6.8). Before 1.4 there was
//! one phase: what arrived was applied.

use super::{Dialect, is_recovered};
use crate::cluster::{ClusterState, Node, NodeId, StateId};
use crate::protocol::{Effects, Exchange, Failure, Time};
use crate::service::Queued;
use crate::zen::leadership::Waiter;
use crate::zen::message::{Body, Message, Report, Sender};
use crate::zen::{Mode, Timer, Write, Zen, lead};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How many acknowledged states a node kept; one more, and the oldest was dropped.
const PENDING_MAX: usize = 25;

/// A publish under way, as its master sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Who has neither applied it nor failed.
    waiting: BTreeSet<NodeId>,
    /// Who answered with an error.
    failed: BTreeSet<NodeId>,
    /// Since when enough have acknowledged it, so that the commit goes out.
    committed: Option<Time>,
}

impl Zen {
    /// Sends a state to all. The master itself counts without having stored anything.
    pub(in crate::zen) fn begin_old_round(
        &mut self,
        now: Time,
        state: Arc<ClusterState>,
        has_newcomers: bool,
        out: &mut Effects<Zen>,
    ) {
        self.ledger.assume(state);
        let pings_all = !self.speaks(Dialect::Zen13);
        let Some(lead) = self.lead() else {
            return;
        };
        for peer in lead.peers.values_mut().filter(|_| pings_all) {
            // Whoever is listed is watched. Before 1.4 only those were who had not been listed before.
            peer.failed = None;
        }
        let targets: Vec<NodeId> = lead.peers.keys().cloned().collect();
        let others: BTreeMap<NodeId, Arc<Node>> =
            lead.peers.iter().map(|(id, peer)| (id.clone(), peer.node.clone())).collect();
        let alone = BTreeMap::from([(self.local.id.clone(), self.local.clone())]);
        let all = others.into_iter().chain(alone.clone()).collect();
        let requirement = self.typed_requirement();
        let is_committed = self.speaks(Dialect::Zen13) || requirement.is_met_by(&alone);
        let is_settled = targets.is_empty() || !is_committed && !requirement.is_met_by(&all);
        let patience = if is_settled { Duration::ZERO } else { self.tuning.commit_timeout };
        let committed = is_committed.then_some(now);
        self.old.round = Round { waiting: targets.iter().cloned().collect(), committed, ..Round::default() };
        self.timers.set(Timer::Commit, now + patience);
        if has_newcomers {
            self.timers.set(Timer::NodePings, now);
        }
        for id in targets {
            self.send_state(now, &id, out);
        }
    }

    pub(in crate::zen) fn on_old_report(&mut self, now: Time, id: &NodeId, report: &Report, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return;
        };
        let Some(peer) = lead.peers.get_mut(id).filter(|peer| peer.node.ephemeral_id == report.ephemeral_id) else {
            return;
        };
        peer.applied = report.committed;
        for awaiting in lead.awaiting.iter_mut().filter(|awaiting| awaiting.id == report.committed) {
            awaiting.missing.remove(id);
        }
        let Some(publish) = lead.publish.as_mut().filter(|publish| !publish.is_committed) else {
            return self.settle_acks(now, out);
        };
        let newest = publish.state.id();
        let has_applied = report.committed == newest;
        let has_accepted = has_applied || report.accepted == newest;
        if has_accepted {
            peer.accepted = newest;
            publish.acks.insert(id.clone(), peer.node.clone());
        }
        if has_applied {
            self.old.round.waiting.remove(id);
        } else if has_accepted && self.old.round.committed.is_some() {
            self.send_commit(now, id, out);
        }
        self.count_old_acks(now, out);
        self.settle_acks(now, out);
    }

    /// Commits with enough acknowledgements, ends when all have applied it, and gives up when enough are out of reach.
    pub(in crate::zen) fn count_old_acks(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        let Some(publish) = lead.publish.as_ref().filter(|publish| !publish.is_committed) else {
            return;
        };
        if self.old.round.committed.is_none() {
            let (requirement, newest) = (self.typed_requirement(), publish.state.id());
            let mut backers = publish.acks.clone();
            backers.insert(self.local.id.clone(), self.local.clone());
            if !self.speaks(Dialect::Zen13) && !requirement.is_met_by(&backers) {
                let waiting = lead.peers.iter().filter(|(id, _)| self.old.round.waiting.contains(*id));
                backers.extend(waiting.map(|(id, peer)| (id.clone(), peer.node.clone())));
                if !requirement.is_met_by(&backers) {
                    self.step_down(now, "zen-disco-failed-to-publish".into(), out);
                }
                return;
            }
            let acked = lead.peers.iter().filter(|(_, peer)| peer.accepted == newest && peer.applied != newest);
            let acked: Vec<NodeId> = acked.map(|(id, _)| id.clone()).collect();
            self.old.round.committed = Some(now);
            for id in acked {
                self.send_commit(now, &id, out);
            }
        }
        if self.old.round.waiting.is_empty() {
            self.end_old_round(now, out);
        }
    }

    /// Whether the publish under way is committed for others, but not yet here.
    pub(in crate::zen) fn is_old_round_committed(&self) -> bool {
        self.old.round.committed.is_some()
    }

    /// How much longer clients wait until all nodes have applied what is committed: old masters counted from the commit.
    pub(in crate::zen) fn ack_patience(&self, now: Time, timeout: Duration) -> Duration {
        let waited = self.old.round.committed.map_or(Duration::ZERO, |committed| now.since(committed));
        timeout.saturating_sub(waited)
    }

    /// An error ends the wait for a node. That nothing came back does not: these requests had no timeout of their own.
    pub(in crate::zen) fn give_up_waiting_for(&mut self, now: Time, id: &NodeId, why: Failure, out: &mut Effects<Zen>) {
        if why != Failure::TimedOut && self.old.round.waiting.remove(id) {
            self.old.round.failed.insert(id.clone());
            self.count_old_acks(now, out);
        }
    }

    /// The master applies a state last, when all others have or their time is over.
    pub(in crate::zen) fn end_old_round(&mut self, now: Time, out: &mut Effects<Zen>) {
        let failed = std::mem::take(&mut self.old.round.failed);
        let lies = !self.speaks(Dialect::Zen68);
        let Some(lead) = self.lead() else {
            return;
        };
        let newest = lead.publish.as_ref().map_or(StateId::NONE, |publish| publish.state.id());
        for (_, peer) in lead.peers.iter_mut().filter(|(id, _)| lies && failed.contains(*id)) {
            // Until 6.3 an error was as good an answer as any.
            peer.applied = newest;
        }
        self.commit(now, out);
        for id in failed.iter().filter(|_| !lies) {
            self.give_up_acks_of(id);
        }
        self.settle_acks(now, out);
    }

    /// Runs what is queued; before the recovery only what the protocol itself wants.
    pub(in crate::zen) fn run_old_tasks(&mut self, now: Time, out: &mut Effects<Zen>) {
        if let Some(found) = self.old.gateway.take() {
            return self.publish_recovered(now, found, out);
        }
        let is_recovered = is_recovered(&self.ledger.accepted);
        let Some(lead) = self.lead().filter(|lead| lead.publish.is_some()) else {
            return;
        };
        let batch: Vec<Queued<Waiter>> =
            if is_recovered { lead.queue.take_batch() } else { lead.queue.extract(|queued| queued.task.is_internal()) };
        if batch.is_empty() {
            return;
        }
        let state = self.next_old_state();
        let (state, tasks) = self.carry_out(now, state, batch, out);
        if !tasks.is_empty() {
            let reason = lead::summary(&tasks);
            self.start_publish(now, self.ledger.accepted.clone(), state, tasks, reason, out);
        }
    }

    /// Phase one on a follower: remembered and acknowledged, stored nowhere.
    pub(in crate::zen) fn on_old_publish(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Sender,
        body: Body,
        out: &mut Effects<Zen>,
    ) {
        let Body::Full(state) = body else {
            let report = Report { needs_full: true, ..self.report() };
            return self.reply(exchange, Message::Report(Box::new(report)), out);
        };
        if let Some(why) = self.objection(&state, from, state.term) {
            return self.reply(exchange, Message::Rejected(why.into()), out);
        }
        if self.speaks(Dialect::Zen13) {
            return self.apply_at_once(now, exchange, &from.node, state, out);
        }
        if let Some(why) = self.rejection(&state) {
            return self.reply(exchange, Message::Rejected(why.into()), out);
        }
        let report = Report { accepted: state.id(), follows: Some(from.node.id.clone()), ..self.report() };
        self.old.pending.push_back(state);
        if self.old.pending.len() > PENDING_MAX {
            self.old.pending.pop_front();
        }
        self.reply(exchange, Message::Report(Box::new(report)), out);
    }

    /// Before 1.4: whoever published was followed, and a master that heard another one settled it with that one.
    fn apply_at_once(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Arc<Node>,
        state: Arc<ClusterState>,
        out: &mut Effects<Zen>,
    ) {
        if matches!(self.mode, Mode::Leading(_)) {
            self.reply(exchange, Message::Rejected("it is a master itself".into()), out);
            return self.meet_master(now, from, state.version, "via a new cluster state", out);
        }
        let is_same = matches!(&self.mode, Mode::Following(following) if following.master.id == from.id);
        if !is_same || state.version > self.applied.version {
            self.follow_old(now, from, state, out);
        }
        self.reply_report(exchange, out);
    }

    /// Why a state is not acceptable: only to somebody who has a master anything is.
    fn rejection(&self, state: &ClusterState) -> Option<String> {
        let master = match &self.mode {
            Mode::Following(following) => &following.master.id,
            Mode::Leading(_) => &self.local.id,
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => return None,
        };
        if state.nodes.master.as_ref() != Some(master) {
            Some("cluster state from a different master than the current one, rejecting".into())
        } else if state.version <= self.applied.version {
            Some(format!("rejecting cluster state version [{}]", state.version))
        } else {
            None
        }
    }

    /// Phase two: what was remembered is applied, and written down in doing so.
    pub(in crate::zen) fn on_old_commit(&mut self, now: Time, exchange: Exchange, id: StateId, out: &mut Effects<Zen>) {
        if self.applied.id() == id {
            return self.reply_report(exchange, out);
        }
        let Some(place) = self.old.pending.iter().position(|state| state.id() == id) else {
            let why = format!("can't resolve cluster state {id} to commit");
            return self.reply(exchange, Message::Rejected(why.into()), out);
        };
        let rejection = self.rejection(&self.old.pending[place]);
        let Some(state) = self.old.pending.remove(place) else {
            return;
        };
        let Some(master) = state.nodes.master_node().cloned() else {
            return;
        };
        if let Some(why) = rejection {
            self.reply(exchange, Message::Rejected(why.into()), out);
            return self.meet_master(now, &master, state.version, "via a new cluster state", out);
        }
        let version = state.version;
        self.follow_old(now, &master, state, out);
        let is_newer =
            |state: &Arc<ClusterState>| state.nodes.master == Some(master.id.clone()) && state.version > version;
        self.old.pending.retain(is_newer);
        self.reply_report(exchange, out);
    }

    /// Writes a state down while it is applied, unless it is yet to be recovered.
    pub(in crate::zen) fn write_down(&mut self, state: &Arc<ClusterState>, out: &mut Effects<Zen>) {
        if is_recovered(state) {
            self.store(Write::Accepted(state.clone()), out);
            self.store(Write::Committed(state.id()), out);
        } else {
            self.ledger.go_back_to(state.clone());
        }
    }

    /// The newest state that it only acknowledged.
    pub(in crate::zen) fn newest_pending(&self) -> StateId {
        self.old.pending.iter().map(|state| state.id()).max().unwrap_or(StateId::NONE)
    }

    fn follow_old(&mut self, now: Time, master: &Arc<Node>, state: Arc<ClusterState>, out: &mut Effects<Zen>) {
        if !matches!(&self.mode, Mode::Following(following) if following.master.same_process(master)) {
            self.enter_following(now, master, out);
        }
        self.hear(now, master);
        self.record_commit(&state, out);
        self.show_committed(now, state, out);
    }
}
