//! Leading: what a won election begins with, higher terms, the task queue, and how a mastership ends.
//!
//! Who is taken in while it lasts stands in `admit`, the two phases of a publish in `publish`, the health of the nodes in
//! `fault_detection`. Mirrors `MasterService` and `ZenDiscovery.rejoin` (6.8).

use super::acks::told;
use super::leadership::{Finished, Joined, Leadership, Origin, PendingRead, TermBump, Waiter};
use super::message::Message;
use super::mode::Ballot;
use super::quorum::{BootstrapSet, next_voting_set};
use super::rules::Protection;
use super::{CallPurpose, Mode, NodeState, Note, Timer, Zen};
use crate::cluster::{Address, ClusterState, Node, NodeId, Term, Uuid, VotingSets};
use crate::protocol::{Effect, Effects, Time};
use crate::service::{Answer, Batch, Priority, Queued, Refusal, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    pub(super) fn lead(&mut self) -> Option<&mut Leadership> {
        match &mut self.mode {
            Mode::Leading(lead) => Some(lead),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        }
    }

    /// Publishes the first state of a won term. It proposes no new voting set: what was inherited is committed first.
    pub(super) fn begin_leading(&mut self, now: Time, bootstrap: BTreeSet<BootstrapSet>, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let term = candidacy.term;
        let ballots = mem::take(&mut candidacy.joins);
        // Who runs on and did not vote may have been told of settings that a full restart would end.
        let is_seen_recovered = self.node.search.seen.values().any(|seen| seen.sight.has_recovered_state);
        let has_recovered_state = self.node.has_recovered_state
            || is_seen_recovered
            || ballots.values().any(|ballot| ballot.has_recovered_state);
        let is_full_restart = !has_recovered_state && self.node.has_heard_of_all(&ballots);
        let seen = &self.node.search.seen;
        let is_unwell = |node: &Node| seen.get(&node.address).is_some_and(|seen| seen.sight.unwell);
        let held = |ballot: &Ballot| {
            let (node, accepted) = (&ballot.node, ballot.accepted);
            let process = node.ephemeral_id.clone();
            (node.id.clone(), Joined { process, accepted, is_unwell: is_unwell(node) })
        };
        let holdings = ballots.values().map(held).collect();
        let nodes = ballots.into_values().map(|ballot| ballot.node);
        let (joiners, unreached): (Vec<Arc<Node>>, Vec<_>) = nodes.partition(|node| self.node.was_reached(node));
        let replaced = self.node.replaced_master(&joiners);
        self.leave_mode(now, out);
        let mut lead = Leadership::new(term, self.node.ledger.accepted.id());
        (lead.bootstrap, lead.holdings) = (bootstrap, holdings);
        self.mode = Mode::Leading(Box::new(lead));
        if !self.node.keeps(Protection::OwnTermCommits) && self.node.is_formed() {
            let inherited = self.node.ledger.accepted.clone();
            self.node.record_commit(&inherited, out);
        }
        let mut batch = Batch::new(self.node.next_state(term), self.node.config.rule);
        let joins = joiners.iter().chain([&self.node.local]).map(|node| Task::Join { node: node.clone() });
        for task in replaced.into_iter().chain(joins) {
            // Neither is ever refused.
            let _ = batch.carry_out(&task);
        }
        let mut state = batch.state;
        if !has_recovered_state {
            self.begin_recovery(&mut state, &joiners, is_full_restart, out);
        }
        state.nodes.master = Some(self.node.local.id.clone());
        let own = &self.node.ledger.accepted.metadata.voting.own;
        state.metadata.voting = if own.is_empty() || !self.node.keeps(Protection::SettledSets) {
            let eligible = state.nodes.eligible().map(|node| node.id.clone()).collect();
            VotingSets { committed: own.clone(), own: next_voting_set(own, &eligible, &self.node.local.id) }
        } else {
            self.node.accepted_sets()
        };
        let reason = format!("zen-disco-elected-as-master ([{}] nodes joined)", joiners.len());
        self.start_publish(now, self.node.ledger.accepted.clone(), state, Vec::new(), reason, out);
        // Whoever was not reached yet is taken in when it is.
        unreached.iter().for_each(|node| self.try_round_trip(now, node, out));
        self.route_asks(now, out);
    }

    /// Queues a task of the protocol's own.
    pub(super) fn enqueue(&mut self, now: Time, task: Task, out: &mut Effects<Zen>) {
        let waiter = Waiter { origin: Origin::Nobody, since: now, deadline: None, timeout: Duration::ZERO };
        if let Some(lead) = self.lead() {
            // Tasks of the protocol are never refused by the queue.
            let _ = lead.queue.push(task, waiter);
        }
        self.advance(now, out);
    }

    /// Does what waits for the publish under way to end: a higher term first, then a succession, then tasks.
    pub(super) fn advance(&mut self, now: Time, out: &mut Effects<Zen>) {
        let (own_term, rules) = (self.node.ledger.promise.term, self.node.rules);
        let Some(lead) = self.lead() else {
            return;
        };
        let is_busy =
            lead.publish.as_ref().is_some_and(|publish| publish.state.term == lead.term && !publish.is_committed);
        if is_busy && rules.keep(Protection::OnePublish) || lead.term_bump.is_some() {
            return;
        }
        if let Some(term) = lead.wanted_term.take().filter(|term| *term > own_term) {
            return self.start_term_bump(now, term, out);
        }
        if lead.succession.is_some() && lead.is_settled {
            return self.hand_over(now, out);
        }
        self.run_tasks(now, out);
    }

    /// Takes a higher term and stays master meanwhile.
    fn start_term_bump(&mut self, now: Time, term: Term, out: &mut Effects<Zen>) {
        let from = self.node.ledger.promise.term;
        out.note(Note::TakesTerm { from, to: term });
        self.node.promise(term, &self.node.local.id.clone(), out);
        let timeout = now + self.node.tuning.commit_timeout;
        self.node.timers.set(Timer::Commit, timeout);
        let Some(lead) = self.lead() else {
            return;
        };
        lead.term_bump = Some(TermBump { term, votes: BTreeMap::new() });
        self.call_votes(now, out);
    }

    /// Asks for the votes that are missing for the higher term, if one is being taken: at once, and with each beat.
    pub(super) fn call_votes(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Some((lead, term_bump)) =
            self.lead().and_then(|lead| lead.term_bump.as_ref().map(|term_bump| (&*lead, term_bump)))
        else {
            return;
        };
        let term = term_bump.term;
        let has_voted = |node: &Node| term_bump.votes.contains_key(&node.id);
        let nodes = lead.peers.values().map(|peer| &peer.node);
        let missing: Vec<_> = nodes.filter(|node| node.is_master_eligible() && !has_voted(node)).cloned().collect();
        for node in missing {
            let message =
                Message::CallVote { from: self.node.sender.clone(), term, candidate: self.node.local.clone() };
            let purpose = CallPurpose::CallVote { node: node.id.clone(), asked: now };
            let timeout = self.node.fd_timeout(&node.address);
            self.node.call(&node.address, message, purpose, timeout, out);
        }
    }

    /// With a quorum of votes the higher term is taken, and a state of it published.
    pub(super) fn count_term_bump(&mut self, now: Time, out: &mut Effects<Zen>) {
        let durable = self.node.ledger.durable.promise.term;
        let requirement = self.node.requirement(BTreeSet::new());
        let (local, rules) = (self.node.local.clone(), self.node.rules);
        let Some(lead) = self.lead() else {
            return;
        };
        let Some(term_bump) = lead.term_bump.as_ref().filter(|term_bump| term_bump.term == durable) else {
            return;
        };
        let mut backers = term_bump.votes.clone();
        backers.insert(local.id.clone(), local);
        if requirement.is_met_by(&backers) || !rules.keep(Protection::BumpVotes) {
            lead.term = term_bump.term;
            lead.term_bump = None;
            lead.is_settled = false;
            self.node.timers.stop(Timer::Commit);
            let state = self.node.next_state(durable);
            self.publish_tasks(now, state, true, out);
        }
    }

    /// Runs what is queued, if anything is, and publishes what came of it.
    fn run_tasks(&mut self, now: Time, out: &mut Effects<Zen>) {
        self.ask_voters(now, out);
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        let accepted = &self.node.ledger.accepted;
        let is_idle = lead.queue.is_empty() && self.next_own_set(accepted) == accepted.metadata.voting.own;
        if lead.publish.is_some() && !is_idle {
            let state = self.node.next_state(lead.term);
            self.publish_tasks(now, state, false, out);
        }
    }

    fn publish_tasks(&mut self, now: Time, state: ClusterState, must: bool, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return;
        };
        let batch = lead.queue.take_batch();
        let (mut state, tasks) = self.carry_out(now, state, batch, out);
        let base = self.node.ledger.accepted.metadata.voting.own.clone();
        let own = self.next_own_set(&state);
        state.metadata.voting = VotingSets { committed: base.clone(), own: own.clone() };
        if tasks.is_empty() && own == base && !must {
            return;
        }
        if own != base {
            out.note(Note::VotingSet { from: base, to: own });
        }
        let reason = summary(&tasks);
        self.start_publish(now, self.node.ledger.accepted.clone(), state, tasks, reason, out);
    }

    /// Carries tasks out on a state; those that are refused are answered, the others returned.
    pub(super) fn carry_out(
        &mut self,
        now: Time,
        state: ClusterState,
        tasks: Vec<Queued<Waiter>>,
        out: &mut Effects<Zen>,
    ) -> (ClusterState, Vec<Finished>) {
        let may_propose = self.may_propose();
        let mut batch = Batch::new(state, self.node.config.rule);
        let mut finished = Vec::with_capacity(tasks.len());
        for queued in tasks {
            if queued.task.changes_voters() && !may_propose {
                let why = "the voting set cannot be changed at this moment, ask again".into();
                let refusal = Refusal::Blocked { why, status: 503, retryable: true };
                self.answer(now, queued.waiter.origin, Answer::Refused(refusal), out);
                continue;
            }
            let unnamed = (!self.node.keeps(Protection::RequestsOnce)).then(|| queued.task.clone().without_request());
            match batch.carry_out(unnamed.as_ref().unwrap_or(&queued.task)) {
                Ok(done) => finished.push(Finished { queued, done }),
                Err(refusal) => self.answer(now, queued.waiter.origin, Answer::Refused(refusal), out),
            }
        }
        (batch.state, finished)
    }

    /// Judges whether the nodes that live are enough, on both voting sets and the operator's number.
    pub(super) fn judge_quorum(&mut self, now: Time, out: &mut Effects<Zen>) {
        let requirement = self.node.requirement(BTreeSet::new());
        let Mode::Leading(lead) = &self.mode else {
            return;
        };
        if !self.node.keeps(Protection::QuorumLoss) {
            return;
        }
        let live = lead.peers.values().filter(|peer| peer.failed.is_none()).map(|peer| &peer.node);
        let live: BTreeMap<NodeId, Arc<Node>> =
            live.chain([&self.node.local]).map(|node| (node.id.clone(), node.clone())).collect();
        if requirement.is_met_by(&live) {
            return;
        }
        let sets = &requirement.sets;
        let without = super::quorum::Requirement {
            sets: VotingSets { committed: sets.committed.clone(), own: sets.committed.clone() },
            ..requirement.clone()
        };
        if self.may_take_back() && without.is_met_by(&live) {
            return self.take_back(now, out);
        }
        let eligible = live.values().filter(|node| node.is_master_eligible()).count();
        let minimum = requirement.minimum;
        let needed = if eligible < minimum { minimum.to_string() } else { format!("a majority of {sets}") };
        self.step_down(now, format!("not enough master nodes (has [{eligible}], but needed [{needed}])"), out);
    }

    /// Whether the publish under way proposes a voting set on a state that this master committed.
    fn may_take_back(&self) -> bool {
        let sets = self.node.accepted_sets();
        let Mode::Leading(lead) = &self.mode else {
            return false;
        };
        (lead.is_settled || !self.node.keeps(Protection::OwnTakeBack)) && sets.own != sets.committed
    }

    /// Publishes the old voting set again after a new one, proposed by this very master, lost its majority. The tasks
    /// are carried out anew on the committed state, so that what they write bears the version that is committed.
    fn take_back(&mut self, now: Time, out: &mut Effects<Zen>) {
        let version = self.node.ledger.accepted.version.next();
        let uuid = Uuid::from_u128(self.node.rng.next_u128());
        let Some(lead) = self.lead() else {
            return;
        };
        let Some(abandoned) = lead.publish.take() else {
            return;
        };
        let state = ClusterState { term: lead.term, version, uuid, ..(*abandoned.base).clone() };
        let tasks = abandoned.tasks.into_iter().map(|task| task.queued).collect();
        let (mut state, tasks) = self.carry_out(now, state, tasks, out);
        let own = abandoned.base.metadata.voting.own.clone();
        out.note(Note::TakesBack { set: own.clone() });
        state.metadata.voting = VotingSets { committed: own.clone(), own };
        self.start_publish(now, abandoned.base, state, tasks, "voting set taken back".into(), out);
    }

    /// Ends the mastership and looks for another master. The followers learn it from their links, not from their next ping.
    pub(super) fn step_down(&mut self, now: Time, reason: String, out: &mut Effects<Zen>) {
        self.step_down_for(now, Duration::ZERO, reason, out);
    }

    /// The same, and makes no choice for some time.
    pub(super) fn step_down_for(&mut self, now: Time, pause: Duration, reason: String, out: &mut Effects<Zen>) {
        out.note(Note::SteppedDown { reason: reason.clone() });
        let followers: Option<Vec<Address>> =
            self.lead().map(|lead| lead.peers.values().map(|peer| peer.node.address.clone()).collect());
        for to in followers.unwrap_or_default() {
            out.push(Effect::Unlink { to });
        }
        self.find(now, pause, reason, out);
    }

    /// Whatever the node was doing ends here; the caller sets what comes next.
    pub(super) fn leave_mode(&mut self, now: Time, out: &mut Effects<Zen>) {
        self.leave_mode_for(now, None, out);
    }

    /// The same, but a link to `next` is kept: closing it would make the other end doubt this node.
    pub(super) fn leave_mode_for(&mut self, now: Time, next: Option<&Address>, out: &mut Effects<Zen>) {
        for timer in [
            Timer::Round,
            Timer::PingAgain,
            Timer::Grace,
            Timer::Candidacy,
            Timer::Join,
            Timer::MasterPing,
            Timer::Silence,
            Timer::NodePings,
            Timer::Commit,
            Timer::Queue,
            Timer::Behind,
            Timer::Acks,
            Timer::Leases,
            Timer::Gateway,
        ] {
            self.node.timers.stop(timer);
        }
        self.forget_search();
        match mem::replace(&mut self.mode, Mode::Finding) {
            Mode::Finding | Mode::Electing(_) => {}
            Mode::Joining(joining) => {
                unlink_unless(&joining.target.address, next, out);
                self.forget_successor(now, out);
            }
            Mode::Following(following) => {
                unlink_unless(&following.master.address, next, out);
                self.node.take_back_asks(|_| true);
                self.node.end_relays(out);
                self.node.show_masterless(out);
            }
            Mode::Leading(lead) => {
                self.node.sent.end_leading();
                self.end_leading(now, *lead, out);
                self.node.show_masterless(out);
            }
        }
    }

    /// Everybody who waits for the master is told what is known: nobody is left without an answer.
    fn end_leading(&mut self, now: Time, mut lead: Leadership, out: &mut Effects<Zen>) {
        if !self.node.keeps(Protection::ToldAtEnd) {
            return;
        }
        for queued in lead.queue.extract(|_| true) {
            if let Task::Join { node } = &queued.task {
                // It waits for a state, and looks for another master as soon as its link closes.
                out.push(Effect::Unlink { to: node.address.clone() });
            }
            self.answer(now, queued.waiter.origin, Answer::NotMaster, out);
        }
        if let Some(publish) = lead.publish.filter(|publish| !publish.is_committed) {
            let reason =
                format!("the master stepped down before state {} was known to be committed", publish.state.id());
            let unknown = Answer::Unknown { reason };
            let answer = if self.node.keeps(Protection::UnknownStays) { unknown } else { Answer::NotMaster };
            for task in publish.tasks {
                self.answer(now, task.queued.waiter.origin, answer.clone(), out);
            }
        }
        for awaiting in lead.awaiting {
            for waiting in awaiting.waiters {
                self.answer(now, waiting.origin, told(waiting.done, false), out);
            }
        }
        for read in lead.reads {
            self.answer(now, read.origin, Answer::NotMaster, out);
        }
        for exchange in lead.leaving.into_values().flatten() {
            self.node.reply(exchange, Message::Rejected("no longer master".into()), out);
        }
        if let Some(succession) = lead.succession {
            self.answer(now, succession.origin, Answer::NotMaster, out);
        }
    }

    /// Answers whoever waits. A client whose question was not carried out for want of a master is asked about again.
    pub(super) fn answer(&mut self, now: Time, origin: Origin, answer: Answer, out: &mut Effects<Zen>) {
        match origin {
            Origin::Nobody => {}
            Origin::Node(exchange) => self.node.reply(exchange, Message::Answered(Box::new(answer)), out),
            Origin::Client(ticket) => self.answer_client(now, ticket, answer, out),
        }
    }

    /// Tasks that were queued for too long are given back.
    pub(super) fn expire_tasks(&mut self, now: Time, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return;
        };
        let is_over = |waiter: &Waiter| waiter.deadline.is_some_and(|deadline| deadline <= now);
        let expired = lead.queue.extract(|queued| is_over(&queued.waiter));
        let (late, kept) = mem::take(&mut lead.reads).into_iter().partition(|read| read.deadline <= now);
        lead.reads = kept;
        let next = lead.queue.iter().filter_map(|queued| queued.waiter.deadline);
        let next = next.chain(lead.reads.iter().map(|read| read.deadline)).min();
        if let Some(next) = next {
            self.node.timers.set(Timer::Queue, next);
        }
        for queued in expired {
            let source = queued.task.to_string();
            self.answer(now, queued.waiter.origin, Answer::TimedOut { source }, out);
        }
        let late: Vec<PendingRead> = late;
        for read in late {
            self.answer(now, read.origin, Answer::NoMaster, out);
        }
    }
}

