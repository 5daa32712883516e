//! Clients' questions, on any node: carried out here if it is master, forwarded to the master otherwise.
//!
//! What a master did not answer is asked of the next one, whether or not it was carried out. Reads are answered by whoever
//! takes itself for the master. Mirrors `TransportMasterNodeAction` and `AckClusterStateUpdateTask` (6.8).

use super::{CallPurpose, Mode, Timer, Zen68, answer_join};
use crate::cluster::{BlockLevel, ClusterState, Refusal};
use crate::protocol::{Effect, Effects, Exchange, Ticket, Time};
use crate::service::{Answer, Query, Question, Task};
use crate::zen::Message;
use crate::zen::message::JoinAnswer;
use std::mem;
use std::time::Duration;

/// Who waits for a task.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A client of this node.
    Client(Ticket),
    /// Another node, for a client of its own.
    Node(Exchange),
    /// A node that wants to be taken in.
    Joiner(Exchange),
    /// Nobody: the protocol wants it.
    Nobody,
}

/// Who waits for a task, until when it may be queued, and how long until all nodes have applied it.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) origin: Origin,
    since: Time,
    deadline: Option<Time>,
    timeout: Option<Duration>,
}

impl Waiter {
    /// Somebody who waits for as long as it takes.
    pub(super) fn of_protocol(origin: Origin) -> Self {
        Waiter { origin, since: Time::ZERO, deadline: None, timeout: None }
    }
}

/// A client's question that is not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    question: Question,
    /// Until when it waits for a master.
    deadline: Time,
    /// Whether it is in a master's hands, here or elsewhere.
    is_placed: bool,
}

impl Zen68 {
    pub(super) fn on_asked(&mut self, now: Time, ticket: Ticket, question: Question, out: &mut Effects<Zen68>) {
        let mut refuse = |why: &str| {
            let answer = Answer::Refused(Refusal::Invalid(why.into()));
            out.push(Effect::Answer { ticket, answer });
        };
        let patience = match &question {
            Question::Submit { task, .. } if task.is_internal() => return refuse("a task of the protocol's own"),
            Question::HandOver { .. } => return refuse("Zen hands no mastership over"),
            Question::Leave => return self.leave(now, ticket, out),
            Question::Submit { master_timeout, .. }
            | Question::Read { master_timeout, .. }
            | Question::PendingTasks { master_timeout } => *master_timeout,
        };
        self.asks.insert(ticket, Ask { question, deadline: now + patience, is_placed: false });
        self.attend_clients(now, out);
    }

    /// Gives every question to the master that is in nobody's hands.
    pub(super) fn route_asks(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let open: Vec<Ticket> = self.asks.iter().filter(|(_, ask)| !ask.is_placed).map(|(ticket, _)| *ticket).collect();
        for ticket in open {
            self.route(now, ticket, out);
        }
    }

    fn route(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen68>) {
        let master = match &self.mode {
            Mode::Following { master, .. } => Some(master.address.clone()),
            Mode::Leading(_) if self.is_master() => None,
            Mode::Finding | Mode::Electing | Mode::Joining { .. } | Mode::Leading(_) => return,
        };
        let (from, commit_timeout) = (self.sender.clone(), self.tuning.commit_timeout);
        let Some(ask) = self.asks.get_mut(&ticket) else {
            return;
        };
        ask.is_placed = true;
        let (question, deadline) = (ask.question.clone(), ask.deadline);
        let (origin, master_timeout) = (Origin::Client(ticket), deadline.since(now));
        let (message, patience) = match (question, &master) {
            (Question::Submit { task, timeout, .. }, None) => {
                return self.submit(now, origin, task, (timeout, deadline), out);
            }
            (Question::Read { query, .. }, None) => return self.read(now, origin, &query, out),
            (Question::PendingTasks { .. }, None) => return self.tell_pending(now, origin, out),
            (Question::Submit { task, timeout, .. }, Some(_)) => {
                (Message::Submit { from, task: Box::new(task), timeout, master_timeout }, timeout)
            }
            (Question::Read { query, .. }, Some(_)) => (Message::Read { from, query, master_timeout }, Duration::ZERO),
            (Question::PendingTasks { .. }, Some(_)) => (Message::PendingTasks { from }, Duration::ZERO),
            (Question::HandOver { .. } | Question::Leave, _) => return,
        };
        if let Some(address) = master {
            let patience = patience.saturating_add(master_timeout + commit_timeout);
            self.call(&address, message, CallPurpose::Forward { ticket }, patience, out);
        }
    }

    pub(super) fn submit(
        &mut self,
        now: Time,
        origin: Origin,
        task: Task,
        (timeout, deadline): (Duration, Time),
        out: &mut Effects<Zen68>,
    ) {
        let is_master = self.is_master();
        let Some(mastership) = self.mastership().filter(|_| is_master) else {
            return self.answer(now, origin, Answer::NotMaster, out);
        };
        let waiter = Waiter { origin, since: now, deadline: Some(deadline), timeout: Some(timeout) };
        match mastership.queue.push(task, waiter) {
            Ok(()) => {
                self.timers.set_earlier(Timer::Clients, deadline);
                self.run_tasks(now, out);
            }
            Err((refusal, waiter)) => self.answer(now, waiter.origin, Answer::Refused(refusal), out),
        }
    }

    /// Answers from the state that this node has applied, if it takes itself for the master.
    pub(super) fn read(&mut self, now: Time, origin: Origin, query: &Query, out: &mut Effects<Zen68>) {
        let answer = if self.is_master() { look_up(&self.state, query) } else { Answer::NotMaster };
        self.answer(now, origin, answer, out);
    }

