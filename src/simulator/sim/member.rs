//! A node of a script: one of this protocol, or one of Zen as it was.
//!
//! Both say, store and show the same things, so that they are played, watched and judged alike. What only this protocol has
//! is looked at through [`Member::zen`].

use crate::cluster::{Address, ClusterState, Node, StateId};
use crate::protocol::{Alike, Effect, Effects, Input, Protocol, Standing, Time};
use crate::service::{Answer, Question};
use crate::zen::{Memory, Message, Mode, Note, Zen};
use crate::zen68::Zen68;
use crate::{zen, zen68};
use std::fmt;
use std::sync::Arc;

/// A node of either protocol.
#[derive(Clone)]
pub enum Member {
    /// One of this protocol.
    Zen(Box<Zen>),
    /// One of Zen as it was.
    Zen68(Box<Zen68>),
}

/// Why a node of either protocol wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberTimer {
    /// A reason of this protocol.
    Zen(zen::Timer),
    /// A reason of Zen's.
    Zen68(zen68::Timer),
}

impl fmt::Display for MemberTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberTimer::Zen(timer) => timer.fmt(f),
            MemberTimer::Zen68(timer) => timer.fmt(f),
        }
    }
}

impl Member {
    /// The node, if it is one of this protocol.
    pub fn zen(&self) -> Option<&Zen> {
        match self {
            Member::Zen(zen) => Some(zen),
            Member::Zen68(_) => None,
        }
    }

    /// The node itself.
    pub fn local(&self) -> &Arc<Node> {
        match self {
            Member::Zen(zen) => zen.local(),
            Member::Zen68(zen68) => zen68.local(),
        }
    }

    /// The newest committed state that was applied.
    pub fn applied(&self) -> &Arc<ClusterState> {
        match self {
            Member::Zen(zen) => zen.applied(),
            Member::Zen68(zen68) => zen68.state(),
        }
    }

    /// What its mode is called.
    pub fn mode_name(&self) -> &'static str {
        match self {
            Member::Zen(zen) => zen.mode().name(),
            Member::Zen68(zen68) => zen68.mode_name(),
        }
    }

    /// Whether it is master, for others to see or not.
    pub fn leads(&self) -> bool {
        match self {
            Member::Zen(zen) => zen.mastership().is_some(),
            Member::Zen68(zen68) => zen68.leads(),
        }
    }

    /// The master that readers see, itself included.
    pub fn open_master(&self) -> Option<&Arc<Node>> {
        match self {
            Member::Zen(zen) => zen.open_master(),
            Member::Zen68(zen68) => zen68.open_master(),
        }
    }

    /// The newest state that it could give back if all others were gone.
    pub fn newest_held(&self) -> StateId {
        match self {
            Member::Zen(zen) => zen.newest_held(),
            Member::Zen68(zen68) => zen68.newest_held(),
        }
    }

    /// Whether a state of this master is on its way.
    pub fn is_publishing(&self) -> bool {
        match self {
            Member::Zen(zen) => zen.is_publishing(),
            Member::Zen68(zen68) => zen68.is_publishing(),
        }
    }

    /// Whether it leads, has committed its last state and has nothing else to do.
    pub fn is_settled(&self) -> bool {
        match self {
            Member::Zen(zen) => is_settled(zen),
            Member::Zen68(zen68) => zen68.is_settled(),
        }
    }

    /// The deadlines that are set, the nearest first.
    pub fn deadlines(&self) -> Vec<(Time, MemberTimer)> {
        match self {
            Member::Zen(zen) => {
                zen.timers().in_order().into_iter().map(|(at, timer)| (at, MemberTimer::Zen(timer))).collect()
            }
            Member::Zen68(zen68) => {
                zen68.timers().in_order().into_iter().map(|(at, timer)| (at, MemberTimer::Zen68(timer))).collect()
            }
        }
    }
}

fn is_settled(zen: &Zen) -> bool {
    match zen.mode() {
        Mode::Leading(lead) => {
            lead.publish.as_ref().is_some_and(|publish| publish.is_committed)
                && lead.queue.is_empty()
                && lead.joiners.is_empty()
                && lead.leaving.is_empty()
                && lead.term_bump.is_none()
                && lead.wanted_term.is_none()
                && lead.awaiting.is_empty()
                && lead.wish.is_none()
        }
        Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => false,
    }
}

impl Protocol for Member {
    type Peer = Address;
    type Message = Message;
    type Disk = Memory;
    type View = Arc<ClusterState>;
    type Question = Question;
    type Answer = Answer;
    type Note = Note;
    type Timer = MemberTimer;

    fn handle(&mut self, now: Time, input: Input<Member>, out: &mut Effects<Member>) {
        match self {
            Member::Zen(zen) => handle(&mut **zen, now, input, out),
            Member::Zen68(zen68) => handle(&mut **zen68, now, input, out),
        }
    }

    fn next_deadline(&self) -> Option<(Time, MemberTimer)> {
        match self {
            Member::Zen(zen) => zen.next_deadline().map(|(at, timer)| (at, MemberTimer::Zen(timer))),
            Member::Zen68(zen68) => zen68.next_deadline().map(|(at, timer)| (at, MemberTimer::Zen68(timer))),
        }
    }

    fn standing(&self) -> Standing<Address> {
        match self {
            Member::Zen(zen) => zen.standing(),
            Member::Zen68(zen68) => zen68.standing(),
        }
    }
}

fn handle<P: Alike<Member>>(part: &mut P, now: Time, input: Input<Member>, out: &mut Effects<Member>) {
    let mut wanted = Effects::<P>::default();
    part.handle(now, input.pass_on(), &mut wanted);
    wanted.drain().map(Effect::pass_on).for_each(|effect| out.push(effect));
}
