//! What a client wants of a node, drawn at random, and the question that it asks for it.

use crate::cluster::{NodeId, RequestId, Revision, StateId};
use crate::protocol::Rng;
use crate::service::{Condition, MINIMUM_MASTER_NODES, Put, Query, Question, SettingsPatch, Task, Txn};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a client waits for a master and for the nodes.
pub(super) const MASTER_TIMEOUT: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_millis(500);

/// The longest time that operators let a publish last.
pub(super) const COMMIT_TIMEOUT_MAX: Duration = Duration::from_millis(COMMIT_TIMEOUT_STEP_MS * COMMIT_TIMEOUT_STEPS);
const COMMIT_TIMEOUT_STEP_MS: u64 = 500;
const COMMIT_TIMEOUT_STEPS: u64 = 10;

/// A key of the run: two keys each are changed and read together at times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

impl Key {
    /// Its name.
    pub fn name(self) -> Arc<str> {
        format!("{}{}", Key::prefix(self.group()), self.register()).into()
    }

    /// Which pair it is of.
    pub fn group(self) -> u64 {
        self.0 / 2
    }

    /// Which one of the pair it is.
    pub fn register(self) -> usize {
        (self.0 % 2) as usize
    }

    /// Whether clients delete it at times; they never delete the others.
    pub fn is_deleted(self) -> bool {
        self.register() == 1
    }

    /// Whether a key of this name may vanish: by a client, or with its lease.
    pub fn may_vanish(name: &str) -> bool {
        name.ends_with("/1") || name.starts_with("lease/")
    }

    /// How the names of a pair begin.
    pub fn prefix(group: u64) -> Arc<str> {
        format!("g{group}/").into()
    }
}

/// A change of some keys.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// What the keys must hold: a number, or nothing, and the change that made it so.
    pub guards: Vec<(Key, u64, Revision)>,
    /// The keys to write, each with a number that nobody else writes.
    pub puts: Vec<(Key, u64)>,
    /// The keys to delete.
    pub deletes: Vec<Key>,
}

/// One setting: its key, and whether it survives a full restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The key.
    pub key: Arc<str>,
    /// Whether it survives a full restart.
    pub is_persistent: bool,
}

/// What a client wants of a node.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// Change keys.
    Update(Update),
    /// Read a key.
    Read(Key),
    /// Read a pair of keys at once.
    List(u64),
    /// Change a setting, as an operator does.
    Set {
        /// The setting.
        setting: Setting,
        /// Its value; none removes it.
        value: Option<Arc<str>>,
    },
    /// Take a node that is gone for good out of the voting set, as an operator does.
    Drop(NodeId),
    /// Hand the mastership over.
    HandOver,
    /// Leave the cluster; the process ends then.
    Leave,
}

impl Operation {
    /// Whether it is what operators do.
    pub(super) fn is_of_operators(&self) -> bool {
        match self {
            Operation::Set { .. } | Operation::Drop(_) | Operation::HandOver | Operation::Leave => true,
            Operation::Update(_) | Operation::Read(_) | Operation::List(_) => false,
        }
    }
}

/// What is known to clients of each key: the number that it held, or none, and the change that made it so.
pub(super) type Known = BTreeMap<Key, (u64, Revision)>;

/// What operations are drawn from.
pub(super) struct Choice<'a> {
    pub(super) rng: &'a mut Rng,
    pub(super) known: &'a Known,
    /// How many keys there are.
    pub(super) keys: u64,
    /// How many updates were asked for.
    pub(super) issued: &'a mut u64,
    /// How many nodes can be master, if operators are about.
    pub(super) eligible: Option<u64>,
    /// Whether operators know better than to have each change sent as a whole state.
    pub(super) has_slow_link: bool,
    /// The voters that are gone for good.
    pub(super) gone: &'a [NodeId],
}

