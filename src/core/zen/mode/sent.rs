//! States that a master sends to nodes: which are on their way, and which a node may have stored.
//!
//! A whole one goes to a node once at a time, as does a large change, and whoever has stored an earlier one gets what differs
//! from that. How long one may take is not guessed here: a call lasts as long as it gets on. What is sent when is decided in
//! `leading/publish`. Mirrors `PublishClusterStateAction.buildDiffAndSerializeStates` (6.8), which knew of no state but the one before,
//! and did not look at what was on its way.

use crate::cluster::{Address, ClusterState, Diff, StateId};
use crate::protocol::Time;
use crate::zen::REMEMBERED_MAX;
use crate::zen::message::Body;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

/// A small change is not sent again within this time: what is said meanwhile may have overtaken it.
const DIFF_PATIENCE: Duration = Duration::from_millis(100);

/// Of how many states that were sent last a node may have stored any.
const SENT_MAX: usize = 4;

/// The last states that were sent to a node, whole or not.
#[derive(Clone, Debug, Default, Hash)]
struct SentTo {
    states: Vec<(Arc<ClusterState>, Time)>,
    /// As what the last one was sent, while its outcome is open.
    open: Option<Form>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Small,
    Large,
}

impl SentTo {
    fn last_at(&self) -> Option<Time> {
        self.states.last().map(|(_, at)| *at)
    }

    fn is_large(&self) -> bool {
        self.open == Some(Form::Large)
    }
}

/// The same by the address of each node.
#[derive(Clone, Debug, Default, Hash)]
pub struct Sent {
    to: BTreeMap<Address, SentTo>,
}

impl Sent {
    /// Whether a node need not be sent anything yet.
    pub(in crate::zen) fn is_under_way(&self, now: Time, to: &Address) -> bool {
        self.to.get(to).is_some_and(|sent| match sent.open {
            Some(Form::Large) => true,
            Some(Form::Small) => sent.last_at().is_some_and(|at| now < at + DIFF_PATIENCE),
            None => false,
        })
    }

    /// Since when a whole state or a large change is on its way to a node, if one is.
    pub(in crate::zen) fn large_since(&self, to: &Address) -> Option<Time> {
        self.to.get(to).filter(|sent| sent.is_large()).and_then(SentTo::last_at)
    }

    /// Whether a node was sent this state at this time or later: whoever takes none is not sent it over and over.
    pub(in crate::zen) fn was_sent(&self, to: &Address, id: StateId, since: Time) -> bool {
        let last = self.to.get(to).and_then(|sent| sent.states.last());
        last.is_some_and(|(state, at)| state.id() == id && *at >= since)
    }

    /// Whether this is one of the last states that a node was sent.
    pub(in crate::zen) fn has(&self, to: &Address, id: StateId) -> bool {
        self.to.get(to).is_some_and(|sent| sent.states.iter().any(|(state, _)| state.id() == id))
    }

    /// What makes `state` of the one that a node has stored, if that is one of the last that it was sent.
    pub(in crate::zen) fn diff(&self, to: &Address, stored: StateId, state: &ClusterState) -> Option<Diff> {
        let mut known = self.to.get(to)?.states.iter().map(|(state, _)| state);
        known.find(|state| state.id() == stored).map(|stored| Diff::between(stored, state))
    }

    /// A state is sent to a node.
    pub(in crate::zen) fn send(&mut self, now: Time, to: &Address, state: Arc<ClusterState>, body: &Body) {
        if self.to.len() >= REMEMBERED_MAX && !self.to.contains_key(to) {
            self.to.pop_first();
        }
        let sent = self.to.entry(to.clone()).or_default();
        sent.open = Some(if body.is_large() { Form::Large } else { Form::Small });
        if sent.states.len() >= SENT_MAX {
            sent.states.remove(0);
        }
        sent.states.push((state, now));
    }

    /// The outcome of what was sent to a node at this time is known.
    pub(in crate::zen) fn end(&mut self, to: &Address, at: Time) {
        if let Some(sent) = self.to.get_mut(to).filter(|sent| sent.last_at() == Some(at)) {
            sent.open = None;
        }
    }

    /// A node could make nothing of the last change that it was sent: it has another state than that was made from.
    pub(in crate::zen) fn note_refused(&mut self, to: &Address) {
        if let Some(sent) = self.to.get_mut(to).filter(|sent| sent.open.is_none()) {
            sent.states.pop();
        }
    }

    /// A node says what it has stored: it has no earlier one any more. If the last one was large, it may have come from
    /// elsewhere.
    pub(in crate::zen) fn note_stored(&mut self, to: &Address, id: StateId) {
        let Some(sent) = self.to.get_mut(to) else {
            return;
        };
        if let Some(place) = sent.states.iter().position(|(state, _)| state.id() == id) {
            sent.states.drain(..place);
            let is_last = sent.states.len() == 1;
            sent.open.take_if(|form| is_last && *form == Form::Small);
        }
    }

    /// Forgets what was sent to those whom nothing is sent any more, but not what is on its way.
    pub(in crate::zen) fn keep(&mut self, is_kept: impl Fn(&Address) -> bool) {
        self.to.retain(|to, sent| sent.is_large() || is_kept(to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Version;

    fn state(version: u64) -> Arc<ClusterState> {
        let version = Version::new(version).expect("it is small");
        Arc::new(ClusterState { version, ..ClusterState::initial("one".into()) })
    }

    #[test]
    fn a_whole_state_is_under_way_until_its_outcome_is_known_and_a_change_for_a_moment() {
        let (mut sent, to, now) = (Sent::default(), Address::from("a:1"), Time::ZERO);
        let diff = Body::Diff(Arc::new(Diff::between(&state(1), &state(2))));
        sent.send(now, &to, state(2), &diff);
        assert!(sent.is_under_way(now, &to) && sent.large_since(&to).is_none());
        let later = now + DIFF_PATIENCE;
        assert!(!sent.is_under_way(later, &to));
        sent.note_stored(&to, state(2).id());
        assert!(!sent.is_under_way(now, &to), "the node says that it has it");
        sent.send(later, &to, state(3), &Body::Full(state(3)));
        sent.end(&to, now);
        sent.note_stored(&to, state(3).id());
        assert!(
            sent.is_under_way(later + DIFF_PATIENCE, &to),
            "that was another one, and it may have it from elsewhere"
        );
        assert_eq!(sent.large_since(&to), Some(later));
        sent.keep(|_| false);
        assert!(sent.was_sent(&to, state(3).id(), later), "nobody takes it back");
        sent.end(&to, later);
        assert!(sent.large_since(&to).is_none());
        sent.keep(|_| false);
        assert!(sent.to.is_empty());
    }

    #[test]
    fn whoever_has_stored_one_of_the_last_states_gets_what_differs_from_it() {
        let (mut sent, to, now) = (Sent::default(), Address::from("a:1"), Time::ZERO);
        for version in 1..=6 {
            sent.send(now, &to, state(version), &Body::Full(state(version)));
        }
        let made = |sent: &Sent, of| sent.diff(&to, state(of).id(), &state(7)).map(|diff| diff.to);
        assert_eq!((made(&sent, 2), made(&sent, 3)), (None, Some(state(7).id())), "that is long ago");
        sent.note_stored(&to, state(5).id());
        assert_eq!((made(&sent, 4), made(&sent, 5)), (None, Some(state(7).id())), "it has that one no more");
        sent.end(&to, now);
        sent.note_refused(&to);
        assert!(made(&sent, 6).is_none() && made(&sent, 5).is_some());
    }
}
