//! How far the runs, or whatever else takes its time, are: a bar on a terminal, a line now and then anywhere else. Always
//! on the standard error.

use crate::cli::figures::count;
use crate::cli::stopwatch::Stopwatch;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};

/// How many lines there are where there is no terminal.
const LINES: u64 = 10;

/// Shows how far something is.
pub(super) struct Progress {
    all: u64,
    /// What there are so many of.
    noun: &'static str,
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
    /// Of so many runs, or whatever else they are.
    pub(super) fn of(all: u64, noun: &'static str) -> Self {
        let shown = if all == 1 {
            Shown::Nothing
        } else if io::stderr().is_terminal() {
            Shown::Bar(bar(all, noun))
        } else {
            Shown::Lines { stopwatch: Stopwatch::start(), printed: 0 }
        };
        Progress { all, noun, shown }
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
                let step = (u128::from(made) * u128::from(LINES) / u128::from(self.all)) as u64;
                if step > *printed {
                    *printed = step;
                    let (made, all, noun) = (count(made), count(self.all), self.noun);
                    let seconds = stopwatch.elapsed().as_secs_f64();
                    eprintln!("{made:>width$} of {all} {noun}, {seconds:.1} s{}", failures(failed), width = all.len());
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

fn bar(all: u64, noun: &str) -> ProgressBar {
    let template = format!("{{wide_bar}} {{human_pos}} of {{human_len}} {noun}{{msg}}, {{eta}} left");
    let style = ProgressStyle::with_template(&template);
    ProgressBar::new(all).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
