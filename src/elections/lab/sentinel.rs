//! Redis Sentinel: watchers agree that the master is down, elect one of themselves, and that one promotes a replica.
//!
//! Each process is a machine with a Redis server and a sentinel. The master is the machine that leads. Redis counts in
//! seconds where this file counts in fifths of them.
//!
//! 1. Every sentinel pings every machine. No valid reply for [`DOWN_AFTER`]: *subjectively down*.
//! 2. It then asks the others (`is-master-down-by-addr`); at least `quorum` agree: *objectively down*.
//! 3. After a random pause it stands in a new epoch, votes for itself and asks again, with its id this time.
//! 4. A sentinel gives one vote an epoch, to the first who asks, and keeps it on disk; who voted does not stand for a while.
//! 5. More than half of all sentinels, and at least `quorum`, voted for it: it acts. Otherwise it waits, then stands again.
//! 6. It chooses among the replicas: not those cut off from the master for too long; then the lowest priority number, the
//!    largest replication offset, the smallest id.
//! 7. The replica is told to be master; its configuration has that epoch and is told to all, and the newer one is adopted.
//!
//! Known fault: the old master, on its side of a partition, hears nothing of that and goes on taking writes, which are
//! lost when it returns. And while fewer than more than half of the sentinels meet, nobody is promoted.

use super::{Algorithm, AskOutcome, BEAT_EVERY, Context, Heard, Note, Rank, Stand, Word, majority};
use crate::protocol::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Silence for so long is being down.
pub const DOWN_AFTER: Duration = Duration::from_millis(500);
/// How long votes are collected.
const VOTES_WITHIN: Duration = Duration::from_millis(300);
/// How long after an attempt, or after voting for another, a sentinel does not stand.
const RETRY: Duration = Duration::from_millis(1_000);
/// The longest pause before standing, so that not all stand at once.
const DESYNC: Duration = Duration::from_millis(100);

/// Who is master, and since which epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Config {
    epoch: u64,
    master: Rank,
}

/// What a machine says of its Redis server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Info {
    config: Config,
    priority: u32,
    offset: u64,
    /// For how many milliseconds it is cut off from its master.
    cut_ms: u64,
}

/// What machines say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// PING, with the sender's configuration.
    Ping(Config),
    /// PONG and INFO.
    Pong(Info),
    /// `is-master-down-by-addr`.
    IsMasterDown {
        /// Which one.
        master: Rank,
        /// The epoch of the sender.
        epoch: u64,
        /// Who wants the vote; none if it only asks.
        candidate: Option<Rank>,
    },
    /// Replies to it.
    Down {
        /// Whether the sender finds so too.
        down: bool,
        /// The epoch that it voted in last, and for whom.
        vote: Option<(u64, Rank)>,
    },
    /// `REPLICAOF NO ONE`, in this epoch.
    Promote(u64),
    /// Replies: it is master.
    Promoted,
    /// The configuration changed.
    Hello(Config),
}

impl Word for Message {
    fn is_watch(&self) -> bool {
        matches!(self, Message::Ping(_) | Message::Pong(_))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Ping(_) => f.write_str("ping"),
            Message::Pong(_) => f.write_str("pong"),
            Message::IsMasterDown { master, candidate: None, .. } => write!(f, "is {master} down"),
            Message::IsMasterDown { master, epoch, candidate: Some(who) } => {
                write!(f, "{master} is down, vote for {who} in epoch {epoch}")
            }
            Message::Down { down, vote: None } => write!(f, "{}", if *down { "down" } else { "not down" }),
            Message::Down { vote: Some((epoch, who)), .. } => write!(f, "voted for {who} in epoch {epoch}"),
            Message::Promote(epoch) => write!(f, "replicaof no one, epoch {epoch}"),
            Message::Promoted => f.write_str("ok"),
            Message::Hello(config) => write!(f, "hello, master {} in epoch {}", config.master, config.epoch),
        }
    }
}

