//! What did not work lately: one memory for candidates, masters, joiners and this node itself.
//!
//! Whoever is in it ranks last, or is left alone for a while that doubles each time; what works again is forgotten. Zen
//! remembered nothing, and elected an unreachable or hanging node again and again.

use super::REMEMBERED_MAX;
use crate::cluster::NodeId;
use crate::protocol::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest pause, as a multiple of the first one.
const LONGEST: u32 = 4;

/// The nodes with which something did not work lately. Of too many the one that may be tried again first is forgotten.
#[derive(Clone, Debug, Default, Hash)]
pub struct Setbacks {
    of: BTreeMap<NodeId, Setback>,
}

#[derive(Clone, Debug, Hash)]
struct Setback {
    pause: Duration,
    until: Time,
}

impl Setbacks {
    /// Notes that something did not work with a node, and says for how long it is left alone: for `first`, and twice as
    /// long each time that it fails again soon after.
    pub(super) fn note(&mut self, now: Time, id: &NodeId, first: Duration) -> Duration {
        let before = self.of.get(id).filter(|setback| now < setback.until + setback.pause * 2);
        let pause = before.map_or(first, |setback| (setback.pause * 2).clamp(first, first * LONGEST));
        if self.of.len() >= REMEMBERED_MAX && !self.of.contains_key(id) {
            let next = self.of.iter().min_by_key(|(_, setback)| setback.until).map(|(id, _)| id.clone());
            next.and_then(|next| self.of.remove(&next));
        }
        self.of.insert(id.clone(), Setback { pause, until: now + pause });
        pause
    }

    /// Until when a node is left alone, if it is.
    pub(super) fn until(&self, now: Time, id: &NodeId) -> Option<Time> {
        self.of.get(id).map(|setback| setback.until).filter(|until| now < *until)
    }

    /// Whether something did not work with a node so lately that others come first.
    pub(super) fn is_recent(&self, now: Time, id: &NodeId) -> bool {
        self.until(now, id).is_some()
    }

    /// It works again.
    pub(super) fn forget(&mut self, id: &NodeId) {
        self.of.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_double_up_to_a_bound_and_begin_anew_once_it_worked_or_long_after() {
        let (mut setbacks, id) = (Setbacks::default(), NodeId::from("a"));
        let mut now = Time::ZERO;
        let mut pauses = Vec::new();
        for _ in 0..5 {
            let pause = setbacks.note(now, &id, FIRST);
            assert!(setbacks.is_recent(now, &id) && !setbacks.is_recent(now + pause, &id));
            pauses.push(pause.as_secs());
            now = now + pause;
        }
        assert_eq!(pauses, [1, 2, 4, 4, 4]);
        setbacks.forget(&id);
        assert_eq!(setbacks.note(now, &id, FIRST), FIRST);
        assert_eq!(setbacks.note(now + FIRST * 60, &id, FIRST), FIRST, "the last one was long ago");
    }

    #[test]
    fn of_too_many_nodes_the_one_that_may_be_tried_first_is_forgotten() {
        let mut setbacks = Setbacks::default();
        for node in 0..=REMEMBERED_MAX as u64 {
            setbacks.note(Time::from_micros(node), &NodeId::from(node.to_string()), FIRST);
        }
        assert_eq!(setbacks.of.len(), REMEMBERED_MAX);
        assert!(!setbacks.of.contains_key(&NodeId::from("0")));
    }
}
