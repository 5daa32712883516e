//! Writes the story of a block down: what the nodes say, and on demand which messages reach them.
//!
//! Times are counted from the beginning of the block, and lines stand in the order of what happened.

use super::abbreviate::{Uuids, abbreviate};
use super::answers::told;
use super::rules::Kinds;
use crate::protocol::{Level, Remark, Ticket, Time};
use crate::service::Answer;
use crate::sim::{Member, Passage, Stop, Violation, Watch};
use crate::zen::{Message, Note};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a block has printed so far, and what it shall print.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) names: Vec<Arc<str>>,
    /// When the block began.
    pub(super) since: Time,
    /// Notes that matter less are left out; none stands for all of them.
    pub(super) notes: Option<Level>,
    /// The messages that are printed when they arrive.
    pub(super) messages: Option<Kinds>,
    /// What clients asked, and which node.
    pub(super) questions: BTreeMap<Ticket, (usize, String)>,
    pub(super) lines: Vec<String>,
    uuids: Uuids,
}

impl Story {
    pub(super) fn new() -> Self {
        Story {
            names: Vec::new(),
            since: Time::ZERO,
            notes: Some(Level::Debug),
            messages: None,
            questions: BTreeMap::new(),
            lines: Vec::new(),
            uuids: Uuids::default(),
        }
    }

    /// A line that belongs to nobody.
    /// Scripts are read without what cannot be seen at the end of a line.
    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.lines.push(text.into().trim_end().to_owned());
    }

    /// The width of the column of names.
    pub(super) fn width(&self) -> usize {
        self.names.iter().map(|name| name.len()).max().unwrap_or(0)
    }

    fn tell(&mut self, at: Time, who: &str, text: &str) {
        let (moment, width) = (moment(at.since(self.since)), self.width());
        let text = self.shortened(text);
        self.say(format!("{moment:>8} {who:<width$}  {text}"));
    }

    /// A text with its nodes and uuids as the story calls them.
    pub(super) fn shortened(&mut self, text: &str) -> String {
        self.uuids.number(&abbreviate(text))
    }

    fn tell_message(&mut self, at: Time, (from, to): (usize, usize), message: &Message, fate: &str) {
        if self.messages.as_ref().is_some_and(|kinds| kinds.contains(message)) {
            let between = format!("{} → {}", self.names[from], self.names[to]);
            self.tell(at, &between, &format!("{message}{fate}"));
        }
    }
}

/// A span as a story prints it: to the tenth of a millisecond, from a second on to the millisecond.
pub(super) fn moment(span: Duration) -> String {
    let tenths = (span.as_micros() + 50) / 100;
    match (tenths / 10, tenths % 10) {
        (0..1_000, 0) => format!("{}ms", tenths / 10),
        (0..1_000, tenth) => format!("{}.{tenth}ms", tenths / 10),
        (millis, _) if millis % 1_000 == 0 => format!("{}s", millis / 1_000),
        (millis, _) => format!("{}.{:03}s", millis / 1_000, millis % 1_000),
    }
}

impl Watch<Member> for Story {
    fn noted(&mut self, at: Time, node: usize, note: &Note) -> Result<(), Violation> {
        if self.notes.is_some_and(|least| note.level() >= least) {
            let name = self.names[node].clone();
            self.tell(at, &name, &note.to_string());
        }
        Ok(())
    }

    fn delivered(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.tell_message(at, (from, to), message, "");
        Ok(())
    }

    fn stopped(&mut self, at: Time, stop: Stop<'_, Member>) -> Result<(), Violation> {
        let fate = match stop.passage {
            Passage::Deliver => "",
            Passage::Drop => ", dropped",
            Passage::Hold => ", held",
        };
        self.tell_message(at, (stop.from, stop.to), stop.message, fate);
        Ok(())
    }

    fn answered(&mut self, at: Time, _node: usize, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        if let Some((_, question)) = self.questions.remove(&ticket) {
            self.tell(at, "client", &format!("{question}: {}", told(answer)));
        }
        Ok(())
    }

    fn lost(&mut self, at: Time, node: usize, ticket: Ticket) -> Result<(), Violation> {
        if let Some((_, question)) = self.questions.remove(&ticket) {
            let name = self.names[node].clone();
            self.tell(at, "client", &format!("{question}: {name} ended before it answered"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_as_exact_as_a_reader_wants_them() {
        let cases = [
            (0, "0ms"),
            (1, "0ms"),
            (2_401, "2.4ms"),
            (2_999, "3ms"),
            (999_940, "999.9ms"),
            (1_000_000, "1s"),
            (61_012_345, "61.012s"),
        ];
        for (micros, expected) in cases {
            assert_eq!(moment(Duration::from_micros(micros)), expected);
        }
    }
}
