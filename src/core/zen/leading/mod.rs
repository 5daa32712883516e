//! A node that leads: one folder for all that only a master does.
//!
//! What it begins and ends with and what it does next stand here, what it keeps in `mode/leadership`. Its task queue is in `tasks`, the
//! two phases of a publish in `publish` and `commit`; which voting set comes next in `propose`, higher terms in `term_bump`. Who
//! becomes a member is decided in `admit`, who is one no more in `fault_detection` and `leavers`, who leads next in
//! `succession`; `read`, `lease` and `acks` serve clients. Mirrors
//! `MasterService` and `ZenDiscovery.rejoin` (6.8).

mod acks;
mod admit;
mod commit;
mod fault_detection;
mod gateway;
mod lease;
mod leavers;
mod propose;
mod publish;
mod read;
mod succession;
mod tasks;
mod term_bump;

use super::ask::Origin;
use super::message::Message;
use super::mode::Ballot;
use super::mode::leadership::{Joined, Leadership, Peer, Publish, Waiter};
use super::node::NodeState;
use super::quorum::{Requirement, next_voting_set};
use super::role::{Flow, Next, Role, STAYS};
use super::rules::Protection;
use super::{CallPurpose, Note, Zen};
use crate::cluster::{ClusterState, Node, NodeId, Term, Uuid, VotingSets};
use crate::protocol::{Effect, Effects, Time};
use crate::service::{Answer, Batch, Task};
use acks::told;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What a mastership begins with.
pub(super) struct Inheritance {
    /// What is known of those who voted.
    pub(super) holdings: BTreeMap<NodeId, Joined>,
    /// Those of them that answer at their address.
    joiners: Vec<Arc<Node>>,
    /// The others.
    unreached: Vec<Arc<Node>>,
    /// Removes the master of before, if it was lost.
    replaced: Option<Task>,
    has_recovered_state: bool,
    is_full_restart: bool,
}

impl NodeState {
    /// What a mastership begins with, after these votes.
    pub(super) fn inheritance(&self, ballots: BTreeMap<NodeId, Ballot>) -> Inheritance {
        // Who runs on and did not vote may have been told of settings that a full restart would end.
        let is_seen_recovered = self.search.seen.values().any(|seen| seen.sight.has_recovered_state);
        let has_recovered_state =
            self.has_recovered_state || is_seen_recovered || ballots.values().any(|ballot| ballot.has_recovered_state);
        let is_full_restart = !has_recovered_state && self.has_heard_of_all(&ballots);
        let seen = &self.search.seen;
        let is_unwell = |node: &Node| seen.get(&node.address).is_some_and(|seen| seen.sight.unwell);
        let held = |ballot: &Ballot| {
            let (node, accepted) = (&ballot.node, ballot.accepted);
            let process = node.ephemeral_id.clone();
            (node.id.clone(), Joined { process, accepted, is_unwell: is_unwell(node) })
        };
        let holdings = ballots.values().map(held).collect();
        let nodes = ballots.into_values().map(|ballot| ballot.node);
        let (joiners, unreached): (Vec<Arc<Node>>, Vec<_>) = nodes.partition(|node| self.may_begin_with(node));
        let replaced = self.replaced_master(&joiners);
        Inheritance { holdings, joiners, unreached, replaced, has_recovered_state, is_full_restart }
    }

    /// Whether a voter is in the first state. One that is needed to commit that state must be; whoever is neither a voter
    /// of the cluster nor a node of it yet is taken in only once it was reached, as anybody who joins.
    fn may_begin_with(&self, node: &Node) -> bool {
        let (voting, nodes) = (&self.ledger.accepted.metadata.voting, &self.ledger.accepted.nodes);
        let has_part =
            voting.committed.contains(&node.id) || voting.own.contains(&node.id) || nodes.contains_process(node);
        has_part || self.was_reached(node)
    }

    /// Whether a voter can acknowledge the first state: in a first forming only one that was reached.
    pub(super) fn can_acknowledge(&self, node: &Node) -> bool {
        if self.is_formed() { self.may_begin_with(node) } else { self.was_reached(node) }
    }

    /// The master in whose place this node was elected, to be removed by its first state: if it was lost, did not vote and
    /// answers nothing, nobody waits for its silence a second time.
    fn replaced_master(&self, joiners: &[Arc<Node>]) -> Option<Task> {
        let old = self.ledger.accepted.nodes.master_node()?;
        let has_joined = joiners.iter().any(|node| node.id == old.id);
        let answers = self.search.seen.get(&old.address).is_some_and(|seen| seen.sight.node.same_process(old));
        let lost = self.lost.get(&old.ephemeral_id).filter(|_| !has_joined && !answers && old.id != self.local.id)?;
        let (id, ephemeral_id) = (old.id.clone(), old.ephemeral_id.clone());
        Some(Task::Remove { id, ephemeral_id, reason: lost.why.clone(), left: false, answered: 0 })
    }

