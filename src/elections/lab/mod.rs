//! The other election algorithms, each as one file to be read, on the same trait as Zen.
//!
//! They are for comparing and for teaching: their known faults are kept, and shown in stories (`tests/lab`) and in the
//! arena of the simulator. What they have in common (numbers for requests, timers, the watch over a leader) stands in
//! `participant`; an algorithm is its rules and nothing else.

pub mod bully;
pub mod bully_failover;
pub mod candidates;
pub mod emergent;
pub mod invitation;
pub mod kafka;
mod participant;
pub mod paxos_lease;
pub mod redis_cluster;
pub mod ring;
pub mod roster;
pub mod sentinel;
pub mod zookeeper;
pub mod zookeeper_old;

pub use participant::{
    ANSWER_WITHIN, Algorithm, AskOutcome, BEAT_EVERY, Body, Context, Heard, Letter, MISSES_MAX, Participant, Persisted,
    SILENCE_MAX, Stand, Timed, Word,
};

use crate::protocol::{Level, Remark};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of a process, which is also its address and its rank: the higher one wins where the algorithm says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rank(pub u32);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Ranks with commas between them.
pub(crate) struct Ranks<'a>(pub(crate) &'a [Rank]);

impl fmt::Display for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, rank) in self.0.iter().enumerate() {
            write!(f, "{}{rank}", if position == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// What a client may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Hold an election, as if the leader had been noticed to be gone.
    HoldElection,
    /// Name the leader.
    Leader,
}

/// What the operator is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// It holds an election, or stands in one.
    Electing,
    /// Somebody better answered its election.
    Eliminated {
        /// Who answered.
        by: Rank,
    },
    /// It leads.
    Leads,
    /// It led, and does not any more.
    Resigns,
    /// It follows somebody.
    Follows(Rank),
    /// The leader did not answer, or no longer leads.
    LeaderGone(Rank),
    /// A step that only this algorithm knows.
    Step(String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Electing => f.write_str("holds an election"),
            Note::Eliminated { by } => write!(f, "eliminated by {by}"),
            Note::Leads => f.write_str("leads"),
            Note::Resigns => f.write_str("leads no longer"),
            Note::Follows(leader) => write!(f, "follows {leader}"),
            Note::LeaderGone(leader) => write!(f, "leader {leader} is gone"),
            Note::Step(text) => f.write_str(text),
        }
    }
}

impl Remark for Note {
    fn level(&self) -> Level {
        Level::Info
    }
}

/// How many are more than half of `count`.
pub(crate) fn majority(count: usize) -> usize {
    count / 2 + 1
}
