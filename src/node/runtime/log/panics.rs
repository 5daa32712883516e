//! A panic is a bug; its backtrace goes where the log goes. Mirrors
//! `ElasticsearchUncaughtExceptionHandler` (6.8).

use std::backtrace::Backtrace;
use std::panic;
use std::thread;

/// The logger of panics.
const LOGGER: &str = "org.elasticsearch.bootstrap.ElasticsearchUncaughtExceptionHandler";

/// From here on every panic of this process is logged, with what led to it. It is printed as well, as it was before.
pub fn tell_panics() {
    let otherwise = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let said = panic.payload_as_str().unwrap_or("it says nothing");
        let trace = Backtrace::force_capture().to_string();
        tracing::error!(target: LOGGER, stacktrace = trace.as_str(), "panic in thread [{name}] at {place}: {said}");
        otherwise(panic);
    }));
}