/// Why it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To see whether a machine lives.
    Ping,
    /// To hear whether the master is down.
    Opinion,
    /// For a vote in this epoch.
    Vote(u64),
    /// To promote a replica in this epoch.
    Promote(u64),
}

/// Why a machine wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To ping all, and to look who is down.
    Ping,
    /// To stand in an election.
    Stand,
    /// The votes that it got do not suffice.
    NoVotes,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Ping => "the next pings",
            Timer::Stand => "the end of a pause before standing",
            Timer::NoVotes => "want of votes",
        })
    }
}

/// What is on the disk of a machine: the rewritten configuration files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    epoch: u64,
    vote: Option<(u64, Rank)>,
    config: Option<Config>,
}

/// One machine.
#[derive(Clone, Debug)]
pub struct Sentinel {
    me: Rank,
    quorum: usize,
    priority: u32,
    kept: Persisted,
    config: Config,
    offset: u64,
    pongs: BTreeMap<Rank, Time>,
    infos: BTreeMap<Rank, Info>,
    /// Who agreed that the master is down, and when.
    agree: BTreeMap<Rank, Time>,
    is_objective: bool,
    /// Who voted for it in which epoch.
    votes: Option<(u64, BTreeSet<Rank>)>,
    not_before: Time,
}

impl Sentinel {
    /// The machine `me`. `first` is the configured master of one whose disk is empty.
    pub fn new(me: Rank, first: Rank, quorum: usize, priority: u32, kept: Persisted) -> Self {
        Sentinel {
            me,
            quorum,
            priority,
            kept,
            config: kept.config.unwrap_or(Config { epoch: 0, master: first }),
            offset: 0,
            pongs: BTreeMap::new(),
            infos: BTreeMap::new(),
            agree: BTreeMap::new(),
            is_objective: false,
            votes: None,
            not_before: Time::ZERO,
        }
    }

    fn is_master(&self) -> bool {
        self.config.master == self.me
    }

    fn silent_for(&self, rank: Rank, now: Time) -> Duration {
        if rank == self.me { Duration::ZERO } else { now.since(self.pongs.get(&rank).copied().unwrap_or_default()) }
    }

    /// Rule 1.
    fn is_down(&self, rank: Rank, now: Time) -> bool {
        self.silent_for(rank, now) > DOWN_AFTER
    }

    fn ping_all(&mut self, desk: &mut Context<'_, Self>) {
        if self.is_master() {
            self.offset = self.offset.saturating_add(1);
        }
        for &to in desk.others().iter() {
            desk.ask(to, Message::Ping(self.config), Purpose::Ping);
        }
        desk.wake_in(Timer::Ping, BEAT_EVERY);
        self.judge_master(desk);
    }

    /// Rules 1 and 2.
    fn judge_master(&mut self, desk: &mut Context<'_, Self>) {
        if !self.is_down(self.config.master, desk.now) {
            if std::mem::take(&mut self.is_objective) {
                desk.step("the master is not down any more");
            }
            self.agree.clear();
            return desk.stop(Timer::Stand);
        }
        if self.votes.is_none() {
            let (master, epoch) = (self.config.master, self.kept.epoch);
            for &to in desk.others().iter().filter(|&&other| other != master) {
                desk.ask(to, Message::IsMasterDown { master, epoch, candidate: None }, Purpose::Opinion);
            }
        }
        self.count_opinions(desk);
    }

    /// Rules 2 and 3.
    fn count_opinions(&mut self, desk: &mut Context<'_, Self>) {
        let now = desk.now;
        self.agree.retain(|_, at| now.since(*at) <= DOWN_AFTER);
        let is_objective = self.agree.len() + 1 >= self.quorum && self.is_down(self.config.master, now);
        if is_objective && !std::mem::replace(&mut self.is_objective, is_objective) {
            desk.note(Note::LeaderGone(self.config.master));
        }
        self.is_objective = is_objective;
        if is_objective && self.votes.is_none() && now >= self.not_before && !desk.is_set(Timer::Stand) {
            let pause = desk.span_below(DESYNC);
            desk.wake_in(Timer::Stand, pause);
        }
    }

