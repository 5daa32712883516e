//! Clients' questions, on any node: carried out here if it leads, forwarded to the master otherwise.
//!
//! A question is taken back from a master that is followed no more, and asked of the next one. A change bears a name then
//! (`slots`), so that it is carried out once, whoever had it. Mirrors `TransportMasterNodeAction` (6.8), which ran such
//! changes a second time.

use super::ask::{Ask, Origin, Placed};
use super::message::{Message, Sender};
use super::node::NodeState;
use super::rules::Protection;
use super::{CallPurpose, Mode, Timer, Zen, relay};
use crate::cluster::{Address, Forward, Node, NodeId, Slot, Term};
use crate::protocol::{Effect, Effects, Exchange, Failure, Ticket, Time};
use crate::service::{Answer, Question, Refusal, Task};
use std::time::Duration;

/// How many questions a node keeps for its clients.
const ASKS_MAX: usize = 10_000;

impl Zen {
    /// Passes an answer on, or tries again what was not carried out for want of a master.
    fn answer_client(&mut self, now: Time, ticket: Ticket, answer: Answer, out: &mut Effects<Zen>) {
        if let Some(answer) = self.node.last_word(now, ticket, answer) {
            self.close_ask(now, ticket, answer, out);
        }
    }

    fn close_ask(&mut self, now: Time, ticket: Ticket, answer: Answer, out: &mut Effects<Zen>) {
        if matches!(self.mode, Mode::Following(_)) {
            self.as_follower(now, out, |follower| follower.close_ask(ticket, answer));
        } else {
            self.node.close_ask(ticket, answer, out);
        }
    }

    pub(super) fn on_asked(&mut self, now: Time, ticket: Ticket, question: Question, out: &mut Effects<Zen>) {
        match &question {
            Question::Submit { task, .. } if task.is_internal() => {
                let why = format!("task [{task}] is the protocol's own and cannot be asked for");
                out.push(Effect::Answer { ticket, answer: Answer::Refused(Refusal::Invalid(why)) });
            }
            Question::Submit { .. }
            | Question::Read { .. }
            | Question::PendingTasks { .. }
            | Question::HandOver { .. } => self.keep_ask(now, ticket, Ask::new(now, question), out),
            Question::Leave => self.begin_leave(now, ticket, out),
        }
    }

    fn keep_ask(&mut self, now: Time, ticket: Ticket, ask: Ask, out: &mut Effects<Zen>) {
        if self.node.asks.len() >= ASKS_MAX {
            let why = format!("{} questions are open already, a node keeps {ASKS_MAX}", self.node.asks.len());
            return out.push(Effect::Answer { ticket, answer: Answer::Refused(Refusal::Overloaded(why)) });
        }
        self.node.timers.set_earlier(Timer::Asks, ask.deadline);
        self.node.asks.insert(ticket, ask);
        self.route(now, ticket, out);
    }

    /// Tries every question that is in nobody's hands.
    pub(super) fn route_asks(&mut self, now: Time, out: &mut Effects<Zen>) {
        for ticket in self.node.open_asks() {
            self.route(now, ticket, out);
        }
    }

    /// Gives changes to the master that waited for a slot.
    pub(super) fn route_waiting(&mut self, now: Time, out: &mut Effects<Zen>) {
        while let Some(ticket) = self.node.slots.next() {
            self.route(now, ticket, out);
        }
    }

    fn route(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen>) {
        match &self.mode {
            Mode::Leading(_) => self.as_master(now, out, |master| master.take_on(ticket)),
            Mode::Following(_) => self.as_follower(now, out, |follower| follower.route(ticket)),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => self.node.route_by_relay(now, ticket, out),
        }
    }

    pub(super) fn on_submit(
        &mut self,
        now: Time,
        (exchange, from): (Exchange, &Sender),
        task: Task,
        timeout: Duration,
        master_timeout: Duration,
        out: &mut Effects<Zen>,
    ) {
        let origin = Origin::Node(exchange);
        if task.is_internal() {
            let why = format!("task [{task}] is the protocol's own and cannot be asked for");
            return self.node.answer(now, origin, Answer::Refused(Refusal::Invalid(why)), out);
        }
        if let Task::Forwarded { name, .. } = &task
            && name.slot.by != from.node.ephemeral_id
        {
            let why = format!("change [{name}] is not that of {}", from.node);
            return self.node.answer(now, origin, Answer::Refused(Refusal::Invalid(why)), out);
        }
        self.ask_master(now, origin, out, |master, origin| master.submit(origin, task, timeout, now + master_timeout));
    }

