//! The second phase of a publish: enough nodes have stored a state, so it is committed, and all are told.
//!
//! How a state gets to them stands in `publish`, what follows from a commit in the files that it calls. Mirrors
//! `PublishClusterStateAction` and `MasterService` (6.8), which counted acknowledgements of states that nobody had stored.

use crate::cluster::{ClusterState, Node, NodeId, StateId};
use crate::protocol::Effects;
use crate::zen::message::Message;
use crate::zen::mode::leadership::Leadership;
use crate::zen::node::NodeState;
use crate::zen::quorum::Requirement;
use crate::zen::role::{Flow, Next, Role, STAYS};
use crate::zen::rules::Protection;
use crate::zen::{CallPurpose, Note, Timer, Tuning, Zen};
use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// After a mastership that failed a node makes no choice for this part of the time in which others come first.
const REIGNS_PER_REST: u32 = 10;

/// Nodes that lag and were named are not named again within this time.
const NAMED_AGAIN: Duration = Duration::from_secs(60);

impl Role<'_, Leadership> {
    pub(super) fn send_commit(&mut self, id: &NodeId) {
        let lead = &mut *self.mode;
        let (Some(peer), Some(publish)) = (lead.peers.get_mut(id), &lead.publish) else {
            return;
        };
        let state = publish.state.id();
        peer.told = Some((state, self.now));
        let address = peer.node.address.clone();
        let purpose = CallPurpose::Commit { node: id.clone(), asked: self.now };
        let message = Message::Commit { from: self.node.sender.clone(), id: state };
        self.node.call(&address, message, purpose, self.node.tuning.commit_timeout, self.out);
    }

    /// Commits the publish under way if enough nodes have stored it, this one included once it has.
    pub(super) fn count_acks(&mut self) -> Flow {
        let lead = &*self.mode;
        let Some(publish) = lead.publish.as_ref().filter(|publish| !publish.is_committed) else {
            return STAYS;
        };
        // A cheap bound first: in a large cluster the first half of the acknowledgements cannot suffice.
        if (publish.acks.len() + 2) * 2 <= publish.state.metadata.voting.own.len() {
            return STAYS;
        }
        let mut backers = publish.acks.clone();
        if self.node.ledger.durable_id() == publish.state.id() || !self.node.keeps(Protection::OwnAckStored) {
            backers.insert(self.node.local.id.clone(), self.node.local.clone());
        }
        if !self.node.keeps(Protection::WholeCommits) {
            self.node.count_one_more(&mut backers);
        }
        if self.requirement().is_met_by(&backers) { self.commit() } else { STAYS }
    }

    /// What a commit must be backed by, in the first forming all those who were expected.
    pub(super) fn requirement(&self) -> Requirement {
        let bootstrap = if self.node.is_formed() { BTreeSet::new() } else { self.mode.bootstrap.clone() };
        self.node.requirement(bootstrap)
    }

    fn commit(&mut self) -> Flow {
        let lead = &mut *self.mode;
        let Some(publish) = &mut lead.publish else {
            return STAYS;
        };
        publish.is_committed = true;
        lead.is_settled = true;
        lead.bootstrap.clear();
        let (state, reason, took) =
            (publish.state.clone(), mem::take(&mut publish.reason), self.now.since(publish.since));
        let id = state.id();
        let acked = lead.peers.iter().filter(|(_, peer)| peer.accepted == id);
        let acked: Vec<NodeId> = acked.map(|(id, _)| id.clone()).collect();
        let tasks = mem::take(&mut publish.tasks);
        self.node.timers.stop(Timer::Commit);
        self.node.setbacks.forget(&self.node.local.id);
        for id in acked {
            self.send_commit(&id);
        }
        self.expect_of_all(id, self.node.tuning.commit_timeout);
        self.node.tell_of_commit(&state, reason, took, self.out);
        let before = self.node.minimum_and_eligible();
        let has_lost = !state.nodes.delta(&self.node.applied.nodes).removed.is_empty();
        self.node.apply(state.clone(), self.out);
        self.node.warn_of_minimum(before, self.out);
        self.node.record_commit(&state, self.out);
        self.keep_leases();
        self.await_acks(tasks);
        if has_lost {
            self.give_up_acks_of_gone();
            self.forget_sent();
        }
        self.recover()?;
        if before.0 != self.node.tuning.minimum() {
            // A higher number may have come down from an earlier master: it is not waited for in a publish.
            self.judge_quorum()?;
        }
        self.farewell()?;
        self.advance()
    }

    /// Starts the deadline for all nodes to apply a state, unless one runs for an earlier state.
    fn expect_of_all(&mut self, id: StateId, timeout: Duration) {
        if self.mode.expected.is_none() {
            self.mode.expected = Some(id);
            self.node.timers.set(Timer::Behind, self.now + timeout);
        }
    }

    /// Tells which nodes live and have not applied what was committed long ago.
    pub(in crate::zen) fn name_those_behind(&mut self) {
        let (timeout, newest) = (self.node.tuning.commit_timeout, self.node.applied.id());
        let lead = &mut *self.mode;
        let Some(state) = lead.expected.take() else {
            return;
        };
        let live = || lead.peers.values().filter(|peer| peer.failed.is_none());
        let behind = live().filter(|peer| peer.applied.rank() < state.rank());
        let nodes: Vec<Arc<Node>> = behind.map(|peer| peer.node.clone()).collect();
        let is_late = live().any(|peer| peer.applied.rank() < newest.rank());
        let again = if nodes.is_empty() { timeout } else { timeout.max(NAMED_AGAIN) };
        if !nodes.is_empty() {
            self.out.note(Note::Behind { state, timeout, nodes });
        }
        if is_late {
            self.expect_of_all(newest, again);
        }
    }

    pub(in crate::zen) fn commit_timed_out(&mut self) -> Flow {
        if !self.node.keeps(Protection::CommitTimeout) {
            return STAYS;
        }
        let timeout = self.node.tuning.commit_patience();
        let lead = &*self.mode;
        // A disk that hangs may be what keeps the state here.
        if lead.awaits_large(timeout) && !self.node.is_write_overdue(self.now) {
            self.node.timers.set(Timer::Commit, self.now + Tuning::GRACE);
            return STAYS;
        }
        match &lead.publish {
            Some(publish) if !publish.is_committed => {
                let state = publish.state.id();
                self.out.note(Note::CommitFailed { state, timeout });
                self.fail_leading("failed to publish cluster state")
            }
            Some(_) | None if lead.term_bump.is_some() => {
                self.fail_leading("not enough followers voted in the higher term")
            }
            Some(_) | None => STAYS,
        }
    }

    /// Steps down after a mastership that came to nothing, and rests for longer each time before the next choice.
    fn fail_leading(&mut self, reason: &str) -> Flow {
        let rest = self.node.set_back(self.now, &self.node.local.id.clone(), self.node.tuning.ping_timeout);
        Flow::Break(Next::StepDown { pause: rest / REIGNS_PER_REST, reason: reason.into() })
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
