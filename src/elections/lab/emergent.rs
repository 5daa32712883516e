//! Emergent leader: no election; the oldest member leads.
//!
//! 1. The first seed that meets no other seed is a cluster of one, of age 1. Others join through a seed, five attempts.
//! 2. The coordinator, the oldest member, gives each new member the next age, raises the version of the membership, sends it
//!    to all members, collects their acknowledgements, not for ever, and then answers the joiner.
//! 3. A failed member that returns is taken off the list of the failed and joins as the youngest.
//! 4. Members send heartbeats with that version, to all or to their neighbours in the ring of ids ([`Heartbeats`]); to one
//!    that is behind the coordinator sends the membership again.
//! 5. Only the coordinator marks members as failed. If it is itself among those that fell silent, the member older than all the
//!    remaining claims to be coordinator, removes them and tells the others.
//! 6. The coordinator goes on probing failed members, with the size of its group; the smaller group, or the receiver if both are
//!    equally large, shuts its membership down and joins the other.
//! 7. With a `minimum` nobody acts as leader of fewer members. A window remains: until the silent are marked as failed
//!    both sides count all.
//!
//! Availability before consistency: each side of a partition has a leader at once, which is the known fault and the point.

use super::{ANSWER_WITHIN, Algorithm, AskOutcome, BEAT_EVERY, Context, Heard, Note, Rank, Stand, Word};
use crate::protocol::{Exchange, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Silence for so long is having failed.
pub const SILENCE: Duration = Duration::from_millis(600);
/// How long a joiner waits for an answer: longer than its coordinator for acknowledgements.
const JOIN_WITHIN: Duration = Duration::from_millis(300);
/// How often a process tries to join before it fails.
pub const ATTEMPTS: u32 = 5;
/// How long after that whoever looks after it starts it again.
const REST: Duration = Duration::from_secs(2);
/// How often failed members are probed.
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// How many neighbours on each side hear its heartbeats.
const NEIGHBOURS: usize = 1;

/// Who hears heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heartbeats {
    /// Every member, for small clusters.
    #[default]
    All,
    /// The neighbours in the ring of ids, who tell all others when they hear none.
    Ring,
}

/// How a process is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Through whom others join.
    pub seeds: Vec<Rank>,
    /// Who hears heartbeats.
    pub heartbeats: Heartbeats,
    /// Nobody leads fewer members than these.
    pub minimum: usize,
}

/// Who is a member, by age: the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Membership {
    version: u64,
    live: Vec<(u32, Rank)>,
    failed: BTreeSet<Rank>,
}

impl Membership {
    fn coordinator(&self) -> Option<Rank> {
        self.live.first().map(|&(_, rank)| rank)
    }

    fn has(&self, rank: Rank) -> bool {
        self.live.iter().any(|&(_, member)| member == rank)
    }

    /// The same with one more, as the youngest.
    fn with(&self, rank: Rank) -> Membership {
        let mut live: Vec<_> = self.live.iter().copied().filter(|&(_, member)| member != rank).collect();
        let age = live.last().map_or(1, |&(age, _)| age.saturating_add(1));
        live.push((age, rank));
        let failed = self.failed.iter().copied().filter(|&other| other != rank).collect();
        Membership { version: self.version.saturating_add(1), live, failed }
    }

    /// The same with these marked as failed.
    fn without(&self, gone: &BTreeSet<Rank>) -> Membership {
        let live = self.live.iter().copied().filter(|(_, member)| !gone.contains(member)).collect();
        Membership { version: self.version.saturating_add(1), live, failed: self.failed.union(gone).copied().collect() }
    }
}

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {}:", self.version)?;
        self.live.iter().try_for_each(|(age, rank)| write!(f, " {rank} (age {age})"))
    }
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The sender wants to join.
    Join,
    /// Replies: it is a member.
    Joined(Membership),
    /// Replies: this one is the coordinator; none while the seed has yet to join itself.
    Elsewhere(Option<Rank>),
    /// The membership changed.
    Update(Membership),
    /// Replies to it.
    Ack,
    /// The sender lives and has this version.
    Heartbeat(u64),
    /// The sender hears no heartbeat of this one.
    Silent(Rank),
    /// To a failed member: the sender's group has so many members.
    Probe(usize),
    /// Shut down the membership and join this one.
    Merge(Rank),
}

