//! What clients asked and were told, apart from all cluster states, and whether it is linearizable.

use super::check::Histories;
use super::check::linear::{Entry, Fate, Finding, WIDTH, check, conflicts};
use super::operation::{Key, Operation, Update};
use super::watch::Violation;
use crate::protocol::Time;
use std::collections::BTreeMap;

/// For how many steps an order is searched.
const BUDGET: usize = 200_000;

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
            Operation::Set { .. } | Operation::Drop(_) | Operation::HandOver | Operation::Leave => return,
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
    // The first moment at which no order is left is the end of what gave it away.
    let mut ends: Vec<&Entry> = history.iter().filter(|entry| entry.fate != Fate::Unknown).collect();
    ends.sort_by_key(|entry| entry.ended);
    let gives_away = |last: &&&Entry| check(&until(history, last.ended), BUDGET) == Finding::Broken;
    let last = ends.iter().find(gives_away).map(|entry| format!("{entry:?}")).unwrap_or_default();
    let what = format!("the history of {} fits into no order, given away by {last}", Key::prefix(group));
    Violation { checker: "linearizable: what clients were told fits into one order", what }
}

/// What was known of a history at some moment: what had not ended may have been carried out by then.
fn until(history: &[Entry], moment: Time) -> Vec<Entry> {
    let begun = history.iter().filter(|entry| entry.began <= moment);
    let known = begun.filter_map(|entry| match entry.fate {
        Fate::Done | Fate::Unknown if entry.ended > moment => {
            (!entry.writes.is_empty()).then(|| Entry { fate: Fate::Unknown, ..entry.clone() })
        }
        Fate::Refused if entry.ended > moment => None,
        Fate::Done | Fate::Unknown | Fate::Refused => Some(entry.clone()),
    });
    known.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(began: u64, ended: u64, fate: Fate) -> Entry {
        let (began, ended) = (Time::from_micros(began), Time::from_micros(ended));
        Entry { began, ended, guards: Vec::new(), writes: Vec::new(), seen: Vec::new(), fate }
    }

    #[test]
    fn what_gives_a_history_away_is_the_first_end_that_no_order_has_room_for() {
        let write = |began, ended, value| Entry { writes: vec![(0, value)], ..entry(began, ended, Fate::Done) };
        let read = |began, ended, value| Entry { seen: vec![(0, value)], ..entry(began, ended, Fate::Done) };
        // What the second write did is seen long before its end is told.
        let history = [write(0, 1, 1), write(0, 100, 2), read(10, 11, 2), read(20, 21, 1), read(200, 201, 2)];
        let what = broken(0, &history).what;
        assert!(what.contains(&format!("{:?}", history[3])), "{what}");
    }

    #[test]
    fn an_update_without_an_answer_may_have_been_carried_out() {
        let mut history = History::default();
        let put = |number| Operation::Update(Update { puts: vec![(Key(0), number)], ..Update::default() });
        let time = Time::from_micros;
        history.ended(&put(1), time(0), time(5), &End::Unknown);
        history.ended(&Operation::Read(Key(0)), time(8), time(9), &End::Done(vec![(0, 1)]));
        assert_eq!(history.judge().map(|found| found.unknown), Ok(1));
        history.ended(&Operation::Read(Key(0)), time(8), time(9), &End::Done(vec![(0, 2)]));
        assert!(history.judge().is_err(), "nobody ever wrote it");
    }
}
