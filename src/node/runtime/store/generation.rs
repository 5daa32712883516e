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

/// How much room a file has for records behind those it was made with: as much as they take, within these bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Room {
    /// What nodes use; `docs/storage.md` has the measurement.
    pub(super) const DEFAULT: Room = Room { least: 1 << 20, most: 64 << 20 };
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
    /// Makes a file that holds this memory, durable when this returns.
    pub(super) fn create<S: Fs<File = F>>(
        fs: &S,
        (dir, number): (&Path, u64),
        memory: &Memory,
        (room, version): (Room, u32),
    ) -> Result<Self, StoreError> {
        let records = records_of(memory, number)?;
        let mut preface = Preface { version, generation: number, length: 0, records: records.next() };
        let used = preface.records_at() + records.bytes().len();
        let zeros = vec![0; used.clamp(room.least, room.most)];
        preface.length = (used + zeros.len()) as u64;
        let text = beginning(&preface, &records);

        let (unfinished, path) = (dir.join(UNFINISHED), dir.join(file_name(number)));
        let file = fs.create(&unfinished).map_err(StoreError::io("create", &unfinished))?;
        fs.write(&file, 0, &text).map_err(StoreError::io("write to", &unfinished))?;
        fs.write(&file, used as u64, &zeros).map_err(StoreError::io("write to", &unfinished))?;
        fs.sync(&file).map_err(StoreError::io("sync", &unfinished))?;
        fs.rename(&unfinished, &path).map_err(StoreError::io("rename to", &path))?;
        fs.sync_dir(dir).map_err(StoreError::io("sync the names in", dir))?;

        let (at, length, records) = (used as u64, preface.length, preface.records);
        Ok(Generation { number, path, file, at, length, records, synced: records, marks: 0 })
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

/// All that a file is made with.
fn beginning(preface: &Preface, records: &Records) -> Vec<u8> {
    let mut text = preface.text().into_bytes();
    for place in Mark::places() {
        text.resize(place, 0);
        text.extend_from_slice(Mark(preface.records).text(preface.generation).as_bytes());
    }
    text.resize(preface.records_at(), 0);
    text.extend_from_slice(records.bytes());
    text
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