    /// Whether every node of the accepted state was heard of: one that was not may run on, and show transient settings.
    fn has_heard_of_all(&self, ballots: &BTreeMap<NodeId, Ballot>) -> bool {
        let seen: BTreeSet<&NodeId> = self.search.seen.values().map(|seen| &seen.sight.node.id).collect();
        let mut nodes = self.ledger.accepted.nodes.iter().map(|node| &node.id);
        nodes.all(|id| *id == self.local.id || ballots.contains_key(id) || seen.contains(id))
    }

    /// The successor of the accepted state, to be filled in.
    fn next_state(&mut self, term: Term) -> ClusterState {
        let mut state = (*self.ledger.accepted).clone();
        state.term = term;
        state.version = state.version.next();
        // The user may have renamed the cluster since.
        state.cluster_name = self.config.cluster_name.clone();
        state.uuid = Uuid::from_u128(self.rng.next_u128());
        state.cluster_uuid = state.cluster_uuid.or_else(|| Some(Uuid::from_u128(self.rng.next_u128())));
        state
    }
}

impl Leadership {
    /// Nobody takes the states of a master that steps down, and what is large would stand in the way of the next.
    fn cancel_large(&self, node: &mut NodeState, out: &mut Effects<Zen>) {
        let is_large = |purpose: &CallPurpose| matches!(purpose, CallPurpose::Publish { at, asked, .. } if self.sent.large_since(at) == Some(*asked));
        for call in node.take_calls(is_large).into_keys() {
            out.push(Effect::Cancel { call });
        }
    }

    /// Everybody who waits for the master is told what is known: nobody is left without an answer.
    pub(in crate::zen) fn end(mut self, node: &mut NodeState, now: Time, out: &mut Effects<Zen>) {
        self.cancel_large(node, out);
        if !node.keeps(Protection::ToldAtEnd) {
            return;
        }
        for queued in self.queue.extract(|_| true) {
            if let Task::Join { node } = &queued.task {
                // It waits for a state, and looks for another master as soon as its link closes.
                out.push(Effect::Unlink { to: node.address.clone() });
            }
            node.answer(now, queued.waiter.origin, Answer::NotMaster, out);
        }
        if let Some(publish) = self.publish.filter(|publish| !publish.is_committed) {
            let reason =
                format!("the master stepped down before state {} was known to be committed", publish.state.id());
            let unknown = Answer::Unknown { reason };
            let answer = if node.keeps(Protection::UnknownStays) { unknown } else { Answer::NotMaster };
            for task in publish.tasks {
                node.answer(now, task.queued.waiter.origin, answer.clone(), out);
            }
        }
        for awaiting in self.awaiting {
            for waiting in awaiting.waiters {
                node.answer(now, waiting.origin, told(waiting.done, false), out);
            }
        }
        for read in self.reads {
            node.answer(now, read.origin, Answer::NotMaster, out);
        }
        for exchange in self.leaving.into_values().flat_map(|leaver| leaver.waiting) {
            node.reply(exchange, Message::Rejected("no longer master".into()), out);
        }
        if let Some(succession) = self.succession {
            node.answer(now, succession.origin, Answer::NotMaster, out);
        }
    }
}

