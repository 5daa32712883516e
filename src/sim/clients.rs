//! Clients that write and read through any node, and what they were told.
//!
//! Each asks one thing at a time, of a node that it picks anew, and asks again, under the name of the same request, what
//! it got no answer to. Three outcomes of a write are kept apart: carried out, certainly not, unknown; only the first is
//! a promise. Holders of leases and watchers go on beside them. What answers mean is judged in `check`.

use super::check::{Acknowledged, Bounds, Checkers, Configured, Finished, Kept, Order, Storm, Timely};
use super::flaws::Witness;
use super::gone::Gone;
use super::history::{End, Histories, History};
use super::holders::{Asked, Holders};
use super::operation::{Choice, Key, Known, Operation, Update, question, revision};
use super::watch::{Violation, Watch};
use super::watchers::{Told, Watchers};
use crate::cluster::{ClusterState, KeyValue, Outcome, RequestId, StateId, Uuid};
use crate::protocol::{Call, Disk, Rng, Ticket, Time};
use crate::service::{Answer, Question, Refusal};
use crate::zen::{Memory, Message, Note, Write, Zen};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a client asks again before it takes the outcome for unknown.
const TRIES_MAX: u32 = 4;

/// Bounds of the pause of a client that takes its time.
const LEISURE_US: (u64, u64) = (100_000, 600_000);

/// One thing that a client wants, however often it has to ask.
#[derive(Clone, Debug)]
struct Wish {
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
    wish: Option<Wish>,
    began: Time,
}

/// A question that wants to be asked.
#[derive(Debug)]
pub struct Request {
    who: Who,
    wish: Option<Wish>,
    /// What is asked.
    pub question: Question,
}

/// One of those who ask.
#[derive(Clone, Debug)]
struct Client {
    /// When it asks next; none while it waits for an answer.
    next: Option<Time>,
    /// What it asks again.
    again: Option<Wish>,
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
    holders: Holders,
    watchers: Watchers,
    open: BTreeMap<Ticket, Open>,
    known: Known,
    habits: Habits,
    issued: u64,
    has_operators: bool,
    gone: Gone,
    /// Nodes that said good-bye and may be ended.
    pub left: Vec<usize>,
    /// What clients were told, by kind.
    pub told: BTreeMap<&'static str, u64>,
    /// Looks on in the place of the checkers, where flaws are to be seen to their end.
    pub witness: Option<Witness>,
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
            holders: Holders::new(rng.fork(), habits.fastest_ppm),
            watchers: Watchers::new(rng.fork(), habits.nodes),
            open: BTreeMap::new(),
            known: Known::new(),
            habits,
            issued: 0,
            has_operators: true,
            gone: Gone::default(),
            left: Vec::new(),
            told: BTreeMap::new(),
            witness: None,
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
    pub fn watched(&self) -> &Told {
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
        let verdict = self.watchers.look(now, &self.checkers.descent);
        // A witness stops nothing, and the checkers know of no state then.
        if self.witness.is_some() { Ok(()) } else { verdict }
    }

    /// What somebody asks whose time has come.
    pub fn next(&mut self, now: Time, eligible: u64) -> Option<Request> {
        if let Some((holder, asked, question)) = self.holders.next(now, &mut self.checkers.fencing) {
            return Some(Request { who: Who::Holder(holder, asked), wish: None, question });
        }
        let at = self.clients.iter().position(|client| client.next.is_some_and(|next| next <= now))?;
        let wish = self.clients[at].again.take();
        let wish = wish.unwrap_or_else(|| self.draw(at, now, eligible));
        self.clients[at].next = None;
        Some(Self::request(Who::Client(at), wish))
    }

    fn request(who: Who, mut wish: Wish) -> Request {
        let question = question(&wish.operation, wish.request, wish.tries > 0);
        wish.tries += 1;
        Request { who, wish: Some(wish), question }
    }

