//! Everything that can happen to a participant.

use super::{Alike, Protocol};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Names a request that this participant sent, until it was replied to or failed. The participant chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call(pub u64);

/// Names a request that this participant received, so that it can be replied to. The driver chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exchange(pub u64);

/// Names a client's question, so that it can be answered. The driver chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// Names a write, in the order in which the participant asked for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId(pub u64);

/// How a request failed. The three differ in what they tell about the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// Nobody listens there: the request was not carried out.
    Refused,
    /// The connection broke before a reply: the peer's process probably ended, the request may have been carried out.
    Reset,
    /// No reply in time: nothing is known.
    TimedOut,
    /// Something answered that could not be understood.
    BadAnswer,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Refused => "refused",
            Failure::Reset => "reset",
            Failure::TimedOut => "timed out",
            Failure::BadAnswer => "bad answer",
        })
    }
}

/// What looking up the seed hosts came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resolution<Peer> {
    /// Where to send messages.
    pub peers: Vec<Peer>,
    /// The hosts that have no address.
    pub unresolved: Vec<Unresolved>,
    /// Who was configured to be there from the start, as far as it is known by other names than the configured ones.
    pub initial: Vec<Initial<Peer>>,
}

impl<Peer> Resolution<Peer> {
    /// Every host was found.
    pub fn of(peers: Vec<Peer>) -> Self {
        Resolution { peers, unresolved: Vec::new(), initial: Vec::new() }
    }
}

/// A participant that was configured to be there from the start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Initial<Peer> {
    /// What it is called: a host, a node, or the one address that it has.
    pub name: Arc<str>,
    /// The addresses that it was found to have; it goes by one of them.
    pub peers: Vec<Peer>,
}

/// A seed host that has no address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Unresolved {
    /// The host, as it is configured.
    pub host: Arc<str>,
    /// Why not.
    pub why: Arc<str>,
}

impl Unresolved {
    /// How it is said that a name server did not answer.
    pub const UNANSWERED: &'static str = "timed out after";

    /// Whether a host may have an address all the same, by what is said of why it has none.
    pub fn is_unanswered(why: &str) -> bool {
        why.starts_with(Unresolved::UNANSWERED)
    }
}

/// One thing that happened to a participant.
pub enum Input<P: Protocol> {
    /// It was started, or started again; always the first input.
    Started,
    /// A message arrived. A reply is expected under `exchange`, unless the sender only told.
    Received {
        /// What a reply must name.
        exchange: Exchange,
        /// The request.
        message: P::Message,
    },
    /// A request was replied to.
    Replied {
        /// The request.
        call: Call,
        /// The reply.
        message: P::Message,
    },
    /// A request will not be replied to.
    Failed {
        /// The request.
        call: Call,
        /// What is known of the reason.
        why: Failure,
    },
    /// A link that one of the two held to the other is gone: broken, refused or never made.
    LinkClosed {
        /// The other end.
        peer: P::Peer,
    },
    /// A deadline passed.
    Woke,
    /// A write and all before it are durable.
    Stored(StoreId),
    /// The seed hosts were looked up.
    Resolved(Resolution<P::Peer>),
    /// A client asked.
    Asked {
        /// What an answer must name.
        ticket: Ticket,
        /// What is wanted.
        question: P::Question,
    },
}

impl<P: Protocol> Input<P> {
    /// The same, for a participant that is a part of this one.
    pub fn pass_on<Q: Alike<P>>(self) -> Input<Q> {
        match self {
            Input::Started => Input::Started,
            Input::Received { exchange, message } => Input::Received { exchange, message },
            Input::Replied { call, message } => Input::Replied { call, message },
            Input::Failed { call, why } => Input::Failed { call, why },
            Input::LinkClosed { peer } => Input::LinkClosed { peer },
            Input::Woke => Input::Woke,
            Input::Stored(id) => Input::Stored(id),
            Input::Resolved(found) => Input::Resolved(found),
            Input::Asked { ticket, question } => Input::Asked { ticket, question },
        }
    }
}
