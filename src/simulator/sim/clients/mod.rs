//! Clients that write and read through any node, and what they were told.
//!
//! Each asks one thing at a time, of a node that it picks anew, and asks again, under the name of the same request, what
//! it got no answer to. Three outcomes of a write are kept apart: carried out, certainly not, unknown; only the first is
//! a promise. LeaseHolders of leases and watchers go on beside them. What they are told goes through `told`, and what answers
//! mean is judged in `check`.

mod told;

use super::check::{Acknowledged, Bounds, Checkers, Configured, Histories, Kept, Order, Storm, Timely, WatcherTotals};
use super::history::{End, History};
use super::lease_holders::{Asked, LeaseHolders};
use super::operation::{Choice, Key, Known, Operation, Update, question};
use super::watch::Violation;
use super::watchers::Watchers;
use super::wiped::Wiped;
use crate::cluster::{RequestId, Uuid};
use crate::protocol::{Rng, Ticket, Time};
use crate::service::Question;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a client asks again before it takes the outcome for unknown.
const TRIES_MAX: u32 = 4;

/// Bounds of the pause of a client that takes its time.
const LEISURE_US: (u64, u64) = (100_000, 600_000);

/// One thing that a client wants, however often it has to ask.
#[derive(Clone, Debug)]
struct Pending {
    operation: Operation,
    /// What names the request; without a name it must not be sent twice, by nobody.
    request: Option<RequestId>,
    began: Time,
    tries: u32,
}

/// Who asks.
#[derive(Clone, Debug)]
enum Who {
    Client(usize),
    /// One that asks no more than this.
    Passer,
    Holder(usize, Asked),
}

/// A question that was not answered yet.
#[derive(Clone, Debug)]
struct Open {
    who: Who,
    node: usize,
    pending: Option<Pending>,
    began: Time,
}

/// A question that wants to be asked.
#[derive(Debug)]
pub struct Request {
    who: Who,
    pending: Option<Pending>,
    /// What is asked.
    pub question: Question,
}

/// One of those who ask.
#[derive(Clone, Debug)]
struct Client {
    /// When it asks next; none while it waits for an answer.
    next: Option<Time>,
    /// What it asks again.
    again: Option<Pending>,
    sequence: u64,
}

/// How many clients there are and how they behave.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// How many of them there are.
    pub clients: usize,
    /// Bounds of a client's pause.
    pub pause_us: (u64, u64),
    /// How many keys they share.
    pub keys: u64,
    /// How many nodes they ask.
    pub nodes: usize,
    /// How fast the fastest clock of a node runs.
    pub fastest_ppm: u64,
    /// Whether the network may deliver a request twice.
    pub is_doubling: bool,
    /// Whether states take seconds to some node, so that nobody has them sent as a whole for each change.
    pub has_slow_link: bool,
    /// How often the nodes ping each other.
    pub ping_interval: Duration,
    /// By what their requests are judged.
    pub bounds: Bounds,
}

/// The clients of a run, and the checkers that listen to them.
#[derive(Debug)]
pub struct Clients {
    /// The checkers of the nodes.
    pub checkers: Checkers,
    acknowledged: Acknowledged,
    kept: Kept,
    /// Judges settings.
    pub configured: Configured,
    /// Judges when requests end.
    pub timely: Timely,
    /// Judges how much nodes send and write.
    pub storm: Storm,
    order: Order,
    history: History,
    rng: Rng,
    clients: Vec<Client>,
    holders: LeaseHolders,
    watchers: Watchers,
    open: BTreeMap<Ticket, Open>,
    known: Known,
    habits: Habits,
    issued: u64,
    has_operators: bool,
    /// When the last order to hand over reached a node.
    ordered_at: Option<Time>,
    gone: Wiped,
    /// Nodes that said good-bye and may be ended.
    pub left: Vec<usize>,
    /// What clients were told, by kind.
    pub told: BTreeMap<&'static str, u64>,
}