impl Role<'_, Leadership> {
    /// Publishes the first state of a won term. It proposes no new voting set: what was inherited is committed first.
    pub(super) fn begin(&mut self, with: Inheritance) -> Flow {
        let term = self.mode.term;
        if !self.node.keeps(Protection::OwnTermCommits) && self.node.is_formed() {
            let inherited = self.node.ledger.accepted.clone();
            self.node.record_commit(&inherited, self.out);
        }
        let mut batch = Batch::new(self.node.next_state(term), self.node.config.rule);
        let joins = with.joiners.iter().chain([&self.node.local]).map(|node| Task::Join { node: node.clone() });
        for task in with.replaced.into_iter().chain(joins) {
            // Neither is ever refused.
            let _ = batch.carry_out(&task);
        }
        let mut state = batch.state;
        if !with.has_recovered_state {
            self.begin_recovery(&mut state, &with.joiners, with.is_full_restart);
        }
        state.nodes.master = Some(self.node.local.id.clone());
        let own = &self.node.ledger.accepted.metadata.voting.own;
        state.metadata.voting = if own.is_empty() || !self.node.keeps(Protection::SettledSets) {
            let eligible = state.nodes.eligible().map(|node| node.id.clone()).collect();
            VotingSets { committed: own.clone(), own: next_voting_set(own, &eligible, &self.node.local.id) }
        } else {
            self.node.accepted_sets()
        };
        let reason = format!("zen-disco-elected-as-master ([{}] nodes joined)", with.joiners.len());
        self.start_publish(self.node.ledger.accepted.clone(), state, Vec::new(), reason);
        // Whoever was not reached yet is taken in when it is.
        with.unreached.iter().try_for_each(|node| self.try_round_trip(node))
    }

    /// The mastership ends, and another master is looked for.
    pub(super) fn step_down(&self, reason: String) -> Flow {
        Flow::Break(Next::StepDown { pause: Duration::ZERO, reason })
    }

    /// A write is durable: it may be the own acknowledgement, or the own vote.
    pub(super) fn on_stored(&mut self) -> Flow {
        self.count_acks()?;
        self.count_term_bump();
        STAYS
    }

    /// Queues a task of the protocol's own.
    fn enqueue(&mut self, task: Task) -> Flow {
        let waiter = Waiter { origin: Origin::Nobody, since: self.now, deadline: None, timeout: Duration::ZERO };
        // Tasks of the protocol are never refused by the queue.
        let _ = self.mode.queue.push(task, waiter);
        self.advance()
    }

    /// Does what waits for the publish under way to end: a higher term first, then a succession, then tasks.
    fn advance(&mut self) -> Flow {
        let (own_term, rules) = (self.node.ledger.promise.term, self.node.rules);
        let lead = &mut *self.mode;
        let is_busy =
            lead.publish.as_ref().is_some_and(|publish| publish.state.term == lead.term && !publish.is_committed);
        if is_busy && rules.keep(Protection::OnePublish) || lead.term_bump.is_some() {
            return STAYS;
        }
        if let Some(term) = lead.wanted_term.take().filter(|term| *term > own_term) {
            self.start_term_bump(term);
            return STAYS;
        }
        if lead.is_settled && lead.succession.as_ref().is_some_and(|succession| !lead.awaits_acks(self.now, succession))
        {
            self.hand_over()?;
        }
        // While a successor is waited for no other state is made.
        if self.mode.succession.is_none() || !self.mode.is_settled {
            self.run_tasks();
        }
        STAYS
    }

    /// Judges whether the nodes that live are enough: on both voting sets, the operator's number, and whom a first forming
    /// was told to expect.
    pub(super) fn judge_quorum(&mut self) -> Flow {
        let requirement = self.requirement();
        if !self.node.keeps(Protection::QuorumLoss) {
            return STAYS;
        }
        let live = self.nodes_that(|peer| peer.failed.is_none());
        if requirement.is_met_by(&live) {
            return self.judge_publish();
        }
        let sets = &requirement.sets;
        let without = Requirement {
            sets: VotingSets { committed: sets.committed.clone(), own: sets.committed.clone() },
            ..requirement.clone()
        };
        if self.may_take_back() && without.is_met_by(&live) {
            self.take_back();
            return STAYS;
        }
        let eligible = live.values().filter(|node| node.is_master_eligible()).count();
        let minimum = requirement.minimum;
        let absent = requirement.bootstrap.iter().find(|set| !set.is_met_by(live.values()));
        let needed = match absent {
            Some(set) => set.to_string(),
            None if eligible < minimum => minimum.to_string(),
            None => format!("a majority of {sets}"),
        };
        self.step_down(format!("not enough master nodes (has [{eligible}], but needed [{needed}])"))
    }

    /// A state on its way that too few can take, since the others have promised a higher term, is never committed.
    pub(super) fn judge_publish(&self) -> Flow {
        let lead = &*self.mode;
        let is_open = |publish: &&Publish| publish.state.term == lead.term && !publish.is_committed;
        // While a higher term is taken every vote for it comes by here.
        let Some(publish) = lead.publish.as_ref().filter(is_open) else {
            return STAYS;
        };
        let mut able = self.nodes_that(|peer| peer.failed.is_none() && peer.promised <= lead.term);
        able.extend(publish.acks.clone());
        if self.requirement().is_met_by(&able) || !self.node.keeps(Protection::QuorumLoss) {
            return STAYS;
        }
        self.step_down(format!("too many have promised a higher term to commit {}", publish.state.id()))
    }

    /// This node, and those peers of which this holds.
    fn nodes_that(&self, holds: impl Fn(&Peer) -> bool) -> BTreeMap<NodeId, Arc<Node>> {
        let peers = self.mode.peers.values().filter(|peer| holds(peer)).map(|peer| &peer.node);
        peers.chain([&self.node.local]).map(|node| (node.id.clone(), node.clone())).collect()
    }

    /// Whether the publish under way proposes a voting set on a state that this master committed.
    fn may_take_back(&self) -> bool {
        let sets = self.node.accepted_sets();
        (self.mode.is_settled || !self.node.keeps(Protection::OwnTakeBack)) && sets.own != sets.committed
    }

    /// Publishes the old voting set again after a new one, proposed by this very master, lost its majority. The tasks
    /// are carried out anew on the committed state, so that what they write bears the version that is committed.
    pub(super) fn take_back(&mut self) {
        let version = self.node.ledger.accepted.version.next();
        let uuid = Uuid::from_u128(self.node.rng.next_u128());
        let Some(abandoned) = self.mode.publish.take() else {
            return;
        };
        self.mode.taken_back = Some(abandoned.state.id());
        let state = ClusterState { term: self.mode.term, version, uuid, ..(*abandoned.base).clone() };
        let tasks = abandoned.tasks.into_iter().map(|task| task.queued).collect();
        let (mut state, tasks) = self.carry_out(state, tasks);
        let own = abandoned.base.metadata.voting.own.clone();
        self.out.note(Note::TakesBack { set: own.clone() });
        state.metadata.voting = VotingSets { committed: own.clone(), own };
        self.start_publish(abandoned.base, state, tasks, "voting set taken back".into());
    }
}
