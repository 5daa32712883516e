//! States that a master sends to nodes: which are on their way, and how long they are waited for.
//!
//! A whole one goes to a node once at a time, and whoever has stored an earlier one gets what differs from that. What is
//! sent when is decided in `publish`. Mirrors `PublishClusterStateAction.buildDiffAndSerializeStates` (6.8), which knew of no state but the
//! one before, and did not look at what was on its way.

use super::REMEMBERED_MAX;
use super::message::Body;
use super::tuning::Tuning;
use crate::cluster::{Address, ClusterState, Diff, StateId};
use crate::protocol::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What differs may be on its way for so long, whatever its size.
const DIFF_PATIENCE: Duration = Duration::from_millis(100);

/// A whole state may be on its way for so long, whatever its size.
const WHOLE_PATIENCE: Duration = Duration::from_millis(250);

/// What did not arrive in time at a node that answers is waited for by so much longer when it is sent again.
pub(super) const PATIENCE_GROWTH: u32 = 4;

/// Links are taken to carry so many bytes a second at the least.
const TRANSFER_RATE_MIN: u64 = 64 << 10;

/// However often a state was late, it is waited for at most so many times as long as one of its size may take: a small one
/// that has not come for longer than that is lost.
const SLOWER_MAX: u32 = 16;

/// A node counts as so many bytes of a state: less than it takes, since many nodes are on fast links.
const NODE_BYTES: u64 = 64;

/// Of how many states that were sent last a node may have stored any.
const SENT_MAX: usize = 4;

/// The last states that were sent to a node, whole or not.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct SentTo {
    states: Vec<(Arc<ClusterState>, Time)>,
    /// What the last one was sent as, while its outcome is open.
    open: Option<Form>,
    /// Until when that is at the latest.
    until: Time,
    /// How long the next one of each form is waited for: longer if the last one did not arrive in time, or took long. That a
    /// whole one takes long says nothing of what differs.
    diff_patience: Duration,
    whole_patience: Duration,
    /// When it was asked what it answered last.
    heard: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Diff,
    Whole,
}

impl SentTo {
    /// The state of this name, if it is one of the last that were sent.
    fn with_id(&self, id: StateId) -> Option<&Arc<ClusterState>> {
        self.states.iter().map(|(state, _)| state).find(|state| state.id() == id)
    }

    /// One is sent; says how long it is waited for. A whole one is taken back after that, or it would hold up the next one.
    fn send(&mut self, now: Time, state: Arc<ClusterState>, body: &Body) -> Duration {
        let (form, at_least) = match body {
            Body::Diff(diff) => (Form::Diff, DIFF_PATIENCE + time_for(diff_bytes(diff))),
            Body::Full(state) => (Form::Whole, WHOLE_PATIENCE + transfer_time(state)),
        };
        if let Some(late) = self.open {
            self.note_late(late);
        }
        let patience = self.patience_mut(form);
        let at_most = (at_least * SLOWER_MAX).min(Tuning::TRANSFER_MAX);
        *patience = (*patience).min(at_most).max(at_least);
        let patience = *patience;
        (self.open, self.until) = (Some(form), now + patience);
        if self.states.len() >= SENT_MAX {
            self.states.remove(0);
        }
        self.states.push((state, now));
        patience
    }

    fn patience_mut(&mut self, form: Form) -> &mut Duration {
        match form {
            Form::Diff => &mut self.diff_patience,
            Form::Whole => &mut self.whole_patience,
        }
    }

    /// The outcome of what was sent at this time is known.
    fn end(&mut self, now: Time, sent: Time, is_late: bool) {
        if self.states.last().is_none_or(|(_, at)| *at != sent) {
            return;
        }
        let Some(form) = self.open.take() else {
            return;
        };
        self.until = self.until.min(now);
        if is_late {
            self.note_late(form);
        } else {
            // The next one may well take a little longer than one that arrived.
            *self.patience_mut(form) = now.since(sent) * 2;
        }
    }

