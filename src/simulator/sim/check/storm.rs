//! L4: no node sends or writes more than its cluster and its clients explain, and a full state goes to one receiver once
//! at a time.
//!
//! What is counted within a window may be so much for each node and beat of the fault detectors, and so much more for each
//! question that clients asked in it. Bytes are estimates: a state counts by what it holds, everything else is small.

use super::broken;
use crate::cluster::StateId;
use crate::protocol::{Call, Time};
use crate::sim::watch::Violation;
use crate::zen::message::{Body, Message};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What is counted is looked at over this time.
const WINDOW: Duration = Duration::from_secs(1);
/// A window is made of so many parts.
const PARTS: u64 = 10;

const STORM: &str = "L4 no storm";
const ONCE: &str = "L4 a full state goes to one receiver once at a time";

/// How much of something a node may send or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Allowance {
    /// For each node of its cluster and each beat of the fault detectors.
    for_beat: u64,
    /// For each node, and each question of a client.
    for_question: u64,
}

/// Messages that a node may send.
const MESSAGES: Allowance = Allowance { for_beat: 48, for_question: 24 };
/// Writes that it may sync.
const WRITES: Allowance = Allowance { for_beat: 6, for_question: 3 };

/// About how many bytes every message has: names, addresses and what else is in all of them.
const SMALL: u64 = 300;
/// About how many bytes a state has for each node.
const NODE: u64 = 250;
/// About how many bytes a state has for each key.
const KEY: u64 = 120;
/// One message in so many may be a full state.
const FULL_IN: u64 = 10;

/// The most that was seen of something, as a part of what is allowed, in percent, and the greatest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// The greatest number within a window.
    pub most: u64,
    /// The greatest part of what was allowed, in percent.
    pub percent: u64,
}

impl Peak {
    /// Adds what another run saw.
    pub fn add(&mut self, other: &Peak) {
        self.most = self.most.max(other.most);
        self.percent = self.percent.max(other.percent);
    }
}

/// What was seen of storms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storms {
    /// Messages that one node sent within a window.
    pub messages: Peak,
    /// Bytes that one node sent within a window.
    pub bytes: Peak,
    /// Writes that one node synced within a window.
    pub writes: Peak,
    /// Full states that were sent.
    pub full: u64,
    /// Those of them that were sent while another was on its way to the same receiver.
    pub overlaps: u64,
}

impl Storms {
    /// Adds what another run saw.
    pub fn add(&mut self, other: &Storms) {
        self.messages.add(&other.messages);
        self.bytes.add(&other.bytes);
        self.writes.add(&other.writes);
        self.full += other.full;
        self.overlaps += other.overlaps;
    }
}

/// A number of things within the last window.
#[derive(Clone, Debug, Default)]
struct Window {
    parts: VecDeque<(u64, u64)>,
    sum: u64,
}

impl Window {
    fn add(&mut self, at: Time, number: u64) {
        let part = at.as_micros() * PARTS / WINDOW.as_micros() as u64;
        self.forget(part);
        self.sum += number;
        match self.parts.back_mut() {
            Some((last, sum)) if *last == part => *sum += number,
            Some(_) | None => self.parts.push_back((part, number)),
        }
    }

    fn at(&mut self, at: Time) -> u64 {
        self.forget(at.as_micros() * PARTS / WINDOW.as_micros() as u64);
        self.sum
    }

