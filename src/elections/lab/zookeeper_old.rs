//! ZooKeeper's first LeaderElection: servers poll each other until more than half name the same one.
//!
//! 1. A server that looks for a leader asks all for their vote. Who looks answers with its present vote, at first itself; who
//!    leads or follows answers with the leader.
//! 2. When all answers are there, or will not come, votes for servers that did not answer are dropped: they are dead.
//! 3. The best of the rest, by newest transaction and then id, is its vote from then on.
//! 4. If more than half of all hold the same vote it is decided. Otherwise it asks again after a pause.
//! 5. A leader that fewer than half follow looks again.
//!
//! There are no rounds and nothing is passed on, so every server asks every other until all happen to agree: more
//! messages and more time than its successor ([`super::zookeeper`]) takes.

use super::zookeeper::Data;
use super::{Algorithm, AskOutcome, BEAT_EVERY, Context, Heard, Note, Rank, Stand, Word, majority};
use crate::protocol::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The longest pause between two polls; the shortest is half of it.
pub const PAUSE_MAX: Duration = Duration::from_millis(200);

/// Whom a server wants to lead; the greater one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Vote {
    zxid: u64,
    leader: Rank,
}

/// What servers say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Asks for the vote of the receiver.
    Poll,
    /// Replies to it.
    Votes(Vote),
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Poll => f.write_str("poll"),
            Message::Votes(vote) => write!(f, "votes {}", vote.leader),
        }
    }
}

/// Why a server wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To ask all again.
    Poll,
    /// To count those who follow.
    Count,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Poll => "its next poll",
            Timer::Count => "a count of its followers",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Looking,
    Leading { since: Time },
    Following,
}

/// One server.
#[derive(Clone, Debug)]
pub struct OldServer {
    me: Rank,
    zxid: u64,
    mode: Mode,
    vote: Vote,
    answers: BTreeMap<Rank, Vote>,
}

impl OldServer {
    /// The server `me` with what its disk holds.
    pub fn new(me: Rank, data: Data) -> Self {
        let vote = Vote { zxid: data.zxid, leader: me };
        OldServer { me, zxid: data.zxid, mode: Mode::Looking, vote, answers: BTreeMap::new() }
    }

    fn look(&mut self, desk: &mut Context<'_, Self>) {
        desk.note(Note::Electing);
        desk.watch_nobody();
        desk.stop(Timer::Count);
        self.mode = Mode::Looking;
        self.vote = Vote { zxid: self.zxid, leader: self.me };
        self.poll(desk);
    }

    /// Rule 1.
    fn poll(&mut self, desk: &mut Context<'_, Self>) {
        desk.forget();
        self.answers.clear();
        for &to in desk.others().iter() {
            desk.ask(to, Message::Poll, ());
        }
        self.count_up(desk);
    }

    /// Rules 2 to 4.
    fn count_up(&mut self, desk: &mut Context<'_, Self>) {
        if self.mode != Mode::Looking || desk.open(|()| true) > 0 {
            return;
        }
        self.answers.insert(self.me, self.vote);
        let lives = |vote: &&Vote| self.answers.contains_key(&vote.leader);
        let best = self.answers.values().filter(lives).max().copied();
        let vote = best.unwrap_or(Vote { zxid: self.zxid, leader: self.me });
        let held = |vote: &Vote| self.answers.values().filter(|other| *other == vote).count();
        let elected = self.answers.values().filter(lives).find(|vote| held(vote) >= majority(desk.size())).copied();
        self.vote = elected.unwrap_or(vote);
        if elected.is_some() {
            return self.decide(desk);
        }
        let pause = desk.span_below(PAUSE_MAX / 2);
        desk.wake_in(Timer::Poll, PAUSE_MAX / 2 + pause);
    }

    fn decide(&mut self, desk: &mut Context<'_, Self>) {
        if self.vote.leader == self.me {
            self.mode = Mode::Leading { since: desk.now };
            desk.note(Note::Leads);
            desk.wake_in(Timer::Count, BEAT_EVERY);
        } else {
            self.mode = Mode::Following;
            desk.note(Note::Follows(self.vote.leader));
            desk.watch(self.vote.leader);
        }
    }

    /// Rule 5.
    fn count_followers(&mut self, desk: &mut Context<'_, Self>) {
        let Mode::Leading { since } = self.mode else {
            return;
        };
        if desk.has_majority(since) {
            return desk.wake_in(Timer::Count, BEAT_EVERY);
        }
        desk.note(Note::Resigns);
        self.look(desk);
    }
}

impl Algorithm for OldServer {
    type Word = Message;
    type Persisted = Data;
    type Purpose = ();
    type Timer = Timer;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.look(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.look(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match heard.word {
            Message::Poll => desk.reply(heard.exchange, Message::Votes(self.vote)),
            Message::Votes(_) => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        if let Ok(Message::Votes(vote)) = outcome.reply {
            self.answers.insert(outcome.of, vote);
        }
        self.count_up(desk);
    }

    fn wake(&mut self, timer: Timer, desk: &mut Context<'_, Self>) {
        match timer {
            Timer::Poll => self.poll(desk),
            Timer::Count => self.count_followers(desk),
        }
    }

    fn leader_gone(&mut self, _leader: Rank, desk: &mut Context<'_, Self>) {
        self.look(desk);
    }

    fn stand(&self) -> Stand {
        let (mode, leader) = match self.mode {
            Mode::Looking => ('E', None),
            Mode::Leading { .. } => ('L', Some(self.me)),
            Mode::Following => ('f', Some(self.vote.leader)),
        };
        Stand { mode, term: 0, leader }
    }
}
