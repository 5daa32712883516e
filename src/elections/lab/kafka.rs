//! Kafka's controller: brokers race for an ephemeral node of a coordination service; the first to create it leads.
//!
//! The process with the highest id is the service (a single one stands for ZooKeeper's ensemble), all others are brokers.
//!
//! 1. A broker opens a session and keeps it alive with heartbeats. A session that is silent for [`SESSION`] expires.
//! 2. A broker that finds no `/controller` tries to create it: first come, first served. The service counts controllers, and
//!    that number is the *controller epoch*.
//! 3. When the session of the controller expires, the node vanishes, and who watches it is told: rule 2 again.
//! 4. The controller chooses the leader of each partition, the first live one among the in-sync replicas, and tells all
//!    brokers directly. They obey the highest epoch that they saw: a late controller is fenced.
//! 5. Who learns that its session expired is not controller any more.
//!
//! Known faults: a controller that is cut off from the service does not learn that it was replaced, so there are two,
//! of which brokers that heard of the newer one obey only that; and without the service nobody is elected.

use super::{Algorithm, AskOutcome, BEAT_EVERY, Context, Heard, Note, Rank, Ranks, Stand, Word};
use crate::protocol::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// A session that is silent for so long expires.
pub const SESSION: Duration = Duration::from_millis(600);
/// How many partitions there are, and how many replicas each has.
const PARTITIONS: usize = 4;
const REPLICAS: usize = 3;

/// A partition's in-sync replicas, the preferred leader first.
type Isr = Vec<Rank>;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Keeps a session alive, or opens one.
    Heartbeat {
        /// None opens one.
        session: Option<u64>,
    },
    /// Replies: the session, who is controller, and which brokers have a session.
    Alive {
        /// The session.
        session: u64,
        /// Who created `/controller`.
        controller: Option<Rank>,
        /// The brokers with sessions.
        brokers: Vec<Rank>,
    },
    /// Replies: there is no such session.
    Expired,
    /// Create `/controller`.
    Create {
        /// In this session.
        session: u64,
    },
    /// Replies: created, as the controller of this epoch.
    Created {
        /// The controller epoch.
        epoch: u64,
    },
    /// Replies: it is there.
    Exists {
        /// Whose it is.
        controller: Rank,
    },
    /// To those who watch: `/controller` was deleted.
    Deleted,
    /// Of the controller to brokers: who leads each partition.
    LeaderAndIsr {
        /// Its controller epoch.
        epoch: u64,
        /// The leader of each partition.
        leaders: Vec<Option<Rank>>,
    },
}

impl Word for Message {
    fn is_watch(&self) -> bool {
        matches!(self, Message::Heartbeat { .. } | Message::Alive { .. } | Message::Expired)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Heartbeat { session: None } => f.write_str("opens a session"),
            Message::Heartbeat { session: Some(_) } => f.write_str("heartbeat"),
            Message::Alive { controller: None, .. } => f.write_str("alive, no /controller"),
            Message::Alive { controller: Some(who), .. } => write!(f, "alive, /controller is {who}"),
            Message::Expired => f.write_str("session expired"),
            Message::Create { .. } => f.write_str("create /controller"),
            Message::Created { epoch } => write!(f, "created, epoch {epoch}"),
            Message::Exists { controller } => write!(f, "exists, {controller}"),
            Message::Deleted => f.write_str("/controller deleted"),
            Message::LeaderAndIsr { epoch, leaders } => {
                let leaders: Vec<Rank> = leaders.iter().map(|leader| leader.unwrap_or(Rank(0))).collect();
                write!(f, "epoch {epoch}: partitions led by {}", Ranks(&leaders))
            }
        }
    }
}

/// Why a broker asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To keep its session alive.
    Heartbeat,
    /// To create `/controller`.
    Create,
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick;

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its next heartbeat, or expiry of sessions")
    }
}

/// What a process is.
#[derive(Clone, Debug)]
enum Part {
    Service(Service),
    Broker(Broker),
}

#[derive(Clone, Debug, Default)]
struct Service {
    sessions: BTreeMap<u64, (Rank, Time)>,
    controller: Option<(u64, Rank)>,
}