    /// The last one did not arrive in time: its size is the reason only if the node answered anything else meanwhile.
    fn note_late(&mut self, form: Form) {
        let has_answered = self.states.last().is_some_and(|(_, sent)| self.heard > *sent);
        if has_answered {
            *self.patience_mut(form) *= PATIENCE_GROWTH;
        }
    }

    /// The node says that it has stored a state, which may have come from elsewhere if it was sent as a whole.
    fn note_stored(&mut self, now: Time, asked: Time, id: StateId) {
        self.heard = self.heard.max(asked);
        let Some(place) = self.states.iter().position(|(state, _)| state.id() == id) else {
            return;
        };
        self.states.drain(..place);
        if let [(_, sent)] = self.states[..]
            && self.open == Some(Form::Diff)
        {
            self.end(now, sent, false);
        }
    }

    /// Forgets what the node may have, if nothing is on its way.
    fn rest(&mut self) {
        if self.open.is_none() {
            self.states.clear();
        }
    }

    fn is_of_use(&self) -> bool {
        !self.states.is_empty() || self.whole_patience > WHOLE_PATIENCE
    }
}

/// The same by the address of each node.
#[derive(Clone, Debug, Default, Hash)]
pub struct Sent {
    to: BTreeMap<Address, SentTo>,
}

impl Sent {
    /// Whether anything is on its way to a node. What differs is sent again when it is late: its answer may wait for a disk.
    pub(super) fn is_under_way(&self, now: Time, to: &Address) -> bool {
        self.to.get(to).is_some_and(|sent| sent.open == Some(Form::Whole) || sent.open.is_some() && now < sent.until)
    }

    /// Until when a whole state may be on its way to a node.
    pub(super) fn whole_until(&self, to: &Address) -> Time {
        let whole = self.to.get(to).filter(|sent| sent.open != Some(Form::Diff));
        whole.map_or(Time::ZERO, |sent| sent.until)
    }

    /// Whether a node was sent this state at this time or later: whoever takes none is not sent it over and over.
    pub(super) fn was_sent(&self, to: &Address, id: StateId, since: Time) -> bool {
        let last = self.to.get(to).and_then(|sent| sent.states.last());
        last.is_some_and(|(state, at)| state.id() == id && *at >= since)
    }

    /// What makes `state` of the one that a node has stored, if that is one of the last that it was sent.
    pub(super) fn diff(&self, to: &Address, stored: StateId, state: &ClusterState) -> Option<Diff> {
        let stored = self.to.get(to)?.with_id(stored)?;
        Some(Diff::between(stored, state))
    }

    /// A state is sent to a node; says how long it is waited for.
    pub(super) fn send(&mut self, now: Time, to: &Address, state: Arc<ClusterState>, body: &Body) -> Duration {
        if self.to.len() >= REMEMBERED_MAX && !self.to.contains_key(to) {
            let oldest = self.to.iter().min_by_key(|(_, sent)| sent.until).map(|(to, _)| to.clone());
            oldest.and_then(|oldest| self.to.remove(&oldest));
        }
        self.to.entry(to.clone()).or_default().send(now, state, body)
    }

    /// The outcome of what was sent to a node at this time is known.
    pub(super) fn end(&mut self, now: Time, to: &Address, sent: Time, is_late: bool) {
        if let Some(to) = self.to.get_mut(to) {
            to.end(now, sent, is_late);
        }
    }

    /// A node could make nothing of the last change that it was sent: it has another state than that was made from.
    pub(super) fn note_refused(&mut self, to: &Address) {
        if let Some(sent) = self.to.get_mut(to).filter(|sent| sent.open.is_none()) {
            sent.states.pop();
        }
    }

    /// A node says, asked then, what it has stored.
    pub(super) fn note_stored(&mut self, now: Time, to: &Address, asked: Time, id: StateId) {
        if let Some(to) = self.to.get_mut(to) {
            to.note_stored(now, asked, id);
        }
    }

    /// Whoever led leads no more: what is on its way has no use, and which links are slow is remembered.
    pub(super) fn end_reign(&mut self) {
        self.to.values_mut().for_each(|sent| (sent.open, sent.states) = (None, Vec::new()));
        self.to.retain(|_, sent| sent.is_of_use());
    }