impl NodeState {
    /// Whether every node of the accepted state was heard of: one that was not may run on, and show transient settings.
    fn has_heard_of_all(&self, ballots: &BTreeMap<NodeId, Ballot>) -> bool {
        let seen: BTreeSet<&NodeId> = self.search.seen.values().map(|seen| &seen.sight.node.id).collect();
        let mut nodes = self.ledger.accepted.nodes.iter().map(|node| &node.id);
        nodes.all(|id| *id == self.local.id || ballots.contains_key(id) || seen.contains(id))
    }

    /// The successor of the accepted state, to be filled in.
    pub(super) fn next_state(&mut self, term: Term) -> ClusterState {
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

fn unlink_unless(address: &Address, next: Option<&Address>, out: &mut Effects<Zen>) {
    if next != Some(address) {
        out.push(Effect::Unlink { to: address.clone() });
    }
}

/// The sources of a batch, as `/_cluster/pending_tasks` and the log show them.
pub(super) fn summary(tasks: &[Finished]) -> String {
    const SHOWN: usize = 3;
    let all = tasks.iter().map(|finished| &finished.queued.task);
    let of_protocol = all.filter(|task| task.is_internal() || task.priority() == Priority::Immediate);
    let mut shown: Vec<String> = of_protocol.take(SHOWN).map(ToString::to_string).collect();
    let others = tasks.len() - shown.len();
    if others > 0 {
        shown.push(format!("{others} tasks"));
    }
    if shown.is_empty() { "reconfigure".into() } else { shown.join(", ") }
}
