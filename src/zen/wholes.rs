//! States that a master sends to a node as a whole: which are on their way, and how long they are waited for.
//!
//! One goes to a node at a time, and what it stores of them is gone on from with what differs. What is sent when is decided
//! in `publish`. Mirrors `PublishClusterStateAction.sendFullClusterState` (6.8), which did not look at what was on its way.

use crate::cluster::{ClusterState, StateId};
use crate::protocol::Time;
use std::sync::Arc;
use std::time::Duration;

/// A state that was sent as a whole is not waited for any longer than this for its size alone.
pub(super) const TRANSFER_MAX: Duration = Duration::from_secs(10);

/// A state may be on its way for so long, whatever its size.
const PATIENCE_MIN: Duration = Duration::from_millis(250);

/// Links are taken to carry so many bytes a second at the least.
const TRANSFER_RATE_MIN: u64 = 64 << 10;

/// A node counts as so many bytes of a state: less than it takes, since many nodes are on fast links.
const NODE_BYTES: u64 = 64;

/// Of how many states that were sent as a whole a node may have stored any.
const SENT_MAX: usize = 4;

/// The states that were sent to a node as a whole since it had the newest one. While one may be on its way nothing else is
/// sent; what it stores of them is gone on from with what differs.
#[derive(Clone, Debug, Default, Hash)]
pub struct Wholes {
    sent: Vec<(Arc<ClusterState>, Time)>,
    until: Time,
    /// How long one is waited for: longer each time that none arrives, and as long as the last one took.
    patience: Duration,
}

impl Wholes {
    /// Whether one may be on its way.
    pub(super) fn is_under_way(&self, now: Time) -> bool {
        now < self.until
    }

    /// Whether any was sent that it may have stored since.
    pub(super) fn is_any_sent(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Until when one may be on its way.
    pub(super) fn until(&self) -> Time {
        self.until
    }

    /// One is sent; says how long it is waited for.
    pub(super) fn send(&mut self, now: Time, state: Arc<ClusterState>) -> Duration {
        let at_least = PATIENCE_MIN + transfer_time(&state);
        // One that is lost is sent again soon; several that do not arrive show a slow link.
        let before = if self.sent.len() < 2 { self.patience } else { self.patience * 2 };
        self.patience = before.min(TRANSFER_MAX).max(at_least);
        self.until = now + self.patience;
        if self.sent.len() >= SENT_MAX {
            self.sent.remove(0);
        }
        self.sent.push((state, now));
        self.patience
    }

    /// It has received one and has yet to store it.
    pub(super) fn note_storing(&mut self, now: Time, storing: Option<StateId>) {
        if storing.is_some_and(|id| self.with_id(id).is_some()) {
            self.until = self.until.min(now);
        }
    }

    /// It has stored one.
    pub(super) fn note_stored(&mut self, now: Time, id: StateId) {
        if let Some((_, at)) = self.sent.iter().find(|(state, _)| state.id() == id) {
            (self.until, self.patience) = (now, now.since(*at));
        }
    }

    /// It has the newest state.
    pub(super) fn settle(&mut self, now: Time) {
        self.sent.clear();
        self.until = self.until.min(now);
    }

    /// The one of this name, if it was sent.
    pub(super) fn with_id(&self, id: StateId) -> Option<&Arc<ClusterState>> {
        self.sent.iter().map(|(state, _)| state).find(|state| state.id() == id)
    }

    /// None is on its way any more: what was asked of the node came back.
    pub(super) fn end(&mut self) {
        self.until = Time::ZERO;
    }
}

/// How long a state may take to get to a node for its size alone.
pub(super) fn transfer_time(state: &ClusterState) -> Duration {
    let bytes = state.metadata.key_bytes + state.nodes.len() as u64 * NODE_BYTES;
    Duration::from_micros(bytes.saturating_mul(1_000_000) / TRANSFER_RATE_MIN)
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
        let (mut wholes, mut now) = (Wholes::default(), Time::ZERO);
        let mut waits = Vec::new();
        for version in 1..=9 {
            waits.push(wholes.send(now, state(version)).as_millis());
            assert!(wholes.is_under_way(now) && !wholes.is_under_way(wholes.until()));
            now = wholes.until();
        }
        assert_eq!(waits, [250, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
        assert_eq!(wholes.sent.len(), SENT_MAX);
        assert!(wholes.with_id(state(1).id()).is_none() && wholes.with_id(state(9).id()).is_some());
        wholes.note_stored(now, state(9).id());
        assert!(!wholes.is_under_way(now) && wholes.is_any_sent(), "it stored one of them");
        wholes.settle(now);
        assert!(!wholes.is_any_sent());
        assert_eq!(wholes.send(now, state(10)).as_millis(), 10_000, "as long as the last one took");
    }
}
