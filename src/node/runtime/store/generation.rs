//! One file of the store: made whole, then appended to where it holds zeros.
//!
//! A file gets its name only when all of it, the zeros too, is synced; so an append changes nothing but bytes, and one
//! sync of them makes it durable. When to begin another file is left to the store.

use super::StoreError;
use super::entry::{Entry, writes_of};
use super::fs::Fs;
use super::record::{Mark, Preface, Records};
use crate::protocol::Disk;
use crate::zen::Memory;
use std::path::{Path, PathBuf};

/// So many times as much as it was made with goes into a file: all of it is written anew for each of them.
const ROOM_TIMES: usize = 3;

/// How much room a file has for records behind those it was made with: a few times as much as they take, within these bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) least: usize,
    pub(super) most: usize,
    /// The next file is made in pieces if the one that is written to was made with more than this.
    pub(super) at_once: usize,
}

impl Room {
    /// What nodes use; `docs/storage.md` has the measurement.
    pub(super) const DEFAULT: Room = Room { least: 1 << 20, most: 64 << 20, at_once: 256 << 10 };
}

impl Room {
    /// As much as is left on a disk that is nearly full.
    fn little(self) -> Room {
        Room { most: self.least, ..self }
    }
}

/// The name of a generation's file.
pub(super) fn file_name(number: u64) -> String {
    format!("zen-{number}.st")
}

/// The generation whose file has this name. There is always one after it.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix("zen-")?.strip_suffix(".st")?.parse().ok()?;
    (file_name(number) == name && number < u64::MAX).then_some(number)
}

/// What a file is called until it is whole.
pub(super) const UNFINISHED: &str = "zen.st.tmp";

/// The file that is appended to.
pub(super) struct Generation<F> {
    number: u64,
    path: PathBuf,
    file: F,
    /// Where the first record goes that it was not made with.
    begun_at: u64,
    /// Where the next record goes.
    at: u64,
    /// How long the file is.
    length: u64,
    records: u32,
    synced: u32,
    /// How many marks were written.
    marks: usize,
}

impl<F> Generation<F> {
    /// Makes a file that holds this memory, durable when this returns; where the disk has no room for one with much room it has
    /// little from then on. What was begun and could not be ended is removed.
    pub(super) fn create_in<S: Fs<File = F>>(
        fs: &S,
        place: Place<'_>,
        memory: &Memory,
        (room, version): (&mut Room, u32),
    ) -> Result<Self, StoreError> {
        let unfinished = place.0.join(UNFINISHED);
        let attempt = |room| {
            Generation::create(fs, place, memory, (room, version)).inspect_err(|error| {
                if error.is_no_room_for(&unfinished) {
                    // A part of a file is of no use, and takes what others need.
                    let _ = fs.remove(&unfinished);
                }
            })
        };
        match attempt(*room) {
            Err(error) if error.is_no_room_for(&unfinished) && room.most > room.least => {
                *room = room.little();
                attempt(*room)
            }
            done => done,
        }
    }

    /// Makes a file that holds this memory, durable when this returns.
    fn create<S: Fs<File = F>>(
        fs: &S,
        place: Place<'_>,
        memory: &Memory,
        (room, version): (Room, u32),
    ) -> Result<Self, StoreError> {
        let beginning = Beginning::of(memory, place.1, (room, version))?;
        let (used, unfinished) = (beginning.text.len(), place.0.join(UNFINISHED));
        let zeros = vec![0; beginning.length as usize - used];
        let file = fs.create(&unfinished).map_err(StoreError::io("create", &unfinished))?;
        fs.write(&file, 0, &beginning.text).map_err(StoreError::io("write to", &unfinished))?;
        fs.write(&file, used as u64, &zeros).map_err(StoreError::io("write to", &unfinished))?;
        Generation::give_name(fs, place, file, &beginning, (used as u64, beginning.records))
    }

    /// Makes a file a generation that was made with this beginning, and has records up to there besides.
    pub(super) fn name<S: Fs<File = F>>(
        fs: &S,
        place: Place<'_>,
        file: F,
        beginning: &Beginning,
        (end, records): (u64, u32),
    ) -> Result<Self, StoreError> {
        let unfinished = place.0.join(UNFINISHED);
        for at in Mark::places() {
            let mark = Mark(records).text(place.1);
            fs.write(&file, at as u64, mark.as_bytes()).map_err(StoreError::io("write to", &unfinished))?;
        }
        Generation::give_name(fs, place, file, beginning, (end, records))
    }

