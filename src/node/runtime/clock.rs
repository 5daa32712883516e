//! The clock of a real node: microseconds since it was started, from the system's steady clock.

use crate::protocol::Time;
use std::time::Instant;

/// A clock that began when it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the core takes the time as an argument; this is where it comes from"
    )]
    pub(super) fn start() -> Self {
        Clock { began: Instant::now() }
    }

    pub(super) fn now(&self) -> Time {
        Time::from_micros(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// When a time of this clock is, for timers.
    pub(super) fn at(&self, time: Time) -> tokio::time::Instant {
        (self.began + std::time::Duration::from_micros(time.as_micros())).into()
    }
}
