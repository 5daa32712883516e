//! LeaseHolders of leases in a story: whatever they are told, no two of them may believe to hold one lease at once.
//!
//! Each token is one holder. It believes from the moment at which it asked for the lease, or last kept it alive, for as
//! long as `docs/leases.md` says, on a clock that is right. Whether that can be is judged in `check`.

use crate::cluster::{Holding, RequestOutcome, Token};
use crate::protocol::{Ticket, Time};
use crate::service::limits::holders_ttl;
use crate::service::{Answer, Query, Question, Task};
use crate::sim::Violation;
use crate::sim::check::Fencing;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What a holder waits for.
#[derive(Debug)]
enum Pending {
    Grant(Arc<str>, Duration),
    Alive(Holding),
}

/// All holders of a story.
#[derive(Debug, Default)]
pub(super) struct LeaseHolders {
    open: BTreeMap<Ticket, (Time, Pending)>,
    /// The leases, by the numbers that they are judged under.
    leases: Vec<Arc<str>>,
    /// What was given up, maybe before its holder was told that it had it.
    freed: BTreeSet<Token>,
    fencing: Fencing,
}

impl LeaseHolders {
    pub(super) fn asked(&mut self, now: Time, ticket: Ticket, question: &Question) {
        if let Question::Submit { task, .. } = question {
            self.submitted(now, ticket, task);
        }
        if let Question::Read { query: Query::KeepAlive(holding), .. } = question {
            self.open.insert(ticket, (now, Pending::Alive(holding.clone())));
        }
    }

    fn submitted(&mut self, now: Time, ticket: Ticket, task: &Task) {
        if let Task::Once { task, .. } = task {
            self.submitted(now, ticket, task);
        }
        if let Task::GrantLease { name, ttl, .. } = task {
            self.open.insert(ticket, (now, Pending::Grant(name.clone(), *ttl)));
        }
        if let Task::ReleaseLease(holding) = task {
            let lease = self.number(&holding.name);
            self.fencing.gives_up(lease, holder(holding.token));
            self.freed.insert(holding.token);
        }
    }

    pub(super) fn answered(&mut self, at: Time, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        let Some((asked, pending)) = self.open.remove(&ticket) else {
            return Ok(());
        };
        match (pending, answer) {
            (Pending::Grant(name, ttl), Answer::Done { outcome: RequestOutcome::Granted { token }, .. }) => {
                self.believes(&name, *token, at, asked + holders_ttl(ttl))
            }
            (Pending::Alive(holding), Answer::Lease { lease: Some(lease), .. }) => {
                self.believes(&holding.name, holding.token, at, asked + holders_ttl(lease.ttl))
            }
            (Pending::Grant(..) | Pending::Alive(_), _) => Ok(()),
        }
    }

    fn believes(&mut self, name: &Arc<str>, token: Token, at: Time, until: Time) -> Result<(), Violation> {
        let lease = self.number(name);
        if until > at && !self.freed.contains(&token) {
            self.fencing.believes(lease, holder(token), at, until)
        } else {
            Ok(())
        }
    }

    fn number(&mut self, name: &Arc<str>) -> usize {
        self.leases.iter().position(|known| known == name).unwrap_or_else(|| {
            self.leases.push(name.clone());
            self.leases.len() - 1
        })
    }
}

fn holder(token: Token) -> usize {
    usize::try_from(token.get()).unwrap_or(usize::MAX)
}