impl Word for Message {
    fn is_watch(&self) -> bool {
        matches!(self, Message::Heartbeat(_) | Message::Probe(_))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Join => f.write_str("join"),
            Message::Joined(membership) => write!(f, "joined, {membership}"),
            Message::Elsewhere(Some(coordinator)) => write!(f, "ask {coordinator}"),
            Message::Elsewhere(None) => f.write_str("not ready"),
            Message::Update(membership) => write!(f, "update, {membership}"),
            Message::Ack => f.write_str("ack"),
            Message::Heartbeat(version) => write!(f, "heartbeat at version {version}"),
            Message::Silent(rank) => write!(f, "{rank} is silent"),
            Message::Probe(count) => write!(f, "probe, a group of {count}"),
            Message::Merge(into) => write!(f, "merge with {into}"),
        }
    }
}

/// Why it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To join.
    Join,
    /// To tell of this version.
    Update(u64),
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To send heartbeats, and to look who is silent.
    Heartbeat,
    /// To try to join again.
    Join,
    /// To probe failed members.
    Probe,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timer::Heartbeat => "the next heartbeats",
            Timer::Join => "the next attempt to join",
            Timer::Probe => "the next probes",
        })
    }
}

/// One process.
#[derive(Clone, Debug)]
pub struct Emergent {
    me: Rank,
    setup: Setup,
    /// Empty while it is no member.
    members: Membership,
    /// How often it tried to join, and whom it was told to ask.
    attempts: u32,
    sent_to: Option<Rank>,
    heard: BTreeMap<Rank, Time>,
    silent: BTreeSet<Rank>,
    /// Those who wait until a version is acknowledged.
    joiners: Vec<(u64, Exchange)>,
}

impl Emergent {
    /// The process `me`.
    pub fn new(me: Rank, setup: Setup) -> Self {
        Emergent {
            me,
            setup,
            members: Membership::default(),
            attempts: 0,
            sent_to: None,
            heard: BTreeMap::new(),
            silent: BTreeSet::new(),
            joiners: Vec::new(),
        }
    }

    fn is_coordinator(&self) -> bool {
        self.members.coordinator() == Some(self.me)
    }

    /// Rule 1: one attempt, through the seeds in turn.
    fn join(&mut self, desk: &mut Context<'_, Self>) {
        let seeds: Vec<Rank> = self.setup.seeds.iter().copied().filter(|&seed| seed != self.me).collect();
        let is_first = self.setup.seeds.first() == Some(&self.me);
        if self.attempts >= ATTEMPTS && !is_first {
            desk.step(format!("could not join in {ATTEMPTS} attempts"));
            self.attempts = 0;
            return desk.wake_in(Timer::Join, REST);
        }
        let next = seeds.get(self.attempts as usize % seeds.len().max(1)).copied();
        if is_first && self.attempts as usize >= seeds.len() && self.sent_to.is_none() {
            desk.note(Note::Electing);
            return self.become_member(Membership::default().with(self.me), desk);
        }
        self.attempts += 1;
        if let Some(to) = self.sent_to.take().or(next) {
            desk.ask_within(to, Message::Join, Purpose::Join, JOIN_WITHIN);
        }
    }

    fn leave(&mut self, desk: &mut Context<'_, Self>) {
        if self.leads() {
            desk.note(Note::Resigns);
        }
        self.members = Membership::default();
        self.attempts = 0;
        self.sent_to = None;
        self.joiners.clear();
        desk.forget();
        desk.stop(Timer::Heartbeat);
        desk.stop(Timer::Probe);
    }

    fn become_member(&mut self, members: Membership, desk: &mut Context<'_, Self>) {
        self.heard.clear();
        self.silent.clear();
        desk.stop(Timer::Join);
        self.take(members, desk);
        desk.wake_in(Timer::Heartbeat, BEAT_EVERY);
        desk.wake_in(Timer::Probe, PROBE_EVERY);
    }

    /// Takes another membership in; who is new in it has time to be heard.
    fn take(&mut self, members: Membership, desk: &mut Context<'_, Self>) {
        let before = self.stand().leader;
        let listened = self.listeners();
        self.members = members;
        // Along a ring it may have other neighbours, whom it did not listen for.
        for neighbour in self.listeners().difference(&listened) {
            self.heard.insert(*neighbour, desk.now);
        }
        for &(_, member) in &self.members.live {
            self.heard.entry(member).or_insert(desk.now);
        }
        self.heard.retain(|&member, _| self.members.has(member));
        self.silent.retain(|&member| self.members.has(member));
        let after = self.stand().leader;
        match after {
            Some(leader) if before != after && leader == self.me => desk.note(Note::Leads),
            Some(leader) if before != after => desk.note(Note::Follows(leader)),
            Some(_) => {}
            None if before == Some(self.me) => desk.note(Note::Resigns),
            None => {}
        }
    }

