//! Invitation: everyone leads a group of one, and groups merge.
//!
//! 1. A process begins as the leader of a group that is itself alone.
//! 2. Leaders invite processes outside of their group, one after the other.
//! 3. An invited leader merges the groups: the one of the larger group leads, the inviter if they are equally large. Only
//!    those whose leader changes are told.
//! 4. An invited member answers with its leader's id, and the inviter invites that one.
//! 5. A leader that has an invitation out declines others, or two could join each other; it tries again later.
//! 6. A member whose leader is gone leads a group of one again.
//!
//! Several leaders at once are allowed by design, one for each group: each part of a partition has a leader of its own, and
//! the parts merge when they meet again. While groups merge there are always several.

use super::{Algorithm, AskOutcome, BEAT_EVERY, Context, Heard, Note, Rank, Ranks, Stand, Word};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// How long after the one with the next lower id a process begins to invite.
pub const STAGGER: Duration = Duration::from_millis(10);
/// How long a leader rests between two invitations.
pub const REST: Duration = Duration::from_millis(25);

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The sender leads these, itself included, and invites the receiver to join.
    Invite(Vec<Rank>),
    /// Replies: the sender and these, whom it led, join.
    Joins(Vec<Rank>),
    /// Replies: the sender leads the larger group, and the inviter's group joins it.
    TakesIn,
    /// Replies: the sender is a member of this one's group.
    Member(Rank),
    /// Replies: not at this moment.
    Busy,
    /// To members: this one leads them from now on.
    LedBy(Rank),
}

impl Word for Message {}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Invite(group) => write!(f, "invites into {{{}}}", Ranks(group)),
            Message::Joins(group) => write!(f, "joins with {{{}}}", Ranks(group)),
            Message::TakesIn => f.write_str("takes the inviter's group in"),
            Message::Member(leader) => write!(f, "is led by {leader}"),
            Message::Busy => f.write_str("busy"),
            Message::LedBy(leader) => write!(f, "led by {leader}"),
        }
    }
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NextInvitation;

impl fmt::Display for NextInvitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the next invitation")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    /// Leads these others.
    Leading(BTreeSet<Rank>),
    Member(Rank),
}

/// One process.
#[derive(Clone, Debug)]
pub struct Invitation {
    me: Rank,
    mode: Mode,
    /// Whom it invited last, and whether the answer is still to come.
    invited: Rank,
    is_inviting: bool,
}

impl Invitation {
    /// The process `me`.
    pub fn new(me: Rank) -> Self {
        Invitation { me, mode: Mode::Leading(BTreeSet::new()), invited: me, is_inviting: false }
    }

