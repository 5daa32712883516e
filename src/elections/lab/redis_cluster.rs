//! Redis Cluster: masters agree by gossip that one of them failed, and vote for one of its replicas.
//!
//! The leader is whoever owns the slots that are looked at: at first the lowest id. A few more ids are the other masters,
//! which vote; all others are replicas of the leader. Redis waits five times as long as this file does.
//!
//! 1. Nodes ping a few others at random, and whoever was silent for half of [`NODE_TIMEOUT`]. No pong for all of it: PFAIL.
//! 2. Pings and pongs tell whom the sender finds failing; when more than half of the masters do, it is FAIL, and all are told.
//! 3. A replica of a failed master stands, unless it was cut off from it for longer than
//!    [`NODE_TIMEOUT`] × [`VALIDITY`]; after a fixed pause, a random one, and one for each replica with a larger offset.
//! 4. It raises the epoch and asks all masters. A master votes once an epoch, for a replica of a master that it has as
//!    FAIL, and for one of the same master not again for a while. The vote is on disk.
//! 5. More than half of the masters: it owns the slots, with that epoch, and tells all. The higher epoch is believed.
//! 6. A master that does not reach more than half of the masters stops serving after [`NODE_TIMEOUT`].
//!
//! So there can be two for about that long, and with half of the masters lost there is none. What the old master took in that
//! window is lost.

use super::{ANSWER_WITHIN, Algorithm, AskOutcome, Context, Heard, Note, Rank, Ranks, Stand, Word, majority};
use crate::protocol::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Silence for so long is failing.
pub const NODE_TIMEOUT: Duration = Duration::from_millis(500);
/// A replica that was cut off for so many timeouts is not fit.
pub const VALIDITY: u32 = 10;
/// How often a node pings.
const PING_EVERY: Duration = Duration::from_millis(100);
/// How many nodes it pings at random.
const PINGS: usize = 3;
/// The fixed pause before standing, the longest random one, and that for each better replica.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_OF_RANK: Duration = Duration::from_millis(200);
/// How long until a replica that was not elected stands again.
const AGAIN: Duration = Duration::from_millis(2_000);

/// Who owns the slots, and since which epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Config {
    epoch: u64,
    owner: Rank,
}

/// What every ping and pong carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gossip {
    epoch: u64,
    config: Config,
    offset: u64,
    failing: Vec<Rank>,
}

/// What nodes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// PING.
    Ping(Gossip),
    /// PONG.
    Pong(Gossip),
    /// More than half of the masters find this one failing.
    Fail(Rank),
    /// FAILOVER_AUTH_REQUEST in this epoch.
    Request(u64),
    /// FAILOVER_AUTH_ACK: the sender votes for the receiver in this epoch.
    Vote(u64),
    /// The slots have another owner.
    Update(Config),
}

impl Word for Message {
    fn is_watch(&self) -> bool {
        matches!(self, Message::Ping(_) | Message::Pong(_))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Ping(gossip) if gossip.failing.is_empty() => f.write_str("ping"),
            Message::Pong(gossip) if gossip.failing.is_empty() => f.write_str("pong"),
            Message::Ping(gossip) => write!(f, "ping, pfail {}", Ranks(&gossip.failing)),
            Message::Pong(gossip) => write!(f, "pong, pfail {}", Ranks(&gossip.failing)),
            Message::Fail(node) => write!(f, "fail {node}"),
            Message::Request(epoch) => write!(f, "failover auth request, epoch {epoch}"),
            Message::Vote(epoch) => write!(f, "failover auth ack, epoch {epoch}"),
            Message::Update(config) => write!(f, "{} owns the slots in epoch {}", config.owner, config.epoch),
        }
    }
}

/// Why a node wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To ping, and to look who fails.
    Ping,
    /// To stand in an election.
    Stand,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Ping => "the next pings",
            Timer::Stand => "the end of a pause before standing",
        })
    }
}

/// What a node has on disk (`nodes.conf`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    epoch: u64,
    voted: u64,
    config: Option<Config>,
}

/// One node.
#[derive(Clone, Debug)]
pub struct ClusterNode {
    me: Rank,
    /// The masters of other slots.
    masters: BTreeSet<Rank>,
    kept: Persisted,
    config: Config,
    offset: u64,
    pongs: BTreeMap<Rank, Time>,
    offsets: BTreeMap<Rank, u64>,
    /// Which master found whom failing, and when.
    reports: BTreeMap<(Rank, Rank), Time>,
    failed: BTreeSet<Rank>,
    votes: Option<(u64, BTreeSet<Rank>)>,
    voted_at: Option<Time>,
    serves: bool,
}