impl Clients {
    /// Clients with these habits.
    pub fn new(mut rng: Rng, habits: Habits) -> Self {
        let client = Client { next: Some(Time::ZERO), again: None, sequence: 0 };
        Clients {
            checkers: Checkers::default(),
            acknowledged: Acknowledged::default(),
            kept: Kept::default(),
            configured: Configured::default(),
            timely: Timely::new(habits.bounds),
            storm: Storm::new(habits.nodes, habits.ping_interval),
            order: Order::default(),
            history: History::default(),
            clients: vec![client; habits.clients],
            holders: LeaseHolders::new(rng.fork(), habits.fastest_ppm),
            watchers: Watchers::new(rng.fork(), habits.nodes),
            open: BTreeMap::new(),
            known: Known::new(),
            habits,
            issued: 0,
            has_operators: true,
            ordered_at: None,
            gone: Wiped::default(),
            left: Vec::new(),
            told: BTreeMap::new(),
            rng,
        }
    }

    /// How many updates were asked for.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// How many updates were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.count
    }

    /// Whether operators ask nothing any more.
    pub fn is_retired(&self) -> bool {
        !self.has_operators
    }

    /// How many leases were granted.
    pub fn grants(&self) -> usize {
        self.checkers.fencing.grants()
    }

    /// What watchers were told.
    pub fn watched(&self) -> &WatcherTotals {
        &self.watchers.told
    }

    /// The nodes whose clients wait for an answer, one for each question.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        self.open.values().map(|open| open.node)
    }

    /// When the oldest open question was asked.
    pub fn oldest(&self) -> Option<Time> {
        self.open.values().map(|open| open.began).min()
    }

    /// When the next one wants to ask or to look.
    pub fn next_at(&self) -> Option<Time> {
        let clients = self.clients.iter().filter_map(|client| client.next);
        clients.chain(self.holders.next_at()).chain(self.watchers.next_at()).min()
    }

    /// Lets the watchers look whose time has come.
    pub fn look(&mut self, now: Time) -> Result<(), Violation> {
        self.watchers.look(now, &self.checkers.descent)
    }

    /// What somebody asks whose time has come.
    pub fn next(&mut self, now: Time, eligible: u64) -> Option<Request> {
        if let Some((holder, asked, question)) = self.holders.next(now, &mut self.checkers.fencing) {
            return Some(Request { who: Who::Holder(holder, asked), pending: None, question });
        }
        let at = self.clients.iter().position(|client| client.next.is_some_and(|next| next <= now))?;
        let pending = self.clients[at].again.take();
        let pending = pending.unwrap_or_else(|| self.draw(at, now, eligible));
        self.clients[at].next = None;
        Some(Self::request(Who::Client(at), pending))
    }

    fn request(who: Who, mut pending: Pending) -> Request {
        let question = question(&pending.operation, pending.request, pending.tries > 0);
        pending.tries += 1;
        Request { who, pending: Some(pending), question }
    }

    fn draw(&mut self, at: usize, now: Time, eligible: u64) -> Pending {
        let gone = self.gone.voters(&self.checkers.descent);
        let mut choice = Choice {
            rng: &mut self.rng,
            known: &self.known,
            keys: self.habits.keys,
            issued: &mut self.issued,
            eligible: self.has_operators.then_some(eligible),
            has_slow_link: self.habits.has_slow_link,
            gone: &gone,
        };
        let operation = choice.draw();
        if let Operation::Update(update) = &operation {
            self.acknowledged.deletes(&update.deletes);
        }
        let client = &mut self.clients[at];
        client.sequence += 1;
        let request = RequestId { client: Uuid::from_u128(at as u128 + 1), sequence: client.sequence };
        // A network that delivers a request twice has it carried out twice, unless it has a name.
        let request = (self.habits.is_doubling || self.rng.percent(70)).then_some(request);
        Pending { operation, request, began: now, tries: 0 }
    }

    /// An update by somebody who asks no more than this.
    pub fn passer(&mut self, now: Time) -> Request {
        self.issued += 1;
        let request = Some(RequestId { client: Uuid::from_u128(1 << 64), sequence: self.issued });
        let update = Update { puts: vec![(Key(self.habits.keys | 1), self.issued)], ..Update::default() };
        let pending = Pending { operation: Operation::Update(update), request, began: now, tries: 0 };
        Self::request(Who::Passer, pending)
    }

    /// Which node a client asks.
    pub fn pick_node(&mut self, nodes: usize) -> usize {
        self.rng.below(nodes as u64) as usize
    }

    /// Remembers that a question was asked.
    pub fn asked(&mut self, ticket: Ticket, node: usize, request: Request, began: Time) {
        self.storm.asked(began);
        self.timely.asked(ticket, node, &request.question, began);
        if let Some(Pending { operation: Operation::Set { setting, value }, .. }) = &request.pending {
            self.configured.asked(setting, value.as_ref());
        }
        self.open.insert(ticket, Open { who: request.who, node, pending: request.pending, began });
    }

    /// The node was not there: whoever asked tries elsewhere after a pause.
    pub fn not_there(&mut self, request: Request, now: Time) {
        match (request.who, request.pending) {
            (Who::Holder(holder, _), _) => self.holders.unanswered(holder, now),
            (who, Some(mut pending)) => {
                pending.tries -= 1;
                self.try_again(&who, pending, now);
            }
            (Who::Client(_) | Who::Passer, None) => {}
        }
    }

    fn try_again(&mut self, who: &Who, pending: Pending, now: Time) {
        if let Who::Client(at) = who
            && let Some(client) = self.clients.get_mut(*at)
        {
            client.again = Some(pending);
        }
        self.rest(who, now);
    }

    fn rest(&mut self, who: &Who, now: Time) {
        let pause = self.rng.between(self.habits.pause_us.0, self.habits.pause_us.1);
        if let Who::Client(at) = who
            && let Some(client) = self.clients.get_mut(*at)
        {
            client.next = Some(now + Duration::from_micros(pause));
        }
    }

    /// From now on nobody changes settings, hands over or leaves; tells which nodes were about to leave.
    pub fn retire_operators(&mut self) -> Vec<usize> {
        self.has_operators = false;
        for client in &mut self.clients {
            // One that met nobody would ask once more.
            client.again.take_if(|pending| pending.operation.is_of_operators());
        }
        let is_leaving = |open: &&Open| matches!(&open.pending, Some(Pending { operation: Operation::Leave, .. }));
        let leaving = self.open.values().filter(is_leaving);
        leaving.map(|open| open.node).chain(std::mem::take(&mut self.left)).collect()
    }

    /// The nodes of which operators asked something that is not answered.
    pub fn asked_by_operators(&self) -> Vec<usize> {
        let is_open = |open: &&Open| open.pending.as_ref().is_some_and(|pending| pending.operation.is_of_operators());
        self.open.values().filter(is_open).map(|open| open.node).collect()
    }

    /// Whether an order to hand over reached a node since then: it may have been on its way for longer than its operator waited.
    pub fn is_ordered_since(&self, since: Time) -> bool {
        self.ordered_at.is_some_and(|at| at >= since)
    }

    /// The disk of a node is wiped.
    pub fn wiped(&mut self, node: usize) {
        self.gone.wiped(node);
    }

    /// Whether a change of a setting may be under way.
    pub fn is_setting(&self) -> bool {
        self.open.values().any(|open| matches!(&open.pending, Some(Pending { operation: Operation::Set { .. }, .. })))
    }

    /// From now on clients take their time, and nobody else asks.
    pub fn take_time(&mut self) {
        self.habits.pause_us = LEISURE_US;
        self.holders.fall_silent();
        self.watchers.fall_silent();
    }

    /// Nobody asks any more by himself.
    pub fn fall_silent(&mut self) {
        for client in std::mem::take(&mut self.clients) {
            if let Some(pending) = client.again {
                self.give_up(&pending, pending.began);
            }
        }
        self.holders.fall_silent();
        self.watchers.fall_silent();
    }

    /// Judges what all clients were told. What is open by then, at a node that stands still, may have been carried out.
    pub fn judge_histories(&mut self, now: Time) -> Result<Histories, Violation> {
        let open: Vec<Pending> = self.open.values().filter_map(|open| open.pending.clone()).collect();
        for pending in open {
            self.give_up(&pending, now);
        }
        self.history.judge()
    }

    /// The outcome of a pending will never be known: a copy of it may be on its way even if nobody has carried it out yet.
    fn give_up(&mut self, pending: &Pending, at: Time) {
        if pending.tries > 0 {
            self.history.ended(&pending.operation, pending.began, at, &End::Unknown);
        }
    }
}
