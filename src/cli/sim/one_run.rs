//! Makes one run. A node that panics is one thing that may come of it.

use crate::cli::quiet::quietly;
use crate::sim::{Failure, Report, RunOptions, run};

/// What came of one run.
pub(super) struct RunResult {
    pub(super) seed: u64,
    pub(super) result: Result<Report, Box<Failure>>,
    /// Where a node panicked, if one did.
    pub(super) place: Option<String>,
}

/// Makes one run; a node's panic is a failure of the run, and not printed.
pub(super) fn make(options: &RunOptions) -> RunResult {
    let quiet = quietly(|| run(options));
    match quiet.result {
        Ok(result) => RunResult { seed: options.seed, result, place: quiet.place },
        Err(message) => {
            let place = quiet.place.unwrap_or_default();
            panic!("the simulator itself panicked in the run of seed {} at {place}: {message}", options.seed);
        }
    }
}
