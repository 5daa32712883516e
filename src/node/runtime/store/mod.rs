//! What a node keeps on disk: `zen::Memory`, as a log of its writes.
//!
//! A group of writes is one append and one sync. Every file begins with all of the memory; when it is full, and at every
//! start, the next generation is made beside it and takes its place. Nothing is read from disk but at the start, and
//! nothing is written after a failure. What a disk may do to a file, and what the store promises nevertheless, is in
//! `docs/storage.md`.
//!
//! Blocks its caller; which thread that is, and that the cluster's name fits, is left to others. Mirrors
//! `GatewayMetaState`, `MetaDataStateFormat` and `NodeEnvironment` (6.8).
//!
//! Differs from ES: one file takes the place of a file for each part, so that its parts always fit together.

#[cfg(fuzzing)]
mod damaged;
mod directory;
mod draft;
mod entry;
mod error;
mod fs;
mod generation;
mod record;
mod replay;
#[cfg(test)]
mod tests;

#[cfg(fuzzing)]
pub(crate) use damaged::{read_back, read_back_damaged};
pub use error::StoreError;
pub use fs::{Claim, Fs, LocalFs};
pub(super) use record::{FIRST, VERSION};

use crate::protocol::Disk;
use crate::zen::{Memory, Write};
use directory::Directory;
use draft::{Draft, PACE, Stage};
use entry::Entry;
use generation::{Generation, Room, UNFINISHED};
use std::io::ErrorKind;
use std::path::{self, Path};

/// The memory of one node on a disk that it alone writes to.
pub struct Store<F: Fs = LocalFs> {
    fs: F,
    room: Room,
    directory: Directory<F::Lock>,
    generation: Generation<F::File>,
    /// The next one, while it is made.
    draft: Option<Draft<F::File>>,
    /// Whether the disk had no room for one.
    has_no_room: bool,
    /// How many bytes of it should be written by now.
    owed: usize,
    /// The version of the format that is written.
    version: u32,
    /// What the disk will hold when all that was appended is durable.
    memory: Memory,
    /// How the first write failed that did.
    failure: Option<String>,
}

impl Store {
    /// Opens a node's data directory, which is made if it is missing, and reads what it holds.
    pub fn open(path_data: &Path) -> Result<(Self, Memory), StoreError> {
        let path_data = path::absolute(path_data).map_err(StoreError::io("find", path_data))?;
        Store::open_on(LocalFs::default(), &path_data, Room::DEFAULT)
    }

    /// What the data directory of a node holds that does not run, which is not changed; none if that is nothing.
    pub fn peek(path_data: &Path) -> Result<Option<Memory>, StoreError> {
        directory::peek(&LocalFs::default(), path_data)
    }
}

impl<F: Fs> Store<F> {
    /// What was read is written anew and synced before anything is built on it: it may never have reached the disk, even
    /// if it can be read, when the last process was killed before a sync or saw one fail.
    fn open_on(fs: F, path_data: &Path, mut room: Room) -> Result<(Self, Memory), StoreError> {
        let directory = Directory::open(&fs, path_data)?;
        let (newest, memory, found) = match directory.newest() {
            Some(newest) => directory.read(&fs, newest).map(|(memory, version)| (newest, memory, version))?,
            None => (0, Memory::default(), FIRST),
        };
        directory.remove_unfinished(&fs)?;
        // What was read is written on: until all members read a newer format, the release before may be wanted back.
        let version = found.max(FIRST);
        let place = (directory.state_dir(), newest + 1);
        let generation = Generation::create_in(&fs, place, &memory, (&mut room, version))?;
        directory.remove_generations(&fs)?;
        let store = Store {
            fs,
            room,
            directory,
            generation,
            draft: None,
            has_no_room: false,
            owed: 0,
            version,
            memory: memory.clone(),
            failure: None,
        };
        Ok((store, memory))
    }

    /// Carries out writes, in order. When this returns all are durable, unless all of them and all since the last that
    /// was not are lazy. After an error nothing more is written, since a failed sync may have lost what it should keep.
    pub fn write(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if let Some(first) = &self.failure {
            return Err(StoreError::GaveUp { first: first.clone() });
        }
        let result = self.append(writes);
        self.note(result)
    }

    /// Makes a piece of the next file, if it is time for one, so that no write waits for all of it; says whether there should be
    /// more of it by now.
    pub fn prepare(&mut self) -> Result<bool, StoreError> {
        if let Some(first) = &self.failure {
            return Err(StoreError::GaveUp { first: first.clone() });
        }
        let result = self.get_on();
        match result {
            Ok(is_behind) => Ok(is_behind),
            Err(error) => self.note(Err(error)).map(|()| false),
        }
    }

