//! The contract of a deterministic participant.
//!
//! A participant is a state machine. Everything that happens to it comes in as an [`Input`], everything it wants goes
//! out as [`Effect`]s, and the time is an argument. It reads no clock, draws no entropy and opens no socket, so the same
//! inputs give the same effects, in the simulator and on real machines alike. Zen and every algorithm of the lab
//! implement [`Protocol`]; the simulator and the live runtime drive any of them.

mod effect;
mod input;
mod rng;
mod time;
mod timers;

pub use effect::{Effect, Effects, Level};
pub use input::{Call, Exchange, Failure, Initial, Input, Resolution, StoreId, Ticket, Unresolved};
pub use rng::Rng;
pub use time::Time;
pub use timers::Timers;

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// One participant of a distributed algorithm.
pub trait Protocol: Sized {
    /// Where messages go to: a transport address.
    type Peer: Clone + Ord + Hash + Debug + Display;
    /// What participants say to each other, requests and replies alike.
    type Message: Clone + Hash + Debug + Display;
    /// What survives a crash.
    type Disk: Disk;
    /// What readers are shown.
    type View: Clone;
    /// What a client may ask.
    type Question: Clone + Debug;
    /// What a client is told.
    type Answer: Clone + Debug;
    /// What an operator reads in the log.
    type Note: Remark;
    /// Why a deadline exists.
    type Timer: Copy + Ord + Display;

    /// Takes one input and appends what it wants done, in order.
    fn handle(&mut self, now: Time, input: Input<Self>, out: &mut Effects<Self>);

    /// The earliest deadline and its reason. The driver sends [`Input::Woke`] when it has passed.
    fn next_deadline(&self) -> Option<(Time, Self::Timer)>;

    /// Where it stands, for traces and for judging leaders from outside.
    fn standing(&self) -> Standing<Self::Peer>;
}

/// Participants that say, store, show, answer and note the same things, so that one can be a part of the other.
pub trait Alike<P: Protocol>:
    Protocol<
        Peer = P::Peer,
        Message = P::Message,
        Disk = P::Disk,
        View = P::View,
        Question = P::Question,
        Answer = P::Answer,
        Note = P::Note,
    >
{
}

impl<P: Protocol, Q> Alike<P> for Q where
    Q: Protocol<
            Peer = P::Peer,
            Message = P::Message,
            Disk = P::Disk,
            View = P::View,
            Question = P::Question,
            Answer = P::Answer,
            Note = P::Note,
        >
{
}

/// What survives a crash: the fold of the writes that reached it.
pub trait Disk: Clone + Default {
    /// One change, written atomically: after a crash it is there as a whole or not at all.
    type Write: Clone + Debug;

    /// Takes one change in.
    fn apply(&mut self, write: &Self::Write);

    /// Whether what follows the write in its batch must wait until it is synced. A lazy write may be lost in a crash
    /// even after it completed, unless a synced one followed it.
    fn is_lazy(write: &Self::Write) -> bool;
}

/// A log line that knows how loud it is.
pub trait Remark: Clone + Debug + Display {
    /// How much it matters to an operator.
    fn level(&self) -> Level;
}

/// Where a participant stands in its algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Standing<Peer> {
    /// One character for the trace: `F` finding, `E` electing, `J` joining, `L` leading, `f` following, and so on.
    pub mode: char,
    /// The term, epoch or round it is in, where the algorithm has one.
    pub term: u64,
    /// The version of what it shows its readers, where the algorithm has one.
    pub version: u64,
    /// Whom it takes for the leader; itself included.
    pub leader: Option<Peer>,
}
