//! Those who look on: told of everything that a participant did, and able to stop the run.
//!
//! All methods do nothing unless written. Watches are combined as pairs or as a `Vec` of boxes.

use super::message_filter::Stop;
use crate::protocol::{Call, Disk, Protocol, Ticket, Time};
use std::any::Any;
use std::fmt;

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Who says so.
    pub checker: &'static str,
    /// What happened.
    pub what: String,
}

impl Violation {
    /// What a node that panicked says.
    pub(super) fn assertion(panic: &(dyn Any + Send)) -> Violation {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Violation { checker: "assertion", what: text.unwrap_or("a node panicked").to_string() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.checker, self.what)
    }
}

impl std::error::Error for Violation {}

/// What a participant writes.
pub(super) type WriteOf<P> = <<P as Protocol>::Disk as Disk>::Write;

/// The verdict of a watch.
pub(super) type WatchResult = Result<(), Violation>;

/// Looks on; an error stops the run. Times are the world's, nodes are indices.
#[expect(unused_variables, reason = "the names of the arguments document methods that do nothing")]
pub trait Watch<P: Protocol> {
    /// A process was started and has handled nothing yet.
    fn booted(&mut self, at: Time, node: usize, participant: &P) -> Result<(), Violation> {
        Ok(())
    }
    /// A participant handled an input; its effects have yet to be carried out.
    fn handled(&mut self, at: Time, node: usize, participant: &P) -> Result<(), Violation> {
        Ok(())
    }
    /// A process ended.
    fn ended(&mut self, at: Time, node: usize) -> Result<(), Violation> {
        Ok(())
    }
    /// A process is stopped in its tracks, or goes on.
    fn paused(&mut self, at: Time, node: usize, is_paused: bool) -> Result<(), Violation> {
        Ok(())
    }
    /// A message left a node: a request, a reply or a tell.
    fn sent(&mut self, at: Time, from: usize, to: usize, message: &P::Message) -> Result<(), Violation> {
        Ok(())
    }
    /// A request left a node, which will be told its outcome: right after `sent`.
    fn called(&mut self, at: Time, ends: (usize, usize), call: Call, message: &P::Message) -> Result<(), Violation> {
        Ok(())
    }
    /// A sender is told the outcome of its call: a reply, or that it failed.
    fn call_ended(&mut self, at: Time, ends: (usize, usize), call: Call) -> Result<(), Violation> {
        Ok(())
    }
    /// A process hands a write to its disk.
    fn wrote(&mut self, at: Time, node: usize, write: &WriteOf<P>) -> Result<(), Violation> {
        Ok(())
    }
    /// A write reached a disk, or a process is about to be started on it: this is what survives a crash.
    fn synced(&mut self, at: Time, node: usize, disk: &P::Disk) -> Result<(), Violation> {
        Ok(())
    }
    /// A message reached a node that runs: a request, a reply or a tell.
    fn delivered(&mut self, at: Time, from: usize, to: usize, message: &P::Message) -> Result<(), Violation> {
        Ok(())
    }
    /// The gate dropped a message or holds it.
    fn stopped(&mut self, at: Time, stop: Stop<'_, P>) -> Result<(), Violation> {
        Ok(())
    }
    /// A node told its operator something.
    fn noted(&mut self, at: Time, node: usize, note: &P::Note) -> Result<(), Violation> {
        Ok(())
    }
    /// A node shows its readers this.
    fn applied(&mut self, at: Time, node: usize, view: &P::View) -> Result<(), Violation> {
        Ok(())
    }
    /// A client was answered.
    fn answered(&mut self, at: Time, node: usize, ticket: Ticket, answer: &P::Answer) -> Result<(), Violation> {
        Ok(())
    }
    /// A client will not be answered: the process it asked ended, or was not there.
    fn lost(&mut self, at: Time, node: usize, ticket: Ticket) -> Result<(), Violation> {
        Ok(())
    }
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl<P: Protocol> Watch<P> for Unwatched {}

/// Passes every call on to several watches.
macro_rules! pass_on {
    ($self:ident, $watch:ident => $each:expr) => {
        fn booted(&mut $self, at: Time, node: usize, participant: &P) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.booted(at, node, participant))
        }
        fn handled(&mut $self, at: Time, node: usize, participant: &P) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.handled(at, node, participant))
        }
        fn ended(&mut $self, at: Time, node: usize) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.ended(at, node))
        }
        fn paused(&mut $self, at: Time, node: usize, is_paused: bool) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.paused(at, node, is_paused))
        }
        fn sent(&mut $self, at: Time, from: usize, to: usize, message: &P::Message) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.sent(at, from, to, message))
        }
        fn called(&mut $self, at: Time, ends: (usize, usize), call: Call, message: &P::Message) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.called(at, ends, call, message))
        }
        fn call_ended(&mut $self, at: Time, ends: (usize, usize), call: Call) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.call_ended(at, ends, call))
        }
        fn wrote(&mut $self, at: Time, node: usize, write: &WriteOf<P>) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.wrote(at, node, write))
        }
        fn synced(&mut $self, at: Time, node: usize, disk: &P::Disk) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.synced(at, node, disk))
        }
        fn delivered(&mut $self, at: Time, from: usize, to: usize, message: &P::Message) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.delivered(at, from, to, message))
        }
        fn stopped(&mut $self, at: Time, stop: Stop<'_, P>) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.stopped(at, stop))
        }
        fn noted(&mut $self, at: Time, node: usize, note: &P::Note) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.noted(at, node, note))
        }
        fn applied(&mut $self, at: Time, node: usize, view: &P::View) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.applied(at, node, view))
        }
        fn answered(&mut $self, at: Time, node: usize, ticket: Ticket, answer: &P::Answer) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.answered(at, node, ticket, answer))
        }
        fn lost(&mut $self, at: Time, node: usize, ticket: Ticket) -> WatchResult {
            $each(&mut |$watch: &mut dyn Watch<P>| $watch.lost(at, node, ticket))
        }
    };
}

type Ask<'a, P> = &'a mut dyn FnMut(&mut dyn Watch<P>) -> WatchResult;

impl<P: Protocol, A: Watch<P>, B: Watch<P>> Watch<P> for (A, B) {
    pass_on!(self, watch => |ask: Ask<'_, P>| { ask(&mut self.0)?; ask(&mut self.1) });
}

impl<P: Protocol> Watch<P> for Vec<Box<dyn Watch<P>>> {
    pass_on!(self, watch => |ask: Ask<'_, P>| self.iter_mut().try_for_each(|each| ask(each.as_mut())));
}
