//! A client's question as its node keeps it until it is answered: how long it waits, who has it, and what may have become of it.
//!
//! Whoever leads knows only where a task came from ([`Origin`]). Who is asked when is decided in `client_requests`. Mirrors
//! the request of `TransportMasterNodeAction.AsyncSingleAction` (6.8).

use crate::cluster::{EphemeralId, Forward};
use crate::protocol::{Exchange, Ticket, Time};
use crate::service::{Answer, Question, Task};
use std::time::Duration;

/// A client's question that is not answered yet.
#[derive(Clone, Debug, Hash)]
pub struct Ask {
    pub(super) question: Question,
    /// Until when it waits for a master and its queue.
    pub(super) deadline: Time,
    /// Until when it is asked again if a master may have carried it out: its client waits as long for all nodes.
    pub(super) until: Time,
    /// Whether it is in a master's hands, here or elsewhere.
    pub(super) is_placed: bool,
    /// How often it was given to a master.
    pub(super) attempts: u32,
    /// Who got it last.
    pub(super) asked: Option<EphemeralId>,
    /// What tells it from all others, if it changes something and was given to a master.
    pub(super) name: Option<Forward>,
    /// Why a master that gave no answer may have carried it out, if one may.
    pub(super) doubt: Option<String>,
    /// Whether somebody was asked who gave no answer.
    pub(super) was_in_vain: bool,
}

impl Ask {
    pub(super) fn new(now: Time, question: Question) -> Self {
        let (patience, timeout) = match &question {
            Question::Submit { master_timeout, timeout, .. } => (*master_timeout, *timeout),
            Question::Read { master_timeout, .. }
            | Question::PendingTasks { master_timeout }
            | Question::HandOver { master_timeout, .. } => (*master_timeout, Duration::ZERO),
            Question::Leave => (Duration::ZERO, Duration::ZERO),
        };
        let (deadline, until) = (now + patience, now + patience.saturating_add(timeout));
        Ask {
            question,
            deadline,
            until,
            is_placed: false,
            attempts: 0,
            asked: None,
            name: None,
            doubt: None,
            was_in_vain: false,
        }
    }

    /// Whether it is all the same how often it is carried out.
    pub(super) fn changes_nothing(&self) -> bool {
        match self.question {
            Question::Read { .. } | Question::PendingTasks { .. } => true,
            Question::Submit { .. } | Question::HandOver { .. } | Question::Leave => false,
        }
    }

    /// Whether another node may pass it on.
    pub(super) fn is_for_relays(&self) -> bool {
        match self.question {
            Question::Submit { .. } | Question::Read { .. } | Question::PendingTasks { .. } => true,
            Question::HandOver { .. } | Question::Leave => false,
        }
    }

    /// Whether the next master can tell what became of it.
    pub(super) fn is_known_to_the_next(&self) -> bool {
        self.name.is_some() || matches!(self.question, Question::HandOver { .. })
    }

    /// Until when a master is looked for.
    pub(super) fn limit(&self) -> Time {
        if self.doubt.is_some() { self.until } else { self.deadline }
    }

    /// How long a master may keep it in its queue, and how long it may wait for all nodes.
    pub(super) fn patience(&self, now: Time) -> (Duration, Duration) {
        match self.question {
            Question::Submit { timeout, .. } if now < self.deadline => (self.deadline.since(now), timeout),
            Question::Submit { .. } => (self.until.since(now) / 2, self.until.since(now) / 2),
            Question::Read { .. } | Question::PendingTasks { .. } | Question::HandOver { .. } | Question::Leave => {
                (self.deadline.since(now), Duration::ZERO)
            }
        }
    }

    /// A change as a master is asked for it.
    pub(super) fn named(&self, task: &Task) -> Task {
        match &self.name {
            Some(name) => {
                Task::Forwarded { name: name.clone(), retry: self.doubt.is_some(), task: Box::new(task.clone()) }
            }
            None => task.clone(),
        }
    }

    /// Whether this process got it last.
    pub(super) fn was_given_to(&self, process: &EphemeralId) -> bool {
        self.asked.as_ref() == Some(process)
    }

    /// Takes it out of a master's hands that may have carried it out.
    pub(super) fn take_back(&mut self, why: &str) {
        self.is_placed = false;
        if !self.changes_nothing() {
            self.doubt = Some(why.to_owned());
        }
    }

    /// What its client is told if no master is found in time.
    pub(super) fn without_master(&self) -> Answer {
        self.doubt.clone().map_or(Answer::NoMaster, |reason| Answer::Unknown { reason })
    }
}

/// What came of giving a question to a master.
pub(super) enum Placed {
    /// It cannot be given to one.
    Not,
    /// It is answered by who leads.
    Answered(Answer),
    /// It is in its hands.
    With(Ask),
}

/// Who waits for a task.
#[derive(Clone, Debug, Hash)]
pub enum Origin {
    /// A client of this node.
    Client(Ticket),
    /// Another node, for a client of its own.
    Node(Exchange),
    /// Nobody: the protocol wants it.
    Nobody,
}
