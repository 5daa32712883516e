//! One node: its machine, its disk, its clock, and the process that runs on it or does not.

use super::clock::Clock;
use super::disk::Storage;
use crate::protocol::{Effect, Input, Protocol, Resolution, Rng, StoreId, Ticket, Time};
use std::collections::{BTreeSet, VecDeque};

/// What a process is started with.
pub struct Boot<'a, P: Protocol> {
    /// The index of its node.
    pub node: usize,
    /// The address of its node.
    pub peer: &'a P::Peer,
    /// What its disk holds.
    pub disk: P::Disk,
    /// Randomness of its own.
    pub rng: Rng,
    /// How many processes ran on the node before it.
    pub boots: u32,
}

/// Makes a participant, at each start.
pub(super) type BootFn<P> = Box<dyn FnMut(Boot<'_, P>) -> P>;

/// Something that reached a process.
pub(super) enum Arrival<P: Protocol> {
    Input(Input<P>),
    /// A write is done; the effects waited for it.
    Written(StoreId, Vec<Effect<P>>),
}

/// A running process.
pub(super) struct Process<P: Protocol> {
    pub(super) participant: P,
    /// Rises with each start, so that what was meant for an earlier process is known.
    pub(super) life: u32,
    pub(super) paused: bool,
    /// What arrived while it was paused and has yet to be handled.
    pub(super) backlog: VecDeque<Arrival<P>>,
    /// When the world will wake it, and the number of that alarm.
    pub(super) alarm: Option<(Time, u64)>,
    pub(super) alarms: u64,
    /// When it was woken last, and how often at that time.
    pub(super) woken: (Time, u32),
    pub(super) asked: BTreeSet<Ticket>,
    pub(super) view: Option<P::View>,
}

impl<P: Protocol> Process<P> {
    pub(super) fn new(participant: P, life: u32) -> Self {
        Process {
            participant,
            life,
            paused: false,
            backlog: VecDeque::new(),
            alarm: None,
            alarms: 0,
            woken: (Time::ZERO, 0),
            asked: BTreeSet::new(),
            view: None,
        }
    }

    /// Whether what arrives must wait in line.
    pub(super) fn is_busy(&self) -> bool {
        self.paused || !self.backlog.is_empty()
    }
}

/// One node.
pub(super) struct Host<P: Protocol> {
    pub(super) peer: P::Peer,
    /// The addresses that it had before, and how many processes had run on it when it left each.
    pub(super) former: Vec<(u32, P::Peer)>,
    pub(super) boot: BootFn<P>,
    pub(super) seeds: Resolution<P::Peer>,
    /// Whether looking up the seeds is answered.
    pub(super) resolves: bool,
    /// Whether the machine is there to refuse what no process takes.
    pub(super) powered: bool,
    /// Whether healing leaves its disk, its address and its speed as they are.
    pub(super) lasting: bool,
    /// Whether no process is started on it.
    pub(super) retired: bool,
    pub(super) process: Option<Process<P>>,
    pub(super) boots: u32,
    pub(super) clock: Clock,
    pub(super) disk: Storage<P>,
    pub(super) rng: Rng,
}

impl<P: Protocol> Host<P> {
    pub(super) fn new(peer: P::Peer, seeds: Resolution<P::Peer>, rng: Rng, boot: BootFn<P>) -> Self {
        Host {
            peer,
            former: Vec::new(),
            boot,
            seeds,
            resolves: true,
            powered: true,
            lasting: false,
            retired: false,
            process: None,
            boots: 0,
            clock: Clock::new(),
            disk: Storage::new(),
            rng,
        }
    }

    /// The process, if it is still the one that `life` names.
    pub(super) fn process_of(&mut self, life: u32) -> Option<&mut Process<P>> {
        self.process.as_mut().filter(|process| process.life == life)
    }

    /// The address of a process that ran or runs on it; zero stands for the next one.
    pub(super) fn peer_of(&self, life: u32) -> &P::Peer {
        let moved = self.former.iter().find(|(boots, _)| life != 0 && life <= *boots);
        moved.map_or(&self.peer, |(_, peer)| peer)
    }

    /// Which process runs, or zero.
    pub(super) fn life(&self) -> u32 {
        self.process.as_ref().map_or(0, |process| process.life)
    }

    /// Starts a process on what the disk holds.
    pub(super) fn boot(&mut self, node: usize, now: Time) {
        let participant = (self.boot)(Boot {
            node,
            peer: &self.peer,
            disk: self.disk.contents().clone(),
            rng: self.rng.fork(),
            boots: self.boots,
        });
        self.boots += 1;
        self.powered = true;
        self.clock.restart(now);
        self.process = Some(Process::new(participant, self.boots));
    }
}
