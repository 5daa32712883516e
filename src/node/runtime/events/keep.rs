//! Keeps transitions in memory and in two files: `nodes/0/_history/new.jsonl`, and `old.jsonl`, which it becomes when it is full.
//!
//! The files are bounded, and not synced: the last lines may be missing after a loss of power. A line that cannot be read is
//! passed over. A file that cannot be written ends nothing.

use super::{ENTRIES_MAX, Entry, Events, Kind};
use crate::runtime::log::STORE;
use serde_json::Map;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// A file is full with so many bytes, or with as many lines as are kept.
const FILE_BYTES_MAX: u64 = 512 << 10;

/// Who keeps them.
pub(super) struct Keeper {
    events: Events,
    dir: PathBuf,
    /// The new file, and its bytes and lines. None where it cannot be written.
    file: Option<(File, u64, usize)>,
    last: u64,
}

impl Keeper {
    /// Takes up what the files of a data directory hold.
    pub(super) fn open(path_data: &Path, events: Events) -> Self {
        let dir = path_data.join("nodes").join("0").join("_history");
        let (old, new) = (read(&dir.join("old.jsonl")), read(&dir.join("new.jsonl")));
        let lines = new.len();
        let entries: Vec<Entry> = old.into_iter().chain(new).collect();
        let last = entries.iter().map(|entry| entry.sequence).max().unwrap_or(0);
        let surplus = entries.len().saturating_sub(ENTRIES_MAX);
        events.shared.kept.lock().extend(entries.into_iter().skip(surplus));
        let file = open(&dir).and_then(|file| Ok((file.metadata()?.len(), file)));
        let file = file.map(|(bytes, file)| (file, bytes, lines));
        if let Err(error) = &file {
            tracing::warn!(target: STORE, "cannot keep the history in [{}]: {error}", dir.display());
        }
        Keeper { events, dir, file: file.ok(), last }
    }

    /// Keeps one, with the next number.
    pub(super) fn keep(&mut self, mut entry: Entry) {
        let lost = self.events.shared.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let details = Map::from_iter([("count".to_owned(), lost.into())]);
            let reason = "they came faster than they could be kept".into();
            self.add(Entry { kind: Kind::Lost, node: None, reason, details, ..entry.clone() });
        }
        if entry.kind == Kind::SettingsChanged {
            let keys: BTreeSet<String> = entry.details.keys().cloned().collect();
            if let Some(by) = self.events.author(&keys) {
                entry.reason = format!("asked for by {by}");
            }
        }
        self.add(entry);
    }

    fn add(&mut self, mut entry: Entry) {
        self.last += 1;
        entry.sequence = self.last;
        if let Err(error) = self.write(&entry) {
            tracing::warn!(target: STORE, "cannot keep the history in [{}]: {error}", self.dir.display());
            self.file = None;
        }
        let mut kept = self.events.shared.kept.lock();
        if kept.len() == ENTRIES_MAX {
            kept.pop_front();
        }
        kept.push_back(entry);
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let Some((file, bytes, lines)) = &mut self.file else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        if *bytes + line.len() as u64 > FILE_BYTES_MAX || *lines >= ENTRIES_MAX {
            fs::rename(self.dir.join("new.jsonl"), self.dir.join("old.jsonl"))?;
            (*file, *bytes, *lines) = (open(&self.dir)?, 0, 0);
        }
        file.write_all(&line)?;
        *bytes += line.len() as u64;
        *lines += 1;
        Ok(())
    }
}

fn open(dir: &Path) -> io::Result<File> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let path = dir.join("new.jsonl");
    if is_no_file(&path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "[new.jsonl] is no file"));
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Whether something stands there that is no file: a pipe is waited for without end.
fn is_no_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| !about.is_file())
}

/// The entries of a file, as far as they can be read.
fn read(path: &Path) -> Vec<Entry> {
    let mut bytes = Vec::new();
    if is_no_file(path) {
        return Vec::new();
    }
    let file = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX * 2).read_to_end(&mut bytes));
    match file {
        Ok(_) => bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect(),
        Err(_) => Vec::new(),
    }
}
