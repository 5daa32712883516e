//! Clients who wait until every node has applied their change.
//!
//! What is committed is certain; how many nodes show it already is another question, and how long a client waits for the
//! answer is its own. Mirrors `AckedClusterStateTaskListener` and `MasterService.AckCountDownListener` (6.8).

use crate::cluster::{NodeId, Remembered, RequestOutcome, StateId};
use crate::protocol::Time;
use crate::service::Answer;
use crate::zen::Timer;
use crate::zen::ask::Origin;
use crate::zen::mode::leadership::{Awaiting, Finished, Leadership, Peer, Succession, Waiting};
use crate::zen::role::Role;
use std::collections::{BTreeSet, VecDeque};
use std::mem;

/// How many clients may wait for all nodes to apply what is committed already; more are told at once.
const AWAITING_MAX: usize = 10_000;

impl Role<'_, Leadership> {
    /// Clients are told once every node has applied their change, or their time is over.
    pub(super) fn await_acks(&mut self, tasks: Vec<Finished>) {
        let id = self.node.applied.id();
        let mut waiters = Vec::new();
        for Finished { queued, done } in tasks {
            let waiter = queued.waiter;
            let timeout = waiter.timeout;
            // What was refused changed nothing that others would have to apply.
            if timeout.is_zero() || matches!(done.outcome, RequestOutcome::Refused(_)) {
                self.node.answer(self.now, waiter.origin, told(done, false), self.out);
            } else if !matches!(waiter.origin, Origin::Nobody) {
                waiters.push(Waiting { origin: waiter.origin, deadline: self.now + timeout, done });
            }
        }
        let Some(deadline) = waiters.iter().map(|waiting| waiting.deadline).min() else {
            return;
        };
        let patience = self.node.tuning.fd_ping_timeout;
        let lead = &mut *self.mode;
        // Nobody waits for who does not follow yet, but the client is not told that it has applied it. Members of before will
        // follow a new master at once. One that is taken for dead will not apply it before it is removed, and one that is
        // slow not soon.
        let is_new = self.now.since(lead.since) < patience;
        let behind = || lead.peers.iter().filter(|(_, peer)| peer.applied != id);
        let is_awaited = |peer: &Peer| (peer.follows.is_some() || peer.is_carried && is_new) && peer.failed.is_none();
        let is_late = |peer: &Peer| !is_awaited(peer) || peer.is_slow || peer.has_owed(self.now, patience);
        let missing = behind().filter(|(_, peer)| !is_late(peer)).map(|(id, _)| id.clone()).collect();
        let is_incomplete = behind().any(|(_, peer)| is_late(peer));
        lead.awaiting.push_back(Awaiting { id, since: self.now, waiters, missing, is_incomplete });
        if lead.awaiting.len() > AWAITING_MAX {
            self.expire_oldest();
        }
        self.node.timers.set_earlier(Timer::Acks, deadline.min(self.now + patience));
        self.settle_acks();
    }

    fn expire_oldest(&mut self) {
        if let Some(oldest) = self.mode.awaiting.pop_front() {
            for waiting in oldest.waiters {
                self.node.answer(self.now, waiting.origin, told(waiting.done, false), self.out);
            }
        }
    }

    /// Answers those whose change every node has applied.
    pub(super) fn settle_acks(&mut self) {
        let lead = &mut *self.mode;
        if lead.awaiting.is_empty() {
            return;
        }
        let mut done = Vec::new();
        while lead.awaiting.front().is_some_and(|first| first.missing.is_empty()) {
            done.extend(lead.awaiting.pop_front());
        }
        for awaiting in done {
            for waiting in awaiting.waiters {
                self.node.answer(self.now, waiting.origin, told(waiting.done, !awaiting.is_incomplete), self.out);
            }
        }
    }

    /// A node went away: what it had not applied will not be acknowledged by all.
    pub(super) fn give_up_acks_of(&mut self, id: &NodeId) {
        let lead = &mut *self.mode;
        for awaiting in &mut lead.awaiting {
            awaiting.is_incomplete |= awaiting.missing.remove(id);
        }
    }

    /// Nobody waits for a node that is a member no longer. One that said good-bye is none of the nodes that a client is
    /// told of; of the others it was noted that they failed.
    pub(super) fn give_up_acks_of_gone(&mut self) {
        let nodes = self.node.applied.nodes.clone();
        for awaiting in &mut self.mode.awaiting {
            awaiting.missing.retain(|id| nodes.contains(id));
        }
        self.settle_acks();
    }

    /// Nobody waits any longer for nodes that have not applied for too long what is committed, whatever keeps them.
    fn give_up_slow(&mut self) {
        let patience = self.node.tuning.fd_ping_timeout;
        let lead = &mut *self.mode;
        let late = lead.awaiting.iter().take_while(|awaiting| self.now.since(awaiting.since) >= patience);
        let slow: BTreeSet<NodeId> = late.flat_map(|awaiting| awaiting.missing.iter().cloned()).collect();
        lead.peers.iter_mut().filter(|(id, _)| slow.contains(*id)).for_each(|(_, peer)| peer.is_slow = true);
        slow.iter().for_each(|id| self.give_up_acks_of(id));
        self.settle_acks();
    }

    pub(in crate::zen) fn expire_acks(&mut self) {
        self.give_up_slow();
        let patience = self.node.tuning.fd_ping_timeout;
        let lead = &mut *self.mode;
        let mut expired = Vec::new();
        for awaiting in &mut lead.awaiting {
            let (late, kept): (Vec<_>, Vec<_>) =
                mem::take(&mut awaiting.waiters).into_iter().partition(|waiting| waiting.deadline <= self.now);
            awaiting.waiters = kept;
            expired.extend(late);
        }
        lead.awaiting.retain(|awaiting| !awaiting.waiters.is_empty());
        let next = lead.awaiting.iter().flat_map(|awaiting| &awaiting.waiters).map(|waiting| waiting.deadline).min();
        let oldest = lead.awaiting.front().map(|awaiting| awaiting.since + patience);
        if let Some(next) = next.into_iter().chain(oldest).min() {
            self.node.timers.set(Timer::Acks, next);
        }
        for waiting in expired {
            self.node.answer(self.now, waiting.origin, told(waiting.done, false), self.out);
        }
    }
}

impl Leadership {
    /// Whether a hand-over waits for nodes to apply what is committed: who lead no more cannot tell that they did.
    pub(super) fn awaits_acks(&self, now: Time, succession: &Succession) -> bool {
        !self.awaiting.is_empty() && now < succession.until
    }
}

/// What a client is told whose task is committed.
pub(super) fn told(done: Remembered, acknowledged: bool) -> Answer {
    match done.outcome {
        RequestOutcome::Refused(refusal) => Answer::Refused(*refusal),
        outcome @ (RequestOutcome::Applied | RequestOutcome::Written { .. } | RequestOutcome::Granted { .. }) => {
            Answer::Done { at: done.at, acknowledged, outcome }
        }
    }
}

/// A node has applied a state, and all before it.
pub(super) fn note_applied(awaiting: &mut VecDeque<Awaiting>, id: &NodeId, applied: StateId) {
    for awaiting in awaiting.iter_mut().take_while(|awaiting| awaiting.id.rank() <= applied.rank()) {
        awaiting.missing.remove(id);
    }
}