impl ClusterNode {
    /// The node `me`. `first` owns the slots at first, `masters` those of others.
    pub fn new(me: Rank, first: Rank, masters: &[Rank], kept: Persisted) -> Self {
        ClusterNode {
            me,
            masters: masters.iter().copied().collect(),
            kept,
            config: kept.config.unwrap_or(Config { epoch: 0, owner: first }),
            offset: 0,
            pongs: BTreeMap::new(),
            offsets: BTreeMap::new(),
            reports: BTreeMap::new(),
            failed: BTreeSet::new(),
            votes: None,
            voted_at: None,
            serves: false,
        }
    }

    fn is_owner(&self) -> bool {
        self.config.owner == self.me
    }

    fn is_master(&self, rank: Rank) -> bool {
        rank == self.config.owner || self.masters.contains(&rank)
    }

    fn quorum(&self) -> usize {
        majority(self.masters.len() + 1)
    }

    fn silent_for(&self, rank: Rank, now: Time) -> Duration {
        if rank == self.me { Duration::ZERO } else { now.since(self.pongs.get(&rank).copied().unwrap_or_default()) }
    }

    fn failing(&self, now: Time) -> Vec<Rank> {
        self.pongs.iter().filter(|&(_, &at)| now.since(at) > NODE_TIMEOUT).map(|(&rank, _)| rank).collect()
    }

    fn gossip(&self, now: Time) -> Gossip {
        Gossip { epoch: self.kept.epoch, config: self.config, offset: self.offset, failing: self.failing(now) }
    }

    /// Rule 1.
    fn ping(&mut self, desk: &mut Context<'_, Self>) {
        if self.is_owner() {
            self.offset = self.offset.saturating_add(1);
        }
        let others = desk.others();
        let random: Vec<Rank> =
            (0..PINGS).filter_map(|_| others.get(desk.draw(0, others.len() as u64) as usize).copied()).collect();
        let is_quiet = |&other: &Rank| self.silent_for(other, desk.now) > NODE_TIMEOUT / 2;
        let quiet = others.iter().copied().filter(is_quiet);
        for to in random.into_iter().chain(quiet).collect::<BTreeSet<_>>() {
            desk.ask_within(to, Message::Ping(self.gossip(desk.now)), (), ANSWER_WITHIN);
        }
        for rank in self.failing(desk.now) {
            self.judge(rank, desk);
        }
        self.look_at_quorum(desk);
        desk.wake_in(Timer::Ping, PING_EVERY);
    }

    /// Rule 2.
    fn judge(&mut self, rank: Rank, desk: &mut Context<'_, Self>) {
        let now = desk.now;
        self.reports.retain(|_, at| now.since(*at) <= NODE_TIMEOUT * 2);
        if self.failed.contains(&rank) || self.silent_for(rank, now) <= NODE_TIMEOUT {
            return;
        }
        let of_masters = self.reports.keys().filter(|(about, by)| *about == rank && self.is_master(*by)).count();
        if of_masters + usize::from(self.is_master(self.me)) >= self.quorum() {
            desk.tell_all(&Message::Fail(rank));
            self.on_fail(rank, desk);
        }
    }

    fn on_fail(&mut self, rank: Rank, desk: &mut Context<'_, Self>) {
        if rank != self.me && self.failed.insert(rank) && rank == self.config.owner {
            desk.note(Note::LeaderGone(rank));
            self.prepare(desk);
        }
    }

    /// Rule 3.
    fn prepare(&mut self, desk: &mut Context<'_, Self>) {
        let is_cut = self.silent_for(self.config.owner, desk.now) > NODE_TIMEOUT * VALIDITY;
        if self.is_master(self.me) || is_cut {
            return;
        }
        let better = |&(&rank, &offset): &(&Rank, &u64)| !self.is_master(rank) && offset > self.offset;
        let rank = self.offsets.iter().filter(better).count() as u32;
        let random = desk.span_below(PAUSE);
        desk.wake_in(Timer::Stand, PAUSE + random + PAUSE_OF_RANK * rank);
    }

    /// Rule 4, for the replica.
    fn stand_for_it(&mut self, desk: &mut Context<'_, Self>) {
        if self.is_master(self.me) || !self.failed.contains(&self.config.owner) {
            return;
        }
        desk.note(Note::Electing);
        self.kept.epoch = self.kept.epoch.saturating_add(1);
        let epoch = self.kept.epoch;
        desk.keep(&self.kept);
        self.votes = Some((epoch, BTreeSet::new()));
        for &to in &self.masters {
            desk.tell(to, Message::Request(epoch));
        }
        let random = desk.span_below(PAUSE);
        desk.wake_in(Timer::Stand, AGAIN + random);
    }

