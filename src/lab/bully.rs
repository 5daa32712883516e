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
//! An answer is the reply to an election, so "in time" is the timeout of that call, and a process that is known to be
//! gone answers no at once. Followers beat at the leader to notice its end.
//!
//! Known faults, kept on purpose: each side of a partition elects, and an unstable process with the highest id takes
//! over again and again. Zen's answers to them are a quorum, and no election while the leader lives.

use super::{Diskless, Rank};
use crate::protocol::{
    Call, Effect, Effects, Exchange, Failure, Input, Level, Protocol, Remark, Standing, Ticket, Time, Timers,
};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How often a follower beats at its leader.
pub const BEAT_EVERY: Duration = Duration::from_millis(200);
/// How long an answer or the echo of a beat may take.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(100);
/// How long a victory of somebody higher may take.
pub const VICTORY_WITHIN: Duration = Duration::from_millis(400);

/// What processes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// The sender holds an election among those above it.
    Election {
        /// Who holds it.
        from: Rank,
    },
    /// Replies to an election of somebody lower: the receiver has lost it.
    Answer,
    /// The sender leads.
    Victory {
        /// Who leads.
        from: Rank,
    },
    /// Asks whether the receiver still leads.
    Beat,
    /// Replies to a beat.
    Echo {
        /// Whether the sender leads.
        leads: bool,
    },
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Election { from } => write!(f, "election of {from}"),
            Message::Answer => f.write_str("answer"),
            Message::Victory { from } => write!(f, "victory of {from}"),
            Message::Beat => f.write_str("beat"),
            Message::Echo { leads } => write!(f, "echo, {}", if *leads { "leads" } else { "does not lead" }),
        }
    }
}

/// What a client may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Hold an election, as if the leader had been noticed to be gone.
    HoldElection,
    /// Name the leader.
    Leader,
}

/// What the operator is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// It holds an election.
    Electing,
    /// Somebody higher answered its election.
    Eliminated {
        /// Who answered.
        by: Rank,
    },
    /// It leads.
    Leads,
    /// It follows somebody.
    Follows(Rank),
    /// The leader did not echo, or no longer leads.
    LeaderGone(Rank),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Electing => f.write_str("holds an election"),
            Note::Eliminated { by } => write!(f, "eliminated by {by}"),
            Note::Leads => f.write_str("leads"),
            Note::Follows(leader) => write!(f, "follows {leader}"),
            Note::LeaderGone(leader) => write!(f, "leader {leader} is gone"),
        }
    }
}

impl Remark for Note {
    fn level(&self) -> Level {
        Level::Info
    }
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To beat at the leader.
    Beat,
    /// To give up waiting for the victory of somebody higher.
    NoVictory,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Beat => "the next beat",
            Timer::NoVictory => "want of a victory",
        })
    }
}

/// ```text
///            nobody higher answers
///   Electing ─────────────────────▶ Leading
///    │  ▲ ▲                            │ victory of another
///    │  │ └─ leader gone ─ Following ◀─┤
///    ▼  │ no victory           ▲       │
///   Waiting ── victory ────────┘       ▼
///    (any of them holds an election when a lower one does, unless it is at it)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Waits for answers.
    Electing,
    /// Somebody higher answered.
    Waiting,
    Leading,
    Following {
        leader: Rank,
        beat: Option<Call>,
    },
}

/// One process.
#[derive(Clone, Debug)]
pub struct Bully {
    me: Rank,
    others: Vec<Rank>,
    mode: Mode,
    /// The calls of its election that have yet to end, and whom they asked.
    asked: BTreeMap<Call, Rank>,
    timers: Timers<Timer>,
    calls: u64,
}

impl Bully {
    /// The process `me` of `all`.
    pub fn new(me: Rank, all: &[Rank]) -> Self {
        let others = all.iter().copied().filter(|&rank| rank != me).collect();
        Bully { me, others, mode: Mode::Waiting, asked: BTreeMap::new(), timers: Timers::default(), calls: 0 }
    }

    /// Whom it takes for the leader.
    pub fn leader(&self) -> Option<Rank> {
        match self.mode {
            Mode::Leading => Some(self.me),
            Mode::Following { leader, .. } => Some(leader),
            Mode::Electing | Mode::Waiting => None,
        }
    }

    /// Rules 1 and 2.
    fn hold_election(&mut self, out: &mut Effects<Self>) {
        out.note(Note::Electing);
        self.timers = Timers::default();
        self.mode = Mode::Electing;
        self.asked.clear();
        let higher: Vec<Rank> = self.others.iter().copied().filter(|&rank| rank > self.me).collect();
        for to in higher {
            let call = self.send(to, Message::Election { from: self.me }, out);
            self.asked.insert(call, to);
        }
        self.win_if_alone(out);
    }