    /// Forgets what was sent to those whom nothing is sent any more, but not what is on its way, and which links are slow.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&Address) -> bool) {
        self.to.iter_mut().filter(|(to, _)| !is_kept(to)).for_each(|(_, sent)| sent.rest());
        self.to.retain(|_, sent| sent.is_of_use());
    }
}

/// How long a whole state may take to get to a node for its size alone.
pub(super) fn transfer_time(state: &ClusterState) -> Duration {
    time_for(state.metadata.key_bytes + state.nodes.len() as u64 * NODE_BYTES)
}

fn time_for(bytes: u64) -> Duration {
    Duration::from_micros(bytes.saturating_mul(1_000_000) / TRANSFER_RATE_MIN)
}

/// About how many bytes a change has that could be many.
fn diff_bytes(diff: &Diff) -> u64 {
    let keys = diff.metadata.keys.put.iter().map(|(key, held)| key.len() + held.value.as_bytes().len());
    keys.sum::<usize>() as u64 + diff.nodes.put.len() as u64 * NODE_BYTES
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
    fn what_does_not_arrive_is_waited_for_longer_and_what_arrives_tells_for_how_long() {
        let (mut sent, to, mut now) = (Sent::default(), Address::from("a:1"), Time::ZERO);
        let (mut waits, other) = (Vec::new(), state(9).id());
        for version in 1..=6 {
            let state = state(version);
            let wait = sent.send(now, &to, state.clone(), &Body::Full(state));
            waits.push(wait.as_millis());
            assert!(sent.is_under_way(now + wait, &to) && sent.whole_until(&to) == now + wait);
            let at = now;
            now = now + wait;
            sent.note_stored(now, &to, now, other);
            sent.end(now, &to, Time::from_micros(7), false);
            assert!(sent.is_under_way(now, &to), "that was another one");
            sent.end(now, &to, at, true);
            assert!(!sent.is_under_way(now, &to));
        }
        assert_eq!(waits, [250, 1_000, 4_000, 4_000, 4_000, 4_000]);
        assert!(sent.diff(&to, state(2).id(), &state(7)).is_none(), "it is long ago");
        assert!(sent.diff(&to, state(3).id(), &state(7)).is_some_and(|diff| diff.to == state(7).id()));
        let diff = Body::Diff(Arc::new(Diff::between(&state(6), &state(7))));
        assert_eq!(sent.send(now, &to, state(7), &diff), DIFF_PATIENCE, "its size has nothing to do with that");
        sent.end(now, &to, now, false);
        let wait = sent.send(now, &to, state(7), &Body::Full(state(7)));
        sent.end(now + Duration::from_millis(400), &to, now, false);
        assert_eq!(wait.as_millis(), 4_000);
        assert_eq!(sent.send(now, &to, state(8), &Body::Full(state(8))).as_millis(), 800, "as the last one took");
    }

    #[test]
    fn what_was_stored_is_gone_on_from_and_what_nobody_needs_is_forgotten() {
        let (mut sent, to, now) = (Sent::default(), Address::from("a:1"), Time::ZERO);
        let diff = Body::Diff(Arc::new(Diff::between(&state(1), &state(2))));
        let wait = sent.send(now, &to, state(2), &diff);
        assert!(sent.is_under_way(now, &to) && !sent.is_under_way(now + wait, &to));
        sent.note_stored(now, &to, now, state(2).id());
        assert!(!sent.is_under_way(now, &to), "the node says that it has it");
        sent.send(now, &to, state(3), &Body::Full(state(3)));
        sent.note_stored(now, &to, now, state(3).id());
        assert!(sent.is_under_way(now, &to), "it may have it from elsewhere");
        assert!(
            sent.diff(&to, state(2).id(), &state(4)).is_none() && sent.diff(&to, state(3).id(), &state(4)).is_some()
        );
        sent.keep(|_| false);
        assert!(sent.is_under_way(now, &to), "nobody takes it back");
        sent.end(now, &to, now, false);
        sent.keep(|_| true);
        assert!(sent.diff(&to, state(3).id(), &state(4)).is_some());
        sent.keep(|_| false);
        assert!(sent.to.is_empty());
    }
}
