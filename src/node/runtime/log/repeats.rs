//! What others can make a node say again and again is said once in a while.
//!
//! The time is an argument. The memory is bounded: beyond [`SUBJECTS_MAX`] subjects all further ones share one.

use std::collections::BTreeMap;
use std::time::Duration;

/// How long a line that was printed keeps others of its kind and subject from being printed.
pub(super) const WINDOW: Duration = Duration::from_secs(30);
pub(super) const SUBJECTS_MAX: usize = 256;

/// What a line says, and of whom: lines that have both in common are repetitions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::runtime) struct Topic {
    pub(in crate::runtime) kind: &'static str,
    pub(in crate::runtime) subject: String,
}

#[derive(Debug, Default)]
pub(in crate::runtime) struct Repeats {
    printed: BTreeMap<Topic, Printed>,
}

#[derive(Debug)]
struct Printed {
    at: Duration,
    repeated: u64,
}

impl Repeats {
    /// How often a line was kept back since it was last printed, if it is to be printed.
    pub(in crate::runtime) fn admit(&mut self, now: Duration, topic: Topic) -> Option<u64> {
        let topic = if self.has_room(now, &topic) { topic } else { Topic { subject: String::new(), ..topic } };
        match self.printed.get_mut(&topic) {
            None => {
                self.printed.insert(topic, Printed { at: now, repeated: 0 });
                Some(0)
            }
            Some(printed) if now.saturating_sub(printed.at) < WINDOW => {
                printed.repeated += 1;
                None
            }
            Some(printed) => Some(std::mem::replace(printed, Printed { at: now, repeated: 0 }).repeated),
        }
    }

    fn has_room(&mut self, now: Duration, topic: &Topic) -> bool {
        if self.printed.len() >= SUBJECTS_MAX && !self.printed.contains_key(topic) {
            self.printed.retain(|_, printed| now.saturating_sub(printed.at) < WINDOW);
        }
        self.printed.len() < SUBJECTS_MAX || self.printed.contains_key(topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(subject: impl ToString) -> Topic {
        Topic { kind: "other cluster", subject: subject.to_string() }
    }

    #[test]
    fn a_line_is_printed_once_in_a_window_and_tells_how_often_it_was_not() {
        let mut repeats = Repeats::default();
        let at = Duration::from_millis;
        assert_eq!(repeats.admit(at(0), topic("a")), Some(0));
        assert_eq!(repeats.admit(at(0), topic("b")), Some(0), "another subject");
        assert_eq!(repeats.admit(at(0), Topic { kind: "duplicate id", subject: "a".into() }), Some(0), "another kind");
        for now in 1..1_000 {
            assert_eq!(repeats.admit(at(now), topic("a")), None);
        }
        assert_eq!(repeats.admit(WINDOW - at(1), topic("a")), None);
        assert_eq!(repeats.admit(WINDOW, topic("a")), Some(1_000));
        assert_eq!(repeats.admit(WINDOW + at(1), topic("a")), None);
        assert_eq!(repeats.admit(WINDOW * 3, topic("a")), Some(1));
    }

    #[test]
    fn ever_new_subjects_take_no_more_lines_and_no_more_memory_than_some() {
        let mut repeats = Repeats::default();
        let printed = (0..100_000).filter(|n| repeats.admit(Duration::ZERO, topic(n)).is_some()).count();
        assert_eq!(printed, SUBJECTS_MAX + 1, "the rest shares one line");
        assert_eq!(repeats.printed.len(), SUBJECTS_MAX + 1);
        assert_eq!(repeats.admit(WINDOW, topic("new")), Some(0), "there is room again");
        assert_eq!(repeats.printed.len(), 1);
    }
}
