//! A node in one of its modes: what the methods of a mode may touch, and how a mode ends.
//!
//! A role borrows what its mode keeps and what all modes share, for as long as one input is handled. It never changes the mode:
//! it says what comes next, and `transitions` carries that out.

use super::mode::{Candidacy, Following, Joining, Leadership};
use super::node::{NodeState, Successor};
use super::quorum::BootstrapSet;
use super::{Mode, Zen};
use crate::cluster::{Node, Term};
use crate::protocol::{Effects, Time};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// A node in the mode that keeps `M`.
pub(super) struct Role<'a, M> {
    /// What this mode keeps.
    pub(super) mode: &'a mut M,
    /// What all modes share.
    pub(super) node: &'a mut NodeState,
    /// When the present input came.
    pub(super) now: Time,
    /// What is wanted.
    pub(super) out: &'a mut Effects<Zen>,
}

/// What comes after a mode that ends.
#[derive(Debug)]
pub(super) enum Next {
    /// A mastership ends; no choice is made for some time.
    StepDown { pause: Duration, reason: String },
    /// A mastership ends with a vote for somebody else.
    HandOver(Successor),
    /// A master is looked for; no choice is made for some time.
    Find { pause: Duration, reason: String },
    /// It stands as a candidate: in exactly this term, or in the next one that nobody was seen in.
    Stand { term: Option<Term>, reason: &'static str },
    /// It votes for a candidate in a term in which it can.
    Vote { term: Term, candidate: Arc<Node> },
    /// It asks a candidate to be taken in, and has no vote to give.
    Ask(Arc<Node>),
    /// It asks a master to be taken in.
    Join(Arc<Node>),
    /// It has won, with the votes of those who were told these bootstrap sets.
    Lead(BTreeSet<BootstrapSet>),
}

impl Next {
    /// A master is looked for, and the first choice is acted upon.
    pub(super) fn find(reason: impl Into<String>) -> Flow {
        Flow::Break(Next::Find { pause: Duration::ZERO, reason: reason.into() })
    }
}

/// Whether a mode lasts: what breaks off is over, and nothing more is done in it.
pub(super) type Flow = ControlFlow<Next>;

/// The mode lasts.
pub(super) const STAYS: Flow = ControlFlow::Continue(());

/// What came of something that a role did: only few things can end its mode.
pub(super) struct Outcome(pub(super) Flow);

impl From<Flow> for Outcome {
    fn from(flow: Flow) -> Self {
        Outcome(flow)
    }
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Outcome(STAYS)
    }
}

/// What a mode keeps, found in the mode that a node is in.
pub(super) trait Kept: Sized {
    /// It, if the node is in its mode.
    fn of(mode: &mut Mode) -> Option<&mut Self>;
}

macro_rules! kept {
    ($($kept:ty: $mode:ident,)*) => {
        $(impl Kept for $kept {
            fn of(mode: &mut Mode) -> Option<&mut Self> {
                if let Mode::$mode(kept) = mode { Some(kept) } else { None }
            }
        })*
    };
}

kept! {
    Candidacy: Electing,
    Joining: Joining,
    Leadership: Leading,
    Following: Following,
}