#[derive(Clone, Debug, Default)]
struct Broker {
    session: Option<u64>,
    controller: Option<Rank>,
    /// Its epoch, if it is controller.
    mastership: Option<u64>,
    /// The highest epoch that it heard of, and what that one said.
    epoch: u64,
    leaders: Vec<Option<Rank>>,
    brokers: Vec<Rank>,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Kafka {
    me: Rank,
    service: Rank,
    /// What the service has on disk: the epoch of the last controller.
    epoch: u64,
    part: Part,
}

impl Kafka {
    /// The process `me`; `service` is the coordination service, whose disk holds the controller epoch.
    pub fn new(me: Rank, service: Rank, epoch: u64) -> Self {
        let part = if me == service { Part::Service(Service::default()) } else { Part::Broker(Broker::default()) };
        Kafka { me, service, epoch, part }
    }

    /// The service's answer to a heartbeat, rule 1.
    fn on_heartbeat(&mut self, heard: &Heard<Message>, session: Option<u64>, desk: &mut Context<'_, Self>) {
        let Part::Service(service) = &mut self.part else {
            return;
        };
        let session = match session {
            Some(session) if !service.sessions.contains_key(&session) => {
                return desk.reply(heard.exchange, Message::Expired);
            }
            Some(session) => session,
            // Drawn, so that those of an earlier process of the service are not mistaken for these.
            None => desk.draw(0, u64::MAX - 1),
        };
        service.sessions.insert(session, (heard.from, desk.now + SESSION));
        let brokers: BTreeSet<Rank> = service.sessions.values().map(|&(broker, _)| broker).collect();
        let controller = service.controller.map(|(_, broker)| broker);
        desk.reply(heard.exchange, Message::Alive { session, controller, brokers: brokers.into_iter().collect() });
    }

    /// Rule 2, for the service.
    fn on_create(&mut self, heard: &Heard<Message>, session: u64, desk: &mut Context<'_, Self>) {
        let Part::Service(service) = &mut self.part else {
            return;
        };
        let word = match service.controller {
            _ if !service.sessions.contains_key(&session) => Message::Expired,
            // The answer to its first attempt was lost.
            Some((owner, _)) if owner == session => Message::Created { epoch: self.epoch },
            Some((_, controller)) => Message::Exists { controller },
            None => {
                service.controller = Some((session, heard.from));
                self.epoch += 1;
                desk.keep(&self.epoch);
                desk.step(format!("/controller is {}, epoch {}", heard.from, self.epoch));
                Message::Created { epoch: self.epoch }
            }
        };
        desk.reply(heard.exchange, word);
    }

    /// Rules 1 and 3.
    fn expire(&mut self, desk: &mut Context<'_, Self>) {
        let Part::Service(service) = &mut self.part else {
            return;
        };
        let now = desk.now;
        service.sessions.retain(|_, (_, until)| *until > now);
        if let Some((session, broker)) = service.controller
            && !service.sessions.contains_key(&session)
        {
            service.controller = None;
            desk.step(format!("the session of {broker} expired, /controller is deleted"));
            let watching: BTreeSet<Rank> = service.sessions.values().map(|&(broker, _)| broker).collect();
            for to in watching {
                desk.tell(to, Message::Deleted);
            }
        }
    }

    /// Rule 2, for a broker.
    fn race(&mut self, desk: &mut Context<'_, Self>) {
        let Part::Broker(broker) = &mut self.part else {
            return;
        };
        let races = desk.open(|purpose| *purpose == Purpose::Create) > 0;
        if let (Some(session), None, false) = (broker.session, broker.mastership, races) {
            desk.note(Note::Electing);
            desk.ask(self.service, Message::Create { session }, Purpose::Create);
        }
    }

    /// Rule 4, for the controller.
    fn choose_leaders(&mut self, desk: &mut Context<'_, Self>) {
        let Part::Broker(Broker { mastership: Some(epoch), brokers, leaders, .. }) = &mut self.part else {
            return;
        };
        let all: Vec<Rank> = (1..self.service.0).map(Rank).collect();
        let chosen = (0..PARTITIONS).map(|partition| {
            let isr: Isr = all.iter().cycle().skip(partition).take(REPLICAS.min(all.len())).copied().collect();
            isr.into_iter().find(|replica| brokers.contains(replica))
        });
        let chosen: Vec<Option<Rank>> = chosen.collect();
        if chosen != *leaders {
            leaders.clone_from(&chosen);
            let word = Message::LeaderAndIsr { epoch: *epoch, leaders: chosen };
            for to in all.into_iter().filter(|&broker| broker != self.me) {
                desk.tell(to, word.clone());
            }
        }
    }

