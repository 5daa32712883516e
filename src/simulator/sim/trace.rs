//! What happened, as one running hash and, if wanted, as lines of text.
//!
//! The hash is for comparing runs and always on unless switched off; the text is for people, and a run that failed is
//! simply run again with it. Columns: time, event, one column per node with its mode where there are few, text.

use crate::protocol::{Input, Protocol, Standing, Time};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// With so many nodes each has a column of its own.
const COLUMNS_MAX: usize = 9;

/// How much text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// None.
    Off,
    /// Notes, faults and changes of where a node stands.
    Short,
    /// Every event.
    Full,
}

/// The record of a run.
pub(super) struct Trace<P: Protocol> {
    hasher: DefaultHasher,
    pub(super) hashing: bool,
    pub(super) detail: Detail,
    pub(super) kept_max: usize,
    pub(super) lines: VecDeque<String>,
    pub(super) standing: Vec<Option<Standing<P::Peer>>>,
}

impl<P: Protocol> Trace<P> {
    pub(super) fn new() -> Self {
        Trace {
            hasher: DefaultHasher::new(),
            hashing: true,
            detail: Detail::Off,
            kept_max: 0,
            lines: VecDeque::new(),
            standing: Vec::new(),
        }
    }

    pub(super) fn add_node(&mut self) {
        self.standing.push(None);
    }

    pub(super) fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    /// Takes one input of one node into the hash.
    pub(super) fn input(&mut self, at: Time, node: usize, input: &Input<P>) {
        if self.hashing {
            (at, node as u32).hash(&mut self.hasher);
            hash_input(input, &mut self.hasher);
        }
    }

    /// Takes something that the world did into the hash.
    pub(super) fn fault(&mut self, at: Time, fault: &impl Hash) {
        if self.hashing {
            (at, fault).hash(&mut self.hasher);
        }
    }

    pub(super) fn is_on(&self, detail: Detail) -> bool {
        self.detail >= detail
    }

    pub(super) fn line(&mut self, at: Time, event: u64, node: Option<usize>, text: &str) {
        let place = if self.standing.len() <= COLUMNS_MAX {
            (0..self.standing.len()).map(|column| if node == Some(column) { self.mode(column) } else { ' ' }).collect()
        } else {
            node.map_or_else(String::new, |node| format!("n{node} {}", self.mode(node)))
        };
        if self.lines.len() >= self.kept_max {
            self.lines.pop_front();
        }
        let time = at.to_string();
        let line = format!("{time:>13} {event:>8} {place:<9} {text}");
        self.lines.push_back(line.trim_end().to_owned());
    }

    fn mode(&self, node: usize) -> char {
        self.standing[node].as_ref().map_or('-', |standing| standing.mode)
    }

    /// Remembers where a node stands; a line about it if that changed.
    pub(super) fn stands(&mut self, at: Time, event: u64, node: usize, standing: Option<Standing<P::Peer>>) {
        if self.standing[node] == standing {
            return;
        }
        let text = match &standing {
            Some(s) => format!(
                "= {} term {} version {} leader {}",
                s.mode,
                s.term,
                s.version,
                s.leader.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string)
            ),
            None => "= ended".to_owned(),
        };
        self.standing[node] = standing;
        self.line(at, event, Some(node), &text);
    }
}

fn hash_input<P: Protocol>(input: &Input<P>, hasher: &mut DefaultHasher) {
    match input {
        Input::Started => 0u8.hash(hasher),
        Input::Received { exchange, message } => (1u8, exchange, message).hash(hasher),
        Input::Replied { call, message } => (2u8, call, message).hash(hasher),
        Input::Failed { call, why } => (3u8, call, why).hash(hasher),
        Input::LinkClosed { peer } => (4u8, peer).hash(hasher),
        Input::Woke => 5u8.hash(hasher),
        Input::Stored(id) => (6u8, id).hash(hasher),
        Input::Resolved(found) => (7u8, found).hash(hasher),
        Input::Asked { ticket, .. } => (8u8, ticket).hash(hasher),
    }
}

/// What an input looks like in the full trace; `reason` is that of the earliest deadline.
pub(super) fn describe<P: Protocol>(input: &Input<P>, reason: Option<P::Timer>) -> String {
    match input {
        Input::Started => "started".to_owned(),
        Input::Received { message, .. } => format!("< {message}"),
        Input::Replied { call, message } => format!("< reply to {}: {message}", call.0),
        Input::Failed { call, why } => format!("< call {} {why}", call.0),
        Input::LinkClosed { peer } => format!("< link with {peer} closed"),
        Input::Woke => reason.map_or_else(|| "woke".to_owned(), |reason| format!("woke for {reason}")),
        Input::Stored(id) => format!("stored {}", id.0),
        Input::Resolved(found) => format!("resolved {} seeds", found.peers.len()),
        Input::Asked { question, .. } => format!("asked {question:?}"),
    }
}
