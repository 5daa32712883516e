//! ZooKeeper's FastLeaderElection: the server with the newest data wins, by votes that are passed on.
//!
//! A vote names a leader with its epoch and the id of its newest transaction; the greater of two is that with the higher
//! epoch, then the newer transaction, then the higher id.
//!
//! 1. A server that looks for a leader raises its round, votes for itself and tells all.
//! 2. A notification of a higher round: it takes that round over and forgets its tally; one of a lower round is
//!    answered with its own and not counted.
//! 3. A greater vote becomes its own, which it tells all again.
//! 4. More than half hold the same vote, and no greater one comes in a short wait: decided.
//! 5. A server that is not looking answers with whom it follows; who hears so from more than half, the leader included,
//!    follows as well.
//! 6. The leader leads when more than half have joined it, itself included; it raises the epoch then, which is on every
//!    disk. It looks again when fewer are left.
//!
//! Observers follow, and neither vote nor count. Of two servers only the one with the higher id opens the connection: the
//! other hails it. `AuthFastLeaderElection` is the same with [`Trust::Challenged`]: a server believes no notification
//! before its sender answered a challenge.
//!
//! Without more than half there is no leader: so says 4, and so says 6 to a leader that is cut off.

use super::{Algorithm, AskOutcome, BEAT_EVERY, Context, Heard, Note, Rank, SILENCE_MAX, Stand, Word, majority};
use crate::protocol::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// How long a decided server waits for a greater vote.
pub const FINALIZE: Duration = Duration::from_millis(200);
/// How long until it tells its vote again if nothing is decided.
const AGAIN: Duration = Duration::from_millis(200);
/// How long until a follower that was told to wait asks again to join.
const JOIN_AGAIN: Duration = Duration::from_millis(20);
/// How long leader and followers have to find each other.
const INIT_LIMIT: Duration = Duration::from_millis(1_000);

/// Whether notifications are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// At once.
    #[default]
    Open,
    /// After their sender answered a challenge.
    Challenged,
}

/// Whom a server wants to lead. The greater one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Vote {
    epoch: u64,
    zxid: u64,
    leader: Rank,
}

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It looks for a leader.
    Looking,
    /// It follows one, and votes.
    Following,
    /// It leads.
    Leading,
    /// It follows one, and does not vote.
    Observing,
}

/// What servers say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The sender has a lower id and wants the receiver to connect.
    Hail,
    /// The vote of the sender.
    Notification {
        /// Whom it votes for.
        vote: Vote,
        /// The round that it votes in.
        round: u64,
        /// What it does.
        state: State,
    },
    /// Asks the sender of a notification to prove itself.
    Challenge(u64),
    /// Answers a challenge.
    Proof(u64),
    /// A follower, with its epoch, joins its leader.
    Join(u64),
    /// Replies: too few have joined yet, or the receiver does not lead.
    Wait,
    /// Replies: the receiver follows in this epoch.
    Epoch(u64),
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Hail => f.write_str("hail"),
            Message::Notification { vote, round, state } => {
                write!(
                    f,
                    "{state:?} votes {} (epoch {}, zxid {:#x}) in round {round}",
                    vote.leader, vote.epoch, vote.zxid
                )
            }
            Message::Challenge(_) => f.write_str("challenge"),
            Message::Proof(_) => f.write_str("proof"),
            Message::Join(epoch) => write!(f, "joins at epoch {epoch}"),
            Message::Wait => f.write_str("wait"),
            Message::Epoch(epoch) => write!(f, "epoch {epoch}"),
        }
    }
}

/// Why a server wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// No greater vote came.
    Finalize,
    /// To tell its vote again.
    Again,
    /// To join again.
    Join,
    /// To count those who follow.
    Count,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Finalize => "want of a greater vote",
            Timer::Again => "its next notifications",
            Timer::Join => "its next join",
            Timer::Count => "a count of its followers",
        })
    }
}

