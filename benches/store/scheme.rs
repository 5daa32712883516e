//! Ways to make one value after another durable, without the store: each writes bytes and syncs them.

use rustix::fs::{FallocateFlags, fallocate};
use std::fs::{File, OpenOptions, remove_file, rename};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One way.
pub(crate) trait Scheme {
    /// Makes these bytes durable.
    fn write(&mut self, bytes: &[u8]);
}

fn fresh(path: &Path) -> File {
    let _ = remove_file(path);
    OpenOptions::new().write(true).create_new(true).open(path).expect("the directory can be written to")
}

/// A new file takes the place of the old one.
pub(crate) struct Atomic {
    dir: PathBuf,
}

impl Atomic {
    pub(crate) fn new(dir: &Path) -> Self {
        Atomic { dir: dir.into() }
    }
}

impl Scheme for Atomic {
    fn write(&mut self, bytes: &[u8]) {
        let unfinished = self.dir.join("atomic.tmp");
        let mut file = fresh(&unfinished);
        file.write_all(bytes).expect("there is space");
        file.sync_data().expect("the disk works");
        rename(&unfinished, self.dir.join("atomic")).expect("the directory can be written to");
        File::open(&self.dir).and_then(|dir| dir.sync_all()).expect("the disk works");
    }
}

/// Each value makes the file longer.
pub(crate) struct Growing(File);

impl Growing {
    pub(crate) fn new(dir: &Path) -> Self {
        Growing(fresh(&dir.join("growing")))
    }
}

impl Scheme for Growing {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("there is space");
        self.0.sync_data().expect("the disk works");
    }
}

/// What is in a file before it is written to.
#[derive(Clone, Copy)]
pub(crate) enum Space {
    /// Blocks that the file system knows to be unwritten.
    Allocated,
    /// Zeros that were written.
    Zeros,
}

/// Values go one behind the other into a file that has its length, and from the front again when it is full.
pub(crate) struct InPlace {
    file: File,
    at: usize,
    length: usize,
}

impl InPlace {
    /// With room for so many values of at most so many bytes, within what a disk has.
    pub(crate) fn new(dir: &Path, name: &str, largest: usize, space: Space, values: usize) -> Self {
        let file = fresh(&dir.join(name));
        let length = (largest * values).min(256 << 20);
        match space {
            Space::Allocated => fallocate(&file, FallocateFlags::empty(), 0, length as u64).expect("there is space"),
            Space::Zeros => file.write_all_at(&vec![0; length], 0).expect("there is space"),
        }
        file.sync_all().expect("the disk works");
        InPlace { file, at: 0, length }
    }
}

impl Scheme for InPlace {
    fn write(&mut self, bytes: &[u8]) {
        if self.at + bytes.len() > self.length {
            self.at = 0;
        }
        self.file.write_all_at(bytes, self.at as u64).expect("there is space");
        self.file.sync_data().expect("the disk works");
        self.at += bytes.len();
    }
}
