//! Of which nodes that do not belong here the operator was told.

use crate::cluster::{EphemeralId, Node};
use crate::protocol::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// For so long a stranger is not told of again.
const TOLD_AGAIN: Duration = Duration::from_secs(60);

/// Of how many strangers a node tells within that time: more are an attack, and its operator knows.
const STRANGERS_MAX: usize = 256;

/// What the operator was told of others that do not belong here. Each ping of theirs would be a line in the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Strangers {
    told: BTreeMap<(EphemeralId, Oddity), Time>,
}

/// What is odd about a stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Oddity {
    OtherCluster,
    DuplicateId,
}

impl Strangers {
    /// Whether this is worth telling, and remembers that it was told.
    pub(super) fn is_news(&mut self, now: Time, node: &Node, oddity: Oddity) -> bool {
        let stranger = (node.ephemeral_id.clone(), oddity);
        let is_old = |told: &Time| now < *told + TOLD_AGAIN;
        if self.told.get(&stranger).is_some_and(is_old) {
            return false;
        }
        if self.told.len() >= STRANGERS_MAX {
            self.told.retain(|_, told| is_old(told));
        }
        let has_room = self.told.len() < STRANGERS_MAX;
        if has_room {
            self.told.insert(stranger, now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Roles;
    use std::sync::Arc;

    fn node(process: usize) -> Node {
        Node {
            id: "a".into(),
            ephemeral_id: process.to_string().into(),
            name: "a".into(),
            address: "h:1".into(),
            roles: Roles::ALL,
            attributes: Arc::default(),
            version: "6.8.23".into(),
        }
    }

    #[test]
    fn a_stranger_is_told_of_once_a_minute_and_many_strangers_are_forgotten() {
        let (mut strangers, start) = (Strangers::default(), Time::ZERO);
        assert!(strangers.is_news(start, &node(0), Oddity::OtherCluster));
        assert!(strangers.is_news(start, &node(0), Oddity::DuplicateId));
        assert!(!strangers.is_news(start + TOLD_AGAIN / 2, &node(0), Oddity::OtherCluster));
        assert!(strangers.is_news(start + TOLD_AGAIN, &node(0), Oddity::OtherCluster));
        let later = start + TOLD_AGAIN * 3;
        let told =
            (0..10 * STRANGERS_MAX).filter(|other| strangers.is_news(later, &node(*other), Oddity::OtherCluster));
        assert_eq!(told.count(), STRANGERS_MAX);
        assert!(strangers.is_news(later + TOLD_AGAIN, &node(9 * STRANGERS_MAX), Oddity::OtherCluster));
    }
}