/// What a server has on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The epoch of the last leader that it followed, or was.
    pub epoch: u64,
    /// Its newest transaction; the epoch is its upper half.
    pub zxid: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    Looking,
    /// It was decided; more than half may have joined, or not yet.
    Leading {
        since: Time,
        joined: BTreeMap<Rank, Time>,
        is_established: bool,
    },
    Following {
        leader: Rank,
        since: Time,
        is_joined: bool,
    },
}

/// One server.
#[derive(Clone, Debug)]
pub struct Server {
    me: Rank,
    data: Data,
    observers: BTreeSet<Rank>,
    trust: Trust,
    mode: Mode,
    round: u64,
    vote: Vote,
    /// The votes of this round, and what those say who do not look.
    tally: BTreeMap<Rank, Vote>,
    settled: BTreeMap<Rank, (Rank, State)>,
    /// With whom there is a connection, who proved itself, and whose proof is waited for with what it said.
    met: BTreeSet<Rank>,
    proven: BTreeSet<Rank>,
    challenged: BTreeMap<Rank, (u64, Message)>,
}

impl Server {
    /// The server `me` with what its disk holds.
    pub fn new(me: Rank, data: Data, trust: Trust, observers: &[Rank]) -> Self {
        Server {
            me,
            data,
            observers: observers.iter().copied().collect(),
            trust,
            mode: Mode::Looking,
            round: 0,
            vote: Vote { epoch: data.epoch, zxid: data.zxid, leader: me },
            tally: BTreeMap::new(),
            settled: BTreeMap::new(),
            met: BTreeSet::new(),
            proven: BTreeSet::new(),
            challenged: BTreeMap::new(),
        }
    }

    fn quorum(&self, desk: &Context<'_, Self>) -> usize {
        majority(desk.size() - self.observers.len())
    }

    fn state(&self) -> State {
        match self.mode {
            Mode::Looking => State::Looking,
            Mode::Leading { .. } => State::Leading,
            Mode::Following { .. } if self.observers.contains(&self.me) => State::Observing,
            Mode::Following { .. } => State::Following,
        }
    }

    /// Rule 1.
    fn look(&mut self, desk: &mut Context<'_, Self>) {
        desk.note(Note::Electing);
        desk.forget();
        desk.watch_nobody();
        for timer in [Timer::Finalize, Timer::Join, Timer::Count] {
            desk.stop(timer);
        }
        self.mode = Mode::Looking;
        self.settled.clear();
        self.begin_round(self.round.saturating_add(1));
        self.tell_all(desk);
    }

    fn begin_round(&mut self, round: u64) {
        self.round = round;
        self.tally.clear();
        self.vote = Vote { epoch: self.data.epoch, zxid: self.data.zxid, leader: self.me };
    }

    fn tell_all(&mut self, desk: &mut Context<'_, Self>) {
        for &to in desk.others().iter() {
            self.notify(to, desk);
        }
        desk.wake_in(Timer::Again, AGAIN);
    }

    /// Who has no connection to a higher server makes it connect, and is told first.
    fn notify(&mut self, to: Rank, desk: &mut Context<'_, Self>) {
        if to > self.me && !self.met.contains(&to) {
            return desk.tell(to, Message::Hail);
        }
        self.met.insert(to);
        desk.tell(to, Message::Notification { vote: self.vote, round: self.round, state: self.state() });
    }

    fn meet(&mut self, heard: &Heard<Message>, desk: &mut Context<'_, Self>) {
        if self.met.insert(heard.from) && self.mode == Mode::Looking || heard.word == Message::Hail {
            self.notify(heard.from, desk);
        }
    }

    /// Whether the sender of a notification proved itself; it is challenged if not.
    fn is_proven(&mut self, heard: &Heard<Message>, desk: &mut Context<'_, Self>) -> bool {
        if self.trust == Trust::Open || self.proven.contains(&heard.from) {
            return true;
        }
        let number = desk.draw(0, u64::MAX - 1);
        self.challenged.insert(heard.from, (number, heard.word));
        desk.tell(heard.from, Message::Challenge(number));
        false
    }

