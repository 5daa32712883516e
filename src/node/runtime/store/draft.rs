//! The next file while it is made beside the one that is written to, so that no group of writes waits for all of it.
//!
//! A thread of its own turns the memory into text, which goes to the disk in pieces, behind the writes; what these wrote
//! follows it. When the file holds what the other one does, it gets its name and takes its place: until then it counts for
//! nothing, and is removed at the next start.

use super::StoreError;
use super::entry::{Entry, writes_of};
use super::fs::Fs;
use super::generation::{Beginning, Generation, Place, Room, UNFINISHED};
use super::record::Records;
use crate::zen::Memory;
use std::path::PathBuf;
use std::thread::{Builder, JoinHandle};

/// So many bytes go at a time: a write that comes meanwhile waits for no more.
const PIECE: usize = 256 << 10;

/// So many bytes of it go behind each that is written to the other file: it must be through before that one is full, of which
/// half is left when this is begun.
pub(super) const PACE: usize = 5;

/// So much of it waits for the disk at the most, and so little of what follows goes with the name.
const UNSYNCED: usize = 1 << 20;

/// The next file.
pub(super) struct Draft<F> {
    making: Making<F>,
    /// What was written since, as far as it is not in the file.
    since: Records,
}

enum Making<F> {
    Text(JoinHandle<Result<Beginning, StoreError>>),
    Pieces(Pieces<F>),
}

struct Pieces<F> {
    file: F,
    path: PathBuf,
    beginning: Beginning,
    /// How much of it is written: text, then zeros.
    at: usize,
    unsynced: usize,
    /// Where the next of what was written since goes.
    end: u64,
}

/// How far it is.
pub(super) enum Stage {
    /// There is no text of it yet.
    Waiting,
    /// It is not what the other file is, and got so many bytes more.
    Behind(usize),
    /// It holds all that the other one does, and may take its place.
    Level,
    /// It has no room for all of it.
    Full,
}

impl<F> Draft<F> {
    /// Begins to make a file that holds this memory.
    pub(super) fn begin(memory: &Memory, number: u64, room: Room, version: u32) -> std::io::Result<Self> {
        let records = writes_of(memory).len() as u32;
        let memory = memory.clone();
        let text = move || Beginning::of(&memory, number, (room, version));
        let thread = Builder::new().name("journal-next".into()).spawn(text)?;
        Ok(Draft { making: Making::Text(thread), since: Records::starting(number, records, records) })
    }

    /// Takes in what is written to the other file.
    pub(super) fn follow(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.since.push(entry)
    }

    /// Gets on by a piece.
    pub(super) fn advance<S: Fs<File = F>>(mut self, fs: &S, place: Place<'_>) -> Result<(Self, Stage), StoreError> {
        let mut pieces = match self.making {
            // In tests the same calls are made each time.
            Making::Text(thread) if !thread.is_finished() && !cfg!(test) => {
                return Ok((Draft { making: Making::Text(thread), ..self }, Stage::Waiting));
            }
            Making::Text(thread) => Pieces::open(fs, place, thread)?,
            Making::Pieces(pieces) => pieces,
        };
        let stage = pieces.write(fs, &mut self.since, PIECE)?;
        Ok((Draft { making: Making::Pieces(pieces), ..self }, stage))
    }

    /// Takes the other file's place, as soon as it can; none if it has no room for what the other one holds.
    pub(super) fn finish<S: Fs<File = F>>(
        mut self,
        fs: &S,
        place: Place<'_>,
    ) -> Result<Option<Generation<F>>, StoreError> {
        let mut pieces = match self.making {
            Making::Text(thread) => Pieces::open(fs, place, thread)?,
            Making::Pieces(pieces) => pieces,
        };
        loop {
            match pieces.write(fs, &mut self.since, usize::MAX)? {
                Stage::Waiting | Stage::Behind(_) => {}
                Stage::Full => {
                    fs.remove(&pieces.path).map_err(StoreError::io("remove", &pieces.path))?;
                    return Ok(None);
                }
                Stage::Level => break,
            }
        }
        let Pieces { file, beginning, end, .. } = pieces;
        Generation::name(fs, place, file, &beginning, (end, self.since.next())).map(Some)
    }

    /// Leaves nothing of it.
    pub(super) fn give_up<S: Fs<File = F>>(self, fs: &S) -> Result<(), StoreError> {
        match self.making {
            Making::Text(_) => Ok(()),
            Making::Pieces(Pieces { path, .. }) => fs.remove(&path).map_err(StoreError::io("remove", &path)),
        }
    }
}

impl<F> Pieces<F> {
    fn open<S: Fs<File = F>>(
        fs: &S,
        (dir, _): Place<'_>,
        thread: JoinHandle<Result<Beginning, StoreError>>,
    ) -> Result<Self, StoreError> {
        let panicked = || StoreError::Panicked { what: "the next file could not be written as text".into() };
        let beginning = thread.join().unwrap_or_else(|_| Err(panicked()))?;
        let path = dir.join(UNFINISHED);
        let file = fs.create(&path).map_err(StoreError::io("create", &path))?;
        let end = beginning.text.len() as u64;
        Ok(Pieces { file, path, beginning, at: 0, unsynced: 0, end })
    }

    /// Writes the next piece of at most so many bytes: of what it begins with, then of what came since.
    fn write<S: Fs<File = F>>(&mut self, fs: &S, since: &mut Records, most: usize) -> Result<Stage, StoreError> {
        let (text, whole) = (&self.beginning.text, self.beginning.length as usize);
        if self.at < whole {
            let stop = if self.at < text.len() { text.len() } else { whole };
            let to = self.at.saturating_add(most).min(stop);
            let (zeros, length) = (vec![0; if self.at < text.len() { 0 } else { to - self.at }], to - self.at);
            let piece = text.get(self.at..to).unwrap_or(&zeros);
            fs.write(&self.file, self.at as u64, piece).map_err(StoreError::io("write to", &self.path))?;
            (self.at, self.unsynced) = (to, self.unsynced + length);
            if self.unsynced >= UNSYNCED || to == whole {
                self.sync(fs)?;
            }
            return Ok(Stage::Behind(length));
        }
        if self.end + since.bytes().len() as u64 > self.beginning.length {
            return Ok(Stage::Full);
        }
        let more = since.take_bytes();
        if more.is_empty() {
            return Ok(Stage::Level);
        }
        fs.write(&self.file, self.end, &more).map_err(StoreError::io("write to", &self.path))?;
        self.end += more.len() as u64;
        if more.len() <= UNSYNCED {
            return Ok(Stage::Level);
        }
        self.sync(fs)?;
        Ok(Stage::Behind(more.len()))
    }

    fn sync<S: Fs<File = F>>(&mut self, fs: &S) -> Result<(), StoreError> {
        self.unsynced = 0;
        fs.sync(&self.file).map_err(StoreError::io("sync", &self.path))
    }
}