    fn draw(&mut self, at: usize, now: Time, eligible: u64) -> Wish {
        let gone = self.gone.voters(&self.checkers.descent);
        let mut choice = Choice {
            rng: &mut self.rng,
            known: &self.known,
            keys: self.habits.keys,
            issued: &mut self.issued,
            eligible: self.has_operators.then_some(eligible),
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
        Wish { operation, request, began: now, tries: 0 }
    }

    /// An update by somebody who asks no more than this.
    pub fn passer(&mut self, now: Time) -> Request {
        self.issued += 1;
        let request = Some(RequestId { client: Uuid::from_u128(1 << 64), sequence: self.issued });
        let update = Update { puts: vec![(Key(self.habits.keys | 1), self.issued)], ..Update::default() };
        let wish = Wish { operation: Operation::Update(update), request, began: now, tries: 0 };
        Self::request(Who::Passer, wish)
    }

    /// Which node a client asks.
    pub fn pick_node(&mut self, nodes: usize) -> usize {
        self.rng.below(nodes as u64) as usize
    }

    /// Remembers that a question was asked.
    pub fn asked(&mut self, ticket: Ticket, node: usize, request: Request, began: Time) {
        match &mut self.witness {
            Some(witness) => witness.asked(began, ticket, &request.question),
            None => {
                self.storm.asked(began);
                self.timely.asked(ticket, node, &request.question, began);
            }
        }
        if let Some(Wish { operation: Operation::Set { setting, value }, .. }) = &request.wish {
            self.configured.asked(setting, value.as_ref());
        }
        self.open.insert(ticket, Open { who: request.who, node, wish: request.wish, began });
    }

    /// The node was not there: whoever asked tries elsewhere after a pause.
    pub fn not_there(&mut self, request: Request, now: Time) {
        match (request.who, request.wish) {
            (Who::Holder(holder, _), _) => self.holders.unanswered(holder, now),
            (who, Some(mut wish)) => {
                wish.tries -= 1;
                self.try_again(&who, wish, now);
            }
            (Who::Client(_) | Who::Passer, None) => {}
        }
    }

    fn try_again(&mut self, who: &Who, wish: Wish, now: Time) {
        if let Who::Client(at) = who
            && let Some(client) = self.clients.get_mut(*at)
        {
            client.again = Some(wish);
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
            client.again.take_if(|wish| wish.operation.is_of_operators());
        }
        let is_leaving = |open: &&Open| matches!(&open.wish, Some(Wish { operation: Operation::Leave, .. }));
        let leaving = self.open.values().filter(is_leaving);
        leaving.map(|open| open.node).chain(std::mem::take(&mut self.left)).collect()
    }

    /// The nodes of which operators asked something that is not answered.
    pub fn asked_by_operators(&self) -> Vec<usize> {
        let is_open = |open: &&Open| open.wish.as_ref().is_some_and(|wish| wish.operation.is_of_operators());
        self.open.values().filter(is_open).map(|open| open.node).collect()
    }

    /// The disk of a node is wiped.
    pub fn wiped(&mut self, node: usize) {
        self.gone.wiped(node);
    }

    /// Whether a change of a setting may be under way.
    pub fn is_setting(&self) -> bool {
        self.open.values().any(|open| matches!(&open.wish, Some(Wish { operation: Operation::Set { .. }, .. })))
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
            if let Some(wish) = client.again {
                self.give_up(&wish, wish.began);
            }
        }
        self.holders.fall_silent();
        self.watchers.fall_silent();
    }

    /// Judges what all clients were told. What is open by then, at a node that stands still, may have been carried out.
    pub fn judge_histories(&mut self, now: Time) -> Result<Histories, Violation> {
        let open: Vec<Wish> = self.open.values().filter_map(|open| open.wish.clone()).collect();
        for wish in open {
            self.give_up(&wish, now);
        }
        self.history.judge()
    }

    fn count(&mut self, what: &'static str) {
        *self.told.entry(what).or_default() += 1;
    }

    /// What became of a wish is known, or will never be.
    fn settle(&mut self, at: Time, node: usize, wish: &Wish, answer: &Answer) -> Result<(), Violation> {
        if let Operation::Leave = wish.operation {
            self.left.extend(matches!(answer, Answer::Left).then_some(node));
            return Ok(());
        }
        if self.witness.is_some() {
            return Ok(());
        }
        let Some((state, end)) = self.understand(wish, answer)? else {
            self.give_up(wish, at);
            return Ok(());
        };
        self.history.ended(&wish.operation, wish.began, at, &end);
        let writes = matches!(wish.operation, Operation::Update(_) | Operation::Set { .. } | Operation::Drop(_));
        match state {
            Some(state) => self.order.finished(&Finished { began: wish.began, ended: at, at: state, writes }),
            None => Ok(()),
        }
    }

