//! What clients asked and were told, and what contradicts it.
//!
//! Every update writes a value that no other one writes, so that a value names its update. An update lies before another
//! one only if it was acknowledged before that one was asked for; of all others nothing is said.

use crate::cluster::{Blob, ClusterState, RequestOutcome, StateId};
use crate::protocol::{Ticket, Time};
use crate::service::{Answer, Query, Question, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// An update, and whether its client was told that it was carried out.
#[derive(Clone, Debug)]
struct Update {
    key: Arc<str>,
    value: Blob,
    asked: Moment,
    done: Option<(Moment, StateId)>,
}

/// When something was asked or answered; of what happened at one time the earlier has the lower number.
type Moment = (Time, u64);

/// What a client waits for.
#[derive(Clone, Debug)]
enum Open {
    /// The updates with these numbers, made together.
    Updates(Vec<usize>),
    /// What a key holds, asked at this time.
    Read(Arc<str>, Moment),
}

/// What clients asked and were told.
#[derive(Debug, Default)]
pub(super) struct Claims {
    updates: Vec<Update>,
    open: BTreeMap<Ticket, Open>,
    /// Keys that may be gone without a contradiction: somebody deletes them.
    vanishing: BTreeSet<Arc<str>>,
    moments: u64,
}

impl Claims {
    fn moment(&mut self, at: Time) -> Moment {
        self.moments += 1;
        (at, self.moments)
    }

    pub(super) fn asked(&mut self, at: Time, ticket: Ticket, question: &Question) {
        let moment = self.moment(at);
        match question {
            Question::Submit { task, .. } => self.asked_for(moment, ticket, task),
            Question::Read { query: Query::Key { key }, .. } => {
                self.open.insert(ticket, Open::Read(key.clone(), moment));
            }
            Question::Read { .. } | Question::PendingTasks { .. } | Question::HandOver { .. } | Question::Leave => {}
        }
    }

    fn asked_for(&mut self, moment: Moment, ticket: Ticket, task: &Task) {
        match task {
            Task::Once { task, .. } | Task::Forwarded { task, .. } => self.asked_for(moment, ticket, task),
            Task::Txn(txn) => {
                let leased = txn.puts.iter().filter(|put| put.lease.is_some()).map(|put| &put.key);
                self.vanishing.extend(txn.deletes.iter().chain(leased).cloned());
                let numbers = txn.puts.iter().map(|put| self.number_of(moment, &put.key, &put.value)).collect();
                self.open.insert(ticket, Open::Updates(numbers));
            }
            Task::Join { .. }
            | Task::Remove { .. }
            | Task::RemoveVoter { .. }
            | Task::PutSettings { .. }
            | Task::GrantLease { .. }
            | Task::ReleaseLease(_)
            | Task::ExpireLeases { .. }
            | Task::Recover
            | Task::PutIndex { .. } => {}
        }
    }

    /// The number of an update; one that is asked for again is still the same.
    fn number_of(&mut self, moment: Moment, key: &Arc<str>, value: &Blob) -> usize {
        let known = self.updates.iter().position(|update| update.key == *key && update.value == *value);
        known.unwrap_or_else(|| {
            let (key, value) = (key.clone(), value.clone());
            self.updates.push(Update { key, value, asked: moment, done: None });
            self.updates.len() - 1
        })
    }

    /// Takes an answer in, and says how a read contradicts what was told before it began, if it does.
    pub(super) fn answered(&mut self, at: Time, ticket: Ticket, answer: &Answer) -> Option<String> {
        let moment = self.moment(at);
        match (self.open.remove(&ticket)?, answer) {
            (Open::Updates(numbers), Answer::Done { at: state, outcome: RequestOutcome::Written { .. }, .. }) => {
                for number in numbers {
                    self.updates[number].done.get_or_insert((moment, *state));
                }
                None
            }
            (Open::Read(key, began), Answer::Value { at: state, value }) => {
                let held = value.as_ref().map(|found| &found.value);
                let missed = self.missed(&key, held, |(done, _)| done < began)?;
                Some(format!("a read at {} found {state}, without {missed}", began.0))
            }
            (Open::Updates(_) | Open::Read(..), _) => None,
        }
    }

    pub(super) fn lost(&mut self, ticket: Ticket) {
        self.open.remove(&ticket);
    }

    /// An update, acknowledged as `counts` wants it, that lies after the one whose value a key holds.
    fn missed(&self, key: &str, held: Option<&Blob>, counts: impl Fn((Moment, StateId)) -> bool) -> Option<String> {
        let of_key = || self.updates.iter().filter(|update| &*update.key == key);
        let holder = held.and_then(|held| of_key().find(|update| update.value == *held));
        let is_after = |update: &&Update| match (held, holder) {
            (None, _) => !self.vanishing.contains(key),
            (Some(_), Some(holder)) => holder.done.is_some_and(|(done, _)| done < update.asked),
            (Some(_), None) => false,
        };
        let mut told = of_key().filter(|update| update.done.is_some_and(&counts));
        let update = told.rfind(is_after)?;
        let (done, at) = update.done?;
        Some(format!("{}={}, acknowledged at {} in {at}", update.key, text(&update.value), done.0))
    }

    /// An acknowledged update that a state lacks; of those in earlier states only, if the state may be an old one.
    pub(super) fn missing_in(&self, state: &ClusterState, is_earlier: bool) -> Option<String> {
        let keys: BTreeSet<&Arc<str>> = self.updates.iter().map(|update| &update.key).collect();
        let held = |key: &Arc<str>| state.metadata.keys.get(key).map(|found| &found.value);
        let counts = |(_, at): (Moment, StateId)| !is_earlier || at.rank() < state.rank();
        keys.into_iter().rev().find_map(|key| self.missed(key, held(key), counts))
    }

    /// The update that took longest, or waits longest.
    pub(super) fn slowest(&self, now: Time) -> Option<(Duration, String)> {
        let waiting = |number: usize| {
            self.open.values().any(|open| matches!(open, Open::Updates(open) if open.contains(&number)))
        };
        let spans = self.updates.iter().enumerate().filter_map(|(number, update)| {
            let end = update.done.map(|((done, _), _)| done).or_else(|| waiting(number).then_some(now))?;
            Some((end.since(update.asked.0), format!("{}={}", update.key, text(&update.value))))
        });
        spans.max()
    }
}

fn text(value: &Blob) -> &str {
    value.as_str().unwrap_or("bytes")
}
