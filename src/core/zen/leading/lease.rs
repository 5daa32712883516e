//! When leases run out, as long as this node leads.
//!
//! The cluster state holds no time. A master counts each lease from the moment at which it learned of it, or was last
//! asked to keep it alive; a new master counts all of them anew from its own first commit, so that none ends earlier than
//! its holder was told. A keep-alive is answered like a read: after a majority has confirmed this master since it was
//! asked. Whoever is elected instead is elected later than that, and counts from later still. A lease that has run out
//! ends with a task, and from the moment at which that is queued on it is not kept alive any more. Zen had no leases.

use crate::cluster::{Holding, Lease, Table, Token};
use crate::service::{Answer, Refusal, Task};
use crate::zen::Timer;
use crate::zen::mode::leadership::Leadership;
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::rules::Protection;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Role<'_, Leadership> {
    /// After a commit: counts the time of new leases, and no longer that of ended ones.
    pub(super) fn keep_leases(&mut self) {
        let leases = self.node.applied.metadata.leases.clone();
        let (keeps, doubts_until) = (self.node.keeps(Protection::LeasesAnew), self.node.doubts_until);
        let lead = &mut *self.mode;
        let is_anew = keeps || !lead.leases.known.is_empty();
        lead.leases.follow(self.now, &leases, is_anew);
        if let Some(next) = lead.leases.next() {
            // One that ran out while this node doubts itself waits; a deadline set into the past would show a stall.
            self.node.timers.set(Timer::Leases, next.max(doubts_until));
        }
    }

    /// Ends the leases that have run out.
    pub(in crate::zen) fn expire_leases(&mut self) -> Flow {
        let doubts_until = self.node.doubts_until;
        let lead = &mut *self.mode;
        // What a stalled node did not hear is no silence.
        if self.now < doubts_until {
            self.node.timers.set(Timer::Leases, doubts_until);
            return STAYS;
        }
        let leases = &mut lead.leases;
        let over = leases.due.iter().filter(|(token, due)| **due <= self.now && !leases.ending.contains(token));
        let tokens: BTreeSet<Token> = over.map(|(token, _)| *token).collect();
        leases.ending.extend(&tokens);
        if let Some(next) = leases.next() {
            self.node.timers.set(Timer::Leases, next);
        }
        if !tokens.is_empty() {
            return self.enqueue(Task::ExpireLeases { tokens });
        }
        STAYS
    }

    /// Lets a lease run anew. The mastership was confirmed after this was asked.
    pub(super) fn keep_alive(&mut self, holding: &Holding) -> Answer {
        let at = self.node.applied.id();
        let held = |leases: &Table<Arc<str>, Lease>| {
            leases.get(&holding.name).filter(|lease| lease.token == holding.token).cloned()
        };
        let committed = held(&self.node.applied.metadata.leases);
        // It may be ended by the publish under way.
        let newest = held(&self.node.ledger.accepted.metadata.leases);
        let keeps = self.node.keeps(Protection::EndingLeases);
        let lead = &mut *self.mode;
        let is_ending = |lease: &Lease| newest.is_none() || lead.leases.ending.contains(&lease.token);
        match committed.filter(|lease| !keeps || !is_ending(lease)) {
            Some(lease) => {
                lead.leases.due.insert(lease.token, self.now + lease.ttl);
                Answer::Lease { at, lease: Some(lease) }
            }
            None => Answer::Refused(Refusal::NotHeld(holding.clone())),
        }
    }
}