    /// The state that an answer speaks of, and how the operation ended; nothing if the answer says nothing for certain.
    fn understand(&mut self, wish: &Wish, answer: &Answer) -> Result<Option<(Option<StateId>, End)>, Violation> {
        Ok(match (&wish.operation, answer) {
            (Operation::Update(update), Answer::Done { at, outcome: Outcome::Written { part, .. }, .. }) => {
                self.acknowledged.update(&self.checkers.descent, *at, update)?;
                self.learn(update, *at, *part);
                Some((Some(*at), End::Done(Vec::new())))
            }
            (Operation::Update(_), Answer::Refused(Refusal::Conflict { .. })) => Some((None, End::Refused)),
            (Operation::Read(key), Answer::Value { at, value }) => {
                self.acknowledged.read(&self.checkers.descent, *at, *key, value.as_ref())?;
                let number = self.see(*key, value.as_ref());
                Some((Some(*at), End::Done(vec![(key.register(), number)])))
            }
            (Operation::List(group), Answer::Range { at, keys, .. }) => {
                let held = |key: Key| keys.iter().find(|(name, _)| *name == key.name()).map(|(_, value)| value);
                let pair = [Key(group * 2), Key(group * 2 + 1)];
                let seen = pair.map(|key| (key.register(), self.see(key, held(key))));
                Some((Some(*at), End::Done(seen.to_vec())))
            }
            (Operation::Set { setting, value }, Answer::Done { at, .. }) => {
                let is_over = !self.habits.is_doubling;
                let told = (setting, value.as_ref());
                self.configured.acknowledged(&self.checkers.descent, *at, told, is_over)?;
                Some((Some(*at), End::Done(Vec::new())))
            }
            (Operation::Drop(_), Answer::Done { at, .. }) => Some((Some(*at), End::Done(Vec::new()))),
            (_, _) => None,
        })
    }

    fn see(&mut self, key: Key, value: Option<&KeyValue>) -> u64 {
        let number = value.and_then(|held| held.value.as_str()?.parse().ok()).unwrap_or(0);
        self.known.insert(key, (number, value.map(|held| held.changed).unwrap_or_default()));
        number
    }

    fn learn(&mut self, update: &Update, at: StateId, part: u32) {
        for (key, number) in &update.puts {
            self.known.insert(*key, (*number, revision(at, part)));
        }
    }

    /// The outcome of a wish will never be known: a copy of it may be on its way even if nobody has carried it out yet.
    fn give_up(&mut self, wish: &Wish, at: Time) {
        if wish.tries > 0 {
            self.history.ended(&wish.operation, wish.began, at, &End::Unknown);
        }
    }

    /// Whether a client asks again for what it got no answer to.
    fn may_repeat(&self, who: &Who, wish: &Wish) -> bool {
        let is_there = matches!(who, Who::Client(at) if *at < self.clients.len());
        is_there && wish.request.is_some() && matches!(wish.operation, Operation::Update(_)) && wish.tries < TRIES_MAX
    }

    fn heard(&mut self, at: Time, node: usize, who: &Who, wish: Wish, answer: &Answer) -> Result<(), Violation> {
        if self.may_repeat(who, &wish) && wants_repeat(answer) {
            self.try_again(who, wish, at);
            return Ok(());
        }
        self.rest(who, at);
        self.settle(at, node, &wish, answer)
    }
}

/// Whether a client that is told this asks again.
fn wants_repeat(answer: &Answer) -> bool {
    match answer {
        Answer::NotMaster | Answer::NoMaster | Answer::TimedOut { .. } | Answer::Unknown { .. } => true,
        Answer::Refused(Refusal::Overloaded(_) | Refusal::Blocked { .. }) => true,
        Answer::Refused(
            Refusal::Invalid(_)
            | Refusal::Conflict { .. }
            | Refusal::Held { .. }
            | Refusal::NotHeld(_)
            | Refusal::TooLarge(_)
            | Refusal::Forgotten(_),
        )
        | Answer::Done { .. }
        | Answer::Newest { .. }
        | Answer::Value { .. }
        | Answer::Range { .. }
        | Answer::Lease { .. }
        | Answer::Pending(_)
        | Answer::Left
        | Answer::HandedOver { .. } => false,
    }
}

/// What a client was told, in a word.
fn outcome(answer: &Answer) -> &'static str {
    match answer {
        Answer::Done { acknowledged: true, .. } => "done by all",
        Answer::Done { acknowledged: false, .. } => "done",
        Answer::Newest { .. } | Answer::Value { .. } | Answer::Range { .. } => "read",
        Answer::Lease { .. } => "lease kept alive",
        Answer::Refused(Refusal::Conflict { .. }) => "refused: a condition does not hold",
        Answer::Refused(Refusal::Held { .. } | Refusal::NotHeld(_)) => "refused: held, or not held",
        Answer::Refused(
            Refusal::Invalid(_)
            | Refusal::TooLarge(_)
            | Refusal::Forgotten(_)
            | Refusal::Blocked { .. }
            | Refusal::Overloaded(_),
        ) => "refused",
        Answer::NotMaster | Answer::NoMaster => "no master",
        Answer::TimedOut { .. } => "timed out in the queue",
        Answer::Unknown { .. } => "unknown",
        Answer::Pending(_) => "pending tasks",
        Answer::Left => "left",
        Answer::HandedOver { .. } => "handed over",
    }
}

impl Watch<Zen> for Clients {
    fn booted(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.watchers.booted(node);
        self.configured.booted(node);
        self.gone.booted(node, &zen.local().id);
        match &mut self.witness {
            Some(witness) => witness.booted(at, node, zen),
            None => self.checkers.booted(at, node, zen),
        }
    }

