//! The wall clock, and waiting: the only places where this program touches either.

use std::time::{Duration, Instant};

/// The present moment.
#[expect(clippy::disallowed_methods, reason = "real processes are measured by a real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Lets the nodes have the processor for so long.
#[expect(clippy::disallowed_methods, reason = "observers look at a fixed pace and must not starve what they look at")]
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// Milliseconds as figures show them.
pub(crate) fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
