//! One client: it writes and reads its register without pause, and compares what it is told with what it knows.

use crate::clock::{milliseconds, now};
use crate::register::{Register, Written};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many reasons of errors a client remembers.
const REASONS_MAX: usize = 3;

/// What a client knows of its register.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) number: usize,
    /// The last number that it wrote; numbers go up.
    last: u64,
    /// What the register holds.
    held: u64,
    /// What it may come to hold: writes that nobody knows the fate of.
    perhaps: Vec<u64>,
}

/// What a client saw in one trial.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Milliseconds, of each request.
    pub(super) spans: Vec<f64>,
    pub(super) errors: u64,
    /// Acknowledged, and not there any more.
    pub(super) lost: u64,
    /// Carried out, and refused as if somebody else had done it.
    pub(super) twice: u64,
    /// The first reasons of all this.
    pub(super) reasons: Vec<String>,
}

impl Seen {
    fn remember(&mut self, what: String) {
        if self.reasons.len() < REASONS_MAX {
            self.reasons.push(what);
        }
    }

    pub(super) fn add(&mut self, other: Seen) {
        self.spans.extend(other.spans);
        self.errors += other.errors;
        self.lost += other.lost;
        self.twice += other.twice;
        other.reasons.into_iter().for_each(|what| self.remember(what));
    }
}

/// A client at work.
struct Work<'a> {
    client: Client,
    register: Box<dyn Register>,
    seen: Seen,
    ready: &'a AtomicUsize,
    is_over: &'a AtomicBool,
}

impl Client {
    pub(super) fn new(number: usize) -> Self {
        Client { number, ..Client::default() }
    }

    /// Writes and reads until it is over. The first read finds where the register stands, whoever was asked before, and
    /// makes the connection: it is counted among the ready, and not among the requests.
    pub(super) fn run(self, register: Box<dyn Register>, ready: &AtomicUsize, is_over: &AtomicBool) -> (Self, Seen) {
        let mut work = Work { client: self, register, seen: Seen::default(), ready, is_over };
        // That is no answer is told, and ends it only if it is over.
        let _ = work.rounds();
        (work.client, work.seen)
    }
}

impl Work<'_> {
    fn rounds(&mut self) -> ControlFlow<()> {
        let first = self.read(None);
        self.seen.spans.clear();
        self.ready.fetch_add(1, Ordering::Relaxed);
        first?;
        while !self.is_over.load(Ordering::Relaxed) {
            self.write()?;
            self.read(None)?;
        }
        ControlFlow::Continue(())
    }

    fn write(&mut self) -> ControlFlow<()> {
        self.client.last += 1;
        let (number, began) = (self.client.last, now());
        let written = self.register.write(number);
        self.seen.spans.push(milliseconds(now() - began));
        match written {
            Written::Done => {
                self.client.held = number;
                // None of them can take effect any more: each comes after a change that is not the last one.
                self.client.perhaps.clear();
                ControlFlow::Continue(())
            }
            Written::Refused => self.read(Some(number)),
            Written::Failed(why) => {
                self.failed("write", why);
                self.client.perhaps.push(number);
                self.read(None)
            }
        }
    }

    /// Reads until it is answered, or until it is over; compares, and takes over what was read.
    fn read(&mut self, refused: Option<u64>) -> ControlFlow<()> {
        loop {
            let began = now();
            let told = self.register.read();
            self.seen.spans.push(milliseconds(now() - began));
            match told {
                Ok(number) => {
                    self.compare(number, refused);
                    return ControlFlow::Continue(());
                }
                Err(why) => self.failed("read", why),
            }
            if self.is_over.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
        }
    }

    fn compare(&mut self, number: u64, refused: Option<u64>) {
        let Client { number: client, held, perhaps, .. } = &self.client;
        if refused == Some(number) {
            self.seen.twice += 1;
            self.seen.remember(format!("client {client} was refused the write of {number}, which was carried out"));
        } else if number != *held && !perhaps.contains(&number) {
            self.seen.lost += 1;
            let known = format!("{held} was acknowledged, and perhaps {perhaps:?}");
            self.seen.remember(format!("client {client} read {number}; {known}"));
        } else if number == *held && refused.is_some() {
            self.failed("write", format!("it was refused, and {number} stands as before"));
        }
        self.client.held = number;
        self.client.perhaps.retain(|late| *late > number);
    }

    fn failed(&mut self, what: &str, why: String) {
        self.seen.errors += 1;
        self.seen.remember(format!("a {what} of client {}: {why}", self.client.number));
    }
}
