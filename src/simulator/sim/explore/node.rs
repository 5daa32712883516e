//! One node of an explored state: its process, if one runs, its disk and its own clock.

use crate::cluster::Address;
use crate::protocol::{Call, Disk, Effect, Effects, Exchange, Input, Protocol, Resolution, Rng, StoreId, Time};
use crate::sim::Boot;
use crate::sim::cluster_world::NodeSpec;
use crate::zen::{Memory, Message, Write, Zen};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Something that a node wants done, as far as it has a consequence here.
#[derive(Clone, Debug, Hash)]
pub(super) enum Pending {
    Send { to: Address, call: Call, message: Message },
    Tell { to: Address, message: Message },
    Reply { exchange: Exchange, message: Message },
    Link { to: Address },
    Unlink { to: Address },
    Resolve,
}

impl Pending {
    /// What an effect comes to; none if nobody here cares.
    fn of(effect: Effect<Zen>) -> Option<Pending> {
        match effect {
            Effect::Send { to, call, message, .. } => Some(Pending::Send { to, call, message }),
            Effect::Tell { to, message } => Some(Pending::Tell { to, message }),
            Effect::Reply { exchange, message } => Some(Pending::Reply { exchange, message }),
            Effect::Link { to } => Some(Pending::Link { to }),
            Effect::Unlink { to } => Some(Pending::Unlink { to }),
            Effect::Resolve => Some(Pending::Resolve),
            // It may have been sent already.
            Effect::Cancel { .. } => None,
            Effect::Store { .. } | Effect::Apply(_) | Effect::Answer { .. } | Effect::Note(_) => None,
        }
    }
}

/// A write that is not on disk yet, and what waits for it.
#[derive(Clone, Debug)]
struct Unwritten {
    id: StoreId,
    write: Write,
    held: Vec<Pending>,
}

/// One node.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) spec: Rc<NodeSpec>,
    pub(super) zen: Option<Zen>,
    /// Which process runs, or ran last.
    pub(super) life: u32,
    clock: Time,
    disk: Memory,
    /// What reached the page cache only.
    lazy: Vec<Write>,
    unwritten: VecDeque<Unwritten>,
    rng: Rng,
}

impl Node {
    pub(super) fn new(spec: NodeSpec, rng: Rng) -> Node {
        let (disk, lazy, unwritten) = (Memory::default(), Vec::new(), VecDeque::new());
        Node { spec: Rc::new(spec), zen: None, life: 0, clock: Time::ZERO, disk, lazy, unwritten, rng }
    }

    /// Starts a process on what the disk holds; what it wants at once is yet to be asked for by `handle`.
    pub(super) fn boot(&mut self, node: usize) {
        let (disk, rng, boots) = (self.disk.clone(), self.rng.fork(), self.life);
        let boot = Boot { node, peer: &self.spec.address, disk, rng, boots };
        self.zen = Some(self.spec.boot(boot));
        self.life += 1;
        self.clock = Time::ZERO;
    }

    /// Ends the process; of what was to be written so much is there.
    pub(super) fn end(&mut self, written: usize) {
        self.zen = None;
        for unwritten in self.unwritten.drain(..).take(written) {
            for write in self.lazy.drain(..) {
                self.disk.apply(&write);
            }
            self.disk.apply(&unwritten.write);
        }
        self.lazy.clear();
    }

    /// Lets the process handle an input; returns what may be done at once.
    pub(super) fn handle(&mut self, input: Input<Zen>) -> Vec<Pending> {
        let Some(zen) = &mut self.zen else {
            return Vec::new();
        };
        let mut effects = Effects::default();
        zen.handle(self.clock, input, &mut effects);
        let mut now = Vec::new();
        let mut is_behind = false;
        for effect in effects.drain() {
            if let Effect::Store { id, write } = effect {
                is_behind |= !Memory::is_lazy(&write);
                self.unwritten.push_back(Unwritten { id, write, held: Vec::new() });
                continue;
            }
            let Some(pending) = Pending::of(effect) else {
                continue;
            };
            let synced = self.unwritten.iter_mut().rev().find(|unwritten| !Memory::is_lazy(&unwritten.write));
            match synced.filter(|_| is_behind) {
                Some(unwritten) => unwritten.held.push(pending),
                None => now.push(pending),
            }
        }
        now
    }

    /// How many writes are under way.
    pub(super) fn unwritten(&self) -> usize {
        self.unwritten.len()
    }

    /// The writes that are under way, the oldest first.
    pub(super) fn writes(&self) -> impl Iterator<Item = &Write> {
        self.unwritten.iter().map(|unwritten| &unwritten.write)
    }

    /// What a process would find if it were started now.
    pub(super) fn disk(&self) -> &Memory {
        &self.disk
    }

    /// The first write is done: returns its id and what waited for it.
    pub(super) fn write(&mut self) -> Option<(StoreId, Vec<Pending>)> {
        let Unwritten { id, write, held } = self.unwritten.pop_front()?;
        if Memory::is_lazy(&write) {
            self.lazy.push(write);
        } else {
            for write in self.lazy.drain(..) {
                self.disk.apply(&write);
            }
            self.disk.apply(&write);
        }
        Some((id, held))
    }

    /// Whether a deadline is set, and whether time must pass for it.
    pub(super) fn deadline(&self) -> Option<bool> {
        let (due, _) = self.zen.as_ref()?.next_deadline()?;
        Some(due > self.clock)
    }

    /// Lets the next deadline pass.
    pub(super) fn wake(&mut self) -> Vec<Pending> {
        if let Some((due, _)) = self.zen.as_ref().and_then(Zen::next_deadline) {
            self.clock = self.clock.max(due);
        }
        self.handle(Input::Woke)
    }

    pub(super) fn seeds(&self) -> Resolution<Address> {
        self.spec.seeds.clone()
    }

    pub(super) fn hash_state(&self, hasher: &mut impl Hasher) {
        (self.life, self.clock, &self.disk, &self.lazy, self.zen.is_some()).hash(hasher);
        self.unwritten.iter().for_each(|unwritten| unwritten.write.hash(hasher));
        if let Some(zen) = &self.zen {
            zen.hash_state(hasher);
        }
    }

    /// What waits for writes.
    pub(super) fn held(&self) -> impl Iterator<Item = &Pending> {
        self.unwritten.iter().flat_map(|unwritten| &unwritten.held)
    }
}
