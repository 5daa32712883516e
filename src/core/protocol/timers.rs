//! The deadlines of one participant, each with its reason.
//!
//! A reason has at most one deadline; setting it again moves it. Nothing is ever cancelled in the driver: it asks for the
//! earliest deadline after each input and sleeps until then.

use super::Time;
use std::collections::BTreeMap;

/// A table of deadlines by reason.
#[derive(Clone, Debug, Hash)]
pub struct Timers<R> {
    due: BTreeMap<R, Time>,
}

impl<R> Default for Timers<R> {
    fn default() -> Self {
        Timers { due: BTreeMap::new() }
    }
}

impl<R: Copy + Ord> Timers<R> {
    /// Wakes for `reason` at `at`, and no longer when it was set to before.
    pub fn set(&mut self, reason: R, at: Time) {
        self.due.insert(reason, at);
    }

    /// Wakes for `reason` at `at`, or when it was set to before if that is earlier.
    pub fn set_earlier(&mut self, reason: R, at: Time) {
        let due = self.due.entry(reason).or_insert(at);
        *due = at.min(*due);
    }

    /// Wakes for `reason` no sooner than at `at`, if it has a deadline.
    pub fn put_off(&mut self, reason: R, at: Time) {
        if let Some(due) = self.due.get_mut(&reason) {
            *due = at.max(*due);
        }
    }

    /// Does not wake for `reason`.
    pub fn stop(&mut self, reason: R) {
        self.due.remove(&reason);
    }

    /// Whether `reason` has a deadline.
    pub fn is_set(&self, reason: R) -> bool {
        self.due.contains_key(&reason)
    }

    /// The earliest deadline; the lesser reason where two fall together.
    pub fn next(&self) -> Option<(Time, R)> {
        self.due.iter().map(|(&reason, &at)| (at, reason)).min()
    }

    /// The deadlines, the earliest first; the lesser reason where two fall together.
    pub fn in_order(&self) -> Vec<(Time, R)> {
        let mut due: Vec<_> = self.due.iter().map(|(&reason, &at)| (at, reason)).collect();
        due.sort_unstable();
        due
    }

    /// Takes out the earliest deadline that has passed.
    pub fn pop_due(&mut self, now: Time) -> Option<R> {
        let (at, reason) = self.next()?;
        (at <= now).then(|| {
            self.due.remove(&reason);
            reason
        })
    }
}
