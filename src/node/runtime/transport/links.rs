//! The links that this node has, held and accepted, and what was asked over them and is not answered.
//!
//! Owned by the task that owns the node, so that nothing here is shared. A link that stayed silent carries nothing until
//! it is heard of again: a connection that met a black hole takes long to come back, a new one does not.

use super::encode_cache::Encoded;
use super::lifeline::{self, BODY_MAX, Frame, Line, Lines, LinkId, Word};
use super::{Inbound, ReplyTo, Side};
use crate::cluster::Address;
use crate::protocol::{Call, Time};
use crate::runtime::faults::Faults;
use crate::runtime::figures::Tally;
use crate::runtime::peers::Peers;
use crate::service::{Answer, Query};
use crate::wire;
use crate::zen::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// How many links others may hold to this node.
const ACCEPTED_MAX: usize = 8_192;

/// How much may be asked over links at a time, beats apart. What is more goes as requests of their own.
const ASKED_MAX: usize = 1_024;

/// The longest value that is told over a link.
const READ_MAX: usize = 2 << 10;

/// How many tasks of the queue are told over a link at the most.
const PENDING_MAX: usize = 16;

/// How a request likes to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Manner {
    /// Over a link; its silence is the link's.
    Beat,
    /// Over a link if it is small, since it may take its time.
    Small,
    /// The same, and as a request of its own once its answer turns out to be too long for a link.
    Brief,
    /// As a request of its own.
    Alone,
}

impl Manner {
    /// What a master and its followers say all the time goes over their links, and what their users read of it. What is said
    /// when they find each other or part does not, because then their links come and go; nor what is answered at length.
    pub(in crate::runtime) fn of(message: &Message) -> Self {
        match message {
            Message::NodePing { .. } | Message::MasterPing { .. } => Manner::Beat,
            Message::Publish { .. } | Message::Commit { .. } | Message::Submit { .. } => Manner::Small,
            Message::Read { query: Query::Range { .. }, .. } => Manner::Alone,
            Message::Read { .. } | Message::PendingTasks { .. } => Manner::Brief,
            Message::Ping { .. }
            | Message::Notice { .. }
            | Message::Join { .. }
            | Message::Fetch { .. }
            | Message::CallVote { .. }
            | Message::Leave { .. }
            | Message::Relay { .. }
            | Message::Succession { .. }
            | Message::Pong { .. }
            | Message::Joining(_)
            | Message::Fetched { .. }
            | Message::Report(_)
            | Message::MasterPong(_)
            | Message::Gone
            | Message::Answered(_)
            | Message::Rejected(_) => Manner::Alone,
        }
    }
}

/// One end of an open link.
struct Open {
    lines: Lines,
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

/// A request that went over a link.
struct Asked {
    peer: Address,
    link: LinkId,
    manner: Manner,
    due: Time,
    /// What is sent again, on its own, if its answer is too long.
    again: Option<Encoded>,
}

/// The links of a node.
pub(in crate::runtime) struct Links {
    peers: Peers,
    local: Address,
    faults: Arc<Faults>,
    tally: Arc<Tally>,
    inbox: mpsc::Sender<Inbound>,
    held: BTreeMap<Address, Held>,
    accepted: BTreeMap<Address, (LinkId, Open)>,
    /// Links that were let go of: the other end knows it, and they are read until all is answered that was asked.
    ending: BTreeMap<LinkId, Held>,
    asked: BTreeMap<Call, Asked>,
    due: BTreeSet<(Time, Call)>,
    /// The peers whose links lost something to a cut.
    robbed: BTreeSet<Address>,
}

impl Links {
    pub(in crate::runtime) fn new(
        peers: Peers,
        local: Address,
        (faults, tally): (Arc<Faults>, Arc<Tally>),
        inbox: mpsc::Sender<Inbound>,
    ) -> Self {
        Links {
            peers,
            local,
            faults,
            tally,
            inbox,
            held: BTreeMap::new(),
            accepted: BTreeMap::new(),
            ending: BTreeMap::new(),
            asked: BTreeMap::new(),
            due: BTreeSet::new(),
            robbed: BTreeSet::new(),
        }
    }