    /// Rule 2: takes it in and tells all other members.
    fn publish(&mut self, members: Membership, desk: &mut Context<'_, Self>) {
        self.take(members, desk);
        for to in self.others() {
            self.update(to, desk);
        }
    }

    /// All members but this one.
    fn others(&self) -> Vec<Rank> {
        self.members.live.iter().map(|&(_, member)| member).filter(|&member| member != self.me).collect()
    }

    fn update(&self, to: Rank, desk: &mut Context<'_, Self>) {
        desk.ask(to, Message::Update(self.members.clone()), Purpose::Update(self.members.version));
    }

    /// Rules 2 and 3.
    fn on_join(&mut self, heard: &Heard<Message>, desk: &mut Context<'_, Self>) {
        if !self.is_coordinator() {
            let coordinator = self.members.coordinator();
            return desk.reply(heard.exchange, Message::Elsewhere(coordinator));
        }
        self.heard.remove(&heard.from);
        let members = self.members.with(heard.from);
        let version = members.version;
        self.take(members, desk);
        self.joiners.push((version, heard.exchange));
        for to in self.others().into_iter().filter(|&member| member != heard.from) {
            self.update(to, desk);
        }
        self.answer_joiners(desk);
    }

    /// Whoever joined in a version that nobody owes an acknowledgement for is answered.
    fn answer_joiners(&mut self, desk: &mut Context<'_, Self>) {
        for (version, exchange) in std::mem::take(&mut self.joiners) {
            if desk.open(|purpose| *purpose == Purpose::Update(version)) > 0 {
                self.joiners.push((version, exchange));
            } else {
                desk.reply(exchange, Message::Joined(self.members.clone()));
            }
        }
    }

    /// Rule 4.
    fn beat(&mut self, desk: &mut Context<'_, Self>) {
        for to in self.listeners() {
            desk.tell(to, Message::Heartbeat(self.members.version));
        }
        desk.wake_in(Timer::Heartbeat, BEAT_EVERY);
        let now = desk.now;
        for member in self.listeners() {
            let is_silent = self.heard.get(&member).is_none_or(|&at| now.since(at) > SILENCE);
            if is_silent && self.silent.insert(member) && self.setup.heartbeats == Heartbeats::Ring {
                desk.tell_all(&Message::Silent(member));
            }
        }
        self.judge(desk);
    }

    /// Who hears its heartbeats, and whose it listens for.
    fn listeners(&self) -> BTreeSet<Rank> {
        let mut ring: Vec<Rank> = self.members.live.iter().map(|&(_, member)| member).collect();
        ring.sort_unstable();
        let others = |ring: &[Rank]| ring.iter().copied().filter(|&member| member != self.me).collect();
        match (self.setup.heartbeats, ring.iter().position(|&member| member == self.me)) {
            (Heartbeats::All, _) | (Heartbeats::Ring, None) => others(&ring),
            (Heartbeats::Ring, Some(at)) => {
                let count = ring.len();
                let steps = (1..=NEIGHBOURS).flat_map(|step| [at + step, at + count - step % count]);
                others(&steps.map(|place| ring[place % count]).collect::<Vec<_>>())
            }
        }
    }

    /// Rule 5.
    fn judge(&mut self, desk: &mut Context<'_, Self>) {
        let oldest_heard = self.members.live.iter().find(|(_, member)| !self.silent.contains(member));
        let is_oldest = oldest_heard.is_some_and(|&(_, member)| member == self.me);
        if self.silent.is_empty() || !is_oldest {
            return;
        }
        if !self.is_coordinator() {
            desk.note(Note::Electing);
        }
        let members = self.members.without(&std::mem::take(&mut self.silent));
        desk.step(format!("marks the silent as failed, {members}"));
        self.publish(members, desk);
        self.answer_joiners(desk);
    }

