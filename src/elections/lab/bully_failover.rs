//! Bully with a fail-over list: the leader names alternates, and the first live one takes over without an election.
//!
//! A victory carries a ranked list of alternates. Who notices that the leader is gone:
//!
//! 1. announces its victory at once if it heads the list;
//! 2. otherwise asks the highest alternate to take over; if that one answers, it asks no further and waits;
//! 3. asks the next alternate if it does not, and holds a full Bully election when the list is at its end, when no
//!    victory comes, or when it has no list.
//!
//! Who takes over announces itself with a list of its own. Whoever starts holds a full election, because it has no list:
//! so the highest id still comes back as leader, and each side of a partition still has its own.

use super::bully::VICTORY_WITHIN;
use super::{Algorithm, AskOutcome, Context, Heard, Note, Rank, Ranks, Stand, Word};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many alternates a leader names.
pub const ALTERNATES: usize = 2;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The leader is gone and the receiver is the next alternate.
    TakeOver {
        /// The leader that is gone.
        gone: Rank,
    },
    /// The sender holds an election among those above it.
    Election,
    /// Replies to both: the sender is alive and sees to it.
    Alive,
    /// The sender leads.
    Victory {
        /// Who takes over after it, the first one first.
        alternates: Vec<Rank>,
    },
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::TakeOver { gone } => write!(f, "take over from {gone}"),
            Message::Election => f.write_str("election"),
            Message::Alive => f.write_str("alive"),
            Message::Victory { alternates } => write!(f, "victory, alternates {}", Ranks(alternates)),
        }
    }
}

/// Why it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To make an alternate take over.
    TakeOver,
    /// To hold an election.
    Election,
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoVictory;

impl fmt::Display for NoVictory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("want of a victory")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Asks the alternates, of whom these many were asked.
    Asking(usize),
    Electing,
    /// Somebody sees to it.
    Waiting,
    Leading,
    Following(Rank),
}

/// One process.
#[derive(Clone, Debug)]
pub struct BullyFailover {
    me: Rank,
    mode: Mode,
    /// The leader that is gone, and who was to take over from it.
    gone: Option<Rank>,
    alternates: Vec<Rank>,
}

impl BullyFailover {
    /// The process `me`.
    pub fn new(me: Rank) -> Self {
        BullyFailover { me, mode: Mode::Waiting, gone: None, alternates: Vec::new() }
    }

    /// Rules 1 and 2.
    fn fail_over(&mut self, desk: &mut Context<'_, Self>) {
        let Mode::Following(leader) = self.mode else {
            return self.hold_election(desk);
        };
        self.gone = Some(leader);
        self.alternates.retain(|&alternate| alternate != leader);
        self.mode = Mode::Asking(0);
        desk.watch_nobody();
        self.ask_next(desk);
    }

    /// Asks the next alternate, rule 3.
    fn ask_next(&mut self, desk: &mut Context<'_, Self>) {
        let (Mode::Asking(asked), Some(gone)) = (self.mode, self.gone) else {
            return;
        };
        match self.alternates.get(asked).copied() {
            Some(next) if next == self.me => self.announce(desk),
            Some(next) => {
                self.mode = Mode::Asking(asked + 1);
                desk.ask(next, Message::TakeOver { gone }, Purpose::TakeOver);
            }
            None => self.hold_election(desk),
        }
    }

    fn announce(&mut self, desk: &mut Context<'_, Self>) {
        self.mode = Mode::Leading;
        desk.forget();
        desk.watch_nobody();
        desk.stop(NoVictory);
        desk.note(Note::Leads);
        // Those below it, from the highest; the highest of all died if it is not the leader itself.
        let below = desk.others().iter().rev().copied().filter(|&other| other < self.me).collect::<Vec<_>>();
        let above = desk.others().iter().rev().copied().filter(|&other| other > self.me).collect::<Vec<_>>();
        self.alternates = below.into_iter().chain(above).take(ALTERNATES).collect();
        desk.tell_all(&Message::Victory { alternates: self.alternates.clone() });
    }

    fn hold_election(&mut self, desk: &mut Context<'_, Self>) {
        desk.note(Note::Electing);
        desk.forget();
        desk.watch_nobody();
        desk.stop(NoVictory);
        self.mode = Mode::Electing;
        for &to in desk.others().iter().filter(|&&rank| rank > self.me) {
            desk.ask(to, Message::Election, Purpose::Election);
        }
        self.win_if_alone(desk);
    }

    fn win_if_alone(&mut self, desk: &mut Context<'_, Self>) {
        if self.mode == Mode::Electing && desk.open(|purpose| *purpose == Purpose::Election) == 0 {
            self.announce(desk);
        }
    }

    fn wait(&mut self, desk: &mut Context<'_, Self>) {
        self.mode = Mode::Waiting;
        desk.wake_in(NoVictory, VICTORY_WITHIN);
    }

    fn on_take_over(&mut self, heard: &Heard<Message>, gone: Rank, desk: &mut Context<'_, Self>) {
        desk.reply(heard.exchange, Message::Alive);
        match self.mode {
            Mode::Leading => {
                let alternates = self.alternates.clone();
                desk.tell(heard.from, Message::Victory { alternates });
            }
            Mode::Following(leader) if leader != gone => {}
            Mode::Following(_) | Mode::Asking(_) | Mode::Waiting | Mode::Electing => self.announce(desk),
        }
    }

    fn on_election(&mut self, heard: &Heard<Message>, desk: &mut Context<'_, Self>) {
        if heard.from < self.me {
            desk.reply(heard.exchange, Message::Alive);
            if matches!(self.mode, Mode::Leading | Mode::Following(_)) {
                self.hold_election(desk);
            }
        }
    }
}

impl Algorithm for BullyFailover {
    type Word = Message;
    type Persisted = ();
    type Purpose = Purpose;
    type Timer = NoVictory;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.hold_election(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.fail_over(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match &heard.word {
            Message::TakeOver { gone } => self.on_take_over(&heard, *gone, desk),
            Message::Election => self.on_election(&heard, desk),
            Message::Victory { alternates } => {
                desk.settle(heard.from, self.stand().leader);
                self.mode = Mode::Following(heard.from);
                self.alternates.clone_from(alternates);
                desk.forget();
                desk.stop(NoVictory);
            }
            Message::Alive => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        match (outcome.purpose, outcome.reply) {
            (Purpose::TakeOver, Ok(_)) => self.wait(desk),
            (Purpose::TakeOver, Err(_)) => self.ask_next(desk),
            (Purpose::Election, Ok(_)) => {
                desk.note(Note::Eliminated { by: outcome.of });
                if self.mode == Mode::Electing {
                    self.wait(desk);
                }
            }
            (Purpose::Election, Err(_)) => self.win_if_alone(desk),
        }
    }

    fn wake(&mut self, _timer: NoVictory, desk: &mut Context<'_, Self>) {
        self.hold_election(desk);
    }

    fn leader_gone(&mut self, _leader: Rank, desk: &mut Context<'_, Self>) {
        self.fail_over(desk);
    }

    fn stand(&self) -> Stand {
        let (mode, leader) = match self.mode {
            Mode::Asking(_) => ('A', None),
            Mode::Electing => ('E', None),
            Mode::Waiting => ('W', None),
            Mode::Leading => ('L', Some(self.me)),
            Mode::Following(leader) => ('f', Some(leader)),
        };
        Stand { mode, term: 0, leader }
    }
}