    /// Holds a link to a peer from now on.
    pub(in crate::runtime) fn hold(&mut self, to: Address) {
        if self.held.contains_key(&to) {
            return;
        }
        let id = LinkId::next();
        let (peers, local) = (self.peers.clone(), self.local.clone());
        let (inbox, tally) = (self.inbox.clone(), self.tally.clone());
        let task = tokio::spawn(lifeline::hold(peers, id, to.clone(), local, (inbox, tally))).abort_handle();
        self.held.insert(to, Held { id, task, open: None });
    }

    /// Lets go of the link to a peer, or else of the one that the peer holds. Without its way out the other end sees the
    /// end of it; what was asked may still be answered.
    pub(in crate::runtime) fn let_go(&mut self, to: &Address) {
        match self.held.remove(to) {
            Some(mut held) if self.is_asked_over(held.id) => {
                held.open = None;
                self.ending.insert(held.id, held);
            }
            Some(_) => {}
            None => drop(self.accepted.remove(to)),
        }
    }

    fn is_asked_over(&self, link: LinkId) -> bool {
        self.asked.values().any(|asked| asked.link == link)
    }

    /// Takes up a link that is open, unless it is an old one; dropping its way out closes it.
    pub(in crate::runtime) fn opened(&mut self, id: LinkId, peer: Address, side: Side, lines: Lines) {
        let open = Open { lines, is_silent: false };
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

    /// Closes the links that lost something to a cut which is mended. Those that this node holds are named: nobody else
    /// tells that they closed.
    pub(in crate::runtime) fn close_robbed(&mut self) -> Vec<(LinkId, Address)> {
        let faults = &self.faults;
        let is_mended = |peer: &Address| !faults.swallows_to(peer) && !faults.swallows_from(peer);
        let mended: Vec<Address> = self.robbed.extract_if(.., |peer| is_mended(peer)).collect();
        let accepted = mended.iter().filter_map(|peer| self.accepted.get(peer));
        // One that is full is not read, and loses nothing more.
        accepted.for_each(|(_, open)| drop(open.lines.try_send(Line::END)));
        mended.into_iter().filter_map(|peer| Some((self.held.get(&peer)?.id, peer))).collect()
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

    /// Asks something over the open link to a peer, if there is one that is not silent and it fits.
    pub(in crate::runtime) fn ask(
        &mut self,
        to: &Address,
        call: Call,
        (manner, form): (Manner, &Encoded),
        due: Time,
    ) -> bool {
        let is_small = form.at_hand().is_some_and(|body| body.len() <= BODY_MAX);
        let fits = match manner {
            Manner::Beat => true,
            Manner::Small | Manner::Brief => is_small && self.asked.len() < ASKED_MAX,
            Manner::Alone => false,
        };
        let Some((link, open)) = self.open_to(to).filter(|(_, open)| fits && !open.is_silent) else {
            return false;
        };
        let Some(body) = form.at_hand() else {
            return false;
        };
        let line = Line { word: Word::Ask, number: call.0, body: body.clone() };
        let is_swallowed = self.faults.swallows_to(to);
        let is_sent = is_swallowed || open.lines.try_send(line).is_ok();
        if is_swallowed {
            self.robbed.insert(to.clone());
        }
        if is_sent {
            let again = (manner == Manner::Brief).then(|| form.clone());
            self.asked.insert(call, Asked { peer: to.clone(), link, manner, due, again });
            self.due.insert((due, call));
        }
        is_sent
    }

    fn open_to(&self, peer: &Address) -> Option<(LinkId, &Open)> {
        let held = self.held.get(peer).and_then(|held| Some((held.id, held.open.as_ref()?)));
        held.or_else(|| self.accepted.get(peer).map(|(id, open)| (*id, open)))
    }

    /// How many links this node holds, made or not yet, and how many others hold to it.
    pub(in crate::runtime) fn count(&self) -> (usize, usize) {
        (self.held.len(), self.accepted.len())
    }

    /// When the next answer is overdue.
    pub(in crate::runtime) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    /// What was asked and has run out of time. The links of the beats among it are silent.
    pub(in crate::runtime) fn expired(&mut self, now: Time) -> Vec<Call> {
        let expired: Vec<Call> = self.due.iter().take_while(|(due, _)| *due <= now).map(|(_, call)| *call).collect();
        for call in &expired {
            if let Some(asked) = self.settle(*call).filter(|asked| asked.manner == Manner::Beat) {
                self.set_silent(&asked.peer, true);
            }
        }
        expired
    }

    /// What was on its way over a link that closed: it was not heard, or not answered.
    pub(in crate::runtime) fn lost(&mut self, link: LinkId) -> Vec<Call> {
        let lost = self.asked.iter().filter(|(_, asked)| asked.link == link).map(|(call, _)| *call);
        let lost: Vec<Call> = lost.collect();
        for call in &lost {
            self.settle(*call);
        }
        self.ending.remove(&link);
        lost
    }

    /// Waits for an answer no longer; a link that is ending closes with the last one.
    fn settle(&mut self, call: Call) -> Option<Asked> {
        let asked = self.asked.remove(&call)?;
        self.due.remove(&(asked.due, call));
        if self.ending.contains_key(&asked.link) && !self.is_asked_over(asked.link) {
            self.ending.remove(&asked.link);
        }
        Some(asked)
    }

    fn set_silent(&mut self, peer: &Address, is_silent: bool) {
        if let Some(open) = self.held.get_mut(peer).and_then(|held| held.open.as_mut()) {
            open.is_silent = is_silent;
        }
        if let Some((_, open)) = self.accepted.get_mut(peer) {
            open.is_silent = is_silent;
        }
    }

    /// What a frame brought: a request with the way back, or the reply to one of this node.
    pub(in crate::runtime) fn received(&mut self, id: LinkId, peer: &Address, frame: Frame) -> Option<Received> {
        if self.faults.swallows_from(peer) {
            self.robbed.insert(peer.clone());
            return None;
        }
        self.set_silent(peer, false);
        match frame {
            Frame::Ask(number, message) => {
                let lines = self.way_back(id, peer)?;
                Some(Received::Request(message, ReplyTo::Link { lines, peer: peer.clone(), number }))
            }
            Frame::Answer(number, message) => {
                let call = Call(number);
                let is_known = self.asked.get(&call).is_some_and(|asked| asked.peer == *peer);
                let asked = if is_known { self.settle(call) } else { None }?;
                Some(match asked.again.filter(|_| matches!(message, Message::Rejected(_))) {
                    Some(form) => Received::TooLong(call, form, asked.due),
                    None => Received::Reply(call, message),
                })
            }
        }
    }

    fn way_back(&self, id: LinkId, peer: &Address) -> Option<Lines> {
        let held = self.held.get(peer).filter(|held| held.id == id).and_then(|held| held.open.as_ref());
        let accepted = self.accepted.get(peer).filter(|(current, _)| *current == id).map(|(_, open)| open);
        held.or(accepted).map(|open| open.lines.clone())
    }

    /// Brings a reply over a link to a peer that reads this version.
    pub(in crate::runtime) fn reply(
        &mut self,
        lines: &Lines,
        (peer, version): (&Address, u32),
        number: u64,
        message: &Message,
    ) {
        if self.faults.swallows_to(peer) {
            self.robbed.insert(peer.clone());
        } else {
            let body = (!is_long(message)).then(|| wire::encode_as(version, message));
            let body = body.filter(|body| body.len() <= BODY_MAX).unwrap_or_else(|| {
                let why = format!(
                    "the reply is too long for a link, over which go [{BODY_MAX}] bytes, and [{READ_MAX}] of a value"
                );
                wire::encode(&Message::Rejected(why.into()))
            });
            // A link that is full or closed loses the reply, as a network may.
            let _ = lines.try_send(Line { word: Word::Answer, number, body: body.into() });
        }
    }
}

/// Whether it tells so much of what was read that it goes as a reply of its own: this is the node's thread, and beats wait
/// behind what is sent over a link.
fn is_long(message: &Message) -> bool {
    let Message::Answered(answer) = message else {
        return false;
    };
    if let Answer::Value { value: Some(found), .. } = &**answer {
        found.value.len() > READ_MAX
    } else if let Answer::Pending(tasks) = &**answer {
        tasks.len() > PENDING_MAX
    } else {
        false
    }
}

/// What came over a link.
pub(in crate::runtime) enum Received {
    /// A request, and who waits for the reply.
    Request(Message, ReplyTo),
    /// The reply to a request of this node.
    Reply(Call, Message),
    /// A request of this node, as it was encoded and until when it may take: its reply does not go over a link.
    TooLong(Call, Encoded, Time),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{KeyValue, Revision, StateId};
    use bytes::Bytes;
    use tokio::sync::mpsc::error::TryRecvError;

    const PEER: &str = "127.0.0.1:1";

    /// A node without links.
    fn alone() -> Links {
        let peers = Peers::plain().expect("a client needs no network");
        let (inbox, _) = mpsc::channel(1);
        Links::new(peers, "127.0.0.1:2".into(), (Arc::new(Faults::new(false)), Arc::default()), inbox)
    }

    /// A node that holds an open link to [`PEER`], the name of that link, and what is sent over it.
    fn linked() -> (Links, LinkId, mpsc::Receiver<Line>) {
        let mut links = alone();
        links.hold(PEER.into());
        let id = links.held[&Address::from(PEER)].id;
        let (lines, sent) = mpsc::channel(4);
        links.opened(id, PEER.into(), Side::Held, lines);
        (links, id, sent)
    }

    fn ask(links: &mut Links, call: u64, manner: Manner, length: usize, due: u64) -> bool {
        let body = Bytes::from(vec![b' '; length]);
        links.ask(&PEER.into(), Call(call), (manner, &Encoded::of("ping", body)), Time::from_micros(due))
    }

    fn answer(links: &mut Links, id: LinkId, call: u64) -> bool {
        let frame = Frame::Answer(call, Message::Gone);
        matches!(links.received(id, &PEER.into(), frame), Some(Received::Reply(Call(number), _)) if number == call)
    }

    #[tokio::test]
    async fn what_was_asked_is_answered_though_the_link_was_let_go_of() {
        let (mut links, id, mut sent) = linked();
        assert!(ask(&mut links, 1, Manner::Small, 9, 5) && ask(&mut links, 2, Manner::Small, 9, 5));
        assert_eq!([sent.try_recv(), sent.try_recv()].map(|line| line.map(|line| line.number)), [Ok(1), Ok(2)]);
        links.let_go(&PEER.into());
        assert_eq!(sent.try_recv().err(), Some(TryRecvError::Disconnected), "the other end sees the end of it");
        assert!(!ask(&mut links, 3, Manner::Beat, 9, 5), "nothing more goes over it");
        assert!(answer(&mut links, id, 1) && links.ending.contains_key(&id));
        assert!(answer(&mut links, id, 2) && links.ending.is_empty());
        assert!(!answer(&mut links, id, 2), "an answer is taken once");
    }

    #[tokio::test]
    async fn an_overdue_beat_makes_a_link_silent_and_anything_else_does_not() {
        let (mut links, id, _sent) = linked();
        assert!(ask(&mut links, 1, Manner::Small, 9, 5) && ask(&mut links, 2, Manner::Beat, 9, 7));
        assert_eq!(links.expired(Time::from_micros(5)), [Call(1)]);
        assert!(ask(&mut links, 3, Manner::Small, 9, 9));
        assert_eq!(
            (links.next_due(), links.expired(Time::from_micros(7))),
            (Some(Time::from_micros(7)), vec![Call(2)])
        );
        assert!(!ask(&mut links, 4, Manner::Small, 9, 9));
        assert!(answer(&mut links, id, 3), "it is heard of again");
        assert!(ask(&mut links, 4, Manner::Small, 9, 9));
        assert_eq!(links.lost(id), [Call(4)]);
        assert_eq!(links.next_due(), None);
    }

    #[tokio::test]
    async fn what_is_answered_at_length_is_asked_for_again_on_its_own() {
        let (mut links, id, _sent) = linked();
        assert!(ask(&mut links, 1, Manner::Brief, 9, 5) && ask(&mut links, 2, Manner::Small, 9, 5));
        let mut refused =
            |call| links.received(id, &PEER.into(), Frame::Answer(call, Message::Rejected("it has [9] bytes".into())));
        let again = refused(1);
        let Some(Received::TooLong(Call(1), form, due)) = again else {
            panic!("it was rejected over a link only");
        };
        assert_eq!((form.at_hand().map(Bytes::len), due), (Some(9), Time::from_micros(5)));
        assert!(matches!(refused(2), Some(Received::Reply(Call(2), Message::Rejected(_)))), "that is its answer");
        assert!(refused(1).is_none(), "what is sent again is no call of the link");
    }

    #[test]
    fn a_long_value_and_a_long_queue_are_no_replies_for_a_link() {
        let value = |length: usize| {
            let changed = Revision::default();
            let found = KeyValue { value: "x".repeat(length).into(), changed, lease: None };
            Message::Answered(Box::new(Answer::Value { at: StateId::NONE, value: Some(found) }))
        };
        assert!(!is_long(&value(READ_MAX)) && is_long(&value(READ_MAX + 1)));
        assert!(!is_long(&Message::Answered(Box::new(Answer::Pending(Vec::new())))) && !is_long(&Message::Gone));
    }

    #[tokio::test]
    async fn what_is_long_or_wants_to_go_alone_does_not_go_over_a_link() {
        let (mut links, _, _sent) = linked();
        assert!(ask(&mut links, 1, Manner::Small, BODY_MAX, 5));
        assert!(!ask(&mut links, 2, Manner::Small, BODY_MAX + 1, 5));
        assert!(!ask(&mut links, 3, Manner::Alone, 9, 5));
    }

    /// A message of every kind.
    const MESSAGES: &str = include_str!("../../../../tests/wire/messages.json");

    #[tokio::test]
    async fn only_what_members_say_all_the_time_goes_over_a_link_that_the_peer_made() {
        let mut links = alone();
        let (lines, mut sent) = mpsc::channel(4);
        links.opened(LinkId::next(), PEER.into(), Side::Accepted, lines);
        let (mut over_link, mut alone) = (BTreeSet::new(), BTreeSet::new());
        for line in MESSAGES.lines().filter(|line| line.starts_with('{')) {
            let message = wire::decode(line.trim_end_matches(',').as_bytes()).expect("a line is a message");
            let (manner, body) = (Manner::of(&message), Encoded::of(message.kind(), wire::encode(&message).into()));
            let is_asked = links.ask(&PEER.into(), Call(1), (manner, &body), Time::from_micros(5));
            assert_eq!(is_asked, sent.try_recv().is_ok(), "{message:?}");
            if is_asked {
                over_link.insert(message.kind())
            } else {
                alone.insert(message.kind())
            };
        }
        // Whoever asks anything else learns whether the peer can be reached where it says that it is.
        let expected = ["commit", "master_ping", "node_ping", "pending_tasks", "publish", "read", "submit"];
        assert_eq!(over_link, expected.into());
        assert!(["ping", "join"].iter().all(|kind| alone.contains(kind)), "{alone:?}");
    }
}
