//! What can happen next in an explored state.

use crate::cluster::Address;
use crate::protocol::{Call, Failure};
use crate::zen::Message;
use std::fmt;

/// Something on its way to a node.
#[derive(Clone, Debug, Hash)]
pub(super) enum Parcel {
    Request { from: usize, life: u32, call: Call, message: Message },
    Tell { from: usize, message: Message },
    Reply { from: usize, life: u32, call: Call, message: Message },
    Failed { life: u32, call: Call, why: Failure },
    Closed { life: u32, peer: Address },
    Resolved { life: u32 },
}

impl Parcel {
    /// Whether it can be lost: what a node's own system tells it cannot.
    pub(super) fn is_message(&self) -> bool {
        match self {
            Parcel::Request { .. } | Parcel::Tell { .. } | Parcel::Reply { .. } => true,
            Parcel::Failed { .. } | Parcel::Closed { .. } | Parcel::Resolved { .. } => false,
        }
    }

    /// Whether it only helps to look for a master, and promises nothing.
    pub(super) fn is_search(&self) -> bool {
        match self {
            Parcel::Request { message, .. } | Parcel::Tell { message, .. } | Parcel::Reply { message, .. } => {
                matches!(message.kind(), "ping" | "pong" | "notice")
            }
            Parcel::Resolved { .. } => true,
            Parcel::Failed { .. } | Parcel::Closed { .. } => false,
        }
    }
}

impl fmt::Display for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parcel::Request { from, message, .. } => write!(f, "{message} of n{from}"),
            Parcel::Tell { from, message } => write!(f, "{message} told by n{from}"),
            Parcel::Reply { from, message, .. } => write!(f, "{message} in reply of n{from}"),
            Parcel::Failed { call, why, .. } => write!(f, "that call {} {why}", call.0),
            Parcel::Closed { peer, .. } => write!(f, "that the link with {peer} closed"),
            Parcel::Resolved { .. } => f.write_str("the seed hosts"),
        }
    }
}

/// One thing that can happen next.
#[derive(Clone, Debug)]
pub enum Step {
    /// What is at this place of the ways arrives.
    Deliver {
        /// The place.
        at: usize,
        /// Where it arrives, and what it is.
        text: String,
    },
    /// It is lost, and whoever waits for a reply hears no more.
    Drop {
        /// The place.
        at: usize,
        /// Where it does not arrive, and what it is.
        text: String,
    },
    /// The first write of a node is done.
    Write(usize),
    /// The next deadline of a node passes.
    Wake(usize),
    /// The process of a node ends; of its writes so many are done.
    End(usize, usize),
    /// A process starts again.
    Start(usize),
    /// A client asks a node for an update.
    Ask(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Deliver { text, .. } => write!(f, "{text}"),
            Step::Drop { text, .. } => write!(f, "lost: {text}"),
            Step::Write(node) => write!(f, "n{node} has written"),
            Step::Wake(node) => write!(f, "n{node} wakes"),
            Step::End(node, written) => write!(f, "n{node} ends, {written} of its writes are done"),
            Step::Start(node) => write!(f, "n{node} starts"),
            Step::Ask(node) => write!(f, "n{node} is asked for an update"),
        }
    }
}
