//! A node's own clock: it starts at zero with the process, as the runtime's does, and runs at its own rate.

use crate::protocol::Time;

/// The rate of a clock that runs as the world does, in millionths.
pub const REAL_TIME_PPM: u64 = 1_000_000;

/// Converts between the world's time and a node's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    rate_ppm: u64,
    world: u64,
    local: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        Clock { rate_ppm: REAL_TIME_PPM, world: 0, local: 0 }
    }

    /// Begins again at zero, at the same rate.
    pub(super) fn restart(&mut self, now: Time) {
        self.world = now.as_micros();
        self.local = 0;
    }

    /// Runs at another rate from now on; what it shows does not jump.
    pub(super) fn set_rate(&mut self, now: Time, rate_ppm: u64) {
        assert!(rate_ppm > 0, "a clock that stands still never meets a deadline");
        self.local = self.local(now).as_micros();
        self.world = now.as_micros();
        self.rate_ppm = rate_ppm;
    }

    /// Shows so much more from now on.
    pub(super) fn jump(&mut self, span_us: u64) {
        self.local = self.local.saturating_add(span_us);
    }

    /// What it shows when the world's time is `now`.
    pub(super) fn local(&self, now: Time) -> Time {
        let passed = now.as_micros().saturating_sub(self.world);
        Time::from_micros(self.local + scale(passed, self.rate_ppm, REAL_TIME_PPM))
    }

    /// The first point of the world's time at which it shows `local` or more.
    pub(super) fn world(&self, local: Time) -> Time {
        let ahead = local.as_micros().saturating_sub(self.local);
        Time::from_micros(self.world.saturating_add(self.world_span(ahead)))
    }

    /// How long a span of its time takes in the world, in microseconds.
    pub(super) fn world_span(&self, local_us: u64) -> u64 {
        if self.rate_ppm == REAL_TIME_PPM {
            return local_us;
        }
        let exact = (u128::from(local_us) * u128::from(REAL_TIME_PPM)).div_ceil(u128::from(self.rate_ppm));
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}

fn scale(span: u64, by: u64, over: u64) -> u64 {
    if by == over {
        return span;
    }
    u64::try_from(u128::from(span) * u128::from(by) / u128::from(over)).unwrap_or(u64::MAX)
}
