//! Who judges messages at a gate in the network, what may become of one there, and how it goes on.
//!
//! What the world does with all that is in `gate`.

use super::calls::CallId;
use crate::protocol::Protocol;

/// What becomes of a message at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes on.
    Deliver,
    /// It vanishes.
    Drop,
    /// It waits until it is released.
    Hold,
}

/// Judges a message by its sender, its receiver and what it says.
pub type MessageFilter<M> = Box<dyn FnMut(usize, usize, &M) -> Passage>;

/// A message that did not pass.
pub struct Stop<'a, P: Protocol> {
    /// The node that sent it.
    pub from: usize,
    /// The node that it was for.
    pub to: usize,
    /// The message.
    pub message: &'a P::Message,
    /// What became of it.
    pub passage: Passage,
}

impl<P: Protocol> Clone for Stop<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Protocol> Copy for Stop<'_, P> {}

/// How a message is to arrive.
#[derive(Clone, Copy)]
pub(super) enum Manner {
    Request(CallId),
    Tell,
    Reply(CallId),
}

/// A message on its way.
pub(super) struct Freight<P: Protocol> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) manner: Manner,
    pub(super) message: P::Message,
}
