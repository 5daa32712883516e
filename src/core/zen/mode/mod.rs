//! The life of a node, and what it keeps in each mode.
//!
//! ```text
//!               ┌──────────────── a better candidate, an active master ───────────────┐
//!               │                                                                     ▼
//!   Finding ──► Electing ── enough joins ──► Leading ── no quorum, a higher term ──► Finding
//!     │  ▲        ▲                             │
//!     │  │        └── a vote of the own master ─┼──────────────┐
//!     │  └── unanswered, refused ──┐            └ hands over ─►│
//!     └────────► Joining ──────────┴── a state that holds it ─► Following ── master lost ──► Finding
//! ```
//!
//! A state of a master of the own term or a higher one makes every node a follower, whatever its mode.
//! What is done with what a mode keeps stands in the folders of the modes.

mod deadlines;
pub(super) mod leadership;
mod sent;

pub(super) use leadership::Leadership;

use super::quorum::BootstrapSet;
use crate::cluster::{Node, NodeId, StateId, Term};
use crate::protocol::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What a node is doing.
#[derive(Clone, Debug, Hash)]
pub enum Mode {
    /// It looks for a master.
    Finding,
    /// It stands as a candidate, and goes on looking.
    Electing(Candidacy),
    /// It asked a master or a candidate to be taken in.
    Joining(Joining),
    /// It is master.
    Leading(Box<Leadership>),
    /// It accepted a state of a master.
    Following(Following),
}

impl Mode {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.stance().name()
    }

    /// A look at it.
    pub(super) fn stance(&self) -> Stance<'_> {
        match self {
            Mode::Finding => Stance::Finds,
            Mode::Electing(candidacy) => Stance::Stands(candidacy),
            Mode::Joining(joining) => Stance::Joins(joining),
            Mode::Leading(lead) => Stance::Leads(lead),
            Mode::Following(following) => Stance::Follows(following),
        }
    }
}

/// A look at a mode: what a node says of itself depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stance<'a> {
    /// It looks for a master.
    Finds,
    /// It stands as a candidate.
    Stands(&'a Candidacy),
    /// It asked to be taken in.
    Joins(&'a Joining),
    /// It leads.
    Leads(&'a Leadership),
    /// It follows.
    Follows(&'a Following),
}

impl Stance<'_> {
    /// What the mode is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stance::Finds => "finding",
            Stance::Stands(_) => "electing",
            Stance::Joins(_) => "joining",
            Stance::Leads(_) => "leading",
            Stance::Follows(_) => "following",
        }
    }

    /// Whether it neither follows a master nor is one.
    pub(super) fn is_masterless(self) -> bool {
        matches!(self, Stance::Finds | Stance::Stands(_) | Stance::Joins(_))
    }

    /// Whether it looks for others, as candidates do: Zen's only waited.
    pub(super) fn is_searching(self) -> bool {
        matches!(self, Stance::Finds | Stance::Stands(_))
    }

    /// The term in which it stands, if it does.
    pub(super) fn stands_in(self) -> Option<Term> {
        match self {
            Stance::Stands(candidacy) => Some(candidacy.term),
            Stance::Finds | Stance::Joins(_) | Stance::Leads(_) | Stance::Follows(_) => None,
        }
    }
}

/// An attempt to become master in one term.
#[derive(Clone, Debug, Hash)]
pub struct Candidacy {
    /// The term.
    pub term: Term,
    /// When it began.
    pub since: Time,
    /// When the first one began that this one follows without a pause, in a higher term each.
    pub first: Time,
    /// How many came before it so.
    pub repeats: u32,
    /// When it lets others go first, if it has not won by then.
    pub doubted_at: Time,
    /// The joins of this term, by node.
    pub joins: BTreeMap<NodeId, Ballot>,
    /// The bootstrap sets of all who voted, the candidate included, as they last told them; as long as the cluster is
    /// not formed.
    pub bootstrap: BTreeMap<BootstrapSet, BTreeSet<NodeId>>,
}

impl Candidacy {
    /// A candidacy that begins.
    pub fn new(now: Time, term: Term, patience: Duration) -> Self {
        let (joins, bootstrap) = (BTreeMap::new(), BTreeMap::new());
        Candidacy { term, since: now, first: now, repeats: 0, doubted_at: now + patience, joins, bootstrap }
    }

    /// The same in the place of one that stood until now: two that drive each other's terms up would else begin anew for ever,
    /// and neither would ever let the other go first.
    pub fn after(self, before: &Mode) -> Self {
        match before {
            Mode::Electing(before) => {
                let repeats = before.repeats.saturating_add(1);
                Candidacy { first: before.first, repeats, doubted_at: before.doubted_at, ..self }
            }
            Mode::Finding | Mode::Joining(_) | Mode::Leading(_) | Mode::Following(_) => self,
        }
    }
}

/// A join that a candidate counts, or holds for the day it leads.
#[derive(Clone, Debug, Hash)]
pub struct Ballot {
    /// The joiner.
    pub node: Arc<Node>,
    /// Whether it is a vote.
    pub votes: bool,
    /// The joiner's accepted state.
    pub accepted: StateId,
    /// Whether the joiner has applied a recovered state of its master.
    pub has_recovered_state: bool,
}

/// A join on its way.
#[derive(Clone, Debug, Hash)]
pub struct Joining {
    /// The master or candidate.
    pub target: Arc<Node>,
    /// Whether others follow it, so that it is a master and no candidate.
    pub leads: bool,
    /// The term of the vote, if it is one.
    pub vote: Option<Term>,
    /// Whether the candidate won in that term: its state is on its way.
    pub won: bool,
    /// When it began.
    pub since: Time,
    /// When it was last sent.
    pub sent: Time,
    /// When the target last answered.
    pub answered: Time,
    /// How often in a row the target has not answered in time.
    pub missed: u32,
    /// How often the target said that it neither leads nor stands.
    pub rebuffs: u32,
    /// How often the candidate stood anew after it had this vote.
    pub stood_anew: u32,
}

impl Joining {
    /// A join that is about to be sent.
    pub fn new(now: Time, target: Arc<Node>, leads: bool, vote: Option<Term>) -> Self {
        Joining {
            target,
            leads,
            vote,
            won: false,
            since: now,
            sent: now,
            answered: now,
            missed: 0,
            rebuffs: 0,
            stood_anew: 0,
        }
    }
}

/// A master followed.
#[derive(Clone, Debug, Hash)]
pub struct Following {
    /// The master.
    pub master: Arc<Node>,
    /// When it was last heard of.
    pub heard: Time,
    /// Pings in a row that it did not answer.
    pub failures: u32,
    /// Whether a ping is on its way.
    pub is_pinging: bool,
    /// When others who miss it heard of it last.
    pub others: BTreeMap<NodeId, Heard>,
}

/// When another follower last heard of the master, and when it said so.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Heard {
    /// When it heard of it.
    pub at: Time,
    /// When it said so.
    pub told: Time,
}
