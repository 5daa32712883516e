//! Which messages a script drops or holds.
//!
//! Of several rules for a message the one that was given last decides.

use super::mistake::Mistake;
use crate::sim::Passage;
use crate::zen::Message;

/// Some kinds of messages; none named stands for all.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds(Vec<&'static str>);

impl Kinds {
    /// Reads kinds with commas between them, or `all`.
    pub(super) fn read(words: &str) -> Result<Kinds, Mistake> {
        if words == "all" {
            return Ok(Kinds::default());
        }
        let kind = |word: &str| {
            let known = Message::KINDS.iter().find(|kind| **kind == word).copied();
            known.ok_or_else(|| {
                Mistake::new(format!("`{word}` as a kind of message"), format!("all, {}", Message::KINDS.join(", ")))
            })
        };
        words.split(',').map(kind).collect::<Result<_, _>>().map(Kinds)
    }

    pub(super) fn contains(&self, message: &Message) -> bool {
        self.0.is_empty() || self.0.contains(&message.kind())
    }
}

/// Some messages between some nodes.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) kinds: Kinds,
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
}

impl Chosen {
    pub(super) fn contains(&self, from: usize, to: usize, message: &Message) -> bool {
        self.from.is_none_or(|node| node == from)
            && self.to.is_none_or(|node| node == to)
            && self.kinds.contains(message)
    }
}

#[derive(Debug)]
struct Rule {
    chosen: Chosen,
    passage: Passage,
    /// How many messages it still stops; none stands for all.
    left: Option<u64>,
}

/// The rules of a script, in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Rule>);

impl Rules {
    pub(super) fn add(&mut self, chosen: Chosen, passage: Passage, times: Option<u64>) {
        self.0.push(Rule { chosen, passage, left: times });
    }

    /// Ends the rules that do this to messages.
    pub(super) fn end(&mut self, passage: Passage) {
        self.0.retain(|rule| rule.passage != passage);
    }

    pub(super) fn judge(&mut self, from: usize, to: usize, message: &Message) -> Passage {
        let meant = |rule: &&mut Rule| rule.left != Some(0) && rule.chosen.contains(from, to, message);
        let Some(rule) = self.0.iter_mut().rev().find(meant) else {
            return Passage::Deliver;
        };
        rule.left = rule.left.map(|left| left - 1);
        rule.passage
    }
}