    /// Rule 4, for a broker.
    fn on_leaders(&mut self, from: Rank, epoch: u64, leaders: Vec<Option<Rank>>, desk: &mut Context<'_, Self>) {
        let Part::Broker(broker) = &mut self.part else {
            return;
        };
        if epoch < broker.epoch {
            return desk.step(format!("fences {from}: epoch {epoch} is behind {}", broker.epoch));
        }
        broker.epoch = epoch;
        broker.leaders = leaders;
        self.follow(Some(from), desk);
    }

    fn follow(&mut self, controller: Option<Rank>, desk: &mut Context<'_, Self>) {
        let me = self.me;
        let Part::Broker(broker) = &mut self.part else {
            return;
        };
        if controller != Some(me) && broker.mastership.take().is_some() {
            desk.note(Note::Resigns);
        }
        if let Some(other) = controller.filter(|&other| other != me && broker.controller != Some(other)) {
            desk.note(Note::Follows(other));
        }
        broker.controller = controller;
    }

    /// What the service answered.
    fn on_answer(&mut self, word: Message, desk: &mut Context<'_, Self>) {
        let Part::Broker(broker) = &mut self.part else {
            return;
        };
        match word {
            Message::Alive { session, controller, brokers } => {
                broker.session = Some(session);
                broker.brokers = brokers;
                if controller.is_none() {
                    self.race(desk);
                } else if controller != Some(self.me) {
                    self.follow(controller, desk);
                }
                self.choose_leaders(desk);
            }
            // Rule 5.
            Message::Expired => {
                broker.session = None;
                self.follow(None, desk);
                desk.ask(self.service, Message::Heartbeat { session: None }, Purpose::Heartbeat);
            }
            Message::Created { epoch } => {
                broker.mastership = Some(epoch);
                broker.epoch = epoch;
                broker.leaders.clear();
                broker.controller = Some(self.me);
                desk.note(Note::Leads);
                self.choose_leaders(desk);
            }
            Message::Exists { controller } => self.follow(Some(controller), desk),
            Message::Heartbeat { .. } | Message::Create { .. } | Message::Deleted | Message::LeaderAndIsr { .. } => {}
        }
    }

    fn tick(&mut self, desk: &mut Context<'_, Self>) {
        match &self.part {
            Part::Service(_) => self.expire(desk),
            Part::Broker(broker) => {
                let session = broker.session;
                desk.ask(self.service, Message::Heartbeat { session }, Purpose::Heartbeat);
            }
        }
        desk.wake_in(Tick, BEAT_EVERY);
    }
}

impl Algorithm for Kafka {
    type Word = Message;
    type Persisted = u64;
    type Purpose = Purpose;
    type Timer = Tick;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.tick(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.race(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match heard.word.clone() {
            Message::Heartbeat { session } => self.on_heartbeat(&heard, session, desk),
            Message::Create { session } => self.on_create(&heard, session, desk),
            Message::Deleted => {
                self.follow(None, desk);
                self.race(desk);
            }
            Message::LeaderAndIsr { epoch, leaders } => self.on_leaders(heard.from, epoch, leaders, desk),
            Message::Alive { .. } | Message::Expired | Message::Created { .. } | Message::Exists { .. } => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        if let Ok(word) = outcome.reply {
            self.on_answer(word, desk);
        }
    }

    fn wake(&mut self, _timer: Tick, desk: &mut Context<'_, Self>) {
        self.tick(desk);
    }

    fn leader_gone(&mut self, _leader: Rank, _desk: &mut Context<'_, Self>) {}

    fn stand(&self) -> Stand {
        match &self.part {
            Part::Service(service) => {
                Stand { mode: 'Z', term: self.epoch, leader: service.controller.map(|(_, who)| who) }
            }
            Part::Broker(broker) if broker.mastership.is_some() => {
                Stand { mode: 'L', term: broker.epoch, leader: Some(self.me) }
            }
            Part::Broker(broker) => {
                let leader = broker.controller.filter(|&controller| controller != self.me);
                Stand { mode: if leader.is_some() { 'f' } else { 'E' }, term: broker.epoch, leader }
            }
        }
    }
}
