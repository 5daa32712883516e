//! Clients that write and read through any node, and what they were told.
//!
//! Each asks one thing at a time, of a node that it picks anew. Three outcomes of a write are kept apart: carried out,
//! certainly not, unknown; only the first is a promise. What answers mean is judged in `check`.

use super::check::{Acknowledged, Checkers, Finished, Kept, Order};
use super::watch::{Violation, Watch};
use crate::cluster::{ClusterState, NodeId};
use crate::protocol::{Rng, Ticket, Time};
use crate::service::{Answer, MINIMUM_MASTER_NODES, Question, SettingsPatch, Task};
use crate::zen::{Message, Note, Zen};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a client wants of a node.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Write a key.
    Write {
        /// The key.
        key: Arc<str>,
        /// The value, which nobody else writes.
        value: Arc<str>,
    },
    /// Read a key.
    Read {
        /// The key.
        key: Arc<str>,
    },
    /// Change a setting, as an operator does.
    Set {
        /// The setting.
        key: Arc<str>,
        /// Its value; none removes it.
        value: Option<Arc<str>>,
    },
    /// Hand the mastership over.
    HandOver,
    /// Leave the cluster; the process ends then.
    Leave,
}

/// An operation that was not answered yet.
#[derive(Clone, Debug)]
struct Open {
    client: usize,
    node: usize,
    operation: Operation,
    began: Time,
}

/// One of those who ask.
#[derive(Clone, Debug)]
struct Client {
    /// When it asks next; none while it waits for an answer.
    next: Option<Time>,
}

/// The clients of a run, and the checkers that listen to them.
#[derive(Debug)]
pub struct Clients {
    /// The checkers of the nodes.
    pub checkers: Checkers,
    acknowledged: Acknowledged,
    kept: Kept,
    order: Order,
    rng: Rng,
    clients: Vec<Client>,
    open: BTreeMap<Ticket, Open>,
    pause_us: (u64, u64),
    keys: u64,
    issued: u64,
    has_operators: bool,
    /// Nodes that said good-bye and may be ended.
    pub left: Vec<usize>,
    /// What clients were told, by kind.
    pub told: BTreeMap<&'static str, u64>,
}

/// How long a client waits for a master and for the nodes.
pub(super) const MASTER_TIMEOUT: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_millis(500);

impl Clients {
    /// So many clients, each pausing between two questions for a time within these bounds.
    pub fn new(rng: Rng, count: usize, pause_us: (u64, u64), keys: u64) -> Self {
        Clients {
            checkers: Checkers::default(),
            acknowledged: Acknowledged::default(),
            kept: Kept::default(),
            order: Order::default(),
            rng,
            clients: vec![Client { next: Some(Time::ZERO) }; count],
            open: BTreeMap::new(),
            pause_us,
            keys,
            issued: 0,
            has_operators: true,
            left: Vec::new(),
            told: BTreeMap::new(),
        }
    }

    /// The same in a network that may deliver a request twice, or does not.
    pub fn on(self, is_doubling: bool) -> Self {
        Clients { kept: Kept::new(is_doubling), ..self }
    }

