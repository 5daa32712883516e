//! When the leases run out that are held, as their master counts it. What it does then stands in `leading/lease`.

use crate::cluster::{Lease, Table, Token};
use crate::protocol::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// When the leases run out that are held.
#[derive(Clone, Debug, Default)]
pub struct Deadlines {
    /// When each runs out, unless it is kept alive.
    pub(in crate::zen) due: BTreeMap<Token, Time>,
    /// Those that have run out; a task ends them.
    pub(in crate::zen) ending: BTreeSet<Token>,
    /// The leases that this is in step with.
    pub(in crate::zen) known: Table<Arc<str>, Lease>,
}

/// The committed leases themselves are hashed as a part of their state.
impl Hash for Deadlines {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.due, &self.ending).hash(hasher);
    }
}

impl Deadlines {
    /// Takes the committed leases over: what is new runs from now on, unless it is known to be older.
    pub(in crate::zen) fn follow(&mut self, now: Time, leases: &Table<Arc<str>, Lease>, is_anew: bool) {
        if self.known.ptr_eq(leases) {
            return;
        }
        let due = |lease: &Lease| if is_anew { now + lease.ttl } else { now };
        let held: BTreeMap<Token, Time> = leases.values().map(|lease| (lease.token, due(lease))).collect();
        self.due.retain(|token, _| held.contains_key(token));
        self.ending.retain(|token| held.contains_key(token));
        for (token, due) in held {
            self.due.entry(token).or_insert(due);
        }
        self.known = leases.clone();
    }

    /// When the next one runs out.
    pub(in crate::zen) fn next(&self) -> Option<Time> {
        self.due.iter().filter(|(token, _)| !self.ending.contains(token)).map(|(_, due)| *due).min()
    }
}
