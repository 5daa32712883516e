//! Candidate and ordinary nodes: only a few can lead, the others ask them.
//!
//! 1. Who has no leader waits before it does anything: the higher its priority, the shorter, and each step of that delay is
//!    longer than a round trip, so that the first one is usually done before the second one begins.
//! 2. If no leader was announced meanwhile, it asks all candidates whether they live.
//! 3. When all answers are there, or will not come, it picks the best candidate that lives and tells everybody,
//!    that candidate included, who then leads.
//! 4. An announcement ends whatever the receiver was about to do.
//!
//! Fewer messages than Bully, because ordinary nodes ask only candidates. Known faults: each side of a partition that has
//! a candidate elects, one that has none never does, and two that begin within a round trip may announce twice.

use super::{Algorithm, AskOutcome, Context, Heard, Note, Rank, Stand, Word};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How much longer each step of priority waits; a round trip takes less.
pub const DELAY_STEP: Duration = Duration::from_millis(10);
/// How long until it tries again when nobody can lead.
const AGAIN_AFTER: Duration = Duration::from_millis(400);

/// What processes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Asks a candidate whether it lives.
    Query,
    /// Replies to it.
    Alive,
    /// Somebody picked this one.
    Leader(Rank),
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Query => f.write_str("are you alive"),
            Message::Alive => f.write_str("alive"),
            Message::Leader(leader) => write!(f, "the leader is {leader}"),
        }
    }
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delay;

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the end of its start delay")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Lets others go first.
    Delaying,
    /// Waits for answers; this is the best one that lives.
    Asking(Option<Rank>),
    Leading,
    Following(Rank),
}

/// One process.
#[derive(Clone, Debug)]
pub struct Candidates {
    me: Rank,
    candidates: Vec<Rank>,
    mode: Mode,
}

impl Candidates {
    /// The process `me`; only these can lead.
    pub fn new(me: Rank, candidates: &[Rank]) -> Self {
        Candidates { me, candidates: candidates.to_vec(), mode: Mode::Delaying }
    }

    fn is_candidate(&self) -> bool {
        self.candidates.contains(&self.me)
    }

    /// Rule 1: candidates before ordinary nodes, then the higher id first.
    fn delay(&mut self, at_least: Duration, desk: &mut Context<'_, Self>) {
        desk.forget();
        desk.watch_nobody();
        self.mode = Mode::Delaying;
        let is_better = |&other: &Rank| (self.candidates.contains(&other), other) > (self.is_candidate(), self.me);
        let better = desk.others().iter().copied().filter(is_better).count() as u32;
        let random = desk.span_below(DELAY_STEP / 2);
        desk.wake_in(Delay, at_least + DELAY_STEP * better + random);
    }

    /// Rule 2.
    fn ask(&mut self, desk: &mut Context<'_, Self>) {
        desk.note(Note::Electing);
        self.mode = Mode::Asking(self.is_candidate().then_some(self.me));
        for to in self.candidates.iter().copied().filter(|&candidate| candidate != self.me) {
            desk.ask(to, Message::Query, ());
        }
        self.pick(desk);
    }

    /// Rule 3.
    fn pick(&mut self, desk: &mut Context<'_, Self>) {
        let Mode::Asking(best) = self.mode else {
            return;
        };
        if desk.open(|()| true) > 0 {
            return;
        }
        match best {
            Some(best) => {
                desk.step(format!("picks {best}"));
                desk.tell_all(&Message::Leader(best));
                self.on_leader(best, desk);
            }
            None => self.delay(AGAIN_AFTER, desk),
        }
    }

    /// Rule 4.
    fn on_leader(&mut self, leader: Rank, desk: &mut Context<'_, Self>) {
        desk.forget();
        desk.stop(Delay);
        desk.settle(leader, self.stand().leader);
        self.mode = if leader == self.me { Mode::Leading } else { Mode::Following(leader) };
    }
}

impl Algorithm for Candidates {
    type Word = Message;
    type Persisted = ();
    type Purpose = ();
    type Timer = Delay;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.delay(Duration::ZERO, desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.delay(Duration::ZERO, desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match heard.word {
            Message::Query => desk.reply(heard.exchange, Message::Alive),
            Message::Leader(leader) => self.on_leader(leader, desk),
            Message::Alive => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        if let (Mode::Asking(best), Ok(_)) = (self.mode, &outcome.reply) {
            self.mode = Mode::Asking(best.max(Some(outcome.of)));
        }
        self.pick(desk);
    }

    fn wake(&mut self, _timer: Delay, desk: &mut Context<'_, Self>) {
        self.ask(desk);
    }

    fn leader_gone(&mut self, _leader: Rank, desk: &mut Context<'_, Self>) {
        self.delay(Duration::ZERO, desk);
    }

    fn stand(&self) -> Stand {
        let (mode, leader) = match self.mode {
            Mode::Delaying => ('D', None),
            Mode::Asking(_) => ('A', None),
            Mode::Leading => ('L', Some(self.me)),
            Mode::Following(leader) => ('f', Some(leader)),
        };
        Stand { mode, term: 0, leader }
    }
}