    /// How many updates were asked for.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// How many updates were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.count
    }

    /// How many questions are open.
    pub fn waiting(&self) -> usize {
        self.open.len()
    }

    /// When the oldest open question was asked.
    pub fn oldest(&self) -> Option<Time> {
        self.open.values().map(|open| open.began).min()
    }

    /// When the next client wants to ask.
    pub fn next_at(&self) -> Option<Time> {
        self.clients.iter().filter_map(|client| client.next).min()
    }

    /// A client whose time has come, and what it asks: mostly writes and reads, at times what operators do.
    pub fn next(&mut self, now: Time, eligible: u64) -> Option<(usize, Operation)> {
        let client = self.clients.iter().position(|client| client.next.is_some_and(|next| next <= now))?;
        self.clients[client].next = None;
        Some((client, self.draw(eligible)))
    }

    fn draw(&mut self, eligible: u64) -> Operation {
        let key: Arc<str> = format!("k{}", self.rng.below(self.keys)).into();
        match self.rng.below(100) {
            0 if self.has_operators => self.draw_setting(eligible),
            1 if self.has_operators && self.rng.percent(60) => Operation::HandOver,
            2 if self.has_operators && self.rng.percent(40) => Operation::Leave,
            0..25 => Operation::Read { key },
            _ => self.write(key),
        }
    }

    /// A write of a value that nobody else writes.
    pub fn write(&mut self, key: Arc<str>) -> Operation {
        self.issued += 1;
        Operation::Write { key, value: format!("v{}", self.issued).into() }
    }

    fn draw_setting(&mut self, eligible: u64) -> Operation {
        let number = self.rng.between(1, eligible);
        let (key, value): (&str, String) = match self.rng.below(6) {
            0..3 => (MINIMUM_MASTER_NODES, number.to_string()),
            3 => ("discovery.zen.commit_timeout", format!("{}ms", 500 * self.rng.between(1, 10))),
            4 => ("discovery.zen.publish_diff.enable", self.rng.percent(50).to_string()),
            _ => ("discovery.zen.no_master_block", if self.rng.percent(50) { "all" } else { "write" }.into()),
        };
        let value = (!self.rng.percent(40)).then(|| value.into());
        Operation::Set { key: key.into(), value }
    }

    /// Which node a client asks.
    pub fn pick_node(&mut self, nodes: usize) -> usize {
        self.rng.below(nodes as u64) as usize
    }

    /// Remembers that a client asked.
    pub fn asked(&mut self, ticket: Ticket, client: usize, node: usize, operation: Operation, began: Time) {
        self.open.insert(ticket, Open { client, node, operation, began });
    }

    /// The node was not there: the client tries elsewhere after a pause.
    pub fn not_there(&mut self, client: usize, now: Time) {
        self.rest(client, now);
    }

    fn rest(&mut self, client: usize, now: Time) {
        let pause = self.rng.between(self.pause_us.0, self.pause_us.1);
        if let Some(client) = self.clients.get_mut(client) {
            client.next = Some(now + Duration::from_micros(pause));
        }
    }

    /// From now on nobody changes settings, hands over or leaves; tells which nodes were about to leave.
    pub fn retire_operators(&mut self) -> Vec<usize> {
        self.has_operators = false;
        let leaving = self.open.values().filter(|open| matches!(open.operation, Operation::Leave));
        leaving.map(|open| open.node).chain(std::mem::take(&mut self.left)).collect()
    }

    /// Whether a change of a setting may be under way.
    pub fn is_setting(&self) -> bool {
        self.open.values().any(|open| matches!(open.operation, Operation::Set { .. }))
    }

    /// No client asks any more by itself.
    pub fn fall_silent(&mut self) {
        self.clients.clear();
    }

    fn count(&mut self, what: &'static str) {
        *self.told.entry(what).or_default() += 1;
    }

    fn judge(&mut self, at: Time, node: usize, open: &Open, answer: &Answer) -> Result<(), Violation> {
        self.count(outcome(answer));
        let descent = &self.checkers.descent;
        let state = match (&open.operation, answer) {
            (Operation::Write { key, value }, Answer::Done { at, .. }) => {
                self.acknowledged.update(descent, *at, key, value)?;
                *at
            }
            (Operation::Read { key }, Answer::Value { at, value }) => {
                self.acknowledged.read(descent, *at, key, value.as_ref().map(|found| &found.value))?;
                *at
            }
            (Operation::Set { .. }, Answer::Done { at, .. }) => *at,
            (Operation::Leave, Answer::Left) => {
                self.left.push(node);
                return Ok(());
            }
            (_, _) => return Ok(()),
        };
        let writes = !matches!(open.operation, Operation::Read { .. });
        self.order.finished(&Finished { began: open.began, ended: at, at: state, writes })
    }
}

/// What a client was told, in a word.
fn outcome(answer: &Answer) -> &'static str {
    match answer {
        Answer::Done { acknowledged: true, .. } => "done by all",
        Answer::Done { acknowledged: false, .. } => "done",
        Answer::Value { .. } => "read",
        Answer::Refused(_) => "refused",
        Answer::NotMaster | Answer::NoMaster => "no master",
        Answer::TimedOut { .. } => "timed out in the queue",
        Answer::Unknown { .. } => "unknown",
        Answer::Pending(_) => "pending tasks",
        Answer::Left => "left",
        Answer::HandedOver { .. } => "handed over",
    }
}

/// The question that an operation asks.
pub(super) fn question(operation: &Operation) -> Question {
    match operation {
        Operation::Write { key, value } => {
            let task = Task::PutKey { key: key.clone(), value: Some(value.clone()), only_if: None };
            Question::Submit { task, timeout: TIMEOUT, master_timeout: MASTER_TIMEOUT }
        }
        Operation::Read { key } => Question::Read { key: key.clone(), master_timeout: MASTER_TIMEOUT },
        Operation::Set { key, value } => {
            let transient: SettingsPatch = vec![(key.clone(), value.clone())];
            let task = Task::PutSettings { persistent: Vec::new(), transient };
            Question::Submit { task, timeout: TIMEOUT, master_timeout: MASTER_TIMEOUT }
        }
        Operation::HandOver => Question::HandOver { to: None::<NodeId> },
        Operation::Leave => Question::Leave,
    }
}

impl Watch<Zen> for Clients {
    fn booted(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.checkers.booted(at, node, zen)
    }

    fn handled(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.checkers.handled(at, node, zen)?;
        self.kept.look(&self.checkers.descent)
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.checkers.sent(at, from, to, message)
    }

    fn noted(&mut self, _at: Time, _node: usize, _note: &Note) -> Result<(), Violation> {
        Ok(())
    }

    fn applied(&mut self, _at: Time, _node: usize, _view: &Arc<ClusterState>) -> Result<(), Violation> {
        Ok(())
    }

    fn answered(&mut self, at: Time, node: usize, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        let Some(open) = self.open.remove(&ticket) else {
            return Ok(());
        };
        self.rest(open.client, at);
        self.judge(at, node, &open, answer)
    }

    fn lost(&mut self, at: Time, _node: usize, ticket: Ticket) -> Result<(), Violation> {
        if let Some(open) = self.open.remove(&ticket) {
            self.count("lost");
            self.rest(open.client, at);
        }
        Ok(())
    }
}