    /// A hand-over that was asked for in a lower term was asked of the mastership of that term: a copy that comes late would
    /// depose the next master.
    pub(super) fn on_succession(
        &mut self,
        now: Time,
        exchange: Exchange,
        (to, term): (Option<NodeId>, Option<Term>),
        out: &mut Effects<Zen>,
    ) {
        let origin = Origin::Node(exchange);
        let is_of_another = term.is_some_and(|term| term < self.node.ledger.promise.term);
        if is_of_another && self.node.keeps(Protection::WishesOfTerm) {
            return self.node.answer(now, origin, Answer::NotMaster, out);
        }
        self.ask_master(now, origin, out, |master, origin| master.wish_succession(origin, to));
    }

    /// A master answers. What one says that is followed no more counts only if it was carried out.
    pub(super) fn on_answered(
        &mut self,
        now: Time,
        (ticket, attempt): (Ticket, u32),
        answer: Answer,
        out: &mut Effects<Zen>,
    ) {
        if self.node.is_current(ticket, attempt) || is_carried_out(&answer) {
            self.answer_client(now, ticket, answer, out);
        }
    }

    pub(super) fn on_forward_failed(
        &mut self,
        now: Time,
        (ticket, attempt): (Ticket, u32),
        why: Failure,
        out: &mut Effects<Zen>,
    ) {
        if !self.node.is_current(ticket, attempt) {
            return;
        }
        let mut is_done_once = false;
        if let Some(ask) = self.node.asks.get_mut(&ticket) {
            (is_done_once, ask.was_in_vain) = (!ask.changes_nothing(), why != Failure::Refused);
        }
        if is_done_once && why != Failure::Refused && self.node.keeps(Protection::UnknownStays) {
            let reason = format!("the master was asked and did not answer ({why})");
            return self.answer_client(now, ticket, Answer::Unknown { reason }, out);
        }
        self.answer_client(now, ticket, Answer::NotMaster, out);
    }

    /// Gives up what has waited too long for a master, and tries the rest again.
    pub(super) fn retry_asks(&mut self, now: Time, out: &mut Effects<Zen>) {
        for ticket in self.node.late_asks(now) {
            let answer = self.node.given_up(ticket);
            self.close_ask(now, ticket, answer, out);
        }
        self.route_asks(now, out);
        let open = self.node.asks.values().filter(|ask| !ask.is_placed);
        if let Some(next) = open.map(Ask::limit).min() {
            self.node.timers.set_earlier(Timer::Asks, next);
        }
    }
}

impl NodeState {
    /// The questions that are in nobody's hands.
    pub(super) fn open_asks(&self) -> Vec<Ticket> {
        self.asks.iter().filter(|(_, ask)| !ask.is_placed).map(|(ticket, _)| *ticket).collect()
    }

    /// Those of them that have waited long enough.
    pub(super) fn late_asks(&self, now: Time) -> Vec<Ticket> {
        let late = self.asks.iter().filter(|(_, ask)| !ask.is_placed && ask.limit() <= now);
        late.map(|(ticket, _)| *ticket).collect()
    }

    /// Puts a question into the hands of a master, or of a node that passes it on.
    pub(super) fn place(&mut self, ticket: Ticket, with: &Node, leads: bool) -> Placed {
        if !self.name_ask(ticket) {
            return Placed::Not;
        }
        if let Some(answer) = self.handed_over(ticket, with).filter(|_| leads) {
            return Placed::Answered(answer);
        }
        let Some(ask) = self.asks.get_mut(&ticket) else {
            return Placed::Not;
        };
        (ask.is_placed, ask.asked) = (true, Some(with.ephemeral_id.clone()));
        ask.attempts += 1;
        Placed::With(ask.clone())
    }