    fn give_name<S: Fs<File = F>>(
        fs: &S,
        (dir, number): Place<'_>,
        file: F,
        beginning: &Beginning,
        (at, records): (u64, u32),
    ) -> Result<Self, StoreError> {
        let (unfinished, path) = (dir.join(UNFINISHED), dir.join(file_name(number)));
        fs.sync(&file).map_err(StoreError::io("sync", &unfinished))?;
        fs.rename(&unfinished, &path).map_err(StoreError::io("rename to", &path))?;
        fs.sync_dir(dir).map_err(StoreError::io("sync the names in", dir))?;
        let (length, begun_at) = (beginning.length, beginning.text.len() as u64);
        Ok(Generation { number, path, file, begun_at, at, length, records, synced: records, marks: 0 })
    }

    /// Whether so much was written to it that the next one should be begun.
    pub(super) fn is_half_full(&self) -> bool {
        (self.at - self.begun_at) * 2 >= self.length - self.begun_at
    }

    /// How much it was made with.
    pub(super) fn begun_with(&self) -> usize {
        self.begun_at as usize
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// How much of the file is taken, and how long it is.
    pub(super) fn room(&self) -> (u64, u64) {
        (self.at, self.length)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An empty list of the records to append next.
    pub(super) fn records(&self) -> Records {
        Records::starting(self.number, self.records, self.synced)
    }

    pub(super) fn has_room_for(&self, records: &Records) -> bool {
        self.at + records.bytes().len() as u64 <= self.length
    }

    /// Appends records, not durable yet.
    pub(super) fn append<S: Fs<File = F>>(&mut self, fs: &S, records: &Records) -> Result<(), StoreError> {
        fs.write(&self.file, self.at, records.bytes()).map_err(StoreError::io("write to", &self.path))?;
        self.at += records.bytes().len() as u64;
        self.records = records.next();
        Ok(())
    }

    /// Fails if the file that is written to is not the one of its name: what is written would be gone with the process.
    pub(super) fn check_name<S: Fs<File = F>>(&self, fs: &S) -> Result<(), StoreError> {
        let is_named = fs.is_named(&self.file, &self.path).map_err(StoreError::io("look at", &self.path))?;
        if is_named { Ok(()) } else { Err(StoreError::Replaced { file: self.path.clone() }) }
    }

    /// Makes all that was appended durable, and marks it as such. The mark itself is durable with the next sync, or when
    /// the system gets to it: what it says is true whenever it is read.
    pub(super) fn sync<S: Fs<File = F>>(&mut self, fs: &S) -> Result<(), StoreError> {
        fs.sync(&self.file).map_err(StoreError::io("sync", &self.path))?;
        self.synced = self.records;
        let places = Mark::places();
        let (place, mark) = (places[self.marks % places.len()], Mark(self.synced).text(self.number));
        self.marks += 1;
        fs.write(&self.file, place as u64, mark.as_bytes()).map_err(StoreError::io("write to", &self.path))
    }
}

/// In which directory a file is, and which generation.
pub(super) type Place<'a> = (&'a Path, u64);

/// All that a file is made with.
pub(super) struct Beginning {
    /// First line, marks and records.
    pub(super) text: Vec<u8>,
    /// How long the file is, with the zeros behind them.
    pub(super) length: u64,
    /// How many records there are.
    pub(super) records: u32,
}

impl Beginning {
    /// Of a file of this generation that holds this memory.
    pub(super) fn of(memory: &Memory, generation: u64, (room, version): (Room, u32)) -> Result<Self, StoreError> {
        let records = records_of(memory, generation)?;
        let mut preface = Preface { version, generation, length: 0, records: records.next() };
        let used = preface.records_at() + records.bytes().len();
        preface.length = (used + (used * ROOM_TIMES).clamp(room.least, room.most)) as u64;
        let mut text = preface.text().into_bytes();
        for place in Mark::places() {
            text.resize(place, 0);
            text.extend_from_slice(Mark(preface.records).text(preface.generation).as_bytes());
        }
        text.resize(preface.records_at(), 0);
        text.extend_from_slice(records.bytes());
        Ok(Beginning { text, length: preface.length, records: preface.records })
    }
}

fn records_of(memory: &Memory, generation: u64) -> Result<Records, StoreError> {
    let mut records = Records::starting(generation, 0, 0);
    let mut folded = Memory::default();
    for write in writes_of(memory) {
        records.push(&Entry::of(&write, &folded))?;
        folded.apply(&write);
    }
    Ok(records)
}