    /// Rule 3.
    fn stand_for_it(&mut self, desk: &mut Context<'_, Self>) {
        if !self.is_objective || desk.now < self.not_before {
            return;
        }
        desk.note(Note::Electing);
        let epoch = self.kept.epoch.saturating_add(1);
        self.kept = Persisted { epoch, vote: Some((epoch, self.me)), ..self.kept };
        desk.keep(&self.kept);
        self.votes = Some((epoch, BTreeSet::from([self.me])));
        self.not_before = desk.now + RETRY + desk.span_below(RETRY);
        let (master, candidate) = (self.config.master, Some(self.me));
        for &to in desk.others().iter().filter(|&&other| other != master) {
            desk.ask(to, Message::IsMasterDown { master, epoch, candidate }, Purpose::Vote(epoch));
        }
        desk.wake_in(Timer::NoVotes, VOTES_WITHIN);
        self.count_votes(desk);
    }

    /// Rule 4.
    fn on_is_master_down(&mut self, heard: &Heard<Message>, desk: &mut Context<'_, Self>) {
        let Message::IsMasterDown { master, epoch, candidate } = heard.word else {
            return;
        };
        let is_newer = epoch > self.kept.epoch;
        self.kept.epoch = self.kept.epoch.max(epoch);
        let is_free = self.kept.vote.is_none_or(|(voted, _)| voted < epoch);
        if let Some(candidate) = candidate.filter(|_| is_free && epoch >= self.kept.epoch) {
            self.kept.vote = Some((epoch, candidate));
            self.not_before = desk.now + RETRY + desk.span_below(RETRY);
            desk.stop(Timer::Stand);
            desk.step(format!("votes for {candidate} in epoch {epoch}"));
        }
        if is_newer || candidate.is_some() {
            desk.keep(&self.kept);
        }
        let down = master == self.config.master && self.is_down(master, desk.now);
        desk.reply(heard.exchange, Message::Down { down, vote: self.kept.vote });
    }

    /// Rules 5 and 6.
    fn count_votes(&mut self, desk: &mut Context<'_, Self>) {
        let Some((epoch, voters)) = &self.votes else {
            return;
        };
        if voters.len() < majority(desk.size()).max(self.quorum) || !desk.is_set(Timer::NoVotes) {
            return;
        }
        let epoch = *epoch;
        desk.stop(Timer::NoVotes);
        let Some(chosen) = self.choose(desk) else {
            desk.step("may act, and finds no replica that is fit");
            self.votes = None;
            return;
        };
        desk.step(format!("may act, chooses {chosen}"));
        if chosen == self.me {
            self.announce(Config { epoch, master: chosen }, desk);
        } else {
            desk.ask(chosen, Message::Promote(epoch), Purpose::Promote(epoch));
        }
    }

    fn choose(&self, desk: &Context<'_, Self>) -> Option<Rank> {
        let own = (self.me, self.info(desk.now));
        let known = self.infos.iter().map(|(&rank, &info)| (rank, info)).chain([own]);
        let cut_max = DOWN_AFTER * 10 + self.silent_for(self.config.master, desk.now);
        let is_fit = |&(rank, info): &(Rank, Info)| {
            let is_cut = Duration::from_millis(info.cut_ms) > cut_max;
            rank != self.config.master && !is_cut && info.priority > 0 && !self.is_down(rank, desk.now)
        };
        let best = known.filter(is_fit).min_by_key(|&(rank, info)| (info.priority, u64::MAX - info.offset, rank));
        best.map(|(rank, _)| rank)
    }

    /// Rule 7.
    fn announce(&mut self, config: Config, desk: &mut Context<'_, Self>) {
        self.votes = None;
        self.adopt(config, desk);
        desk.tell_all(&Message::Hello(config));
    }

