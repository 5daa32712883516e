//! Reads a file of the store back, and tells a write that a crash tore from damage.
//!
//! A crash can only keep from the disk what was not synced: writes at the end, each from some byte on or by whole
//! sectors, and zeros stand where they would be. Whatever else does not fit its checksum was damaged, and nothing of the
//! file is used. `docs/storage.md` says what can be told apart and what cannot.

use super::StoreError;
use super::entry::Entry;
use super::record::{Head, Mark, Preface, SECTOR};
use crate::protocol::Disk;
use crate::zen::Memory;
use std::path::Path;

/// What a file holds and in which version of the format, or how it is damaged.
pub(super) fn replay(bytes: &[u8], file: &Path, generation: u64) -> Result<(Memory, u32), StoreError> {
    let preface = Preface::read(bytes, file)?;
    let damage = |(offset, what)| StoreError::Corrupt { file: file.to_path_buf(), offset: offset as u64, what };
    check_length(&preface, bytes.len(), generation).map_err(damage)?;
    let synced = if preface.has_marks() { marked(bytes, &preface).map_err(damage)? } else { 0 };
    let at = preface.records_at();
    let reader =
        Reader { bytes, generation, at, number: 0, synced: synced.max(preface.records), memory: Memory::default() };
    reader.read_all().map(|memory| (memory, preface.version)).map_err(damage)
}

/// Where a file is damaged, and how.
type Damage = (usize, String);

fn check_length(preface: &Preface, found: usize, generation: u64) -> Result<(), Damage> {
    if preface.generation != generation {
        return Err((0, format!("it is generation {}, its name says {generation}", preface.generation)));
    }
    if preface.length != found as u64 {
        return Err((found, format!("it has {found} bytes, {} were written", preface.length)));
    }
    Ok(())
}

/// How many records the marks say were synced.
fn marked(bytes: &[u8], preface: &Preface) -> Result<u32, Damage> {
    let blank = bytes.get(Preface::LEN..SECTOR).ok_or_else(|| (bytes.len(), "it has no marks".to_owned()))?;
    if let Some(at) = blank.iter().position(|byte| *byte != 0) {
        return Err((Preface::LEN + at, "something stands behind its first line".into()));
    }
    let mut synced = None;
    for place in Mark::places() {
        let sector = bytes.get(place..place + SECTOR).unwrap_or_default();
        let mark = Mark::read(sector, preface.generation).map_err(|what| (place, what.to_owned()))?;
        synced = synced.max(mark.map(|Mark(records)| records));
    }
    let [first, _] = Mark::places();
    synced.ok_or_else(|| (first, "the checksums of both marks are wrong".into()))
}

/// What stands at a place.
enum Found<'a> {
    /// A record of so many bytes, with its entry.
    Record(usize, &'a [u8]),
    /// Nothing was written here.
    Nothing,
    /// So many bytes that are not what was written.
    Broken(usize),
}

struct Reader<'a> {
    bytes: &'a [u8],
    generation: u64,
    at: usize,
    /// Of the record that should stand at `at`.
    number: u32,
    /// How many records were synced at least.
    synced: u32,
    memory: Memory,
}

impl<'a> Reader<'a> {
    fn read_all(mut self) -> Result<Memory, Damage> {
        loop {
            match self.find()? {
                Found::Record(length, entry) => {
                    self.take(entry)?;
                    self.at += length;
                    self.number += 1;
                }
                Found::Nothing => {
                    self.check_never_synced()?;
                    return Ok(self.memory);
                }
                Found::Broken(length) => {
                    self.check_never_synced()?;
                    self.check_torn(length)?;
                    return Ok(self.memory);
                }
            }
        }
    }

    fn find(&self) -> Result<Found<'a>, Damage> {
        let rest = &self.bytes[self.at..];
        let Some(head) = Head::read(rest, self.generation) else {
            let frame = &rest[..rest.len().min(Head::LEN)];
            let is_nothing = frame.iter().all(|byte| *byte == 0);
            return Ok(if is_nothing { Found::Nothing } else { Found::Broken(frame.len()) });
        };
        if head.number != self.number {
            return Err(self.damage(format!("record {} stands where {} should be", head.number, self.number)));
        }
        let length = Head::LEN + head.length as usize + 1;
        let line = rest.get(Head::LEN..length);
        let line = line.ok_or_else(|| self.damage(format!("record {} is longer than the file", self.number)))?;
        Ok(head.entry(line).map_or(Found::Broken(length), |entry| Found::Record(length, entry)))
    }

    fn take(&mut self, entry: &[u8]) -> Result<(), Damage> {
        let entry: Entry = serde_json::from_slice(entry).map_err(|error| self.misfit(&error.to_string()))?;
        let write = entry.write(&self.memory).map_err(|error| self.misfit(&error.to_string()))?;
        self.memory.apply(&write);
        Ok(())
    }

    /// A record that others were written behind after a sync was acknowledged, or that was marked as synced.
    fn check_never_synced(&self) -> Result<(), Damage> {
        let synced = self.synced_later().max(self.synced);
        if self.number < synced {
            return Err(self.damage(format!("record {} is not readable, though {synced} were synced", self.number)));
        }
        Ok(())
    }

    /// How many records those behind this place say were synced.
    fn synced_later(&self) -> u32 {
        let starts_line = |at: &usize| self.bytes[*at] != 0 && matches!(self.bytes[at - 1], 0 | b'\n');
        let heads = (self.at..self.bytes.len()).filter(starts_line);
        let heads = heads.filter_map(|at| Head::read(&self.bytes[at..], self.generation));
        heads.map(|head| head.synced).max().unwrap_or(0)
    }

    /// Something must be missing of the last record, and only as a crash leaves it out.
    fn check_torn(&self, length: usize) -> Result<(), Damage> {
        let mut gaps = gaps(self.bytes, self.at, self.at + length).peekable();
        if gaps.peek().is_some() && gaps.all(|is_of_a_crash| is_of_a_crash) {
            return Ok(());
        }
        Err(self.damage(format!("the checksum of record {} is wrong", self.number)))
    }

    fn misfit(&self, why: &str) -> Damage {
        self.damage(format!("record {} is as it was written, but makes no sense: {why}", self.number))
    }

    fn damage(&self, what: String) -> Damage {
        (self.at, what)
    }
}

/// For each run of zeros between two places, whether a crash can have left it there: it reaches the end, or it takes all
/// that a sector has of these bytes.
fn gaps(bytes: &[u8], start: usize, end: usize) -> impl Iterator<Item = bool> {
    let mut at = start;
    std::iter::from_fn(move || {
        let from = (at..end).find(|place| bytes[*place] == 0)?;
        let to = (from..end).find(|place| bytes[*place] != 0).unwrap_or(end);
        at = to;
        let is_whole_sectors = (from == start || from.is_multiple_of(SECTOR)) && to.is_multiple_of(SECTOR);
        Some(to == end || is_whole_sectors)
    })
}