    fn on_proof(&mut self, from: Rank, number: u64, desk: &mut Context<'_, Self>) {
        if let Some((expected, word)) = self.challenged.remove(&from)
            && expected == number
        {
            self.proven.insert(from);
            self.on_notification(from, word, desk);
        }
    }

    fn on_notification(&mut self, from: Rank, word: Message, desk: &mut Context<'_, Self>) {
        let Message::Notification { vote, round, state } = word else {
            return;
        };
        match (&self.mode, state) {
            (Mode::Looking, State::Looking) => self.weigh(from, vote, round, desk),
            (Mode::Looking, State::Following | State::Leading | State::Observing) => {
                self.on_settled(from, vote.leader, state, round, desk);
            }
            // Rule 5, for the one who is asked.
            (Mode::Leading { .. } | Mode::Following { .. }, State::Looking) => self.notify(from, desk),
            (Mode::Leading { .. } | Mode::Following { .. }, _) => {}
        }
    }

    /// Rules 2 to 4.
    fn weigh(&mut self, from: Rank, vote: Vote, round: u64, desk: &mut Context<'_, Self>) {
        if self.observers.contains(&from) || round < self.round {
            return self.notify(from, desk);
        }
        let is_late = round > self.round;
        if is_late {
            self.begin_round(round);
        }
        let is_greater = vote > self.vote && !self.observers.contains(&self.me);
        if is_greater {
            self.vote = vote;
        }
        if is_late || is_greater {
            desk.stop(Timer::Finalize);
            self.tell_all(desk);
        }
        self.tally.insert(from, vote);
        let own = usize::from(!self.observers.contains(&self.me));
        let same = self.tally.values().filter(|other| **other == self.vote).count() + own;
        if same >= self.quorum(desk) && !desk.is_set(Timer::Finalize) {
            desk.wake_in(Timer::Finalize, FINALIZE);
        }
    }

    /// Rule 5, for the one who looks.
    fn on_settled(&mut self, from: Rank, leader: Rank, state: State, round: u64, desk: &mut Context<'_, Self>) {
        self.settled.insert(from, (leader, state));
        let is_voter = |rank: &Rank| !self.observers.contains(rank);
        let agree = self.settled.iter().filter(|(rank, (other, _))| is_voter(rank) && *other == leader).count();
        if agree >= self.quorum(desk) && self.settled.get(&leader) == Some(&(leader, State::Leading)) {
            self.round = round;
            self.vote.leader = leader;
            self.decide(leader, desk);
        }
    }

    fn decide(&mut self, leader: Rank, desk: &mut Context<'_, Self>) {
        desk.stop(Timer::Finalize);
        desk.stop(Timer::Again);
        let since = desk.now;
        if leader == self.me {
            desk.step("elected");
            self.mode = Mode::Leading { since, joined: BTreeMap::new(), is_established: false };
            desk.wake_in(Timer::Count, BEAT_EVERY);
            self.establish(desk);
        } else {
            self.mode = Mode::Following { leader, since, is_joined: false };
            desk.ask(leader, Message::Join(self.data.epoch), ());
        }
    }

    /// Rule 6, for the leader: one more joined.
    fn on_join(&mut self, heard: &Heard<Message>, epoch: u64, desk: &mut Context<'_, Self>) {
        if let Mode::Leading { joined, is_established, .. } = &mut self.mode {
            joined.insert(heard.from, desk.now);
            if !*is_established {
                self.data.epoch = self.data.epoch.max(epoch);
            }
            self.establish(desk);
        }
        let is_established = matches!(self.mode, Mode::Leading { is_established: true, .. });
        let word = if is_established { Message::Epoch(self.data.epoch) } else { Message::Wait };
        desk.reply(heard.exchange, word);
    }

