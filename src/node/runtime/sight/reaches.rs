//! Which members answer this node.
//!
//! However many look, they are tried at the most once in a while. So the links of a cluster can be shown between any two
//! members, of which the protocol itself only uses those to and from the master.

use crate::cluster::NodeId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::Instant;

/// How long it takes from the beginning of one round to that of the next, if somebody looks.
const PAUSE: Duration = Duration::from_millis(900);

/// A round that is younger is as good as another one.
const FRESH: Duration = Duration::from_millis(300);

/// What became of trying a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReachOutcome {
    /// It answered.
    Answered,
    /// No connection could be made.
    NotConnected,
    /// Nothing came back in time.
    TimedOut,
    /// Another process answered.
    OtherProcess,
}

/// One member, tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Who.
    pub node: NodeId,
    /// What became of it.
    pub outcome: ReachOutcome,
    /// How long that took.
    pub micros: u64,
}

/// The members as they were last tried.
#[derive(Debug, Default)]
pub struct Reaches(Mutex<Rounds>);

#[derive(Debug, Default)]
struct Rounds {
    began: Option<Instant>,
    /// When the round began that these were found in.
    found_from: Option<Instant>,
    found: Vec<Reach>,
}

impl Reaches {
    /// What the last round found.
    pub(in crate::runtime) fn found(&self) -> Vec<Reach> {
        self.0.lock().found.clone()
    }

    /// Whether another round is to begin, which is then taken to have begun.
    pub(in crate::runtime) fn take_turn(&self) -> bool {
        let mut rounds = self.0.lock();
        let now = Instant::now();
        let is_due = rounds.began.is_none_or(|began| now.duration_since(began) >= PAUSE);
        if is_due {
            rounds.began = Some(now);
        }
        is_due
    }

    /// Whether what was found is as good as what another round would find.
    pub(in crate::runtime) fn are_fresh(&self) -> bool {
        self.0.lock().found_from.is_some_and(|from| from.elapsed() < FRESH)
    }

    /// A round that began then found this; what a later one found stays.
    pub(in crate::runtime) fn keep(&self, from: Instant, found: Vec<Reach>) {
        let mut rounds = self.0.lock();
        if rounds.found_from.is_none_or(|before| before <= from) {
            (rounds.found_from, rounds.found) = (Some(from), found);
        }
    }
}