    /// The processes that it leads, itself included.
    pub fn group(&self) -> Vec<Rank> {
        let members = match &self.mode {
            Mode::Leading(members) => members.clone(),
            Mode::Member(_) => BTreeSet::new(),
        };
        members.into_iter().chain([self.me]).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Rules 1 and 6.
    fn be_alone(&mut self, desk: &mut Context<'_, Self>) {
        desk.note(Note::Leads);
        desk.forget();
        desk.watch_nobody();
        self.mode = Mode::Leading(BTreeSet::new());
        self.is_inviting = false;
        self.invited = self.me;
        desk.wake_in(NextInvitation, STAGGER * (self.me.0.saturating_sub(1)));
    }

    /// Rule 2: the next one outside, in the order of ids; after all of them a longer rest.
    fn invite_next(&mut self, desk: &mut Context<'_, Self>) {
        let Mode::Leading(members) = &self.mode else {
            return;
        };
        let others = desk.others();
        let next = others.iter().copied().find(|other| *other > self.invited && !members.contains(other));
        match next {
            Some(next) => self.invite(next, desk),
            None => {
                self.invited = Rank(0);
                let stagger = Duration::from_millis(u64::from(self.me.0));
                desk.wake_in(NextInvitation, BEAT_EVERY + stagger);
            }
        }
    }

    fn invite(&mut self, whom: Rank, desk: &mut Context<'_, Self>) {
        desk.stop(NextInvitation);
        self.invited = whom;
        self.is_inviting = true;
        desk.ask(whom, Message::Invite(self.group()), ());
    }

    /// Rests, each for another time, so that two do not meet again and again.
    fn rest(&mut self, desk: &mut Context<'_, Self>) {
        desk.wake_in(NextInvitation, REST + Duration::from_millis(u64::from(self.me.0)));
    }

    /// Rules 3 to 5, for the invited.
    fn on_invite(&mut self, heard: &Heard<Message>, theirs: &[Rank], desk: &mut Context<'_, Self>) {
        let own = self.group();
        match &mut self.mode {
            Mode::Member(leader) if *leader == heard.from => desk.reply(heard.exchange, Message::Joins(vec![self.me])),
            Mode::Member(leader) => desk.reply(heard.exchange, Message::Member(*leader)),
            Mode::Leading(_) if self.is_inviting => desk.reply(heard.exchange, Message::Busy),
            Mode::Leading(members) if members.len() + 1 > theirs.len() => {
                members.extend(theirs.iter().filter(|&&member| member != self.me));
                desk.reply(heard.exchange, Message::TakesIn);
                desk.step(format!("leads {{{}}}", Ranks(&self.group())));
            }
            Mode::Leading(_) => {
                desk.reply(heard.exchange, Message::Joins(own));
                self.join(heard.from, desk);
            }
        }
    }

    /// Its own group is told, and follows.
    fn join(&mut self, leader: Rank, desk: &mut Context<'_, Self>) {
        for to in self.group().into_iter().filter(|&member| member != self.me && member != leader) {
            desk.tell(to, Message::LedBy(leader));
        }
        self.follow(leader, desk);
    }

    fn follow(&mut self, leader: Rank, desk: &mut Context<'_, Self>) {
        desk.settle(leader, self.stand().leader);
        self.mode = Mode::Member(leader);
        self.is_inviting = false;
        desk.forget();
        desk.stop(NextInvitation);
    }

    /// Rules 3 to 5, for the inviter.
    fn on_answer(&mut self, of: Rank, answer: Message, desk: &mut Context<'_, Self>) {
        let Mode::Leading(members) = &mut self.mode else {
            return;
        };
        match answer {
            Message::Joins(theirs) => {
                members.extend(theirs.into_iter().filter(|&member| member != self.me));
                desk.step(format!("leads {{{}}}", Ranks(&self.group())));
                self.rest(desk);
            }
            Message::TakesIn => self.join(of, desk),
            Message::Member(leader) if leader != self.me && !members.contains(&leader) => self.invite(leader, desk),
            // Whoever says so is a member here that was not counted.
            Message::Member(leader) => {
                if leader == self.me {
                    members.insert(of);
                }
                self.rest(desk);
            }
            Message::Busy | Message::Invite(_) | Message::LedBy(_) => self.rest(desk),
        }
    }
}

impl Algorithm for Invitation {
    type Word = Message;
    type Persisted = ();
    type Purpose = ();
    type Timer = NextInvitation;

    fn start(&mut self, desk: &mut Context<'_, Self>) {
        self.be_alone(desk);
    }

    fn elect(&mut self, desk: &mut Context<'_, Self>) {
        self.be_alone(desk);
    }

    fn hear(&mut self, heard: Heard<Message>, desk: &mut Context<'_, Self>) {
        match &heard.word {
            Message::Invite(theirs) => self.on_invite(&heard, theirs, desk),
            // Only the own leader moves its members.
            Message::LedBy(leader) if self.mode == Mode::Member(heard.from) && *leader != self.me => {
                self.follow(*leader, desk);
            }
            Message::LedBy(_) | Message::Joins(_) | Message::TakesIn | Message::Member(_) | Message::Busy => {}
        }
    }

    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>) {
        self.is_inviting = false;
        match outcome.reply {
            Ok(answer) => self.on_answer(outcome.of, answer, desk),
            Err(_) => self.rest(desk),
        }
    }

    fn wake(&mut self, _timer: NextInvitation, desk: &mut Context<'_, Self>) {
        if !self.is_inviting {
            self.invite_next(desk);
        }
    }

    fn leader_gone(&mut self, _leader: Rank, desk: &mut Context<'_, Self>) {
        self.be_alone(desk);
    }

    fn stand(&self) -> Stand {
        match self.mode {
            Mode::Leading(_) => Stand { mode: 'L', term: 0, leader: Some(self.me) },
            Mode::Member(leader) => Stand { mode: 'f', term: 0, leader: Some(leader) },
        }
    }
}