impl Choice<'_> {
    /// Mostly updates and reads, at times what operators do.
    pub(super) fn draw(&mut self) -> Operation {
        let key = Key(self.rng.below(self.keys));
        match (self.rng.below(100), self.eligible) {
            (0, Some(eligible)) => self.draw_setting(eligible),
            (1, Some(_)) if self.rng.percent(60) => Operation::HandOver,
            (2, Some(_)) if self.rng.percent(40) => Operation::Leave,
            (3..10, Some(_)) if !self.gone.is_empty() => {
                self.rng.pick(self.gone).map_or(Operation::HandOver, |id| Operation::Drop(id.clone()))
            }
            (0..32, _) => Operation::Read(key),
            (32..38, _) => Operation::List(key.group()),
            (38..52, _) => self.swap(key),
            (52..57, _) => self.delete(Key(key.0 | 1)),
            _ => self.put(key),
        }
    }

    fn number(&mut self) -> u64 {
        *self.issued += 1;
        *self.issued
    }

    pub(super) fn put(&mut self, key: Key) -> Operation {
        let number = self.number();
        Operation::Update(Update { puts: vec![(key, number)], ..Update::default() })
    }

    fn delete(&mut self, key: Key) -> Operation {
        self.number();
        let guards = if self.rng.percent(50) { self.guard(key) } else { Vec::new() };
        Operation::Update(Update { guards, deletes: vec![key], ..Update::default() })
    }

    /// Changes a key if it holds what was last seen there, or both keys of its pair.
    fn swap(&mut self, key: Key) -> Operation {
        let number = self.number();
        let mut update = Update { guards: self.guard(key), puts: vec![(key, number)], deletes: Vec::new() };
        let other = Key(key.0 ^ 1);
        match self.rng.below(4) {
            0 => update.puts.push((other, number)),
            1 if other.is_deleted() => update.deletes.push(other),
            2 => update.guards.extend(self.guard(other)),
            _ => {}
        }
        Operation::Update(update)
    }

    fn guard(&self, key: Key) -> Vec<(Key, u64, Revision)> {
        self.known.get(&key).map(|(number, by)| (key, *number, *by)).into_iter().collect()
    }

    fn draw_setting(&mut self, eligible: u64) -> Operation {
        let number = self.rng.between(1, eligible);
        let (key, value): (&str, String) = match self.rng.below(6) {
            0..3 => (MINIMUM_MASTER_NODES, number.to_string()),
            3 => (
                "discovery.zen.commit_timeout",
                format!("{}ms", COMMIT_TIMEOUT_STEP_MS * self.rng.between(1, COMMIT_TIMEOUT_STEPS)),
            ),
            4 => ("discovery.zen.publish_diff.enable", (self.rng.percent(50) || self.has_slow_link).to_string()),
            _ => ("discovery.zen.no_master_block", if self.rng.percent(50) { "all" } else { "write" }.into()),
        };
        let value = (!self.rng.percent(40)).then(|| value.into());
        Operation::Set { setting: Setting { key: key.into(), is_persistent: self.rng.percent(50) }, value }
    }
}

/// The question that an operation asks; an update bears the name of its request, if that has one.
pub(super) fn question(operation: &Operation, request: Option<RequestId>, retry: bool) -> Question {
    match operation {
        Operation::Update(update) => {
            let task = Task::Txn(txn(update));
            submit(request.map_or(task.clone(), |request| once(task, request, retry)))
        }
        Operation::Read(key) => read(Query::Key { key: key.name() }),
        Operation::List(group) => read(Query::Range { prefix: Key::prefix(*group), after: None, limit: 2 }),
        Operation::Set { setting, value } => {
            let patch: SettingsPatch = vec![(setting.key.clone(), value.clone())];
            let none = SettingsPatch::new();
            let (persistent, transient) = if setting.is_persistent { (patch, none) } else { (none, patch) };
            submit(Task::PutSettings { persistent, transient })
        }
        Operation::Drop(id) => submit(Task::RemoveVoter { id: id.clone() }),
        Operation::HandOver => Question::HandOver { to: None::<NodeId>, master_timeout: MASTER_TIMEOUT },
        Operation::Leave => Question::Leave,
    }
}

pub(super) fn once(task: Task, request: RequestId, retry: bool) -> Task {
    Task::Once { request, retry, since: None, digest: None, task: Box::new(task) }
}

pub(super) fn submit(task: Task) -> Question {
    Question::Submit { task, timeout: TIMEOUT, master_timeout: MASTER_TIMEOUT }
}

pub(super) fn read(query: Query) -> Question {
    Question::Read { query, master_timeout: MASTER_TIMEOUT }
}

fn txn(update: &Update) -> Txn {
    let guard = |(key, number, by): &(Key, u64, Revision)| match number {
        0 => Condition::Absent { key: key.name() },
        _ => Condition::Changed { key: key.name(), by: *by },
    };
    let put = |(key, number): &(Key, u64)| Put { key: key.name(), value: number.to_string().into(), lease: None };
    Txn {
        conditions: update.guards.iter().map(guard).collect(),
        puts: update.puts.iter().map(put).collect(),
        deletes: update.deletes.iter().map(|key| key.name()).collect(),
    }
}

/// The change that an update made, if it is in this state.
pub(super) fn revision(at: StateId, part: u32) -> Revision {
    Revision { term: at.term, version: at.version, part }
}
