//! How long answers take at the least, by peer: a timeout that is shorter than that finds everybody dead.
//!
//! Zen's timeouts were thirty seconds, which no link took; shorter ones are raised here where a link needs it.

use super::node::NodeState;
use super::{Note, Zen};
use crate::cluster::{Address, ClusterState, Node};
use crate::protocol::{Effects, Time};
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
    fn needed(&self, peer: &Address) -> Duration {
        self.of.get(peer).map_or(Duration::ZERO, |known| (known.fastest() * 2).min(RAISED_MAX))
    }

    /// How long an answer of a peer is waited for that is set to be waited for so long.
    pub(super) fn at_least(&self, peer: &Address, set: Duration) -> Duration {
        set.max(self.needed(peer))
    }

    /// Whether it is news that the timeout is too short for a peer.
    fn is_news(&mut self, peer: &Address, is_short: bool) -> bool {
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

impl NodeState {
    /// A peer answered what was asked then. The operator is told of a timeout that the link is too slow for.
    pub(super) fn note_round_trip(&mut self, now: Time, node: &Node, asked: Time, out: &mut Effects<Zen>) {
        if now < self.doubts_until {
            return;
        }
        self.round_trips.note(&node.address, now.since(asked));
        let (set, needed) = (self.tuning.fd_ping_timeout, self.round_trips.needed(&node.address));
        if self.round_trips.is_news(&node.address, needed > set) {
            out.note(Note::TimeoutRaised { node: node.clone().into(), round_trip: needed / 2, set, to: needed });
        }
    }

    /// How long an answer of a peer takes, if the fault detectors are set to wait for less than it needs.
    pub(super) fn long_round_trip(&self, peer: &Address) -> Duration {
        let needed = self.round_trips.needed(peer);
        if needed > self.tuning.fd_ping_timeout { needed / 2 } else { Duration::ZERO }
    }

    /// How long a fault detector waits for an answer of a peer: as it is set, unless the link takes longer.
    pub(super) fn fd_timeout(&self, peer: &Address) -> Duration {
        self.answer_timeout(peer, self.tuning.fd_ping_timeout)
    }

    /// How long an answer of a peer is waited for.
    pub(super) fn answer_timeout(&self, peer: &Address, set: Duration) -> Duration {
        self.round_trips.at_least(peer, set)
    }
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
