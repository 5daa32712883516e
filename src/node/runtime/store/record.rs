//! How a file of the store is framed: one preface, two marks, then one line for each record.
//!
//! ```text
//! zazen-store:<version>:<generation>:<length of the file>:<records it was made with>:<checksum>
//! synced:<records known to be synced>:<checksum>
//! synced:<the same, as it was before or after>:<checksum>
//! <number>:<records synced when it was written>:<length>:<checksum of the entry>:<checksum>:<entry>
//! ```
//!
//! Numbers are hexadecimal and have a fixed width. No byte of a line is zero, and what no line has reached is zeros: that
//! is how [`super::replay`] tells a write that a crash tore from one that was damaged later. For the same end every
//! byte of a frame has at least two bits set, so that no single bit makes a zero of it. Preface and marks have a sector
//! each; the marks are written in turn, so that one of them is whole whatever a crash does to the other. Mirrors `CodecUtil` of Lucene,
//! which frames the files of `MetaDataStateFormat` (6.8).

use super::StoreError;
use super::entry::Entry;
use memchr::memchr2;
use std::path::Path;
use std::str;

/// The newest version of the format, written once all members of the cluster read it. Those before it are read.
pub(in crate::runtime) const VERSION: u32 = 2;

/// The version that is written until then.
pub(in crate::runtime) const FIRST: u32 = 2;

/// The version without marks: what followed the last record that says how many were synced may be gone unnoticed.
const WITHOUT_MARKS: u32 = 1;

/// What a disk writes as a whole; larger sectors are multiples of it.
pub(super) const SECTOR: usize = 512;

/// How many marks there are.
const MARKS: usize = 2;

/// How deep an entry may nest; the reader of JSON goes no deeper.
const DEPTH_MAX: usize = 127;

const MAGIC: &str = "zazen-store:";

/// The first line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Preface {
    /// The version of the format.
    pub(super) version: u32,
    /// Counts the files.
    pub(super) generation: u64,
    /// How long the file is, with the zeros.
    pub(super) length: u64,
    /// With how many records it was made; they were synced before it got its name.
    pub(super) records: u32,
}

impl Preface {
    /// How many bytes it takes.
    pub(super) const LEN: usize = 73;
    /// How many bytes the beginning takes, which is the same in all versions.
    const VERSION_END: usize = MAGIC.len() + 8;

    pub(super) fn text(&self) -> String {
        let Preface { version, generation, length, records } = self;
        let fields = format!("{MAGIC}{version:08x}:{generation:016x}:{length:016x}:{records:08x}:");
        let checksum = crc32fast::hash(fields.as_bytes());
        format!("{fields}{checksum:08x}\n")
    }

    /// Reads the first line of a file. In all versions it ends with the checksum of what stands before.
    pub(super) fn read(bytes: &[u8], file: &Path) -> Result<Self, StoreError> {
        let corrupt = |what: &str| StoreError::Corrupt { file: file.to_path_buf(), offset: 0, what: what.into() };
        let line = bytes.split(|byte| *byte == b'\n').next().and_then(|line| str::from_utf8(line).ok());
        let line = line.filter(|line| line.starts_with(MAGIC)).ok_or_else(|| corrupt("it is no file of the store"))?;
        let parts = line.split_at_checked(line.len().saturating_sub(8));
        let is_intact = |(fields, sum): &(&str, &str)| hex(sum) == Some(u64::from(crc32fast::hash(fields.as_bytes())));
        let (fields, _) = parts.filter(is_intact).ok_or_else(|| corrupt("the checksum of its first line is wrong"))?;
        let version = fields.get(MAGIC.len()..Self::VERSION_END).and_then(hex);
        let version = version.ok_or_else(|| corrupt("its first line names no version"))? as u32;
        if !(WITHOUT_MARKS..=VERSION).contains(&version) {
            return Err(StoreError::UnknownVersion { file: file.to_path_buf(), found: version, known: VERSION });
        }
        let mut rest = fields.split(':').skip(2).map(hex);
        let mut field = || rest.next().flatten().ok_or_else(|| corrupt("its first line is incomplete"));
        let preface = Preface { version, generation: field()?, length: field()?, records: field()? as u32 };
        let is_as_written = bytes.starts_with(preface.text().as_bytes());
        if is_as_written { Ok(preface) } else { Err(corrupt("its first line is not as it was written")) }
    }

    /// Where the first record begins.
    pub(super) fn records_at(&self) -> usize {
        if self.has_marks() { (1 + MARKS) * SECTOR } else { Self::LEN }
    }

    /// Whether marks say how many records were synced.
    pub(super) fn has_marks(&self) -> bool {
        self.version > WITHOUT_MARKS
    }
}

/// Says how many records were synced when it was written, which is after that sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(pub(super) u32);

impl Mark {
    const WORD: &str = "synced:";
    /// How many bytes it takes.
    const LEN: usize = Self::WORD.len() + 8 + 1 + 8 + 1;

    /// Where the marks stand.
    pub(super) fn places() -> [usize; MARKS] {
        std::array::from_fn(|number| (1 + number) * SECTOR)
    }

