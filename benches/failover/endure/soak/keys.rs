//! A client that writes, swaps, deletes and reads pairs of keys, and writes down what it is told.

use super::desk::{Desk, Outcome, Seen, key};
use super::door::Door;
use crate::clock::pause;
use std::sync::atomic::Ordering;
use std::time::Duration;
use zazen::protocol::{Rng, Time};
use zazen::service::{Condition, Put, Txn};
use zazen::sim::check::linear::{Entry, Fate};

/// The longest pause between two operations, and after one that nobody could help with.
const PAUSE_MS: u64 = 25;

/// The register of a pair that is deleted at times; the other one never is.
const DELETED: usize = 1;

/// One client; each thing that it asks for is asked for after the one before has ended.
pub(super) struct KeyClient<'a> {
    number: usize,
    rng: Rng,
    desk: &'a Desk,
}

/// A change of a pair.
#[derive(Default)]
struct Update {
    guards: Vec<(usize, Seen)>,
    puts: Vec<usize>,
    deletes: Vec<usize>,
}

impl<'a> KeyClient<'a> {
    pub(super) fn new(number: usize, rng: Rng, desk: &'a Desk) -> Self {
        KeyClient { number, rng, desk }
    }

    /// Goes on until it is over.
    pub(super) fn run(mut self) {
        let outcome = Door::new(self.number, self.rng.fork(), self.desk).and_then(|mut door| {
            while !self.desk.is_closed() {
                self.step(&mut door)?;
                pause(Duration::from_micros(self.rng.below(PAUSE_MS * 1_000)));
            }
            Ok(())
        });
        if let Err(what) = outcome {
            self.desk.tell(format!("client {}: {what}", self.number));
        }
    }

    fn step(&mut self, door: &mut Door) -> Result<(), String> {
        let (group, number) = self.desk.begin(&mut self.rng);
        let began = self.desk.time();
        let register = self.rng.below(2) as usize;
        let update = match self.rng.below(100) {
            0..30 => {
                let seen = door.read(group, register).map(|seen| vec![(register, seen)]);
                self.read(group, began, seen);
                return Ok(());
            }
            30..38 => {
                let seen = door.pair(group).map(|[one, other]| vec![(0, one), (1, other)]);
                self.read(group, began, seen);
                return Ok(());
            }
            38..55 => self.swap(group, register),
            55..60 => {
                let guards = if self.rng.percent(50) { self.guard(group, DELETED) } else { Vec::new() };
                Update { guards, deletes: vec![DELETED], ..Update::default() }
            }
            _ => Update { puts: vec![register], ..Update::default() },
        };
        let outcome = door.change(&update.txn(group, number))?;
        self.changed(group, (began, number), &update, outcome);
        Ok(())
    }

    /// Changes a register, or both, if they hold what was last seen there.
    fn swap(&mut self, group: u64, register: usize) -> Update {
        let mut update = Update { guards: self.guard(group, register), puts: vec![register], deletes: Vec::new() };
        let other = 1 - register;
        match self.rng.below(4) {
            0 => update.puts.push(other),
            1 if other == DELETED => update.deletes.push(other),
            2 => update.guards.extend(self.guard(group, other)),
            _ => {}
        }
        update
    }

    fn guard(&self, group: u64, register: usize) -> Vec<(usize, Seen)> {
        self.desk.seen(group, register).map(|seen| (register, seen)).into_iter().collect()
    }

    fn read(&self, group: u64, began: Time, seen: Option<Vec<(usize, Seen)>>) {
        let entry = seen.map(|seen| {
            self.desk.counts.reads.fetch_add(1, Ordering::Relaxed);
            seen.iter().for_each(|(register, seen)| self.desk.see(group, *register, *seen));
            let seen = seen.iter().map(|(register, (number, _))| (*register, *number)).collect();
            let (guards, writes, ended) = (Vec::new(), Vec::new(), self.desk.time());
            Entry { began, ended, guards, writes, seen, fate: Fate::Done }
        });
        self.desk.ended(group, entry);
    }

    fn changed(&self, group: u64, (began, number): (Time, u64), update: &Update, outcome: Outcome) {
        self.desk.count(outcome);
        if let Outcome::Done(revision) = outcome {
            update.puts.iter().for_each(|register| self.desk.see(group, *register, (number, revision)));
            update.deletes.iter().for_each(|register| self.desk.see(group, *register, (0, revision)));
            if update.puts.contains(&0) {
                self.desk.written(group, number, revision);
            }
        }
        let fate = match outcome {
            Outcome::Done(_) => Some(Fate::Done),
            Outcome::Refused => Some(Fate::Refused),
            Outcome::Unknown => Some(Fate::Unknown),
            Outcome::NotDone => None,
        };
        let ended = self.desk.time();
        self.desk.ended(group, fate.map(|fate| update.entry((began, ended), number, fate)));
    }
}

impl Update {
    fn txn(&self, group: u64, number: u64) -> Txn {
        let condition = |(register, (number, by)): &(usize, Seen)| match number {
            0 => Condition::Absent { key: key(group, *register).into() },
            _ => Condition::Changed { key: key(group, *register).into(), by: *by },
        };
        let put =
            |register: &usize| Put { key: key(group, *register).into(), value: number.to_string().into(), lease: None };
        Txn {
            conditions: self.guards.iter().map(condition).collect(),
            puts: self.puts.iter().map(put).collect(),
            deletes: self.deletes.iter().map(|register| key(group, *register).into()).collect(),
        }
    }

    fn entry(&self, (began, ended): (Time, Time), number: u64, fate: Fate) -> Entry {
        let puts = self.puts.iter().map(|register| (*register, number));
        let writes = puts.chain(self.deletes.iter().map(|register| (*register, 0))).collect();
        let guards = self.guards.iter().map(|(register, (number, _))| (*register, *number)).collect();
        Entry { began, ended, guards, writes, seen: Vec::new(), fate }
    }
}
