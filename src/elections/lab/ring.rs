//! Ring: an election goes round, collects who lives, and a second round tells who leads.
//!
//! All know the order of the ring, which is that of the ids.
//!
//! 1. Who sees that the leader is gone sends *Election* with its id to its successor; one that does not take it is
//!    skipped, and the next one gets it.
//! 2. Each adds its id and passes it on. The variant carries only the highest id so far, because the highest of all does
//!    not depend on the order.
//! 3. Back at its originator the highest id leads, and *Coordinator* goes round the same way.
//! 4. Who finds itself among the ids of a round that is not its own completes it: its originator is dead. The variant
//!    cannot know. Otherwise what comes again is dropped.
//!
//! A process that starts begins a round, or it would never learn who leads. Without deaths an election takes two messages
//! for each live process, and as many acknowledgements. Known fault: a split ring elects in each part, and nobody notices
//! when it is whole again.

use super::{ANSWER_WITHIN, Algorithm, AskOutcome, Context, Heard, Note, Rank, Ranks, Stand, Word};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How long a hop may take: one dead successor to be skipped, and a bit.
const HOP_WITHIN: Duration = Duration::from_millis(150);

/// Which round is meant: who began it, and a number that it drew, so that a later process of it begins another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Round {
    origin: Rank,
    number: u64,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Collects who lives, or the highest of them.
    Election {
        /// The round.
        round: Round,
        /// Who took part so far.
        ids: Vec<Rank>,
    },
    /// Tells who leads.
    Coordinator {
        /// The round.
        round: Round,
        /// Who leads.
        leader: Rank,
    },
    /// Replies to both: the sender passes it on.
    Taken,
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Election { ids, .. } => write!(f, "election {}", Ranks(ids)),
            Message::Coordinator { leader, .. } => write!(f, "coordinator {leader}"),
            Message::Taken => f.write_str("taken"),
        }
    }
}

/// A message that goes round, and how many successors are skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purpose {
    message: Message,
    skipped: usize,
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoCoordinator;

impl fmt::Display for NoCoordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("want of a coordinator")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// An election is on its way.
    Electing,
    Leading,
    Following(Rank),
}

/// What a round came by for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// To collect who lives.
    Collecting,
    /// With everybody in it.
    Complete,
    /// To tell who leads.
    Telling,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Ring {
    me: Rank,
    collects: bool,
    mode: Mode,
    begun: u64,
    /// The last rounds that came by here, of each originator.
    passed: BTreeMap<(Way, Rank), u64>,
}

impl Ring {
    /// The process `me`; it collects all ids, or only passes on the highest.
    pub fn new(me: Rank, collects: bool) -> Self {
        Ring { me, collects, mode: Mode::Electing, begun: 0, passed: BTreeMap::new() }
    }

    /// Rule 1.
    fn begin(&mut self, desk: &mut Context<'_, Self>) {
        desk.note(Note::Electing);
        desk.watch_nobody();
        self.mode = Mode::Electing;
        self.begun = desk.draw(0, u64::MAX - 1);
        let round = Round { origin: self.me, number: self.begun };
        self.pass_on(Message::Election { round, ids: vec![self.me] }, 0, desk);
        self.expect_a_coordinator(desk);
    }

    fn expect_a_coordinator(&mut self, desk: &mut Context<'_, Self>) {
        let random = desk.span_below(ANSWER_WITHIN);
        desk.wake_in(NoCoordinator, HOP_WITHIN * (2 * desk.size() as u32) + random);
    }

    /// Sends to the first successor that is not skipped; alone in the ring it is its own successor.
    fn pass_on(&mut self, message: Message, skipped: usize, desk: &mut Context<'_, Self>) {
        let others = desk.others();
        let (before, after): (Vec<Rank>, Vec<Rank>) = others.iter().partition(|&&other| other < self.me);
        match after.into_iter().chain(before).nth(skipped) {
            Some(next) => desk.ask(next, message.clone(), Purpose { message, skipped }),
            None => self.take(message, desk),
        }
    }

    fn take(&mut self, message: Message, desk: &mut Context<'_, Self>) {
        match message {
            Message::Election { round, ids } => self.on_election(round, ids, desk),
            Message::Coordinator { round, leader } => self.on_coordinator(round, leader, desk),
            Message::Taken => {}
        }
    }

    /// Rules 2 to 4.
    fn on_election(&mut self, round: Round, mut ids: Vec<Rank>, desk: &mut Context<'_, Self>) {
        let is_own = round.origin == self.me;
        if is_own && round.number != self.begun {
            return;
        }
        let is_complete = is_own || self.collects && ids.contains(&self.me);
        // A hop that was slow, not dead, makes copies; each would make more.
        if self.came_by(if is_complete { Way::Complete } else { Way::Collecting }, round) {
            return;
        }
        if is_complete {
            let leader = ids.iter().copied().max().unwrap_or(self.me);
            desk.step(format!("round complete: {leader} leads"));
            let round = Round { origin: self.me, ..round };
            self.settle(leader, desk);
            return self.pass_on(Message::Coordinator { round, leader }, 0, desk);
        }
        if self.collects {
            ids.push(self.me);
        } else {
            ids = vec![ids.into_iter().max().map_or(self.me, |highest| highest.max(self.me))];
        }
        self.pass_on(Message::Election { round, ids }, 0, desk);
    }

    fn on_coordinator(&mut self, round: Round, leader: Rank, desk: &mut Context<'_, Self>) {
        if round.origin != self.me && !self.came_by(Way::Telling, round) {
            self.settle(leader, desk);
            self.pass_on(Message::Coordinator { round, leader }, 0, desk);
        }
    }

    /// Whether a round came by before for this, as the last one of its originator.
    fn came_by(&mut self, way: Way, round: Round) -> bool {
        self.passed.insert((way, round.origin), round.number) == Some(round.number)
    }

    fn settle(&mut self, leader: Rank, desk: &mut Context<'_, Self>) {
        desk.stop(NoCoordinator);
        desk.settle(leader, self.leader());
        self.mode = if leader == self.me { Mode::Leading } else { Mode::Following(leader) };
    }

    fn leader(&self) -> Option<Rank> {
        match self.mode {
            Mode::Electing => None,
            Mode::Leading => Some(self.me),
            Mode::Following(leader) => Some(leader),
        }
    }
}

impl Algorithm for Ring {
    type Word = Message;
    type Persisted = ();
    type Purpose = Purpose;
    type Timer = NoCoordinator;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.begin(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.begin(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        if heard.word != Message::Taken {
            desk.reply(heard.exchange, Message::Taken);
            self.take(heard.word, desk);
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        if outcome.reply.is_err() {
            let Purpose { message, skipped } = outcome.purpose;
            self.pass_on(message, skipped + 1, desk);
        }
    }

    fn wake(&mut self, _timer: NoCoordinator, desk: &mut Context<'_, Self>) {
        self.begin(desk);
    }

    fn leader_gone(&mut self, _leader: Rank, desk: &mut Context<'_, Self>) {
        self.begin(desk);
    }

    fn stand(&self) -> Stand {
        let mode = match self.mode {
            Mode::Electing => 'E',
            Mode::Leading => 'L',
            Mode::Following(_) => 'f',
        };
        Stand { mode, term: 0, leader: self.leader() }
    }
}
