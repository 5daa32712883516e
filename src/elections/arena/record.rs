//! What happened in a bout, as it looks from outside: who stood where, who led, and what was sent.

use crate::protocol::{Protocol, Ticket, Time};
use crate::sim::{Violation, Watch};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stance {
    /// One character, as in traces.
    pub mode: char,
    /// Its term, epoch or round.
    pub term: u64,
    /// The node that it takes for the leader; itself if it would act as leader.
    pub leader: Option<usize>,
}

/// A process that stands elsewhere from then on; none if it does not run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Turn {
    /// When.
    pub at: Time,
    /// The node.
    pub node: usize,
    /// Where it stands.
    pub stance: Option<Stance>,
}

/// A message, from one node to another.
#[derive(Clone, Debug, Serialize)]
pub struct Arrow {
    /// When it was sent.
    pub sent: Time,
    /// When it arrived, if it did.
    pub arrived: Option<Time>,
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// Whether it only keeps watch.
    pub is_watch: bool,
    /// What it says.
    pub text: String,
}

/// Something that a node told its operator, or that was done to it.
#[derive(Clone, Debug, Serialize)]
pub struct Remark {
    /// When.
    pub at: Time,
    /// The node; none if it was done to the world.
    pub node: Option<usize>,
    /// What.
    pub text: String,
}

/// How many lead, and whom most follow, from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) at: Time,
    /// How many would act as leader.
    pub(super) leaders: usize,
    /// The leader that more than half of those that run follow and reach.
    pub(super) settled: Option<usize>,
}

/// A message that is part of an election.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Time,
    pub(super) bytes: u64,
}

/// A write that a leader was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) at: Time,
    /// The term that it led in.
    pub(super) term: u64,
    pub(super) number: u64,
}

/// What happened in a bout.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Where the nodes stand; none if one does not run.
    pub stances: Vec<Option<Stance>>,
    /// All changes of that, if they are kept.
    pub turns: Vec<Turn>,
    /// All messages, if they are kept.
    pub arrows: Vec<Arrow>,
    /// All remarks, if they are kept.
    pub remarks: Vec<Remark>,
    pub(super) keeps: bool,
    pub(super) moments: Vec<Moment>,
    pub(super) sent: Vec<Sent>,
    /// When somebody began to lead.
    pub(super) masterships: Vec<Time>,
    /// For each pair whether messages pass.
    pub(super) reach: Vec<Vec<bool>>,
    /// Writes that several leaders were asked for at the same time.
    pub(super) asked: BTreeMap<Ticket, Asked>,
    /// Who acknowledged such writes, by the moment when they were asked for: as leaders of their term, not as those who
    /// hand them on.
    pub(super) acknowledged: BTreeMap<Time, BTreeSet<usize>>,
    /// The numbers of those that were acknowledged.
    pub(super) promised: Vec<u64>,
    travelling: BTreeMap<(usize, usize, String), Vec<usize>>,
}

impl Record {
    pub(super) fn new(nodes: usize) -> Self {
        Record { stances: vec![None; nodes], reach: vec![vec![true; nodes]; nodes], ..Record::default() }
    }

    /// The nodes that would act as leader.
    pub fn leaders(&self) -> Vec<usize> {
        (0..self.stances.len()).filter(|&node| self.leads(node)).collect()
    }

    /// The leader that more than half of the running nodes follow and reach, itself included.
    pub fn settled(&self) -> Option<usize> {
        let running = self.stances.iter().flatten().count();
        self.leaders().into_iter().find(|&leader| self.followers(leader) * 2 > running)
    }

    /// Whether one node leads all that run.
    pub fn is_whole(&self) -> bool {
        let running = self.stances.iter().flatten().count();
        match self.leaders()[..] {
            [leader] => self.followers(leader) == running,
            _ => false,
        }
    }

    /// Keeps everything from now on, beginning with where all stand; or nothing more.
    pub(super) fn keep(&mut self, keeps: bool, at: Time) {
        self.keeps = keeps;
        if keeps {
            let stances = self.stances.iter().enumerate();
            self.turns.extend(stances.map(|(node, &stance)| Turn { at, node, stance }));
        }
    }

    fn leads(&self, node: usize) -> bool {
        self.stances[node].is_some_and(|stance| stance.leader == Some(node))
    }

    fn followers(&self, leader: usize) -> usize {
        let follows = |node: &usize| {
            let is_near = *node == leader || self.reach[*node][leader] && self.reach[leader][*node];
            is_near && self.stances[*node].is_some_and(|stance| stance.leader == Some(leader))
        };
        (0..self.stances.len()).filter(follows).count()
    }

