//! The two phases of a publish on the master: acknowledged in memory, then committed, then applied by all.
//!
//! The master counts without having stored anything, and applies a state last, when all others have or their time is over;
//! only then does the next one begin. Before 1.4 there was one phase: what arrived was applied. Mirrors
//! `PublishClusterStateAction` and `ZenDiscovery.publish` (6.8).

use super::clients::Waiter;
use super::{CallPurpose, Timer, Zen68};
use crate::cluster::{ClusterState, Node, NodeId, Remembered, StateId, Term};
use crate::protocol::{Effects, Failure, Time};
use crate::service::Answer;
use crate::zen::message::Body;
use crate::zen::{Message, Note};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A state on its way.
#[derive(Clone, Debug)]
pub(super) struct Publish {
    pub(super) state: Arc<ClusterState>,
    pub(super) since: Time,
    reason: String,
    /// Who waits for what was carried out in it.
    pub(super) tasks: Vec<(Waiter, Remembered)>,
    /// Who has neither applied it nor answered with an error.
    waiting: BTreeMap<NodeId, Arc<Node>>,
    acked: BTreeSet<NodeId>,
    has_failed: bool,
    pub(super) is_committed: bool,
}

impl Publish {
    /// How many nodes that can be master may still be counted, the master itself included; only those that acknowledged, or
    /// all.
    fn backers(&self, counts: impl Fn(&NodeId) -> bool) -> usize {
        1 + self.waiting.iter().filter(|(id, node)| node.is_master_eligible() && counts(id)).count()
    }
}

impl Zen68 {
    pub(super) fn start_publish(
        &mut self,
        now: Time,
        state: ClusterState,
        tasks: Vec<(Waiter, Remembered)>,
        reason: String,
        out: &mut Effects<Zen68>,
    ) {
        let others = state.nodes.iter().filter(|node| !node.same_process(&self.local));
        let waiting: BTreeMap<NodeId, Arc<Node>> = others.map(|node| (node.id.clone(), node.clone())).collect();
        let (state, targets) = (Arc::new(state), waiting.values().cloned().collect::<Vec<_>>());
        let is_committed = !self.dialect.has_two_phases();
        let (acked, has_failed) = (BTreeSet::new(), false);
        let publish =
            Publish { state: state.clone(), since: now, reason, tasks, waiting, acked, has_failed, is_committed };
        let Some(mastership) = self.mastership() else {
            return;
        };
        mastership.publish = Some(publish);
        self.timers.set(Timer::Publish, now + self.tuning.commit_timeout);
        for node in targets {
            let (from, body) = (self.sender.clone(), Body::Full(state.clone()));
            let message = Message::Publish { from, term: Term::ZERO, committed: StateId::NONE, body };
            let purpose = CallPurpose::Publish { node: node.id.clone(), state: state.id() };
            self.call(&node.address, message, purpose, self.tuning.commit_timeout, out);
        }
        self.go_on_with_publish(now, out);
    }

    /// The publish under way, if it is that of this state and a node has yet to answer for good.
    fn publish_of(&mut self, (node, state): (&NodeId, StateId)) -> Option<&mut Publish> {
        let publish = self.mastership()?.publish.as_mut()?;
        (publish.state.id() == state && publish.waiting.contains_key(node)).then_some(publish)
    }

