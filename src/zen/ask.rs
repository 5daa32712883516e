//! Clients' questions, on any node: carried out here if it leads, forwarded to the master otherwise.
//!
//! A question that was certainly not carried out is tried again until its `master_timeout`; one whose fate is not known
//! never is. Mirrors `TransportMasterNodeAction` (6.8), which ran such questions a second time.

use super::leadership::{Leadership, Origin, Waiter};
use super::message::Message;
use super::rules::Protection;
use super::{Errand, Mode, Timer, Zen};
use crate::protocol::{Effect, Effects, Exchange, Failure, Ticket, Time};
use crate::service::{Answer, PendingTask, Question, Refusal, Task};
use std::time::Duration;

/// How many questions a node keeps for its clients.
const ASKS_MAX: usize = 10_000;

/// A client's question that is not answered yet.
#[derive(Clone, Debug, Hash)]
pub struct Ask {
    question: Question,
    deadline: Time,
    /// Whether it is in the master's hands, here or elsewhere.
    is_placed: bool,
}

impl Ask {
    /// Whether the next master will do, where this one could not. A mastership that was lost meanwhile is no other's to
    /// hand over.
    fn is_for_any_master(&self) -> bool {
        match self.question {
            Question::Submit { .. } | Question::Read { .. } | Question::PendingTasks { .. } => true,
            Question::HandOver { .. } | Question::Leave => false,
        }
    }

    /// Whether asking twice is as good as asking once.
    fn may_be_repeated(&self) -> bool {
        match self.question {
            Question::Read { .. } | Question::PendingTasks { .. } => true,
            Question::Submit { .. } | Question::HandOver { .. } | Question::Leave => false,
        }
    }
}

impl Zen {
    pub(super) fn on_asked(&mut self, now: Time, ticket: Ticket, question: Question, out: &mut Effects<Zen>) {
        match &question {
            Question::Submit { task, .. } if task.is_internal() => {
                let why = format!("task [{task}] is the protocol's own and cannot be asked for");
                out.push(Effect::Answer { ticket, answer: Answer::Refused(Refusal::Invalid(why)) });
            }
            Question::Submit { master_timeout, .. }
            | Question::Read { master_timeout, .. }
            | Question::PendingTasks { master_timeout }
            | Question::HandOver { master_timeout, .. } => {
                let deadline = now + *master_timeout;
                self.keep_ask(now, ticket, Ask { question, deadline, is_placed: false }, out);
            }
            Question::Leave => self.begin_leave(now, ticket, out),
        }
    }

    fn keep_ask(&mut self, now: Time, ticket: Ticket, ask: Ask, out: &mut Effects<Zen>) {
        if self.asks.len() >= ASKS_MAX {
            let why = format!("{} questions are open already, a node keeps {ASKS_MAX}", self.asks.len());
            return out.push(Effect::Answer { ticket, answer: Answer::Refused(Refusal::Overloaded(why)) });
        }
        self.timers.set_earlier(Timer::Asks, ask.deadline);
        self.asks.insert(ticket, ask);
        self.route(now, ticket, out);
    }

    /// Tries every question that is in nobody's hands.
    pub(super) fn route_asks(&mut self, now: Time, out: &mut Effects<Zen>) {
        let open: Vec<Ticket> = self.asks.iter().filter(|(_, ask)| !ask.is_placed).map(|(ticket, _)| *ticket).collect();
        for ticket in open {
            self.route(now, ticket, out);
        }
    }

    fn route(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen>) {
        let is_leading = matches!(self.mode, Mode::Leading(_));
        if !is_leading && !self.follows_openly() {
            return;
        }
        let Some(ask) = self.asks.get_mut(&ticket) else {
            return;
        };
        ask.is_placed = true;
        let (question, deadline) = (ask.question.clone(), ask.deadline);
        if !is_leading {
            return self.forward(now, ticket, question, deadline, out);
        }
        let origin = Origin::Client(ticket);
        match question {
            Question::Submit { task, timeout, .. } => self.submit(now, origin, task, timeout, deadline, out),
            Question::Read { query, .. } => self.read(now, origin, query, deadline, out),
            Question::PendingTasks { .. } => self.tell_pending(now, origin, out),
            Question::HandOver { to, .. } => self.wish_succession(now, origin, to, out),
            Question::Leave => {}
        }
    }

    fn forward(&mut self, now: Time, ticket: Ticket, question: Question, deadline: Time, out: &mut Effects<Zen>) {
        let Mode::Following(following) = &self.mode else {
            return;
        };
        let address = following.master.address.clone();
        let master_timeout = deadline.since(now);
        let (from, patience) = (self.sender.clone(), master_timeout + self.tuning.commit_timeout);
        let (message, patience) = match question {
            Question::Submit { task, timeout, .. } => (
                Message::Submit { from, task: Box::new(task), timeout, master_timeout },
                patience.saturating_add(timeout),
            ),
            Question::Read { query, .. } => (Message::Read { from, query, master_timeout }, master_timeout),
            // It is answered at once, or by nobody.
            Question::PendingTasks { .. } => (Message::PendingTasks { from }, self.tuning.fd_ping_timeout),
            Question::HandOver { to, .. } => (Message::Succession { from, to }, patience),
            Question::Leave => return,
        };
        self.call(&address, message, Errand::Forward { ticket }, patience, out);
    }

