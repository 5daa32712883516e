//! Everything that a participant can want.

use super::{Alike, Call, Disk, Exchange, Protocol, StoreId, Ticket};
use std::time::Duration;

/// How much a note matters to an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Follows single steps.
    Debug,
    /// A significant change: the master, the members, started, stopped.
    Info,
    /// An operator should look.
    Warn,
}

/// One thing that a participant wants done. The effects of one input form a batch and are carried out in order; those
/// behind a store wait until it is durable, those of other batches do not.
pub enum Effect<P: Protocol> {
    /// Send a request; exactly one `Replied` or `Failed` for `call` follows.
    Send {
        /// The receiver.
        to: P::Peer,
        /// What the outcome will name.
        call: Call,
        /// The request.
        message: P::Message,
        /// When to give up: the time in which nothing of the request or its reply gets on. What is large may take longer.
        timeout: Duration,
    },
    /// Stop a request whose outcome nobody waits for any more: what has not been sent of it is not sent. An outcome that is
    /// known already may follow.
    Cancel {
        /// The request.
        call: Call,
    },
    /// Send a message that needs no reply; nothing of its fate is reported.
    Tell {
        /// The receiver.
        to: P::Peer,
        /// The message.
        message: P::Message,
    },
    /// Reply to a request.
    Reply {
        /// The request.
        exchange: Exchange,
        /// The reply.
        message: P::Message,
    },
    /// Make a write durable; `Stored` follows. Writes are carried out in order.
    Store {
        /// What the report will name.
        id: StoreId,
        /// The change.
        write: <P::Disk as Disk>::Write,
    },
    /// Hold a link to a peer, so that its end is noticed. Holding one that is held already does nothing.
    Link {
        /// The other end.
        to: P::Peer,
    },
    /// Let go of the link to a peer; the other end is told that it closed.
    Unlink {
        /// The other end.
        to: P::Peer,
    },
    /// Look up the seed hosts; `Resolved` follows.
    Resolve,
    /// Show readers this.
    Apply(P::View),
    /// Answer a client.
    Answer {
        /// The question.
        ticket: Ticket,
        /// The answer.
        answer: P::Answer,
    },
    /// Tell the operator.
    Note(P::Note),
}

impl<P: Protocol> Effect<P> {
    /// The same, wanted by a participant of which this one is a part.
    pub fn pass_on<Q: Alike<P>>(self) -> Effect<Q> {
        match self {
            Effect::Send { to, call, message, timeout } => Effect::Send { to, call, message, timeout },
            Effect::Cancel { call } => Effect::Cancel { call },
            Effect::Tell { to, message } => Effect::Tell { to, message },
            Effect::Reply { exchange, message } => Effect::Reply { exchange, message },
            Effect::Store { id, write } => Effect::Store { id, write },
            Effect::Link { to } => Effect::Link { to },
            Effect::Unlink { to } => Effect::Unlink { to },
            Effect::Resolve => Effect::Resolve,
            Effect::Apply(view) => Effect::Apply(view),
            Effect::Answer { ticket, answer } => Effect::Answer { ticket, answer },
            Effect::Note(note) => Effect::Note(note),
        }
    }
}

/// The effects of one input, in order.
pub struct Effects<P: Protocol>(Vec<Effect<P>>);

impl<P: Protocol> Default for Effects<P> {
    fn default() -> Self {
        Effects(Vec::new())
    }
}

impl<P: Protocol> Effects<P> {
    /// Appends an effect.
    pub fn push(&mut self, effect: Effect<P>) {
        self.0.push(effect);
    }

    /// Appends a note.
    pub fn note(&mut self, note: impl Into<P::Note>) {
        self.0.push(Effect::Note(note.into()));
    }

    /// Moves some effects behind all others; otherwise the order stays.
    pub fn put_last(&mut self, is_late: impl Fn(&Effect<P>) -> bool) {
        self.0.sort_by_key(is_late);
    }

    /// Takes all effects out, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect<P>> + '_ {
        self.0.drain(..)
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The effects, in order.
    pub fn as_slice(&self) -> &[Effect<P>] {
        &self.0
    }
}
