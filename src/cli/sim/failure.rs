//! Tells of a run that broke a rule: what was drawn, what happened last, what went wrong, and how to see it again.

use super::one_run::{self, RunResult};
use super::{Request, TraceArg, UPDATES};
use crate::cli::CommandError;
use crate::diagnose::quoted;
use crate::sim::{Failure, RunOptions};
use std::io::Write;

/// How many lines of the trace are printed unless it is said.
const LINES: usize = 30;

/// Makes the run again with its trace, and prints it.
pub(super) fn tell(
    request: &Request,
    verdict: &RunResult,
    failure: &Failure,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let seed = verdict.seed;
    let lines = request.shown().map_or(LINES, |(_, lines)| lines);
    let detail = request.trace.unwrap_or(TraceArg::Short).detail();
    let trace = Some((detail, request.lines.unwrap_or(lines)));
    let again = one_run::make(&RunOptions { trace, ..request.run(seed) });
    writeln!(out, "{}\n", failure.draw)?;
    match &again.result {
        Err(same) if is_same(same, failure) => {
            for line in &same.trace {
                writeln!(out, "{line}")?;
            }
        }
        Err(_) | Ok(_) => {
            writeln!(out, "The second run of seed {seed} went otherwise: it depends on more than its seed.")?
        }
    }
    let place = verdict.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
    writeln!(out, "\nFAIL {}", failure.violation)?;
    writeln!(out, "     seed {seed}, event {}, {}{place}", failure.event, failure.at)?;
    writeln!(out, "replay: {}\n", replay(request, failure))?;
    Ok(())
}

fn is_same(one: &Failure, other: &Failure) -> bool {
    one.violation == other.violation && one.event == other.event && one.at == other.at
}

/// The line that makes the run again with its full trace. It ends with the event after the last one: some rules are
/// found to be broken only when nothing happened any more.
fn replay(request: &Request, failure: &Failure) -> String {
    let mut line = format!("zazen sim --seed {} --runs 1", failure.draw.seed);
    if let Some(protection) = request.without {
        line += &format!(" --without {protection}");
    }
    if let Some(nodes) = request.options.nodes {
        line += &format!(" --nodes {nodes}");
    }
    if !request.options.half_well {
        line += " --well";
    }
    if request.is_crowd() {
        line += &format!(" --crowd {}", request.options.tuning.crowd);
    }
    if request.options.updates != UPDATES {
        line += &format!(" --updates {}", request.options.updates);
    }
    for (key, value) in &request.settings {
        line += &format!(" -E {}", quoted(&format!("{key}={value}")));
    }
    let until = request.options.until.unwrap_or(u64::MAX).min(failure.event + 1);
    line + &format!(" --until {until} --trace full")
}