    fn on_heartbeat(&mut self, from: Rank, version: u64, desk: &mut Context<'_, Self>) {
        self.silent.remove(&from);
        if self.members.has(from) {
            self.heard.insert(from, desk.now);
            if self.is_coordinator() && version < self.members.version {
                self.update(from, desk);
            }
        }
    }

    fn on_update(&mut self, heard: &Heard<Message>, members: &Membership, desk: &mut Context<'_, Self>) {
        let is_newer = members.version > self.members.version;
        if is_newer && members.has(self.me) && !self.members.live.is_empty() {
            self.take(members.clone(), desk);
        }
        desk.reply(heard.exchange, Message::Ack);
    }

    /// Rule 6.
    fn probe(&mut self, desk: &mut Context<'_, Self>) {
        if self.is_coordinator() {
            for &to in &self.members.failed {
                desk.tell(to, Message::Probe(self.members.live.len()));
            }
        }
        desk.wake_in(Timer::Probe, PROBE_EVERY);
    }

    fn on_probe(&mut self, from: Rank, count: usize, desk: &mut Context<'_, Self>) {
        if !self.is_coordinator() || self.members.has(from) {
            return;
        }
        if count < self.members.live.len() {
            return desk.tell(from, Message::Merge(self.me));
        }
        self.bring_along(from, desk);
        self.merge(from, desk);
    }

    /// Tells its members to merge as well.
    fn bring_along(&self, into: Rank, desk: &mut Context<'_, Self>) {
        for to in self.others() {
            desk.tell(to, Message::Merge(into));
        }
    }

    fn on_merge(&mut self, from: Rank, into: Rank, desk: &mut Context<'_, Self>) {
        // The larger group's coordinator asks this one to bring its members along.
        if self.is_coordinator() && from == into {
            self.bring_along(into, desk);
        }
        if self.members.coordinator() == Some(from) || from == into {
            self.merge(into, desk);
        }
    }

    fn merge(&mut self, into: Rank, desk: &mut Context<'_, Self>) {
        desk.step(format!("merges with {into}"));
        self.leave(desk);
        self.sent_to = Some(into);
        self.join(desk);
    }

    fn leads(&self) -> bool {
        self.is_coordinator() && self.members.live.len() >= self.setup.minimum
    }
}

impl Algorithm for Emergent {
    type Word = Message;
    type Persisted = ();
    type Purpose = Purpose;
    type Timer = Timer;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.join(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.silent.extend(self.members.coordinator().filter(|&coordinator| coordinator != self.me));
        self.judge(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match &heard.word {
            Message::Join => self.on_join(&heard, desk),
            Message::Update(members) => self.on_update(&heard, members, desk),
            Message::Heartbeat(version) => self.on_heartbeat(heard.from, *version, desk),
            Message::Silent(member) => {
                if self.members.has(*member) && *member != self.me {
                    self.silent.insert(*member);
                    self.judge(desk);
                }
            }
            Message::Probe(count) => self.on_probe(heard.from, *count, desk),
            Message::Merge(into) => self.on_merge(heard.from, *into, desk),
            Message::Joined(_) | Message::Elsewhere(_) | Message::Ack => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        match (outcome.purpose, outcome.reply) {
            (Purpose::Join, Ok(Message::Joined(members))) => self.become_member(members, desk),
            (Purpose::Join, Ok(Message::Elsewhere(Some(coordinator)))) if coordinator != self.me => {
                self.sent_to = Some(coordinator);
                self.join(desk);
            }
            (Purpose::Join, _) => desk.wake_in(Timer::Join, ANSWER_WITHIN),
            (Purpose::Update(_), _) => self.answer_joiners(desk),
        }
    }

    fn wake(&mut self, timer: Timer, desk: &mut Context<'_, Self>) {
        match timer {
            Timer::Heartbeat => self.beat(desk),
            Timer::Join => self.join(desk),
            Timer::Probe => self.probe(desk),
        }
    }

    fn leader_gone(&mut self, _leader: Rank, _desk: &mut Context<'_, Self>) {}

    fn stand(&self) -> Stand {
        let leader = self.members.coordinator().filter(|&coordinator| coordinator != self.me || self.leads());
        let mode = match (self.members.live.is_empty(), self.is_coordinator(), self.leads()) {
            (true, ..) => 'J',
            (false, true, true) => 'L',
            (false, true, false) => 'l',
            (false, false, _) => 'f',
        };
        Stand { mode, term: self.members.version, leader }
    }
}
