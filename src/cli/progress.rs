//! How far the runs are: a bar on a terminal, a line now and then anywhere else. Always on the standard error.

use crate::cli::figures::count;
use crate::cli::stopwatch::Stopwatch;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};

/// How many lines there are where there is no terminal.
const LINES: u64 = 10;

/// Shows how far the runs are.
pub(super) struct Progress {
    runs: u64,
    shown: Shown,
}

enum Shown {
    /// One run is not worth it.
    Nothing,
    Bar(ProgressBar),
    Lines {
        stopwatch: Stopwatch,
        printed: u64,
    },
}

impl Progress {
    pub(super) fn new(runs: u64) -> Self {
        let shown = if runs == 1 {
            Shown::Nothing
        } else if io::stderr().is_terminal() {
            Shown::Bar(bar(runs))
        } else {
            Shown::Lines { stopwatch: Stopwatch::start(), printed: 0 }
        };
        Progress { runs, shown }
    }

    /// So many runs are made, and so many of them have failed.
    pub(super) fn advance(&mut self, made: u64, failed: u64) {
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                bar.set_position(made);
                bar.set_message(failures(failed));
            }
            Shown::Lines { stopwatch, printed } => {
                let step = (u128::from(made) * u128::from(LINES) / u128::from(self.runs)) as u64;
                if step > *printed {
                    *printed = step;
                    let (made, runs) = (count(made), count(self.runs));
                    let seconds = stopwatch.elapsed().as_secs_f64();
                    eprintln!("{made:>width$} of {runs} runs, {seconds:.1} s{}", failures(failed), width = runs.len());
                }
            }
        }
    }

    /// Prints something else meanwhile.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(print),
            Shown::Nothing | Shown::Lines { .. } => print(),
        }
    }

    /// All runs are made.
    pub(super) fn finish(self) {
        match self.shown {
            Shown::Bar(bar) => bar.finish_and_clear(),
            Shown::Nothing | Shown::Lines { .. } => {}
        }
    }
}

fn failures(failed: u64) -> String {
    if failed == 0 { String::new() } else { format!(", {} failed", count(failed)) }
}

fn bar(runs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} runs{msg}, {eta} left");
    ProgressBar::new(runs).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
