//! The wall clock, which tells how long a command takes and decides nothing.

use std::time::{Duration, Instant};

/// Counts the time since it was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to count.
    #[expect(
        clippy::disallowed_methods,
        reason = "people want to know how long they wait; no simulated time depends on it"
    )]
    pub(super) fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// How long it is since the start.
    pub(super) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
