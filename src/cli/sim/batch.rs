//! Makes the runs, on several threads, and hears what came of each.

use super::one_run::{self, RunResult};
use super::summary::Summary;
use super::{FAILURES_MAX, Request, failure};
use crate::cli::progress::Progress;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{CommandError, interrupt};
use crate::sim::{Report, RunOptions, RunParams};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// Makes all runs, tells of those that fail as soon as they do, and adds up the rest.
pub(super) fn make(request: &Request, out: &mut impl Write) -> Result<Summary, CommandError> {
    let stopwatch = Stopwatch::start();
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut summary = Summary::new(request);
    thread::scope(|scope| {
        let (tell, hear) = mpsc::channel();
        for _ in 0..request.jobs {
            let tell = tell.clone();
            scope.spawn(|| work(request, &next, &is_over, tell));
        }
        drop(tell);
        let heard = listen(request, &hear, &is_over, &mut summary, out);
        is_over.store(true, Ordering::Relaxed);
        heard
    })?;
    summary.took = stopwatch.elapsed();
    Ok(summary)
}

/// Makes one run after the other until there are none left.
fn work(request: &Request, next: &AtomicU64, is_over: &AtomicBool, tell: Sender<RunResult>) {
    while !is_over.load(Ordering::Relaxed) && !interrupt::came() {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= request.runs {
            return;
        }
        let options = RunOptions { trace: request.shown(), ..request.run(request.seed + number) };
        if tell.send(one_run::make(&options)).is_err() {
            return;
        }
    }
}

fn listen(
    request: &Request,
    hear: &Receiver<RunResult>,
    is_over: &AtomicBool,
    summary: &mut Summary,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let mut progress = Progress::of(request.runs, "runs");
    while let Ok(verdict) = hear.recv() {
        summary.add(&verdict);
        progress.advance(summary.runs, summary.failed());
        if let Err(failure) = &verdict.result {
            is_over.fetch_or(summary.failed() >= FAILURES_MAX, Ordering::Relaxed);
            progress.aside(|| failure::tell(request, &verdict, failure, out))?;
        }
        if let (Ok(report), Some(_)) = (&verdict.result, request.shown()) {
            show(&request.run(verdict.seed), report, out)?;
        }
    }
    progress.finish();
    Ok(())
}

/// Prints a run that went well.
fn show(options: &RunOptions, report: &Report, out: &mut impl Write) -> Result<(), CommandError> {
    writeln!(out, "{}\n", RunParams::new(options))?;
    for line in &report.trace {
        writeln!(out, "{line}")?;
    }
    Ok(writeln!(out)?)
}
