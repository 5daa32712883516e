//! How far the trials are, on the standard error: a counter on a terminal, a line now and then anywhere else.

use super::clock::now;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// How often there is a line where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(20);

/// One thing that takes long.
pub(crate) struct Progress {
    what: String,
    unit: &'static str,
    began: Instant,
    told: Instant,
}

impl Progress {
    pub(crate) fn start(what: String, unit: &'static str) -> Self {
        eprintln!("{what}");
        let began = now();
        Progress { what, unit, began, told: began }
    }

    /// So many of all are done, and what is to be said of them.
    pub(crate) fn tell(&mut self, done: usize, all: usize, what: &str) {
        let seconds = (now() - self.began).as_secs();
        let comma = if what.is_empty() { "" } else { ", " };
        let line = format!("  {done} of {all} {}, {seconds} s{comma}{what}", self.unit);
        if stderr().is_terminal() {
            eprint!("\r\x1b[K{line}");
            // Progress that cannot be shown is no reason to stop.
            let _ = stderr().flush();
        } else if now() - self.told >= LINE_EVERY {
            self.told = now();
            eprintln!("{}:{line}", self.what);
        }
    }

    /// It is over.
    pub(crate) fn end(self) {
        if stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}