    pub(super) fn tell_pending(&mut self, now: Time, origin: Origin, out: &mut Effects<Zen68>) {
        let age = |waiter: &Waiter| now.since(waiter.since).as_millis() as u64;
        let pending = self.mastership().map(|mastership| mastership.queue.pending(age));
        self.answer(now, origin, pending.map_or(Answer::NotMaster, Answer::Pending), out);
    }

    /// Answers whoever waits.
    pub(super) fn answer(&mut self, now: Time, origin: Origin, answer: Answer, out: &mut Effects<Zen68>) {
        match (origin, answer) {
            (Origin::Nobody, _) => {}
            (Origin::Client(ticket), answer) => self.answer_client(now, ticket, answer, out),
            (Origin::Node(exchange), answer) => {
                out.push(Effect::Reply { exchange, message: Message::Answered(Box::new(answer)) })
            }
            (Origin::Joiner(exchange), Answer::NotMaster) => answer_join(exchange, JoinAnswer::NotMaster, out),
            (Origin::Joiner(exchange), _) => answer_join(exchange, JoinAnswer::Noted, out),
        }
    }

    /// Passes an answer on, or tries again what may yet be carried out.
    pub(super) fn answer_client(&mut self, now: Time, ticket: Ticket, answer: Answer, out: &mut Effects<Zen68>) {
        let again = (now + self.tuning.join_retry_delay).max(now + Duration::from_millis(1));
        let Some(ask) = self.asks.get_mut(&ticket) else {
            return;
        };
        let may_help = match &answer {
            Answer::NotMaster | Answer::NoMaster | Answer::Refused(Refusal::Blocked { retryable: true, .. }) => true,
            Answer::Done { .. }
            | Answer::Newest { .. }
            | Answer::Value { .. }
            | Answer::Range { .. }
            | Answer::Lease { .. }
            | Answer::Refused(_)
            | Answer::TimedOut { .. }
            | Answer::Unknown { .. }
            | Answer::Pending(_)
            | Answer::Left
            | Answer::HandedOver { .. } => false,
        };
        if may_help && now < ask.deadline {
            ask.is_placed = false;
            return self.timers.set_earlier(Timer::Clients, again);
        }
        self.asks.remove(&ticket);
        let answer = if answer == Answer::NotMaster { Answer::NoMaster } else { answer };
        out.push(Effect::Answer { ticket, answer });
    }

    /// Gives up what has waited for long enough: for a master, in the queue, or for all nodes; and tries the rest again.
    pub(super) fn attend_clients(&mut self, now: Time, out: &mut Effects<Zen68>) {
        self.route_asks(now, out);
        let late = self.asks.iter().filter(|(_, ask)| !ask.is_placed && ask.deadline <= now);
        let late: Vec<Ticket> = late.map(|(ticket, _)| *ticket).collect();
        for ticket in late {
            self.answer_client(now, ticket, Answer::NoMaster, out);
        }
        let (queued, unconfirmed) = self.mastership().map_or_else(Default::default, |mastership| {
            let is_late = |waiter: &Waiter| waiter.deadline.is_some_and(|deadline| deadline <= now);
            let queued = mastership.queue.extract(|queued| is_late(&queued.waiter));
            let publish = mastership.publish.as_mut().filter(|publish| publish.is_committed);
            let unconfirmed = publish.map_or_else(Vec::new, |publish| {
                let end = publish.since;
                let is_late = |waiter: &Waiter| waiter.timeout.is_some_and(|timeout| end + timeout <= now);
                let (late, kept) = mem::take(&mut publish.tasks).into_iter().partition(|(waiter, _)| is_late(waiter));
                publish.tasks = kept;
                late
            });
            (queued, unconfirmed)
        });
        for queued in queued {
            let source = queued.task.to_string();
            self.answer(now, queued.waiter.origin, Answer::TimedOut { source }, out);
        }
        for (waiter, done) in unconfirmed {
            let answer = Answer::Done { at: done.at, acknowledged: false, outcome: done.outcome };
            self.answer(now, waiter.origin, answer, out);
        }
        self.set_clients_timer();
    }

    fn set_clients_timer(&mut self) {
        let open = self.asks.values().filter(|ask| !ask.is_placed).map(|ask| ask.deadline);
        let mut next = open.min();
        if let Some(mastership) = self.mastership() {
            let queued = mastership.queue.iter().filter_map(|queued| queued.waiter.deadline);
            let publish = mastership.publish.iter().filter(|publish| publish.is_committed);
            let acks = publish.flat_map(|publish| {
                publish.tasks.iter().filter_map(|(waiter, _)| Some(publish.since + waiter.timeout?))
            });
            next = queued.chain(acks).chain(next).min();
        }
        if let Some(next) = next {
            self.timers.set_earlier(Timer::Clients, next);
        }
    }
}

fn look_up(state: &ClusterState, query: &Query) -> Answer {
    let blocks = state.blocks.at(BlockLevel::MetadataRead);
    if let Some(status) = blocks.status() {
        let (why, retryable) = (blocks.to_string(), blocks.is_retryable());
        return Answer::Refused(Refusal::Blocked { why, status, retryable });
    }
    let at = state.id();
    match query {
        Query::Newest => Answer::Newest { at },
        Query::Key { key } => Answer::Value { at, value: state.metadata.keys.get(key).cloned() },
        Query::Range { .. } | Query::Lease { .. } | Query::KeepAlive(_) => {
            Answer::Refused(Refusal::Invalid(format!("nobody asks Zen for {query}")))
        }
    }
}
