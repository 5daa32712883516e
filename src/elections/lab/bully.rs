//! Bully: the live process with the highest id leads (Garcia-Molina, 1982).
//!
//! Who recovers, or notices that the leader is gone, holds an election:
//!
//! 1. With the highest id it announces its victory; otherwise it sends *Election* to all higher ids.
//! 2. Nobody answers in time: it announces its *Victory* to all.
//! 3. A higher one answers: it waits for a victory, and starts again if none comes.
//! 4. *Election* from a lower id: it answers and holds an election of its own.
//! 5. *Victory*: its sender leads, whoever that is.
//!
//! Known faults, kept on purpose: each side of a partition elects, and an unstable process with the highest id takes
//! over again and again. Its two [`Repairs`] are switches. With either of them who is better is no longer known from the
//! id, so *Election* goes to all, and the lesser ones answer that they take part:
//!
//! - `newest_first`: the newest transaction wins, then the id, and more than half must take part; a leader that hears
//!   fewer resigns (MongoDB's old elections).
//! - `steady_first`: who is alive only since a moment ago loses to those who were there all the time, and whoever has a
//!   leader holds no election for another's sake but names the leader, unless that is the one that the other lost.
//!
//! A quorum without terms is not safety: where two sides share a bridge, those on it take part in both elections.

use super::{Algorithm, AskOutcome, BEAT_EVERY, Context, Heard, Note, Rank, Stand, Word, majority};
use crate::protocol::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How long a victory of somebody better may take.
pub const VICTORY_WITHIN: Duration = Duration::from_millis(400);
/// Who was alive for so long is steady.
pub const STEADY_AFTER: Duration = Duration::from_secs(3);
/// Who did nothing for so long was not alive meanwhile.
const STALL: Duration = Duration::from_secs(1);

/// What is done about the known faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// The newest transaction wins, and more than half must take part.
    pub newest_first: bool,
    /// Those who were alive all the time win.
    pub steady_first: bool,
}

/// What decides between two processes; the greater one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Claim {
    steady: bool,
    transaction: u64,
    rank: Rank,
}

/// What processes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The sender holds an election.
    Election {
        /// What it puts forward.
        claim: Claim,
        /// The leader that it lost.
        lost: Option<Rank>,
    },
    /// Replies to an election of somebody lesser: the receiver has lost it.
    Answer,
    /// Replies to an election of somebody better: the sender takes part in it.
    TakesPart,
    /// Replies to an election of somebody lesser: this one leads.
    Led(Rank),
    /// The sender leads.
    Victory,
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Election { claim: Claim { rank, transaction: 0, .. }, .. } => write!(f, "election of {rank}"),
            Message::Election { claim: Claim { rank, transaction, .. }, .. } => {
                write!(f, "election of {rank} at {transaction}")
            }
            Message::Answer => f.write_str("answer"),
            Message::TakesPart => f.write_str("takes part"),
            Message::Led(leader) => write!(f, "led by {leader}"),
            Message::Victory => f.write_str("victory"),
        }
    }
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To give up waiting for the victory of somebody better.
    NoVictory,
    /// To count those who follow.
    Count,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::NoVictory => "want of a victory",
            Timer::Count => "a count of its followers",
        })
    }
}

/// ```text
///            nobody better answers
///   Electing ─────────────────────▶ Leading
///    │  ▲ ▲                            │ victory of another
///    │  │ └─ leader gone ─ Following ◀─┤
///    ▼  │ no victory           ▲       │
///   Waiting ── victory ────────┘       ▼
///    (any of them holds an election when a lesser one does, unless it is at it)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Waits for answers; so many take part, itself included.
    Electing(usize),
    /// Somebody better answered, or too few took part.
    Waiting,
    Leading {
        since: Time,
    },
    Following(Rank),
}

/// One process.
#[derive(Clone, Debug)]
pub struct Bully {
    me: Rank,
    repairs: Repairs,
    transaction: u64,
    mode: Mode,
    /// The leader that it lost.
    lost: Option<Rank>,
    /// Since when it is alive, and when it did something last.
    alive: Time,
    busy: Time,
}

impl Bully {
    /// The process `me`, whose newest transaction is this one.
    pub fn new(me: Rank, repairs: Repairs, transaction: u64) -> Self {
        Bully { me, repairs, transaction, mode: Mode::Waiting, lost: None, alive: Time::ZERO, busy: Time::ZERO }
    }

    fn is_classic(&self) -> bool {
        self.repairs == Repairs::default()
    }

    /// What it puts forward; what no repair looks at is the same for all.
    fn claim(&self, now: Time) -> Claim {
        let steady = !self.repairs.steady_first || now.since(self.alive) >= STEADY_AFTER;
        let transaction = if self.repairs.newest_first { self.transaction } else { 0 };
        Claim { steady, transaction, rank: self.me }
    }

