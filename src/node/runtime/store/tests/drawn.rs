//! Lives that are drawn: states that grow and shrink, files of any room, the next one made at any pace, and crashes.

use super::super::generation::Room;
use super::double::{Double, Image, Plan};
use super::{accepted, committed, is_same, open_with, promise};
use crate::protocol::{Disk, Rng};
use crate::zen::{Memory, Write};

const LIVES: u64 = 40;

/// So many of the disks that a crash may leave are looked at; the next process finds the last of them.
const CRASHES: usize = 12;

/// Little room and much, and next files that are made in pieces always, for large states only, and never.
const ROOMS: [Room; 5] = [
    Room { least: 2_400, most: 2_400, at_once: 0 },
    Room { least: 2_400, most: 64 << 10, at_once: 0 },
    Room { least: 12 << 10, most: 12 << 10, at_once: 0 },
    Room { least: 600, most: 30 << 10, at_once: 4 << 10 },
    Room { least: 2_400, most: 12 << 10, at_once: usize::MAX },
];

/// One node's writes, as far as they count.
#[derive(Default)]
struct Life {
    /// What was found on the disk when it was opened last.
    found: Memory,
    writes: Vec<Write>,
    /// So many of them are durable.
    durable: usize,
}

impl Life {
    fn after(&self, count: usize) -> Memory {
        let mut memory = self.found.clone();
        self.writes[..count].iter().for_each(|write| memory.apply(write));
        memory
    }

    fn wrote(&mut self, group: &[Write]) {
        self.writes.extend_from_slice(group);
        if !group.iter().all(Memory::is_lazy) {
            self.durable = self.writes.len();
        }
    }

    /// What a disk holds, which must be one of the memories that it may hold.
    fn expect(&self, disk: &Double, room: Room) -> Result<Memory, String> {
        let (_, memory) = open_with(disk, room).map_err(|error| error.to_string())?;
        let mut allowed = self.after(self.durable);
        let is_next = |write: &Write| {
            allowed.apply(write);
            is_same(&allowed, &memory)
        };
        let is_allowed = is_same(&self.after(self.durable), &memory) || self.writes[self.durable..].iter().any(is_next);
        if is_allowed { Ok(memory) } else { Err(format!("after {} writes it holds {memory:?}", self.writes.len())) }
    }
}

/// Small and large states in turn, as they are when much is deleted and much is written.
fn group(rng: &mut Rng) -> Vec<Write> {
    let draw = |rng: &mut Rng| match rng.below(8) {
        0 | 1 => promise(rng.below(1 << 20)),
        2 => committed(rng.below(20)),
        3 => accepted(rng.below(100)),
        4 => accepted(0),
        _ => accepted(rng.below(12)),
    };
    (0..rng.below(4)).map(|_| draw(rng)).collect()
}

/// Lives on one disk through some restarts; says how often a file took the place of another.
fn live(rng: &mut Rng) -> Result<usize, String> {
    let room = ROOMS[rng.below(ROOMS.len() as u64) as usize];
    let (mut fs, mut life, mut renamed) = (Double::new(Image::empty(), Plan::default()), Life::default(), 0);
    for _ in 0..rng.between(1, 4) {
        let (mut store, found) = open_with(&fs, room).map_err(|error| error.to_string())?;
        life = Life { found, ..Life::default() };
        let pace = rng.below(6);
        for _ in 0..rng.below(40) {
            let group = group(rng);
            store.write(&group).map_err(|error| error.to_string())?;
            life.wrote(&group);
            for _ in 0..rng.below(pace + 1) {
                store.prepare().map_err(|error| error.to_string())?;
            }
            life.expect(&Double::new(fs.synced(), Plan::default()), room)?;
        }
        renamed += fs.calls().iter().filter(|call| call.name == "rename").count() - 1;
        let disks = fs.images();
        for _ in 0..CRASHES {
            let kept = disks[rng.below(disks.len() as u64) as usize].clone();
            life.expect(&Double::new(kept.clone(), Plan::default()), room)?;
            fs = Double::new(kept, Plan::default());
        }
    }
    life.expect(&fs, room).map(|_| renamed)
}

#[test]
fn whatever_is_written_and_however_files_take_over_nothing_is_lost_that_was_durable() {
    let mut renamed = 0;
    for seed in 0..LIVES {
        renamed += live(&mut Rng::new(seed)).unwrap_or_else(|broken| panic!("life {seed}: {broken}"));
    }
    assert!(renamed > 250, "only {renamed} files took over");
}