    fn forget(&mut self, part: u64) {
        while let Some((first, number)) = self.parts.front()
            && first + PARTS <= part
        {
            self.sum -= number;
            self.parts.pop_front();
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Node {
    messages: Window,
    bytes: Window,
    writes: Window,
}

/// Counts what nodes send and write.
#[derive(Clone, Debug, Default)]
pub struct Storm {
    nodes: Vec<Node>,
    /// How often the fault detectors ping within a window.
    beats: u64,
    questions: Window,
    /// The full states on their way, by sender, receiver and call.
    full: BTreeMap<(usize, usize, u64), StateId>,
    /// What was seen.
    pub storms: Storms,
}

impl Storm {
    /// Watches so many nodes, which ping each other so often.
    pub fn new(nodes: usize, ping_interval: Duration) -> Self {
        let beats = WINDOW.as_micros().div_ceil(ping_interval.as_micros().max(1)) as u64;
        Storm { nodes: vec![Node::default(); nodes], beats, ..Storm::default() }
    }

    fn bound(&mut self, at: Time, allowance: Allowance) -> u64 {
        let (nodes, questions) = (self.nodes.len() as u64, self.questions.at(at));
        nodes * (allowance.for_beat * self.beats + allowance.for_question * questions)
    }

    /// A client asks something.
    pub fn asked(&mut self, at: Time) {
        self.questions.add(at, 1);
    }

    /// A node sends a message.
    pub fn sent(&mut self, at: Time, from: usize, message: &Message) -> Result<(), Violation> {
        let bound = self.bound(at, MESSAGES);
        let bytes_bound = bound * (SMALL + self.nodes.len() as u64 * NODE / FULL_IN);
        let Some(node) = self.nodes.get_mut(from) else {
            return Ok(());
        };
        node.messages.add(at, 1);
        node.bytes.add(at, bytes(message));
        let (messages, bytes) = (node.messages.sum, node.bytes.sum);
        judge(&mut self.storms.messages, messages, bound, || format!("messages of n{from}"))?;
        judge(&mut self.storms.bytes, bytes, bytes_bound, || format!("bytes of n{from}"))
    }

    /// A node hands a write to its disk that will be synced.
    pub fn wrote(&mut self, at: Time, node: usize) -> Result<(), Violation> {
        let bound = self.bound(at, WRITES);
        let Some(writes) = self.nodes.get_mut(node).map(|node| &mut node.writes) else {
            return Ok(());
        };
        writes.add(at, 1);
        judge(&mut self.storms.writes, writes.sum, bound, || format!("writes of n{node}"))
    }

    /// A node sends a request.
    pub fn called(&mut self, (from, to): (usize, usize), call: Call, message: &Message) -> Result<(), Violation> {
        let Message::Publish { body: Body::Full(state), .. } = message else {
            return Ok(());
        };
        let id = state.id();
        self.storms.full += 1;
        let mut under_way = self.full.range((from, to, 0)..=(from, to, u64::MAX)).map(|(_, id)| *id);
        // What a master sent in an earlier term holds nobody up for long.
        let under_way = under_way.find(|other| other.term == id.term);
        self.full.insert((from, to, call.0), id);
        let Some(other) = under_way else {
            return Ok(());
        };
        self.storms.overlaps += 1;
        broken(ONCE, format!("n{from} sends {id} to n{to}, to which {other} is on its way"))
    }

    /// A message reached a node.
    pub fn delivered(&mut self, (from, to): (usize, usize), message: &Message) {
        if let Message::Publish { body: Body::Full(state), .. } = message {
            let mut under_way = self.full.range((from, to, 0)..=(from, to, u64::MAX));
            let arrived = under_way.find(|(_, id)| **id == state.id()).map(|(key, _)| *key);
            arrived.map(|key| self.full.remove(&key));
        }
    }

    /// A sender is told the outcome of its call.
    pub fn call_ended(&mut self, (from, to): (usize, usize), call: Call) {
        self.full.remove(&(from, to, call.0));
    }

    /// A process ended: what it sent has no outcome, and what was sent to it is reset.
    pub fn ended(&mut self, node: usize) {
        self.full.retain(|(from, to, _), _| *from != node && *to != node);
        // Each process stores who it is as it starts, and many may do so within a second: the writes of each are counted.
        if let Some(node) = self.nodes.get_mut(node) {
            node.writes = Window::default();
        }
    }
}

fn judge(peak: &mut Peak, number: u64, bound: u64, what: impl Fn() -> String) -> Result<(), Violation> {
    peak.most = peak.most.max(number);
    peak.percent = peak.percent.max(number * 100 / bound.max(1));
    if number <= bound {
        return Ok(());
    }
    broken(STORM, format!("{number} {} within {WINDOW:?}, {bound} are allowed", what()))
}

/// About how many bytes a message has, without counting them.
fn bytes(message: &Message) -> u64 {
    let size = match message {
        Message::Publish { body: Body::Full(state), .. } => {
            state.nodes.len() as u64 * NODE + state.metadata.keys.len() as u64 * KEY
        }
        Message::Fetched { state: Some(state), .. } => {
            state.nodes.len() as u64 * NODE + state.metadata.keys.len() as u64 * KEY
        }
        Message::Pong { mentioned, .. } => mentioned.len() as u64 * 20,
        Message::Publish { body: Body::Diff(_), .. } | Message::Fetched { state: None, .. } => KEY,
        Message::Ping { .. }
        | Message::Notice { .. }
        | Message::Join { .. }
        | Message::Fetch { .. }
        | Message::Commit { .. }
        | Message::NodePing { .. }
        | Message::MasterPing { .. }
        | Message::CallVote { .. }
        | Message::Leave { .. }
        | Message::Submit { .. }
        | Message::Read { .. }
        | Message::PendingTasks { .. }
        | Message::Relay { .. }
        | Message::Succession { .. }
        | Message::Joining(_)
        | Message::Report(_)
        | Message::MasterPong(_)
        | Message::Gone
        | Message::Answered(_)
        | Message::Rejected(_) => 0,
    };
    SMALL + size
}

#[cfg(test)]
mod tests {
    use super::super::sample::{rule, sender, state, term};
    use super::*;
    use std::sync::Arc;

    fn full(version: u64) -> Message {
        let state = Arc::new(state(version, &["a", "b"]));
        Message::Publish { from: sender("a"), term: term(1), committed: StateId::NONE, body: Body::Full(state) }
    }

    fn millis(millis: u64) -> Time {
        Time::from_micros(millis * 1_000)
    }

    #[test]
    fn a_window_forgets_what_is_older() {
        let mut window = Window::default();
        (0..20).for_each(|part| window.add(millis(part * 100), 1));
        assert_eq!((window.sum, window.parts.len()), (10, 10));
        assert_eq!((window.at(millis(2_400)), window.at(millis(9_000))), (5, 0));
    }

    /// Two nodes with five beats in a window.
    fn storm() -> Storm {
        Storm::new(2, Duration::from_millis(200))
    }

    #[test]
    fn more_messages_or_writes_than_are_explained_are_caught() {
        let sends = |storm: &mut Storm| (0..u64::MAX).find(|_| storm.sent(millis(1), 0, &Message::Gone).is_err());
        let alone = 2 * 5 * MESSAGES.for_beat;
        assert_eq!(sends(&mut storm()), Some(alone));
        let mut asked = storm();
        asked.asked(millis(1));
        assert_eq!(sends(&mut asked), Some(alone + 2 * MESSAGES.for_question), "a client explains more of them");
        let mut writing = storm();
        let writes = (0..u64::MAX).find(|_| writing.wrote(millis(1), 1).is_err());
        assert_eq!(writes, Some(2 * 5 * WRITES.for_beat));
        writing.ended(1);
        assert!(writing.wrote(millis(1), 1).is_ok(), "the next process of a node is counted on its own");
        let mut slow = storm();
        let is_storm = |at| rule(slow.sent(millis(at * 10), 0, &Message::Gone)) == Some(STORM);
        assert!(!(0..4 * alone).any(is_storm), "a hundred in a second are no storm");
    }

    #[test]
    fn more_bytes_than_are_explained_are_caught_though_the_messages_are_few() {
        let mut storm = storm();
        let full = (0..u64::MAX).find(|_| rule(storm.sent(millis(1), 0, &full(1))) == Some(STORM));
        assert!(full.is_some_and(|full| full < 2 * 5 * MESSAGES.for_beat), "{full:?}");
    }

    #[test]
    fn a_second_full_state_on_its_way_is_seen_until_the_first_has_arrived_or_failed() {
        let ends = (0, 1);
        let overlaps = |between: &dyn Fn(&mut Storm)| {
            let mut storm = storm();
            storm.called(ends, Call(1), &full(1)).expect("it is the first");
            between(&mut storm);
            assert_eq!(storm.called(ends, Call(2), &full(2)).is_err(), storm.storms.overlaps > 0);
            (storm.storms.full, storm.storms.overlaps)
        };
        assert_eq!(overlaps(&|_| {}), (2, 1));
        assert_eq!(overlaps(&|storm| storm.delivered(ends, &full(3))), (2, 1), "that was another one");
        assert_eq!(overlaps(&|storm| storm.call_ended((0, 1), Call(7))), (2, 1));
        assert_eq!(overlaps(&|storm| storm.delivered(ends, &full(1))), (2, 0));
        assert_eq!(overlaps(&|storm| storm.call_ended(ends, Call(1))), (2, 0));
        assert_eq!(overlaps(&|storm| storm.ended(1)), (2, 0));
    }
}