    /// Rules 1 and 2.
    fn hold_election(&mut self, desk: &mut Context<'_, Self>) {
        desk.note(Note::Electing);
        desk.forget();
        desk.watch_nobody();
        desk.stop(Timer::NoVictory);
        if let Mode::Following(leader) = self.mode {
            self.lost = Some(leader);
        }
        self.mode = Mode::Electing(1);
        let claim = self.claim(desk.now);
        for &to in desk.others().iter().filter(|&&rank| rank > self.me || !self.is_classic()) {
            desk.ask(to, Message::Election { claim, lost: self.lost }, ());
        }
        self.count_up(desk);
    }

    /// Every answer is there, or will not come.
    fn count_up(&mut self, desk: &mut Context<'_, Self>) {
        let Mode::Electing(taking_part) = self.mode else {
            return;
        };
        if desk.open(|()| true) > 0 {
            return;
        }
        if self.repairs.newest_first && taking_part < majority(desk.size()) {
            desk.step(format!("only {taking_part} of {} take part", desk.size()));
            self.mode = Mode::Waiting;
            return desk.wake_in(Timer::NoVictory, VICTORY_WITHIN);
        }
        self.mode = Mode::Leading { since: desk.now };
        desk.note(Note::Leads);
        desk.tell_all(&Message::Victory);
        if self.repairs.newest_first {
            desk.wake_in(Timer::Count, BEAT_EVERY);
        }
    }

    /// Rule 4. An election that is under way need not be begun again.
    fn on_election(&mut self, heard: &Heard<Message>, claim: Claim, lost: Option<Rank>, desk: &mut Context<'_, Self>) {
        if claim > self.claim(desk.now) {
            return desk.reply(heard.exchange, Message::TakesPart);
        }
        match self.mode {
            Mode::Leading { .. } if self.repairs.steady_first => desk.reply(heard.exchange, Message::Led(self.me)),
            Mode::Following(leader) if self.repairs.steady_first && lost != Some(leader) => {
                desk.reply(heard.exchange, Message::Led(leader));
            }
            Mode::Leading { .. } | Mode::Following(_) => {
                desk.reply(heard.exchange, Message::Answer);
                self.hold_election(desk);
            }
            Mode::Electing(_) | Mode::Waiting => desk.reply(heard.exchange, Message::Answer),
        }
    }

    /// Rule 5.
    fn on_victory(&mut self, leader: Rank, desk: &mut Context<'_, Self>) {
        desk.settle(leader, self.stand().leader);
        self.mode = Mode::Following(leader);
        self.lost = None;
        desk.forget();
        desk.stop(Timer::NoVictory);
        desk.stop(Timer::Count);
    }

    /// With a quorum a leader needs it as long as it leads.
    fn count_followers(&mut self, desk: &mut Context<'_, Self>) {
        let Mode::Leading { since } = self.mode else {
            return;
        };
        if desk.has_majority(since) {
            return desk.wake_in(Timer::Count, BEAT_EVERY);
        }
        desk.note(Note::Resigns);
        self.hold_election(desk);
    }
}

impl Algorithm for Bully {
    type Word = Message;
    type Persisted = ();
    type Purpose = ();
    type Timer = Timer;

    /// Who did nothing for a while was not alive.
    fn happens(&mut self, now: Time) {
        if now.since(self.busy) > STALL {
            self.alive = now;
        }
        self.busy = now;
    }

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        (self.alive, self.busy) = (desk.now, desk.now);
        self.hold_election(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.hold_election(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match heard.word {
            Message::Election { claim, lost } => self.on_election(&heard, claim, lost, desk),
            Message::Victory => self.on_victory(heard.from, desk),
            Message::Answer | Message::TakesPart | Message::Led(_) => {}
        }
    }

    /// Rule 3. Answers that come later are noted too: several may eliminate one.
    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        match (outcome.reply, self.mode) {
            (Ok(Message::Answer), mode) => {
                desk.note(Note::Eliminated { by: outcome.of });
                if let Mode::Electing(_) = mode {
                    self.mode = Mode::Waiting;
                    desk.wake_in(Timer::NoVictory, VICTORY_WITHIN);
                }
            }
            (Ok(Message::Led(leader)), Mode::Electing(_) | Mode::Waiting) if leader != self.me => {
                self.on_victory(leader, desk);
            }
            (Ok(_), Mode::Electing(taking_part)) => {
                self.mode = Mode::Electing(taking_part + 1);
                self.count_up(desk);
            }
            (Err(_), _) => self.count_up(desk),
            (Ok(_), Mode::Waiting | Mode::Leading { .. } | Mode::Following(_)) => {}
        }
    }

    fn wake(&mut self, timer: Timer, desk: &mut Context<'_, Self>) {
        match timer {
            Timer::NoVictory => self.hold_election(desk),
            Timer::Count => self.count_followers(desk),
        }
    }

    fn leader_gone(&mut self, _leader: Rank, desk: &mut Context<'_, Self>) {
        self.hold_election(desk);
    }

    fn stand(&self) -> Stand {
        let (mode, leader) = match self.mode {
            Mode::Electing(_) => ('E', None),
            Mode::Waiting => ('W', None),
            Mode::Leading { .. } => ('L', Some(self.me)),
            Mode::Following(leader) => ('f', Some(leader)),
        };
        Stand { mode, term: 0, leader }
    }
}
