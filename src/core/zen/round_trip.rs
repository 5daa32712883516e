//! How long answers take at the least, by peer: a timeout that is shorter than that finds everybody dead.
//!
//! Zen's timeouts were thirty seconds, which no link took; shorter ones are raised here where a link needs it.

use crate::cluster::{Address, ClusterState};
use std::collections::BTreeMap;
use std::time::Duration;

/// A node takes in so many bytes of a state a second at the least, once it has arrived.
const INTAKE_RATE_MIN: u64 = 4 << 20;

/// A node counts as so many bytes of a state.
const NODE_BYTES: u64 = 300;

/// How many peers are remembered; of more the first one is forgotten.
const PEERS_MAX: usize = 2_048;

/// Of so many answers the fastest counts: a single slow one says nothing of the link.
const ANSWERS: usize = 2;

/// No timeout is raised above this.
const RAISED_MAX: Duration = Duration::from_secs(10);

/// What is known of the links.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    of: BTreeMap<Address, RoundTrip>,
}

#[derive(Clone, Debug, Default)]
struct RoundTrip {
    took: [Option<Duration>; ANSWERS],
    count: usize,
    is_told: bool,
}

impl RoundTrip {
    fn fastest(&self) -> Duration {
        self.took.iter().flatten().min().copied().unwrap_or(Duration::ZERO)
    }
}

impl RoundTrips {
    pub(super) fn note(&mut self, peer: &Address, took: Duration) {
        if self.of.len() >= PEERS_MAX && !self.of.contains_key(peer) {
            self.of.pop_first();
        }
        let known = self.of.entry(peer.clone()).or_default();
        known.took[known.count % ANSWERS] = Some(took);
        known.count += 1;
    }

    /// Twice what the last answers of a peer took at the least.
    pub(super) fn needed(&self, peer: &Address) -> Duration {
        self.of.get(peer).map_or(Duration::ZERO, |known| (known.fastest() * 2).min(RAISED_MAX))
    }

    /// How long an answer of a peer is waited for that is set to be waited for so long.
    pub(super) fn at_least(&self, peer: &Address, set: Duration) -> Duration {
        set.max(self.needed(peer))
    }

    /// Whether it is news that the timeout is too short for a peer.
    pub(super) fn is_news(&mut self, peer: &Address, is_short: bool) -> bool {
        let Some(known) = self.of.get_mut(peer) else {
            return false;
        };
        let is_news = is_short && !known.is_told;
        known.is_told = is_short;
        is_news
    }
}

/// How long a node may take to take in a whole state that has arrived.
pub(super) fn intake_time(state: &ClusterState) -> Duration {
    let bytes = state.metadata.key_bytes + state.nodes.len() as u64 * NODE_BYTES;
    Duration::from_micros(bytes.saturating_mul(1_000_000) / INTAKE_RATE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_last_answers_the_fastest_counts_and_it_is_told_of_once() {
        let (mut trips, peer) = (RoundTrips::default(), Address::from("h:1"));
        let ms = Duration::from_millis;
        assert_eq!(trips.needed(&peer), Duration::ZERO);
        for took in [900, 260, 270] {
            trips.note(&peer, ms(took));
        }
        assert_eq!(trips.needed(&peer), ms(520));
        assert!(trips.is_news(&peer, true) && !trips.is_news(&peer, true));
        for took in [300, 300] {
            trips.note(&peer, ms(took));
        }
        assert_eq!(trips.needed(&peer), ms(600), "the link has become slower");
        trips.note(&peer, ms(1));
        assert_eq!(trips.needed(&peer), ms(2));
        assert!(!trips.is_news(&peer, false) && trips.is_news(&peer, true), "it was well in between");
        (0..ANSWERS).for_each(|_| trips.note(&peer, Duration::from_secs(60)));
        assert_eq!(trips.needed(&peer), RAISED_MAX);
    }
}