    pub(super) fn on_submit(
        &mut self,
        now: Time,
        exchange: Exchange,
        task: Task,
        timeout: Duration,
        master_timeout: Duration,
        out: &mut Effects<Zen>,
    ) {
        let origin = Origin::Node(exchange);
        if task.is_internal() {
            let why = format!("task [{task}] is the protocol's own and cannot be asked for");
            return self.answer(now, origin, Answer::Refused(Refusal::Invalid(why)), out);
        }
        self.submit(now, origin, task, timeout, now + master_timeout, out);
    }

    fn submit(
        &mut self,
        now: Time,
        origin: Origin,
        task: Task,
        timeout: Duration,
        deadline: Time,
        out: &mut Effects<Zen>,
    ) {
        let Some(lead) = self.lead() else {
            return self.answer(now, origin, Answer::NotMaster, out);
        };
        let waiter = Waiter { origin, since: now, deadline: Some(deadline), timeout };
        match lead.queue.push(task, waiter) {
            Ok(()) => {
                self.timers.set_earlier(Timer::Queue, deadline);
                self.advance(now, out);
            }
            Err((refusal, waiter)) => self.answer(now, waiter.origin, Answer::Refused(refusal), out),
        }
    }

    /// Tells what is queued, if this node is master.
    pub(super) fn tell_pending(&mut self, now: Time, origin: Origin, out: &mut Effects<Zen>) {
        let answer = self.lead().map_or(Answer::NotMaster, |lead| Answer::Pending(pending(lead, now)));
        self.answer(now, origin, answer, out);
    }

    pub(super) fn on_answered(&mut self, now: Time, ticket: Ticket, answer: Answer, out: &mut Effects<Zen>) {
        self.answer_client(now, ticket, answer, out);
    }

    /// Passes an answer on, or tries again what was not carried out for want of a master.
    pub(super) fn answer_client(&mut self, now: Time, ticket: Ticket, answer: Answer, out: &mut Effects<Zen>) {
        match (answer, self.asks.get_mut(&ticket)) {
            (Answer::NotMaster | Answer::NoMaster, Some(ask)) if now < ask.deadline && ask.is_for_any_master() => {
                self.try_later(now, ticket)
            }
            // Waiting may help: as in Elasticsearch, nothing is refused before the time is over.
            (Answer::Refused(Refusal::Blocked { retryable: true, .. }), Some(ask)) if now < ask.deadline => {
                self.try_later(now, ticket)
            }
            (Answer::NotMaster, Some(_)) => self.close_ask(ticket, Answer::NoMaster, out),
            (answer, _) => self.close_ask(ticket, answer, out),
        }
    }

    fn try_later(&mut self, now: Time, ticket: Ticket) {
        if let Some(ask) = self.asks.get_mut(&ticket) {
            ask.is_placed = false;
            let again = (now + self.tuning.join_retry_delay).min(ask.deadline);
            self.timers.set_earlier(Timer::Asks, again);
        }
    }

    fn close_ask(&mut self, ticket: Ticket, answer: Answer, out: &mut Effects<Zen>) {
        self.asks.remove(&ticket);
        out.push(Effect::Answer { ticket, answer });
    }

    pub(super) fn on_forward_failed(&mut self, now: Time, ticket: Ticket, why: Failure, out: &mut Effects<Zen>) {
        let is_done_once = self.asks.get(&ticket).is_some_and(|ask| !ask.may_be_repeated());
        if is_done_once && why != Failure::Refused && self.keeps(Protection::UnknownStays) {
            let reason = format!("the master was asked and did not answer ({why})");
            return self.close_ask(ticket, Answer::Unknown { reason }, out);
        }
        if self.asks.contains_key(&ticket) {
            self.answer_client(now, ticket, Answer::NotMaster, out);
        }
    }

    /// Gives up what has waited too long for a master, and tries the rest again.
    pub(super) fn retry_asks(&mut self, now: Time, out: &mut Effects<Zen>) {
        let late = self.asks.iter().filter(|(_, ask)| !ask.is_placed && ask.deadline <= now);
        let late: Vec<Ticket> = late.map(|(ticket, _)| *ticket).collect();
        for ticket in late {
            self.close_ask(ticket, Answer::NoMaster, out);
        }
        self.route_asks(now, out);
        let open = self.asks.values().filter(|ask| !ask.is_placed);
        if let Some(next) = open.map(|ask| ask.deadline).min() {
            self.timers.set_earlier(Timer::Asks, next);
        }
    }
}

/// The tasks that are on their way with a publish, and those that wait for the next one.
fn pending(lead: &Leadership, now: Time) -> Vec<PendingTask> {
    let age = |waiter: &Waiter| now.since(waiter.since).as_millis() as u64;
    let executing = lead.publish.iter().flat_map(|publish| &publish.tasks);
    let executing = executing.map(|task| PendingTask::of(&task.queued, true, age(&task.queued.waiter)));
    executing.chain(lead.queue.pending(age)).collect()
}