    /// How much of the file that is written to is taken, and how long it is.
    pub fn room(&self) -> (u64, u64) {
        self.generation.room()
    }

    /// Writes everything anew in a newer version of the format, which an older release does not read. It never goes back.
    pub fn raise(&mut self, version: u32) -> Result<(), StoreError> {
        if let Some(first) = &self.failure {
            return Err(StoreError::GaveUp { first: first.clone() });
        }
        let version = version.min(VERSION);
        if version <= self.version {
            return Ok(());
        }
        self.version = version;
        let result = self.begin_generation();
        self.note(result)
    }

    /// Looks whether what was written is still there, as far as that can be seen without reading it.
    pub fn look(&mut self) -> Result<(), StoreError> {
        let result = self.generation.check_name(&self.fs);
        self.note(result)
    }

    fn note(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        if let Err(error) = &result {
            self.failure.get_or_insert_with(|| error.to_string());
        }
        result
    }

    fn append(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if writes.is_empty() {
            return Ok(());
        }
        let mut records = self.generation.records();
        for write in writes {
            let entry = Entry::of(write, &self.memory);
            records.push(&entry)?;
            self.draft.as_mut().map_or(Ok(()), |draft| draft.follow(&entry))?;
            self.memory.apply(write);
        }
        if !self.generation.has_room_for(&records) {
            return self.turn_over();
        }
        self.generation.append(&self.fs, &records)?;
        self.owed += records.bytes().len() * PACE;
        if writes.iter().all(Memory::is_lazy) {
            return Ok(());
        }
        self.generation.sync(&self.fs)?;
        self.generation.check_name(&self.fs)
    }

    /// Gets on with the next file, if it is time for one, and says whether it is behind.
    fn get_on(&mut self) -> Result<bool, StoreError> {
        let number = self.generation.number() + 1;
        let Some(draft) = self.draft.take() else {
            self.owed = 0;
            let is_due = self.generation.is_half_full() && self.generation.begun_with() > self.room.at_once;
            if is_due && !self.has_no_room {
                // Without a thread for it, it is made when the file is full.
                self.draft = Draft::begin(&self.memory, number, self.room, self.version).ok();
            }
            return Ok(false);
        };
        let place = (self.directory.state_dir(), number);
        let (draft, stage) = match draft.advance(&self.fs, place) {
            Err(error) if error.is_no_room_for(&place.0.join(UNFINISHED)) => {
                return self.without_room().map(|()| false);
            }
            advanced => advanced?,
        };
        self.draft = Some(draft);
        match stage {
            Stage::Waiting => Ok(false),
            Stage::Behind(piece) => {
                self.owed = self.owed.saturating_sub(piece);
                Ok(self.owed > 0)
            }
            Stage::Level | Stage::Full => self.turn_over().map(|()| false),
        }
    }

    /// Goes on in the next file, which holds all of the memory: in the one that was begun, if there is one.
    fn turn_over(&mut self) -> Result<(), StoreError> {
        let place = (self.directory.state_dir(), self.generation.number() + 1);
        let finished = self.draft.take().map(|draft| draft.finish(&self.fs, place)).transpose();
        match finished {
            Ok(Some(Some(next))) => self.go_on_in(next),
            Ok(Some(None) | None) => self.begin_generation(),
            Err(error) if error.is_no_room_for(&place.0.join(UNFINISHED)) => {
                self.without_room()?;
                self.begin_generation()
            }
            Err(error) => Err(error),
        }
    }

    /// The disk has no room for the next file beside the one that is written to: what was made of it goes, and the next one is
    /// made when this one is full, with what room there is.
    fn without_room(&mut self) -> Result<(), StoreError> {
        self.has_no_room = true;
        let unfinished = self.directory.state_dir().join(UNFINISHED);
        match self.fs.remove(&unfinished) {
            // No file could be made at all.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(StoreError::io("remove", &unfinished)),
        }
    }

    /// Writes all of the memory to a new file, which makes it durable.
    fn begin_generation(&mut self) -> Result<(), StoreError> {
        self.draft.take().map_or(Ok(()), |draft| draft.give_up(&self.fs))?;
        let place = (self.directory.state_dir(), self.generation.number() + 1);
        let next = Generation::create_in(&self.fs, place, &self.memory, (&mut self.room, self.version))?;
        self.go_on_in(next)
    }

    fn go_on_in(&mut self, next: Generation<F::File>) -> Result<(), StoreError> {
        let old = std::mem::replace(&mut self.generation, next);
        self.fs.remove(old.path()).map_err(StoreError::io("remove", old.path()))
    }
}
