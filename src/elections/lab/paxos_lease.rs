//! PaxosLease: whoever holds a lease from a majority leads until it runs out (Trencseni, Gazso and Reinhardt, 2012).
//!
//! Every process proposes and accepts; nothing is written to disk.
//!
//! 1. *Prepare* asks all for the state of the lease, with a ballot number; who has promised a higher one refuses.
//! 2. They answer with the lease that they hold, if it has not run out.
//! 3. When a majority answered that it holds none, or one of the asker, the asker starts its timer and then proposes
//!    itself for the span [`LEASE`]. Otherwise it begins again, after a random pause.
//! 4. Acceptors overwrite the lease that they hold, start a timer of their own and agree.
//! 5. A majority of agreements before its own timer has run: the lease is held until then. It is renewed half-way.
//! 6. Acceptors forget when they restart, so a process that started takes no part for longer than a lease lasts.
//!
//! Two leaders cannot be as long as clocks run equally fast: the holder's timer began before those of its acceptors.
//! Where they do not, there can be. Proposers can hinder each other for ever; the random pause makes that unlikely. A
//! majority that restarts, or a lease that is not given back, means no leader for a while.

use super::{Algorithm, AskOutcome, Context, Heard, Note, Rank, Stand, Word, majority};
use crate::protocol::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How long a lease lasts.
pub const LEASE: Duration = Duration::from_millis(1_000);
/// How long a process that started takes no part.
pub const QUARANTINE: Duration = Duration::from_millis(1_200);
/// The longest pause before a proposer begins again.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Numbers proposals; its owner makes it unlike any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ballot {
    number: u64,
    owner: u32,
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.owner)
    }
}

/// What processes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What is the state of the lease?
    Prepare(Ballot),
    /// Replies: held by this one, or by nobody.
    Prepared(Option<Rank>),
    /// The sender wants to hold the lease.
    Propose(Ballot),
    /// Replies: it does.
    Accepted,
    /// Replies to both: a higher ballot was promised.
    Refused(Ballot),
    /// Replies to both: the sender takes no part yet.
    Quarantined,
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Prepare(ballot) => write!(f, "prepare {ballot}"),
            Message::Prepared(None) => f.write_str("prepared, no lease"),
            Message::Prepared(Some(holder)) => write!(f, "prepared, lease of {holder}"),
            Message::Propose(ballot) => write!(f, "propose {ballot}"),
            Message::Accepted => f.write_str("accepted"),
            Message::Refused(ballot) => write!(f, "refused, promised {ballot}"),
            Message::Quarantined => f.write_str("takes no part yet"),
        }
    }
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The lease that it accepted runs out.
    Accepted,
    /// The lease that it holds runs out.
    Held,
    /// It proposes, or renews.
    Propose,
    /// It may take part.
    Quarantine,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Accepted => "the end of the lease it accepted",
            Timer::Held => "the end of its lease",
            Timer::Propose => "its next proposal",
            Timer::Quarantine => "the end of its quarantine",
        })
    }
}

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To prepare this ballot.
    Prepare(Ballot),
    /// To propose it.
    Propose(Ballot),
}

/// Where its own proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proposal {
    None,
    /// So many said that the lease is free, or its own.
    Preparing(usize),
    /// So many agreed; the lease would run out then.
    Proposing(usize, Time),
}

/// One process.
#[derive(Clone, Debug)]
pub struct PaxosLease {
    me: Rank,
    takes_part: bool,
    /// What its acceptor promised, and the lease that it holds.
    promised: Ballot,
    accepted: Option<Rank>,
    /// The ballot that it used last, and where that is.
    ballot: Ballot,
    proposal: Proposal,
    holds: bool,
    /// When its lease runs out, or ran out.
    until: Time,
}

impl PaxosLease {
    /// The process `me`.
    pub fn new(me: Rank) -> Self {
        PaxosLease {
            me,
            takes_part: false,
            promised: Ballot::default(),
            accepted: None,
            ballot: Ballot::default(),
            proposal: Proposal::None,
            holds: false,
            until: Time::ZERO,
        }
    }

    /// Step 1. Its own acceptor is asked without a message.
    fn prepare(&mut self, desk: &mut Context<'_, Self>) {
        desk.forget();
        let number = self.ballot.number.max(self.promised.number).saturating_add(1);
        self.ballot = Ballot { number, owner: self.me.0 };
        self.promised = self.ballot;
        if !self.holds {
            desk.note(Note::Electing);
        }
        let is_free = self.accepted.is_none_or(|holder| holder == self.me);
        self.proposal = Proposal::Preparing(usize::from(is_free));
        for &to in desk.others().iter() {
            desk.ask(to, Message::Prepare(self.ballot), Purpose::Prepare(self.ballot));
        }
        self.try_again_later(desk);
        self.propose_if_free(desk);
    }

