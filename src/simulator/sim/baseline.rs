//! How things are in a world where nothing is broken; what healing goes back to.

use super::disk;
use super::network::Quality;

/// How things are where nothing is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// How well links carry.
    pub quality: Quality,
    /// How long a synced write takes, in microseconds.
    pub disk_us: (u64, u64),
    /// How long looking up the seeds takes, in microseconds.
    pub lookup_us: (u64, u64),
    /// Whether a crash takes back every write that was not synced, rather than a random number of the last ones.
    pub loses_unsynced: bool,
}

impl Default for Baseline {
    fn default() -> Self {
        Baseline {
            quality: Quality::default(),
            disk_us: disk::LATENCY_US,
            lookup_us: (200, 2_000),
            loses_unsynced: false,
        }
    }
}