    pub(super) fn text(self, generation: u64) -> String {
        let fields = format!("{}{:08x}:", Self::WORD, self.0);
        format!("{fields}{:08x}\n", checksum_of(generation, &fields))
    }

    /// What stands at a place of marks: none if a crash tore it, an error if it cannot have been a crash, which leaves the
    /// letters that all marks have in common.
    pub(super) fn read(sector: &[u8], generation: u64) -> Result<Option<Self>, &'static str> {
        let (text, behind) = sector.split_at_checked(Self::LEN).ok_or("a mark is missing")?;
        if behind.iter().any(|byte| *byte != 0) {
            return Err("something stands behind a mark");
        }
        let text = str::from_utf8(text).map_err(|_| "a mark is no text")?;
        let fields = text.strip_prefix(Self::WORD).and_then(|text| text.strip_suffix('\n')?.split_once(':'));
        let number =
            fields.and_then(|(synced, sum)| u32::try_from(hex(synced)?).ok().zip(hex(sum)).map(|(synced, _)| synced));
        let mark = Mark(number.ok_or("a mark has another form")?);
        Ok((mark.text(generation) == text).then_some(mark))
    }
}

fn checksum_of(generation: u64, fields: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&generation.to_le_bytes());
    hasher.update(fields.as_bytes());
    hasher.finalize()
}

/// The frame of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// How many records stand before it in the file.
    pub(super) number: u32,
    /// How many records of the file were synced when it was written.
    pub(super) synced: u32,
    /// How many bytes the entry takes, without the end of the line.
    pub(super) length: u32,
    /// The checksum of the entry.
    checksum: u32,
}

impl Head {
    /// How many bytes it takes.
    pub(super) const LEN: usize = 45;

    /// The checksum at its end covers the generation too: what a lost write uncovers is of another one.
    fn text(&self, generation: u64) -> String {
        let Head { number, synced, length, checksum } = self;
        let fields = format!("{number:08x}:{synced:08x}:{length:08x}:{checksum:08x}:");
        format!("{fields}{:08x}:", checksum_of(generation, &fields))
    }

    /// The frame that these bytes begin with, if they do.
    pub(super) fn read(bytes: &[u8], generation: u64) -> Option<Self> {
        let text = str::from_utf8(bytes.get(..Self::LEN)?).ok()?;
        let mut fields = text.split(':').map(|field| u32::from_str_radix(field, 16).ok());
        let mut field = || fields.next().flatten();
        let head = Head { number: field()?, synced: field()?, length: field()?, checksum: field()? };
        (head.text(generation) == text).then_some(head)
    }

    /// The entry, if `line`, with its end, is the one that was written.
    pub(super) fn entry<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let entry = line.strip_suffix(b"\n")?;
        (crc32fast::hash(entry) == self.checksum).then_some(entry)
    }
}

/// Records that are about to be written one behind the other.
pub(super) struct Records {
    generation: u64,
    synced: u32,
    next: u32,
    bytes: Vec<u8>,
}

impl Records {
    /// None yet; the first will have this number.
    pub(super) fn starting(generation: u64, next: u32, synced: u32) -> Self {
        Records { generation, synced, next, bytes: Vec::new() }
    }

    /// Appends a record.
    pub(super) fn push(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.push_as(|bytes| {
            serde_json::to_writer(bytes, entry)
                .expect("the keys of its maps are strings, and a vector takes all bytes");
        })
    }

    /// Appends a record whose entry is written by somebody.
    pub(super) fn push_as(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), StoreError> {
        let start = self.bytes.len();
        self.bytes.resize(start + Head::LEN, 0);
        write(&mut self.bytes);
        let written = &self.bytes[start + Head::LEN..];
        let length = u32::try_from(written.len()).map_err(|_| too_long(written.len()))?;
        let depth = depth_of(written);
        if depth > DEPTH_MAX {
            return Err(too_deep(depth));
        }
        let head = Head { number: self.next, synced: self.synced, length, checksum: crc32fast::hash(written) };
        self.bytes[start..start + Head::LEN].copy_from_slice(head.text(self.generation).as_bytes());
        self.bytes.push(b'\n');
        self.next += 1;
        Ok(())
    }

    /// Takes the lines out; what is appended next goes behind them.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The number of the record that would be next.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// The lines.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn too_long(length: usize) -> StoreError {
    StoreError::Unwritable { what: format!("an entry of {length} bytes, at most {} are read", u32::MAX) }
}

fn too_deep(depth: usize) -> StoreError {
    StoreError::Unwritable { what: format!("an entry that nests {depth} levels deep, at most {DEPTH_MAX} are read") }
}

/// How deep a JSON text nests.
fn depth_of(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut rest = json;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'"' => rest = behind_text(rest),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// What stands behind the end of a text.
fn behind_text(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        let is_end = rest[at] == b'"';
        rest = rest.get(at + if is_end { 1 } else { 2 }..).unwrap_or_default();
        if is_end {
            return rest;
        }
    }
    &[]
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}