    /// Rule 4, for the master.
    fn on_request(&mut self, from: Rank, epoch: u64, desk: &mut Context<'_, Self>) {
        let is_fresh = epoch >= self.kept.epoch && epoch > self.kept.voted;
        let voted_lately = self.voted_at.is_some_and(|at| desk.now.since(at) < NODE_TIMEOUT * 2);
        if self.is_master(self.me) && is_fresh && !voted_lately && self.failed.contains(&self.config.owner) {
            self.kept = Persisted { epoch, voted: epoch, ..self.kept };
            self.voted_at = Some(desk.now);
            desk.keep(&self.kept);
            desk.tell(from, Message::Vote(epoch));
        }
    }

    /// Rule 5.
    fn on_vote(&mut self, from: Rank, epoch: u64, desk: &mut Context<'_, Self>) {
        let quorum = self.quorum();
        let Some((current, voters)) = &mut self.votes else {
            return;
        };
        if *current != epoch || !self.masters.contains(&from) {
            return;
        }
        voters.insert(from);
        if voters.len() >= quorum {
            let config = Config { epoch, owner: self.me };
            self.adopt(config, desk);
            desk.tell_all(&Message::Update(config));
        }
    }

    fn adopt(&mut self, config: Config, desk: &mut Context<'_, Self>) {
        if config <= self.config {
            return;
        }
        if self.is_owner() {
            desk.note(Note::Resigns);
        }
        desk.note(if config.owner == self.me { Note::Leads } else { Note::Follows(config.owner) });
        self.config = config;
        self.votes = None;
        desk.stop(Timer::Stand);
        self.serves = config.owner == self.me;
        self.failed.remove(&config.owner);
        self.pongs.entry(config.owner).and_modify(|at| *at = desk.now);
        self.kept = Persisted { epoch: self.kept.epoch.max(config.epoch), config: Some(config), ..self.kept };
        desk.keep(&self.kept);
    }

    /// Rule 6.
    fn look_at_quorum(&mut self, desk: &mut Context<'_, Self>) {
        let reached = self.masters.iter().filter(|&&rank| self.silent_for(rank, desk.now) <= NODE_TIMEOUT).count();
        let serves = self.is_owner() && reached + 1 >= self.quorum();
        if serves != self.serves {
            desk.note(if serves { Note::Leads } else { Note::Resigns });
        }
        self.serves = serves;
    }

    fn on_gossip(&mut self, from: Rank, gossip: &Gossip, is_pong: bool, desk: &mut Context<'_, Self>) {
        self.kept.epoch = self.kept.epoch.max(gossip.epoch);
        self.offsets.insert(from, gossip.offset);
        if from == self.config.owner && !self.is_owner() {
            self.offset = self.offset.max(gossip.offset);
        }
        for &about in &gossip.failing {
            self.reports.insert((about, from), desk.now);
            self.judge(about, desk);
        }
        if is_pong {
            self.pongs.insert(from, desk.now);
            self.failed.remove(&from);
        }
        self.adopt(gossip.config, desk);
    }
}

impl Algorithm for ClusterNode {
    type Word = Message;
    type Persisted = Persisted;
    type Purpose = ();
    type Timer = Timer;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.pongs = desk.others().iter().map(|&other| (other, desk.now)).collect();
        self.ping(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.on_fail(self.config.owner, desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match &heard.word {
            Message::Ping(gossip) => {
                self.on_gossip(heard.from, gossip, false, desk);
                desk.reply(heard.exchange, Message::Pong(self.gossip(desk.now)));
            }
            Message::Fail(node) => self.on_fail(*node, desk),
            Message::Request(epoch) => self.on_request(heard.from, *epoch, desk),
            Message::Vote(epoch) => self.on_vote(heard.from, *epoch, desk),
            Message::Update(config) => self.adopt(*config, desk),
            Message::Pong(_) => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        if let Ok(Message::Pong(gossip)) = outcome.reply {
            self.on_gossip(outcome.of, &gossip, true, desk);
        }
    }

    fn wake(&mut self, timer: Timer, desk: &mut Context<'_, Self>) {
        match timer {
            Timer::Ping => self.ping(desk),
            Timer::Stand => self.stand_for_it(desk),
        }
    }

    fn leader_gone(&mut self, _leader: Rank, _desk: &mut Context<'_, Self>) {}

    fn stand(&self) -> Stand {
        let leader = match (self.is_owner(), self.serves, self.failed.contains(&self.config.owner)) {
            (true, true, _) | (false, _, false) => Some(self.config.owner),
            (true, false, _) | (false, _, true) => None,
        };
        let mode = match (self.is_owner(), leader, &self.votes) {
            (true, Some(_), _) => 'L',
            (true, None, _) => 'l',
            (false, _, Some(_)) => 'E',
            (false, Some(_), None) => {
                if self.masters.contains(&self.me) {
                    'm'
                } else {
                    'f'
                }
            }
            (false, None, None) => 'o',
        };
        Stand { mode, term: self.config.epoch, leader }
    }
}