    fn establish(&mut self, desk: &mut Context<'_, Self>) {
        let quorum = self.quorum(desk);
        let Mode::Leading { joined, is_established: is_established @ false, .. } = &mut self.mode else {
            return;
        };
        if joined.keys().filter(|rank| !self.observers.contains(rank)).count() + 1 >= quorum {
            *is_established = true;
            self.enter_epoch(self.data.epoch.saturating_add(1), desk);
            desk.note(Note::Leads);
        }
    }

    /// All transactions of an epoch are newer than those of the epochs before.
    fn enter_epoch(&mut self, epoch: u64, desk: &mut Context<'_, Self>) {
        if epoch > self.data.epoch {
            self.data = Data { epoch, zxid: epoch << 32 };
            desk.keep(&self.data);
        }
    }

    /// Rule 6: fewer than more than half are left, or did not come.
    fn count_followers(&mut self, desk: &mut Context<'_, Self>) {
        let Mode::Leading { since, joined, is_established } = &self.mode else {
            return;
        };
        let fresh = joined.iter().filter(|&(_, &at)| desk.now.since(at) <= SILENCE_MAX).map(|(&rank, _)| rank);
        let there: BTreeSet<Rank> =
            fresh.chain(desk.heard_within(SILENCE_MAX).filter(|r| joined.contains_key(r))).collect();
        let voters = there.iter().filter(|rank| !self.observers.contains(rank)).count() + 1;
        let had_time = *is_established || desk.now.since(*since) > INIT_LIMIT;
        if had_time && voters < self.quorum(desk) {
            desk.note(Note::Resigns);
            return self.look(desk);
        }
        desk.wake_in(Timer::Count, BEAT_EVERY);
    }
}

impl Algorithm for Server {
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
            Message::Hail => self.meet(&heard, desk),
            Message::Notification { .. } => {
                self.meet(&heard, desk);
                if self.is_proven(&heard, desk) {
                    self.on_notification(heard.from, heard.word, desk);
                }
            }
            Message::Challenge(number) => desk.tell(heard.from, Message::Proof(number)),
            Message::Proof(number) => self.on_proof(heard.from, number, desk),
            Message::Join(epoch) => self.on_join(&heard, epoch, desk),
            Message::Wait | Message::Epoch(_) => {}
        }
    }

    /// Rule 6, for a follower.
    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        let Mode::Following { leader, since, is_joined: is_joined @ false } = &mut self.mode else {
            return;
        };
        match outcome.reply {
            Ok(Message::Epoch(epoch)) => {
                *is_joined = true;
                let leader = *leader;
                desk.note(Note::Follows(leader));
                desk.watch(leader);
                self.enter_epoch(epoch, desk);
            }
            Ok(_) | Err(_) if desk.now.since(*since) < INIT_LIMIT => desk.wake_in(Timer::Join, JOIN_AGAIN),
            Ok(_) | Err(_) => self.look(desk),
        }
    }

    fn wake(&mut self, timer: Timer, desk: &mut Context<'_, Self>) {
        match timer {
            Timer::Finalize => self.decide(self.vote.leader, desk),
            Timer::Again => {
                desk.forget();
                self.tell_all(desk);
            }
            Timer::Join => {
                if let Mode::Following { leader, is_joined: false, .. } = self.mode {
                    desk.ask(leader, Message::Join(self.data.epoch), ());
                }
            }
            Timer::Count => self.count_followers(desk),
        }
    }

    fn leader_gone(&mut self, _leader: Rank, desk: &mut Context<'_, Self>) {
        self.look(desk);
    }

    fn stand(&self) -> Stand {
        let (mode, leader) = match self.mode {
            Mode::Looking => ('E', None),
            Mode::Leading { is_established: true, .. } => ('L', Some(self.me)),
            Mode::Leading { .. } => ('l', None),
            Mode::Following { leader, is_joined: true, .. } => ('f', Some(leader)),
            Mode::Following { .. } => ('J', None),
        };
        Stand { mode, term: self.data.epoch, leader }
    }
}