    pub(super) fn stands(&mut self, at: Time, node: usize, stance: Option<Stance>) {
        if self.stances[node] == stance {
            return;
        }
        let led = self.leads(node);
        self.stances[node] = stance;
        if self.leads(node) && !led {
            self.masterships.push(at);
        }
        if self.keeps {
            self.turns.push(Turn { at, node, stance });
        }
        self.look(at);
    }

    /// Looks who leads, after something changed.
    pub(super) fn look(&mut self, at: Time) {
        let moment = Moment { at, leaders: self.leaders().len(), settled: self.settled() };
        let is_same = |last: &Moment| last.leaders == moment.leaders && last.settled == moment.settled;
        if !self.moments.last().is_some_and(is_same) {
            self.moments.push(moment);
        }
    }

    pub(super) fn remark(&mut self, at: Time, node: Option<usize>, text: String) {
        if self.keeps {
            self.remarks.push(Remark { at, node, text });
        }
    }

    fn leaves(&mut self, arrow: Arrow) {
        let key = (arrow.from, arrow.to, arrow.text.clone());
        self.travelling.entry(key).or_default().push(self.arrows.len());
        self.arrows.push(arrow);
    }

    fn arrives(&mut self, at: Time, from: usize, to: usize, text: String) {
        // The newest of those that say the same: one that was sent long before was lost.
        if let Some(number) = self.travelling.get_mut(&(from, to, text)).and_then(Vec::pop) {
            self.arrows[number].arrived = Some(at);
        }
    }
}

/// Looks on and writes the record.
pub(super) struct Lookout<P: Protocol> {
    pub(super) record: Record,
    pub(super) nodes: BTreeMap<P::Peer, usize>,
    pub(super) is_watch: fn(&P::Message) -> bool,
    pub(super) size: fn(&P::Message) -> usize,
    /// The term of the leader that acknowledged a write, if an answer says so.
    pub(super) done_in: fn(&P::Answer) -> Option<u64>,
    /// Whether a participant has a write in what it shows.
    pub(super) holds: fn(&P, u64) -> bool,
}

impl<P: Protocol> Lookout<P> {
    pub(super) fn stance(&self, participant: &P) -> Stance {
        let standing = participant.standing();
        let leader = standing.leader.as_ref().and_then(|peer| self.nodes.get(peer)).copied();
        Stance { mode: standing.mode, term: standing.term, leader }
    }

    fn turn(&mut self, at: Time, node: usize, participant: &P) {
        let stance = self.stance(participant);
        self.record.stands(at, node, Some(stance));
    }
}

impl<P: Protocol> Watch<P> for Lookout<P> {
    fn booted(&mut self, at: Time, node: usize, participant: &P) -> Result<(), Violation> {
        self.turn(at, node, participant);
        Ok(())
    }

    fn handled(&mut self, at: Time, node: usize, participant: &P) -> Result<(), Violation> {
        self.turn(at, node, participant);
        Ok(())
    }

    fn ended(&mut self, at: Time, node: usize) -> Result<(), Violation> {
        self.record.stands(at, node, None);
        Ok(())
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &P::Message) -> Result<(), Violation> {
        let is_watch = (self.is_watch)(message);
        if !is_watch {
            self.record.sent.push(Sent { at, bytes: (self.size)(message) as u64 });
        }
        if self.record.keeps {
            let text = message.to_string();
            self.record.leaves(Arrow { sent: at, arrived: None, from, to, is_watch, text });
        }
        Ok(())
    }

    fn delivered(&mut self, at: Time, from: usize, to: usize, message: &P::Message) -> Result<(), Violation> {
        if self.record.keeps {
            self.record.arrives(at, from, to, message.to_string());
        }
        Ok(())
    }

    fn noted(&mut self, at: Time, node: usize, note: &P::Note) -> Result<(), Violation> {
        if self.record.keeps {
            self.record.remark(at, Some(node), note.to_string());
        }
        Ok(())
    }

    fn answered(&mut self, _at: Time, node: usize, ticket: Ticket, answer: &P::Answer) -> Result<(), Violation> {
        let Some(Asked { at, term, number }) = self.record.asked.remove(&ticket) else {
            return Ok(());
        };
        let Some(done) = (self.done_in)(answer) else {
            return Ok(());
        };
        self.record.promised.push(number);
        // All terms of Zen as it was are zero; there, whoever still leads did it itself.
        if done == term && (term > 0 || self.record.leads(node)) {
            self.record.acknowledged.entry(at).or_default().insert(node);
        }
        Ok(())
    }
}
