//! What nodes say to each other, over HTTP: one message a request, its kind in the path, and held links beside it.
//!
//! ```text
//!   core ── Send, Tell ──► caller ── POST /_zen/publish ──►  server ──► inbox of the other core
//!        ── Link ────────► lifeline ═ POST /_zen/lifeline ═ both ways, held open: beats, the small messages between a
//!                                                           master and its followers, and the news of its end
//! ```
//!
//! What a message means is nobody's business here. Mirrors `TransportService` and `Netty4Transport` (6.8).

mod caller;
mod encode_cache;
mod entrance;
mod lifeline;
mod links;
mod notices;
mod server;

pub(super) use caller::Caller;
pub(super) use encode_cache::EncodeCache;
pub(super) use entrance::Entrance;
pub(super) use links::{Links, Manner, Received};
pub(super) use server::{report_only, router};

use crate::cluster::Address;
use crate::protocol::{Call, Failure};
use crate::zen::Message;
pub(super) use lifeline::LinkId;
use lifeline::{Frame, Lines};
use tokio::sync::oneshot;

/// What is larger is made out by a thread of its own, so that no other request waits for it.
const DECODED_AT_ONCE: usize = 256 << 10;

/// Reads a line of a link, for fuzzers.
#[cfg(fuzzing)]
pub(crate) fn read_frame(line: &[u8]) {
    drop(Frame::decode(line));
}

/// Something that came in from other nodes. Those who bring it wait while the node is busy.
pub(super) enum Inbound {
    /// A request.
    Message {
        /// The request.
        message: Message,
        /// Who waits for the reply.
        reply: ReplyTo,
    },
    /// A link is open.
    LinkOpened {
        /// The link.
        id: LinkId,
        /// The other end.
        peer: Address,
        /// Who made it.
        side: Side,
        /// The way out.
        lines: Lines,
    },
    /// Something came over a link.
    LinkFrame {
        /// The link.
        id: LinkId,
        /// The other end.
        peer: Address,
        /// What.
        frame: Frame,
    },
    /// A link is gone, or could not be made.
    LinkClosed {
        /// The link.
        id: LinkId,
        /// The other end.
        peer: Address,
    },
}

/// Who made a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// This node holds it.
    Held,
    /// The other end does.
    Accepted,
}

/// What became of a request of this node.
pub(super) enum CallOutcome {
    /// It was replied to.
    Replied(Call, Message),
    /// It was not.
    Failed(Call, Failure),
}

impl CallOutcome {
    /// Of which request it is.
    pub(super) fn call(&self) -> Call {
        match self {
            CallOutcome::Replied(call, _) | CallOutcome::Failed(call, _) => *call,
        }
    }
}

/// Who waits for a reply.
pub(super) enum ReplyTo {
    /// Nobody: the sender only told.
    Nobody,
    /// A connection.
    Caller(oneshot::Sender<Message>),
    /// The other end of a link, under the number that it chose.
    Link {
        /// The way out of the link, which stays open until all is answered.
        lines: Lines,
        /// The other end.
        peer: Address,
        /// The number.
        number: u64,
    },
}