    fn adopt(&mut self, config: Config, desk: &mut Context<'_, Self>) {
        if config <= self.config {
            return;
        }
        if self.is_master() && config.master != self.me {
            desk.note(Note::Resigns);
        }
        desk.note(if config.master == self.me { Note::Leads } else { Note::Follows(config.master) });
        self.config = config;
        self.is_objective = false;
        self.agree.clear();
        self.votes = None;
        desk.stop(Timer::Stand);
        desk.stop(Timer::NoVotes);
        // It gets a chance to be heard before it is judged.
        self.pongs.insert(config.master, desk.now);
        self.kept = Persisted { epoch: self.kept.epoch.max(config.epoch), config: Some(config), ..self.kept };
        desk.keep(&self.kept);
    }

    fn info(&self, now: Time) -> Info {
        let cut_ms = self.silent_for(self.config.master, now).as_millis() as u64;
        Info { config: self.config, priority: self.priority, offset: self.offset, cut_ms }
    }

    fn on_pong(&mut self, of: Rank, info: Info, desk: &mut Context<'_, Self>) {
        self.pongs.insert(of, desk.now);
        self.infos.insert(of, info);
        if of == self.config.master {
            self.offset = info.offset;
        }
        self.adopt(info.config, desk);
    }
}

impl Algorithm for Sentinel {
    type Word = Message;
    type Persisted = Persisted;
    type Purpose = Purpose;
    type Timer = Timer;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.pongs = desk.others().iter().map(|&other| (other, desk.now)).collect();
        if self.is_master() {
            desk.note(Note::Leads);
        }
        self.ping_all(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.pongs.remove(&self.config.master);
        self.judge_master(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match heard.word {
            Message::Ping(config) => {
                self.adopt(config, desk);
                desk.reply(heard.exchange, Message::Pong(self.info(desk.now)));
            }
            Message::IsMasterDown { .. } => self.on_is_master_down(&heard, desk),
            Message::Promote(epoch) => {
                self.adopt(Config { epoch, master: self.me }, desk);
                desk.reply(heard.exchange, Message::Promoted);
            }
            Message::Hello(config) => self.adopt(config, desk),
            Message::Pong(_) | Message::Down { .. } | Message::Promoted => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        match (outcome.purpose, outcome.reply) {
            (Purpose::Ping, Ok(Message::Pong(info))) => self.on_pong(outcome.of, info, desk),
            (Purpose::Opinion, Ok(Message::Down { down, .. })) => {
                if down {
                    self.agree.insert(outcome.of, desk.now);
                } else {
                    self.agree.remove(&outcome.of);
                }
                self.count_opinions(desk);
            }
            (Purpose::Vote(epoch), Ok(Message::Down { vote, .. })) if vote == Some((epoch, self.me)) => {
                if let Some((_, voters)) = self.votes.as_mut().filter(|(current, _)| *current == epoch) {
                    voters.insert(outcome.of);
                }
                self.count_votes(desk);
            }
            (Purpose::Promote(epoch), Ok(_)) => self.announce(Config { epoch, master: outcome.of }, desk),
            (Purpose::Promote(_), Err(_)) => self.votes = None,
            (Purpose::Ping | Purpose::Opinion | Purpose::Vote(_), _) => {}
        }
    }

    fn wake(&mut self, timer: Timer, desk: &mut Context<'_, Self>) {
        match timer {
            Timer::Ping => self.ping_all(desk),
            Timer::Stand => self.stand_for_it(desk),
            Timer::NoVotes => {
                desk.step("not enough votes");
                self.votes = None;
            }
        }
    }

    fn leader_gone(&mut self, _leader: Rank, _desk: &mut Context<'_, Self>) {}

    fn stand(&self) -> Stand {
        let mode = match (self.is_master(), &self.votes, self.is_objective) {
            (true, ..) => 'L',
            (false, Some(_), _) => 'E',
            (false, None, true) => 'o',
            (false, None, false) => 'f',
        };
        let leader = Some(self.config.master).filter(|_| !self.is_objective || self.is_master());
        Stand { mode, term: self.config.epoch, leader }
    }
}
