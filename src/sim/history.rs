//! What clients asked and were told, apart from all cluster states, and whether it is linearizable.

use super::check::linear::{Entry, Fate, Finding, WIDTH, check, conflicts};
use super::operation::{Key, Operation, Update};
use super::watch::Violation;
use crate::protocol::Time;
use std::collections::BTreeMap;

/// For how many steps an order is searched.
const BUDGET: usize = 200_000;

/// With fewer pairs of operations whose order matters, a history shows little.
const CONFLICTS_MIN: usize = 10;

/// How an operation ended, as far as its client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It was carried out, and saw this in the registers that it reads.
    Done(Vec<(usize, u64)>),
    /// It was not, because a guard did not hold.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// What was found out about all histories of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histories {
    /// How many pairs of keys have a history.
    pub count: u64,
    /// How many operations they hold.
    pub operations: u64,
    /// How many of these ended unknown.
    pub unknown: u64,
    /// How many histories could not be judged.
    pub inconclusive: u64,
    /// How many pairs of operations overlapped so that their order matters.
    pub conflicts: u64,
}

impl Histories {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Histories) {
        self.count += other.count;
        self.operations += other.operations;
        self.unknown += other.unknown;
        self.inconclusive += other.inconclusive;
        self.conflicts += other.conflicts;
    }

    /// Whether so little happened at once that nothing is shown.
    pub fn is_trivial(&self) -> bool {
        self.conflicts < CONFLICTS_MIN as u64
    }
}

/// The history of each pair of keys.
#[derive(Debug, Default)]
pub(super) struct History {
    pairs: BTreeMap<u64, Vec<Entry>>,
}

impl History {
    /// Takes an operation down.
    pub(super) fn ended(&mut self, operation: &Operation, began: Time, ended: Time, end: &End) {
        let (group, guards, writes) = match operation {
            Operation::Update(update) => (group(update), guards(update), writes(update)),
            Operation::Read(key) => (Some(key.group()), Vec::new(), Vec::new()),
            Operation::List(group) => (Some(*group), Vec::new(), Vec::new()),
            Operation::Set { .. } | Operation::HandOver | Operation::Leave => return,
        };
        let (fate, seen) = match end {
            End::Done(seen) => (Fate::Done, seen.clone()),
            End::Refused => (Fate::Refused, Vec::new()),
            // A read that nobody heard of says nothing.
            End::Unknown if writes.is_empty() => return,
            End::Unknown => (Fate::Unknown, Vec::new()),
        };
        if let Some(group) = group {
            let entry = Entry { began, ended, guards, writes, seen, fate };
            self.pairs.entry(group).or_default().push(entry);
        }
    }

    /// Judges all histories.
    pub(super) fn judge(&self) -> Result<Histories, Violation> {
        let mut found = Histories::default();
        for (group, history) in &self.pairs {
            found.count += 1;
            found.operations += history.len() as u64;
            found.unknown += history.iter().filter(|entry| entry.fate == Fate::Unknown).count() as u64;
            found.conflicts += conflicts(history) as u64;
            match check(history, BUDGET) {
                Finding::Linearizable => {}
                Finding::Inconclusive => found.inconclusive += 1,
                Finding::Broken => return Err(broken(*group, history)),
            }
        }
        Ok(found)
    }
}

fn broken(group: u64, history: &[Entry]) -> Violation {
    // The shortest beginning that is broken ends with what gave it away.
    let mut ends: Vec<Entry> = history.to_vec();
    ends.sort_by_key(|entry| entry.ended);
    let is_broken = |count: &usize| check(&ends[..*count], BUDGET) == Finding::Broken;
    let count = (1..=ends.len()).find(is_broken).unwrap_or(ends.len());
    let last = ends.get(count.saturating_sub(1)).map(|entry| format!("{entry:?}")).unwrap_or_default();
    let what = format!("the history of {} fits into no order, given away by {last}", Key::prefix(group));
    Violation { checker: "linearizable: what clients were told fits into one order", what }
}

fn group(update: &Update) -> Option<u64> {
    update.puts.first().map(|(key, _)| key.group()).or_else(|| update.deletes.first().map(|key| key.group()))
}

fn guards(update: &Update) -> Vec<(usize, u64)> {
    update.guards.iter().map(|(key, number, _)| (key.register(), *number)).collect()
}

fn writes(update: &Update) -> Vec<(usize, u64)> {
    let puts = update.puts.iter().map(|(key, number)| (key.register(), *number));
    puts.chain(update.deletes.iter().map(|key| (key.register(), 0))).collect()
}

const _: () = assert!(WIDTH == 2, "a group is a pair of keys");
