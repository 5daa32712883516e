//! `zazen sim --graphs`: every way in which a few nodes can reach each other.

use super::page::{Page, outcome};
use super::{FAILURES_MAX, Request};
use crate::cli::figures::{count, span};
use crate::cli::progress::Progress;
use crate::cli::quiet::quietly;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{CommandError, CommandOutcome, crew, interrupt};
use crate::sim::Violation;
use crate::sim::graphs::{Case, Ending, NODES_MAX, cases};
use std::io::Write;

/// Plays all graphs of each number of nodes, and prints what came of them.
pub(super) fn run(request: &Request, sizes: &[usize], out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    let head =
        ["nodes", "graphs", "cases, cold and warm", "allow a master", "one master, that stays", "failed", "time"];
    let mut page = Page::new("zazen sim --graphs", &head);
    let mut failed = 0;
    for nodes in sizes {
        let stopwatch = Stopwatch::start();
        let cases = cases(*nodes, 1);
        let (played, masters, failures) = play(request, &cases, out)?;
        failed += failures;
        let (all, masters, failures) = (played as u64, masters as u64, failures as u64);
        page.row(
            [*nodes as u64, all / 2, all, masters + failures, masters, failures]
                .map(count)
                .into_iter()
                .chain([span(stopwatch.elapsed())]),
        );
        if interrupt::came() {
            page.remark(format!("Interrupted after {played} of {} cases of {nodes} nodes.", cases.len()));
            break;
        }
    }
    page.publish(request.page.as_deref(), out)?;
    Ok(outcome(failed))
}

/// Plays all cases on several threads; tells how many, how many ended with one master, and how many failed.
fn play(request: &Request, cases: &[Case], out: &mut impl Write) -> Result<(usize, usize, usize), CommandError> {
    let mut progress = Progress::of(cases.len() as u64, "cases");
    let (mut played, mut masters, mut failed) = (0, 0, 0);
    let play = |case: &Case| {
        let ended = quietly(|| case.play(request.options.rules)).result;
        (*case, ended.unwrap_or_else(|what| Err(Violation { checker: "simulator", what })))
    };
    crew::share(cases, request.jobs, play, |hear| {
        for (case, ending) in hear {
            played += 1;
            match ending {
                Ok(ending) => masters += usize::from(ending == Ending::OneMaster),
                Err(violation) => {
                    failed += 1;
                    if failed <= FAILURES_MAX as usize {
                        progress.aside(|| writeln!(out, "FAIL {case}\n     {violation}"))?;
                    }
                }
            }
            progress.advance(played as u64, failed as u64);
        }
        Ok::<(), CommandError>(())
    })?;
    progress.finish();
    Ok((played, masters, failed))
}

/// A number of nodes whose graphs can be counted.
pub(super) fn parse(text: &str) -> Result<usize, String> {
    let nodes = text.parse().map_err(|_| format!("`{text}` is no number of nodes"))?;
    if (2..=NODES_MAX).contains(&nodes) { Ok(nodes) } else { Err(format!("{nodes} is not in 2..={NODES_MAX}")) }
}