    /// A node has acknowledged a state, or applied it at once.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        (node, state): (&NodeId, StateId),
        has_applied: bool,
        out: &mut Effects<Zen68>,
    ) {
        if has_applied {
            return self.on_applied(now, node, state, out);
        }
        let Some(publish) = self.publish_of((node, state)) else {
            return;
        };
        publish.acked.insert(node.clone());
        if publish.is_committed {
            return self.send_commits(vec![node.clone()], out);
        }
        self.go_on_with_publish(now, out);
    }

    pub(super) fn on_applied(&mut self, now: Time, node: &NodeId, state: StateId, out: &mut Effects<Zen68>) {
        if let Some(publish) = self.publish_of((node, state)) {
            publish.waiting.remove(node);
            self.go_on_with_publish(now, out);
        }
    }

    /// An error ends the wait for a node. That nothing came back does not: these requests had no timeout of their own.
    pub(super) fn on_publish_failed(
        &mut self,
        now: Time,
        node: &NodeId,
        state: StateId,
        why: Failure,
        out: &mut Effects<Zen68>,
    ) {
        if let Some(publish) = self.publish_of((node, state)).filter(|_| why != Failure::TimedOut) {
            publish.waiting.remove(node);
            publish.has_failed = true;
            self.go_on_with_publish(now, out);
        }
    }

    /// Commits with enough acknowledgements, ends when all have applied it, and gives up when enough are out of reach.
    fn go_on_with_publish(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let Some(publish) = self.mastership().and_then(|mastership| mastership.publish.as_ref()) else {
            return;
        };
        let (acked, reachable) = (publish.backers(|id| publish.acked.contains(id)), publish.backers(|_| true));
        let (is_committed, is_over) = (publish.is_committed, publish.waiting.is_empty());
        if !is_committed && self.has_enough(acked) {
            self.commit(now, out);
        } else if !is_committed && !self.has_enough(reachable) {
            self.fail_publish(now, out);
        } else if is_committed && is_over {
            self.finish_publish(now, out);
        }
    }

    fn commit(&mut self, now: Time, out: &mut Effects<Zen68>) {
        if let Some(publish) = self.mastership().and_then(|mastership| mastership.publish.as_mut()) {
            publish.is_committed = true;
            let acked = publish.acked.iter().cloned().collect();
            self.send_commits(acked, out);
            self.attend_clients(now, out);
            self.go_on_with_publish(now, out);
        }
    }

    fn send_commits(&mut self, nodes: Vec<NodeId>, out: &mut Effects<Zen68>) {
        for node in nodes {
            let Some(publish) = self.mastership().and_then(|mastership| mastership.publish.as_ref()) else {
                return;
            };
            let state = publish.state.id();
            let Some(address) = publish.waiting.get(&node).map(|node| node.address.clone()) else {
                continue;
            };
            let message = Message::Commit { from: self.sender.clone(), id: state };
            self.call(&address, message, CallPurpose::Commit { node, state }, self.tuning.commit_timeout, out);
        }
    }

    pub(super) fn publish_timed_out(&mut self, now: Time, out: &mut Effects<Zen68>) {
        match self.mastership().and_then(|mastership| mastership.publish.as_ref()).map(|publish| publish.is_committed) {
            Some(true) => self.finish_publish(now, out),
            Some(false) => self.fail_publish(now, out),
            None => {}
        }
    }

    fn fail_publish(&mut self, now: Time, out: &mut Effects<Zen68>) {
        self.pending.clear();
        self.rejoin(now, "zen-disco-failed-to-publish".into(), out);
    }

    fn finish_publish(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let (before, was_master) = (self.state.nodes.clone(), self.is_master());
        let Some(publish) = self.mastership().and_then(|mastership| mastership.publish.take()) else {
            return;
        };
        self.timers.stop(Timer::Publish);
        let (state, local, reason) = (publish.state.id(), self.local.id.clone(), publish.reason);
        out.note(Note::Published { state, delta: publish.state.nodes.delta(&before), local, reason });
        self.apply(publish.state, out);
        self.watch_nodes(now, was_master.then_some(&before), out);
        // Until 6.3 an error was as good an answer as any.
        let acknowledged = publish.waiting.is_empty() && !(publish.has_failed && self.dialect.tells_errors());
        for (waiter, done) in publish.tasks {
            let Remembered { at, outcome, digest: _ } = done;
            self.answer(now, waiter.origin, Answer::Done { at, acknowledged, outcome }, out);
        }
        self.ask_disks(now, out);
        self.route_asks(now, out);
        self.run_tasks(now, out);
    }
}
