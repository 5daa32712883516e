//! A node in one of its modes: what the methods of a mode may touch, and how a mode ends.
//!
//! A role borrows what its mode keeps and what all modes share, for as long as one input is handled. It never changes the mode:
//! it says what comes next, and `transitions` carries that out.

use super::Zen;
use super::leave::Successor;
use super::node::NodeState;
use crate::protocol::{Effects, Time};
use std::ops::ControlFlow;
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
