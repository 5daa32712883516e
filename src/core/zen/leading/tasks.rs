//! The task queue of a master: what is asked for, carried out in batches, and given back when it waited for too long.
//!
//! What carries a batch out is pure and stands in `service`; the state that it makes goes out by `publish`. Mirrors
//! `MasterService` and `TaskBatcher` (6.8).

use crate::cluster::{ClusterState, VotingSets};
use crate::protocol::{Ticket, Time};
use crate::service::{Answer, Batch, PendingTask, Priority, Question, Queued, Refusal, Task};
use crate::zen::ask::{Origin, Placed};
use crate::zen::mode::leadership::{Finished, Leadership, PendingRead, Waiter};
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::rules::Protection;
use crate::zen::{Note, Timer};
use std::mem;
use std::time::Duration;

impl Role<'_, Leadership> {
    /// Takes on a question of a client of this node.
    pub(in crate::zen) fn take_on(&mut self, ticket: Ticket) -> Flow {
        let ask = match self.node.place(ticket, &self.node.local.clone(), true) {
            Placed::Not => return STAYS,
            Placed::Answered(answer) => {
                self.node.close_ask(ticket, answer, self.out);
                return STAYS;
            }
            Placed::With(ask) => ask,
        };
        let (origin, (master_timeout, timeout)) = (Origin::Client(ticket), ask.patience(self.now));
        let deadline = self.now + master_timeout;
        match &ask.question {
            Question::Submit { task, .. } => self.submit(origin, ask.named(task), timeout, deadline),
            Question::Read { query, .. } => self.read(origin, query.clone(), deadline),
            Question::PendingTasks { .. } => {
                self.tell_pending(origin);
                STAYS
            }
            Question::HandOver { to, .. } => self.wish_succession(origin, to.clone()),
            Question::Leave => STAYS,
        }
    }

    pub(in crate::zen) fn submit(&mut self, origin: Origin, task: Task, timeout: Duration, deadline: Time) -> Flow {
        let waiter = Waiter { origin, since: self.now, deadline: Some(deadline), timeout };
        match self.mode.queue.push(task, waiter) {
            Ok(()) => {
                self.node.timers.set_earlier(Timer::Queue, deadline);
                self.advance()
            }
            Err((refusal, waiter)) => {
                self.node.answer(self.now, waiter.origin, Answer::Refused(refusal), self.out);
                STAYS
            }
        }
    }

    /// Tells what is queued.
    pub(in crate::zen) fn tell_pending(&mut self, origin: Origin) {
        let pending = pending(self.mode, self.now);
        self.node.answer(self.now, origin, Answer::Pending(pending), self.out);
    }

    /// Runs what is queued, if anything is, and publishes what came of it.
    pub(super) fn run_tasks(&mut self) {
        let wanted = self.wanted_set(&self.node.ledger.accepted);
        self.ask_voters(wanted.as_ref());
        let is_idle = self.mode.queue.is_empty() && !wanted.is_some_and(|wanted| self.has_answers_of(&wanted));
        if self.mode.publish.is_some() && !is_idle {
            let state = self.node.next_state(self.mode.term);
            self.publish_tasks(state, false);
        }
    }

    pub(super) fn publish_tasks(&mut self, state: ClusterState, must: bool) {
        let batch = self.mode.queue.take_batch();
        let (mut state, tasks) = self.carry_out(state, batch);
        let base = self.node.ledger.accepted.metadata.voting.own.clone();
        let own = self.next_own_set(&state);
        state.metadata.voting = VotingSets { committed: base.clone(), own: own.clone() };
        if tasks.is_empty() && own == base && !must {
            return;
        }
        if own != base {
            let is_asked_for = tasks.iter().any(|finished| finished.queued.task.changes_voters());
            self.out.note(Note::VotingSet { from: base, to: own, is_asked_for });
        }
        let reason = summary(&tasks);
        self.start_publish(self.node.ledger.accepted.clone(), state, tasks, reason);
    }

    /// Carries tasks out on a state; those that are refused are answered, the others returned.
    pub(super) fn carry_out(
        &mut self,
        state: ClusterState,
        tasks: Vec<Queued<Waiter>>,
    ) -> (ClusterState, Vec<Finished>) {
        let may_propose = self.may_propose();
        let mut batch = Batch::new(state, self.node.config.rule);
        let mut finished = Vec::with_capacity(tasks.len());
        for queued in tasks {
            if queued.task.changes_voters() && !may_propose {
                let why = "the voting set cannot be changed at this moment, ask again".into();
                let refusal = Refusal::Blocked { why, status: 503, retryable: true };
                self.node.answer(self.now, queued.waiter.origin, Answer::Refused(refusal), self.out);
                continue;
            }
            let unnamed = (!self.node.keeps(Protection::RequestsOnce)).then(|| queued.task.clone().without_request());
            match batch.carry_out(unnamed.as_ref().unwrap_or(&queued.task)) {
                Ok(done) => finished.push(Finished { queued, done }),
                Err(refusal) => self.node.answer(self.now, queued.waiter.origin, Answer::Refused(refusal), self.out),
            }
        }
        (batch.state, finished)
    }

    /// Tasks that were queued for too long are given back.
    pub(in crate::zen) fn expire_tasks(&mut self) {
        let lead = &mut *self.mode;
        let is_over = |waiter: &Waiter| waiter.deadline.is_some_and(|deadline| deadline <= self.now);
        let expired = lead.queue.extract(|queued| is_over(&queued.waiter));
        let (late, kept) = mem::take(&mut lead.reads).into_iter().partition(|read| read.deadline <= self.now);
        lead.reads = kept;
        let next = lead.queue.iter().filter_map(|queued| queued.waiter.deadline);
        let next = next.chain(lead.reads.iter().map(|read| read.deadline)).min();
        if let Some(next) = next {
            self.node.timers.set(Timer::Queue, next);
        }
        for queued in expired {
            let source = queued.task.to_string();
            self.node.answer(self.now, queued.waiter.origin, Answer::TimedOut { source }, self.out);
        }
        let late: Vec<PendingRead> = late;
        for read in late {
            self.node.answer(self.now, read.origin, Answer::NoMaster, self.out);
        }
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

/// The tasks that are on their way with a publish, and those that wait for the next one.
fn pending(lead: &Leadership, now: Time) -> Vec<PendingTask> {
    let age = |waiter: &Waiter| now.since(waiter.since).as_millis() as u64;
    let executing = lead.publish.iter().flat_map(|publish| &publish.tasks);
    let executing = executing.map(|task| PendingTask::of(&task.queued, true, age(&task.queued.waiter)));
    executing.chain(lead.queue.pending(age)).collect()
}