    /// What became of a hand-over whose master gave no answer: it shows in who leads now.
    fn handed_over(&self, ticket: Ticket, master: &Node) -> Option<Answer> {
        let ask = self.asks.get(&ticket)?;
        let Question::HandOver { to, .. } = &ask.question else {
            return None;
        };
        let is_same = ask.asked.as_ref()? == &master.ephemeral_id;
        if is_same && ask.doubt.is_some() {
            let why = format!("{master} leads still, nobody took the mastership over");
            Some(Answer::Refused(Refusal::Invalid(why)))
        } else if !is_same && to.as_ref().is_none_or(|to| *to == master.id) {
            Some(Answer::HandedOver { to: master.id.clone() })
        } else {
            None
        }
    }

    /// Sends a question to the master, or to who passes it on.
    pub(super) fn forward(
        &mut self,
        now: Time,
        (ticket, ask): (Ticket, Ask),
        to: &Address,
        is_relay: bool,
        out: &mut Effects<Zen>,
    ) {
        let (master_timeout, timeout) = ask.patience(now);
        let (from, patience) = (self.sender.clone(), master_timeout + self.tuning.commit_timeout);
        let (message, patience) = match &ask.question {
            Question::Submit { task, .. } => (
                Message::Submit { from, task: Box::new(ask.named(task)), timeout, master_timeout },
                patience.saturating_add(timeout),
            ),
            Question::Read { query, .. } => {
                (Message::Read { from, query: query.clone(), master_timeout }, master_timeout)
            }
            // It is answered at once, or by nobody.
            Question::PendingTasks { .. } => (Message::PendingTasks { from }, self.tuning.fd_ping_timeout),
            Question::HandOver { to, .. } => {
                (Message::Succession { from, to: to.clone(), term: Some(self.ledger.promise.term) }, patience)
            }
            Question::Leave => return,
        };
        let (message, patience) = if is_relay {
            // Nobody else finds out whether that one answers; what is late is passed on again under its name.
            (relay::relayed(self.sender.clone(), message), patience.min(self.tuning.silence()))
        } else {
            (message, patience)
        };
        self.call(to, message, CallPurpose::Forward { ticket, attempt: ask.attempts }, patience, out);
    }

    /// Answers whoever waits. A client whose question was not carried out for want of a master is asked about again.
    pub(super) fn answer(&mut self, now: Time, origin: Origin, answer: Answer, out: &mut Effects<Zen>) {
        match origin {
            Origin::Nobody => {}
            Origin::Node(exchange) => self.reply(exchange, Message::Answered(Box::new(answer)), out),
            Origin::Client(ticket) => {
                if let Some(answer) = self.last_word(now, ticket, answer) {
                    self.close_ask(ticket, answer, out);
                }
            }
        }
    }

    /// What a client is told after an answer; nothing if the question is asked again, not having been carried out for want of a
    /// master.
    fn last_word(&mut self, now: Time, ticket: Ticket, answer: Answer) -> Option<Answer> {
        let ask = self.asks.get_mut(&ticket)?;
        match answer {
            Answer::NotMaster | Answer::NoMaster if now < ask.limit() => {
                self.try_later(now, ticket);
                None
            }
            Answer::NotMaster | Answer::NoMaster => Some(ask.without_master()),
            Answer::Unknown { reason } if ask.is_known_to_the_next() && now < ask.until => {
                ask.take_back(&reason);
                self.try_later(now, ticket);
                None
            }
            // This master did not carry it out, but an earlier one may have.
            Answer::TimedOut { .. } if ask.doubt.is_some() => Some(ask.without_master()),
            Answer::Refused(refusal) => self.last_word_of_refusal(now, ticket, refusal),
            answer @ (Answer::Done { .. }
            | Answer::Newest { .. }
            | Answer::Value { .. }
            | Answer::Range { .. }
            | Answer::Lease { .. }
            | Answer::TimedOut { .. }
            | Answer::Unknown { .. }
            | Answer::Pending(_)
            | Answer::Left
            | Answer::HandedOver { .. }) => Some(answer),
        }
    }

