//! The links that this node has, held and accepted, and the beats that are on their way over them.
//!
//! Owned by the task that owns the node, so that nothing here is shared. A link that stayed silent carries no beats until
//! it is heard of again: a connection that met a black hole takes long to come back, a new one does not.

use super::lifeline::{self, Frame, LinkId};
use super::{Faults, Inbound, ReplyTo, Side};
use crate::cluster::Address;
use crate::protocol::{Call, Time};
use crate::zen::Message;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// How many links others may hold to this node.
const ACCEPTED_MAX: usize = 8_192;

/// One end of an open link.
struct Open {
    frames: mpsc::Sender<Bytes>,
    is_silent: bool,
}

/// A link that this node holds, or tries to make.
struct Held {
    id: LinkId,
    task: AbortHandle,
    open: Option<Open>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A beat that was asked over a link.
struct Beat {
    peer: Address,
    due: Time,
}

/// The links of a node.
pub(in crate::runtime) struct Links {
    client: reqwest::Client,
    local: Address,
    faults: Arc<Faults>,
    inbox: mpsc::Sender<Inbound>,
    held: BTreeMap<Address, Held>,
    accepted: BTreeMap<Address, (LinkId, Open)>,
    beats: BTreeMap<Call, Beat>,
}

impl Links {
    pub(in crate::runtime) fn new(
        client: reqwest::Client,
        local: Address,
        faults: Arc<Faults>,
        inbox: mpsc::Sender<Inbound>,
    ) -> Self {
        let (held, accepted, beats) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Links { client, local, faults, inbox, held, accepted, beats }
    }

    /// Holds a link to a peer from now on.
    pub(in crate::runtime) fn hold(&mut self, to: Address) {
        if self.held.contains_key(&to) {
            return;
        }
        let id = LinkId::next();
        let (client, local, inbox) = (self.client.clone(), self.local.clone(), self.inbox.clone());
        let task = tokio::spawn(lifeline::hold(client, id, to.clone(), local, inbox)).abort_handle();
        self.held.insert(to, Held { id, task, open: None });
    }

    /// Lets go of the link to a peer.
    pub(in crate::runtime) fn let_go(&mut self, to: &Address) {
        self.held.remove(to);
    }

    /// Takes up a link that is open, unless it is an old one; dropping its way out closes it.
    pub(in crate::runtime) fn opened(&mut self, id: LinkId, peer: Address, side: Side, frames: mpsc::Sender<Bytes>) {
        let open = Open { frames, is_silent: false };
        match side {
            Side::Held => {
                if let Some(held) = self.held.get_mut(&peer).filter(|held| held.id == id) {
                    held.open = Some(open);
                }
            }
            Side::Accepted if self.accepted.len() < ACCEPTED_MAX || self.accepted.contains_key(&peer) => {
                self.accepted.insert(peer, (id, open));
            }
            Side::Accepted => {}
        }
    }

    /// Forgets a link that closed. Tells whether it was one that counts: not one that was replaced or let go of.
    pub(in crate::runtime) fn closed(&mut self, id: LinkId, peer: &Address) -> bool {
        if self.held.get(peer).is_some_and(|held| held.id == id) {
            self.held.remove(peer);
            return true;
        }
        let is_current = self.accepted.get(peer).is_some_and(|(current, _)| *current == id);
        if is_current {
            self.accepted.remove(peer);
        }
        is_current
    }

    /// Asks something over the open link to a peer, if there is one that is not silent.
    pub(in crate::runtime) fn ask(&mut self, to: &Address, call: Call, message: &Message, due: Time) -> bool {
        let held = self.held.get(to).and_then(|held| held.open.as_ref());
        let accepted = self.accepted.get(to).map(|(_, open)| open);
        let Some(open) = held.or(accepted).filter(|open| !open.is_silent) else {
            return false;
        };
        let is_sent =
            self.faults.swallows_to(to) || open.frames.try_send(Frame::Ask(call.0, message.clone()).encode()).is_ok();
        if is_sent {
            self.beats.insert(call, Beat { peer: to.clone(), due });
        }
        is_sent
    }

    /// When the next beat runs out of time.
    pub(in crate::runtime) fn next_due(&self) -> Option<Time> {
        self.beats.values().map(|beat| beat.due).min()
    }

    /// The beats that have run out of time; their links are silent.
    pub(in crate::runtime) fn expired(&mut self, now: Time) -> Vec<Call> {
        let expired = self.beats.iter().filter(|(_, beat)| beat.due <= now).map(|(call, _)| *call);
        let expired: Vec<Call> = expired.collect();
        for call in &expired {
            if let Some(beat) = self.beats.remove(call) {
                self.set_silent(&beat.peer, true);
            }
        }
        expired
    }

    /// The beats that were on their way to a peer whose link closed: they were not heard, or not answered.
    pub(in crate::runtime) fn lost(&mut self, peer: &Address) -> Vec<Call> {
        let lost: Vec<Call> = self.beats.iter().filter(|(_, beat)| beat.peer == *peer).map(|(call, _)| *call).collect();
        self.beats.retain(|_, beat| beat.peer != *peer);
        lost
    }

    fn set_silent(&mut self, peer: &Address, is_silent: bool) {
        if let Some(open) = self.held.get_mut(peer).and_then(|held| held.open.as_mut()) {
            open.is_silent = is_silent;
        }
        if let Some((_, open)) = self.accepted.get_mut(peer) {
            open.is_silent = is_silent;
        }
    }

    /// What a frame brought: a request with the way back, or the reply to a beat.
    pub(in crate::runtime) fn received(&mut self, id: LinkId, peer: &Address, frame: Frame) -> Option<Received> {
        if self.faults.swallows_from(peer) {
            return None;
        }
        self.set_silent(peer, false);
        match frame {
            Frame::Ask(number, message) => {
                let frames = self.way_back(id, peer)?;
                Some(Received::Request(message, ReplyTo::Link { frames, peer: peer.clone(), number }))
            }
            Frame::Answer(number, message) => {
                let call = Call(number);
                let is_known = self.beats.get(&call).is_some_and(|beat| beat.peer == *peer);
                is_known.then(|| {
                    self.beats.remove(&call);
                    Received::Reply(call, message)
                })
            }
        }
    }

    fn way_back(&self, id: LinkId, peer: &Address) -> Option<mpsc::Sender<Bytes>> {
        let held = self.held.get(peer).filter(|held| held.id == id).and_then(|held| held.open.as_ref());
        let accepted = self.accepted.get(peer).filter(|(current, _)| *current == id).map(|(_, open)| open);
        held.or(accepted).map(|open| open.frames.clone())
    }

    /// Brings a reply over a link.
    pub(in crate::runtime) fn reply(
        &self,
        frames: &mpsc::Sender<Bytes>,
        peer: &Address,
        number: u64,
        message: Message,
    ) {
        if !self.faults.swallows_to(peer) {
            // A link that is full or closed loses the reply, as a network may.
            let _ = frames.try_send(Frame::Answer(number, message).encode());
        }
    }
}

/// What came over a link.
pub(in crate::runtime) enum Received {
    /// A request, and who waits for the reply.
    Request(Message, ReplyTo),
    /// The reply to a beat.
    Reply(Call, Message),
}