    fn handled(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        if let Some(witness) = &mut self.witness {
            return witness.handled(at, node, zen);
        }
        let before = self.checkers.descent.newest();
        self.checkers.handled(at, node, zen)?;
        self.timely.passes(at)?;
        if self.checkers.descent.newest() == before {
            return Ok(());
        }
        self.kept.look(&self.checkers.descent)?;
        self.configured.look(&self.checkers.descent)?;
        self.holders.keep_theirs(at, &self.checkers.descent)
    }

    fn ended(&mut self, at: Time, node: usize) -> Result<(), Violation> {
        self.configured.ended(node);
        self.storm.ended(node);
        self.timely.ended(node);
        self.witness.as_mut().map_or(Ok(()), |witness| witness.ended(at, node))
    }

    fn paused(&mut self, at: Time, node: usize, is_paused: bool) -> Result<(), Violation> {
        self.timely.paused(node, is_paused);
        self.witness.as_mut().map_or(Ok(()), |witness| witness.paused(at, node, is_paused))
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        match &mut self.witness {
            Some(witness) => witness.sent(at, from, to, message),
            None => {
                self.storm.sent(at, from, message)?;
                self.checkers.sent(at, from, to, message)
            }
        }
    }

    fn called(&mut self, _at: Time, ends: (usize, usize), call: Call, message: &Message) -> Result<(), Violation> {
        if self.witness.is_some() { Ok(()) } else { self.storm.called(ends, call, message) }
    }

    fn call_ended(&mut self, _at: Time, ends: (usize, usize), call: Call) -> Result<(), Violation> {
        self.storm.call_ended(ends, call);
        Ok(())
    }

    fn delivered(&mut self, _at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.storm.delivered((from, to), message);
        Ok(())
    }

    fn wrote(&mut self, at: Time, node: usize, write: &Write) -> Result<(), Violation> {
        if self.witness.is_some() {
            return Ok(());
        }
        self.timely.wrote(at, node);
        if !Memory::is_lazy(write) {
            self.storm.wrote(at, node)?;
        }
        self.checkers.wrote(at, node, write)
    }

    fn synced(&mut self, at: Time, node: usize, disk: &Memory) -> Result<(), Violation> {
        if self.witness.is_some() {
            return Ok(());
        }
        self.timely.synced(at, node);
        self.checkers.synced(at, node, disk)
    }

    fn noted(&mut self, _at: Time, _node: usize, _note: &Note) -> Result<(), Violation> {
        Ok(())
    }

    fn applied(&mut self, _at: Time, node: usize, view: &Arc<ClusterState>) -> Result<(), Violation> {
        self.watchers.applied(node, view);
        self.configured.applied(node, view);
        Ok(())
    }

    fn answered(&mut self, at: Time, _node: usize, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        let Some(Open { who, node, wish, .. }) = self.open.remove(&ticket) else {
            return Ok(());
        };
        match &mut self.witness {
            Some(witness) => witness.answered(at, node, ticket, answer)?,
            None => self.timely.answered(ticket, at, answer)?,
        }
        let is_drop = matches!(&wish, Some(Wish { operation: Operation::Drop(_), .. }));
        self.count(if is_drop && matches!(answer, Answer::Done { .. }) { "voter dropped" } else { outcome(answer) });
        match (&who, wish) {
            (Who::Holder(holder, _), _) if self.witness.is_some() => {
                self.holders.unanswered(*holder, at);
                Ok(())
            }
            (Who::Holder(holder, asked), _) => {
                self.holders.answered(*holder, at, (asked, answer), &mut self.checkers.fencing)?;
                self.acknowledged.lease(&self.checkers.descent, answer)?;
                self.holders.keep_theirs(at, &self.checkers.descent)
            }
            (_, Some(wish)) => self.heard(at, node, &who, wish, answer),
            (Who::Client(_) | Who::Passer, None) => Ok(()),
        }
    }

    fn lost(&mut self, at: Time, _node: usize, ticket: Ticket) -> Result<(), Violation> {
        let Some(Open { who, node, wish, .. }) = self.open.remove(&ticket) else {
            return Ok(());
        };
        match &mut self.witness {
            Some(witness) => witness.lost(at, node, ticket)?,
            None => self.timely.lost(ticket, at)?,
        }
        self.count("lost");
        match (&who, wish) {
            (Who::Holder(holder, _), _) => self.holders.unanswered(*holder, at),
            (_, Some(wish)) => {
                if self.may_repeat(&who, &wish) {
                    self.try_again(&who, wish, at);
                } else {
                    self.give_up(&wish, at);
                    self.rest(&who, at);
                }
            }
            (Who::Client(_) | Who::Passer, None) => {}
        }
        Ok(())
    }
}