    /// Step 3. The timer starts before anybody is asked.
    fn propose_if_free(&mut self, desk: &mut Context<'_, Self>) {
        let Proposal::Preparing(free) = self.proposal else {
            return;
        };
        if free < majority(desk.size()) || self.promised > self.ballot {
            return;
        }
        self.proposal = Proposal::Proposing(1, desk.now + LEASE);
        self.accept(self.me, desk);
        for &to in desk.others().iter() {
            desk.ask(to, Message::Propose(self.ballot), Purpose::Propose(self.ballot));
        }
        self.hold_if_accepted(desk);
    }

    /// Step 5.
    fn hold_if_accepted(&mut self, desk: &mut Context<'_, Self>) {
        let Proposal::Proposing(accepted, until) = self.proposal else {
            return;
        };
        if accepted < majority(desk.size()) || desk.now >= until {
            return;
        }
        self.proposal = Proposal::None;
        if !self.holds {
            desk.note(Note::Leads);
        }
        self.holds = true;
        self.until = until;
        let left = until.since(desk.now);
        desk.wake_in(Timer::Held, left);
        desk.wake_in(Timer::Propose, left.saturating_sub(LEASE / 2));
    }

    /// Step 4.
    fn accept(&mut self, holder: Rank, desk: &mut Context<'_, Self>) {
        if holder != self.me && self.accepted != Some(holder) {
            desk.note(Note::Follows(holder));
        }
        self.accepted = Some(holder);
        desk.wake_in(Timer::Accepted, LEASE);
        if holder != self.me {
            desk.stop(Timer::Propose);
        }
    }

    fn try_again_later(&mut self, desk: &mut Context<'_, Self>) {
        let pause = desk.span_below(PAUSE_MAX);
        desk.wake_in(Timer::Propose, PAUSE_MAX + pause);
    }

    fn on_request(&mut self, heard: &Heard<Message>, ballot: Ballot, desk: &mut Context<'_, Self>) {
        if !self.takes_part {
            return desk.reply(heard.exchange, Message::Quarantined);
        }
        if ballot < self.promised {
            return desk.reply(heard.exchange, Message::Refused(self.promised));
        }
        self.promised = ballot;
        if heard.word == Message::Prepare(ballot) {
            desk.reply(heard.exchange, Message::Prepared(self.accepted));
        } else {
            self.accept(heard.from, desk);
            desk.reply(heard.exchange, Message::Accepted);
        }
    }

    fn on_answer(&mut self, word: Message, desk: &mut Context<'_, Self>) {
        match (word, self.proposal) {
            (Message::Prepared(holder), Proposal::Preparing(free)) => {
                if holder.is_none_or(|holder| holder == self.me) {
                    self.proposal = Proposal::Preparing(free + 1);
                    self.propose_if_free(desk);
                }
            }
            (Message::Accepted, Proposal::Proposing(accepted, until)) => {
                self.proposal = Proposal::Proposing(accepted + 1, until);
                self.hold_if_accepted(desk);
            }
            (Message::Refused(promised), _) => self.ballot.number = self.ballot.number.max(promised.number),
            (_, Proposal::None | Proposal::Preparing(_) | Proposal::Proposing(..)) => {}
        }
    }

    /// A process that was stalled may read a letter before its timer: it does not lead meanwhile.
    fn lose_in_time(&mut self, desk: &mut Context<'_, Self>) {
        if self.holds && desk.now >= self.until {
            self.holds = false;
            desk.note(Note::Resigns);
        }
    }
}

impl Algorithm for PaxosLease {
    type Word = Message;
    type Persisted = ();
    type Purpose = Purpose;
    type Timer = Timer;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        desk.step("takes no part before a lease has run out");
        desk.wake_in(Timer::Quarantine, QUARANTINE);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        if self.takes_part {
            self.prepare(desk);
        }
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        self.lose_in_time(desk);
        match heard.word {
            Message::Prepare(ballot) | Message::Propose(ballot) => self.on_request(&heard, ballot, desk),
            Message::Prepared(_) | Message::Accepted | Message::Refused(_) | Message::Quarantined => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        self.lose_in_time(desk);
        let (Purpose::Prepare(ballot) | Purpose::Propose(ballot)) = outcome.purpose;
        if let (Ok(word), true) = (outcome.reply, ballot == self.ballot) {
            self.on_answer(word, desk);
        }
    }

    fn wake(&mut self, timer: Timer, desk: &mut Context<'_, Self>) {
        match timer {
            Timer::Quarantine => {
                self.takes_part = true;
                self.try_again_later(desk);
            }
            Timer::Accepted => {
                self.accepted = None;
                if !self.holds {
                    self.try_again_later(desk);
                }
            }
            Timer::Held => {
                self.lose_in_time(desk);
                self.try_again_later(desk);
            }
            Timer::Propose => self.prepare(desk),
        }
    }

    fn leader_gone(&mut self, _leader: Rank, _desk: &mut Context<'_, Self>) {}

    fn stand(&self) -> Stand {
        let leader = if self.holds { Some(self.me) } else { self.accepted.filter(|&holder| holder != self.me) };
        let mode = match (self.takes_part, self.holds, leader) {
            (false, ..) => 'Q',
            (true, true, _) => 'L',
            (true, false, Some(_)) => 'f',
            (true, false, None) => 'P',
        };
        Stand { mode, term: self.promised.number, leader }
    }
}