    fn last_word_of_refusal(&mut self, now: Time, ticket: Ticket, refusal: Refusal) -> Option<Answer> {
        let ask = self.asks.get(&ticket)?;
        let (deadline, is_doubtful) = (ask.limit(), ask.doubt.is_some());
        match refusal {
            // Waiting may help: as in Elasticsearch, nothing is refused before the time is over.
            Refusal::Blocked { retryable: true, .. } if now < deadline => {
                self.try_later(now, ticket);
                None
            }
            Refusal::Overloaded(_) if is_doubtful && now < deadline => {
                self.try_later(now, ticket);
                None
            }
            // This master did not carry it out, but an earlier one may have.
            Refusal::Overloaded(_) | Refusal::Blocked { retryable: true, .. } if is_doubtful => {
                Some(ask.without_master())
            }
            Refusal::ForgottenForward(_) => Some(Answer::Unknown { reason: refusal.to_string() }),
            Refusal::Invalid(_)
            | Refusal::Conflict { .. }
            | Refusal::Held { .. }
            | Refusal::NotHeld(_)
            | Refusal::TooLarge(_)
            | Refusal::Forgotten(_)
            | Refusal::Blocked { .. }
            | Refusal::Overloaded(_) => Some(Answer::Refused(refusal)),
        }
    }

    pub(super) fn close_ask(&mut self, ticket: Ticket, answer: Answer, out: &mut Effects<Zen>) {
        let ask = self.asks.remove(&ticket);
        if let Some(name) = ask.and_then(|ask| ask.name) {
            self.slots.give_back(name.slot.number);
        }
        self.slots.forget(ticket);
        out.push(Effect::Answer { ticket, answer });
    }

    /// Gives a change a name before a master gets it, and says whether it may go.
    fn name_ask(&mut self, ticket: Ticket) -> bool {
        let is_named = self.keeps(Protection::UnknownStays);
        let (by, since) = (self.local.ephemeral_id.clone(), self.applied.version);
        let Some(ask) = self.asks.get_mut(&ticket) else {
            return false;
        };
        if ask.name.is_none() && is_named && matches!(ask.question, Question::Submit { .. }) {
            let Some((number, sequence)) = self.slots.take(ticket) else {
                return false;
            };
            ask.name = Some(Forward { slot: Slot { by, number }, sequence, since });
        }
        true
    }

    /// Who was asked is followed no more: what it has is for the next one.
    pub(super) fn take_back_asks(&mut self, which: impl Fn(&Ask) -> bool) {
        for ask in self.asks.values_mut().filter(|ask| ask.is_placed && which(ask)) {
            ask.take_back("the master that was asked is followed no more");
            self.timers.set_earlier(Timer::Asks, ask.limit());
        }
    }

    fn is_current(&self, ticket: Ticket, attempt: u32) -> bool {
        self.asks.get(&ticket).is_some_and(|ask| ask.is_placed && ask.attempts == attempt)
    }

    fn try_later(&mut self, now: Time, ticket: Ticket) {
        let Some(ask) = self.asks.get_mut(&ticket) else {
            return;
        };
        ask.is_placed = false;
        if let Some(name) = ask.name.take_if(|_| ask.doubt.is_none()) {
            self.slots.give_back(name.slot.number);
        }
        let again = (now + self.tuning.join_retry_delay).min(ask.limit());
        self.timers.set_earlier(Timer::Asks, again);
    }

    /// Whether a change that was given to a master is not answered yet.
    pub(super) fn has_open_change(&self) -> bool {
        self.asks.values().any(|ask| ask.name.is_some())
    }

    /// The number of the change that was last given to a master.
    pub(super) fn last_change(&self) -> u64 {
        self.slots.last()
    }

    /// What a client is told whose question is in nobody's hands and will not be.
    pub(super) fn given_up(&self, ticket: Ticket) -> Answer {
        match self.asks.get(&ticket) {
            Some(Ask { question: Question::Submit { task, .. }, .. }) if self.slots.is_waited_for_by(ticket) => {
                Answer::TimedOut { source: task.to_string() }
            }
            Some(ask) => ask.without_master(),
            None => Answer::NoMaster,
        }
    }
}

/// Whether an answer says that something was carried out, or tells what was asked for.
fn is_carried_out(answer: &Answer) -> bool {
    match answer {
        Answer::Done { .. }
        | Answer::Newest { .. }
        | Answer::Value { .. }
        | Answer::Range { .. }
        | Answer::Lease { .. }
        | Answer::Pending(_)
        | Answer::Left
        | Answer::HandedOver { .. } => true,
        Answer::Refused(_)
        | Answer::NotMaster
        | Answer::NoMaster
        | Answer::TimedOut { .. }
        | Answer::Unknown { .. } => false,
    }
}