    fn win_if_alone(&mut self, out: &mut Effects<Self>) {
        if self.mode == Mode::Electing && self.asked.is_empty() {
            self.mode = Mode::Leading;
            out.note(Note::Leads);
            for &to in &self.others {
                let message = Message::Victory { from: self.me };
                out.push(Effect::Tell { to, message });
            }
        }
    }

    /// Rule 3. Answers that come later are noted too: several may eliminate one.
    fn on_answer(&mut self, now: Time, by: Rank, out: &mut Effects<Self>) {
        out.note(Note::Eliminated { by });
        if self.mode == Mode::Electing {
            self.mode = Mode::Waiting;
            self.timers.set(Timer::NoVictory, now + VICTORY_WITHIN);
        }
    }

    /// Rule 4. An election that is under way need not be begun again.
    fn on_election(&mut self, exchange: Exchange, from: Rank, out: &mut Effects<Self>) {
        if from < self.me {
            let message = Message::Answer;
            out.push(Effect::Reply { exchange, message });
            if matches!(self.mode, Mode::Leading | Mode::Following { .. }) {
                self.hold_election(out);
            }
        }
    }

    /// Rule 5.
    fn on_victory(&mut self, now: Time, leader: Rank, out: &mut Effects<Self>) {
        if self.leader() != Some(leader) {
            out.note(Note::Follows(leader));
        }
        self.mode = Mode::Following { leader, beat: None };
        self.asked.clear();
        self.timers.stop(Timer::NoVictory);
        self.timers.set(Timer::Beat, now + BEAT_EVERY);
    }

    fn on_message(&mut self, now: Time, exchange: Exchange, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Election { from } => self.on_election(exchange, from, out),
            Message::Victory { from } => self.on_victory(now, from, out),
            Message::Beat => {
                let message = Message::Echo { leads: self.mode == Mode::Leading };
                out.push(Effect::Reply { exchange, message });
            }
            Message::Answer | Message::Echo { .. } => {}
        }
    }

    /// A call ended: with a reply, or with none. It counts only for what the process is still at.
    fn on_outcome(&mut self, now: Time, call: Call, reply: Result<Message, Failure>, out: &mut Effects<Self>) {
        if let Some(higher) = self.asked.remove(&call) {
            match reply {
                Ok(_) => self.on_answer(now, higher, out),
                Err(_) => self.win_if_alone(out),
            }
        } else if let Mode::Following { leader, beat } = self.mode
            && beat == Some(call)
        {
            self.mode = Mode::Following { leader, beat: None };
            if reply != Ok(Message::Echo { leads: true }) {
                out.note(Note::LeaderGone(leader));
                self.hold_election(out);
            }
        }
    }

    fn on_timer(&mut self, now: Time, timer: Timer, out: &mut Effects<Self>) {
        match (timer, self.mode) {
            (Timer::NoVictory, _) => self.hold_election(out),
            (Timer::Beat, Mode::Following { leader, .. }) => {
                let beat = Some(self.send(leader, Message::Beat, out));
                self.mode = Mode::Following { leader, beat };
                self.timers.set(Timer::Beat, now + BEAT_EVERY);
            }
            (Timer::Beat, Mode::Electing | Mode::Waiting | Mode::Leading) => {}
        }
    }

    fn on_question(&mut self, ticket: Ticket, question: Question, out: &mut Effects<Self>) {
        if question == Question::HoldElection {
            self.hold_election(out);
        }
        out.push(Effect::Answer { ticket, answer: self.leader() });
    }

    fn send(&mut self, to: Rank, message: Message, out: &mut Effects<Self>) -> Call {
        self.calls += 1;
        let call = Call(self.calls);
        out.push(Effect::Send { to, call, message, timeout: ANSWER_WITHIN });
        call
    }
}

impl Protocol for Bully {
    type Peer = Rank;
    type Message = Message;
    type Disk = Diskless;
    type View = ();
    type Question = Question;
    type Answer = Option<Rank>;
    type Note = Note;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Started => self.hold_election(out),
            Input::Received { exchange, message } => self.on_message(now, exchange, message, out),
            Input::Replied { call, message } => self.on_outcome(now, call, Ok(message), out),
            Input::Failed { call, why } => self.on_outcome(now, call, Err(why), out),
            Input::Woke => {
                while let Some(timer) = self.timers.pop_due(now) {
                    self.on_timer(now, timer, out);
                }
            }
            Input::Asked { ticket, question } => self.on_question(ticket, question, out),
            Input::LinkClosed { .. } | Input::Stored(_) | Input::Resolved(_) => {}
        }
    }

    fn next_deadline(&self) -> Option<(Time, Timer)> {
        self.timers.next()
    }

    fn standing(&self) -> Standing<Rank> {
        let mode = match self.mode {
            Mode::Electing => 'E',
            Mode::Waiting => 'W',
            Mode::Leading => 'L',
            Mode::Following { .. } => 'f',
        };
        Standing { mode, term: 0, version: 0, leader: self.leader() }
    }
}
