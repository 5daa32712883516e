//! Files of the store that fuzzers make and damage.

use super::StoreError;
use super::record::{FIRST, Mark, Preface, Records, SECTOR};
use super::replay::replay;
use crate::zen::Memory;
use serde::de::IgnoredAny;
use std::path::Path;

/// Every file that is made here is the first one of its store.
const GENERATION: u64 = 1;

/// Zeros behind the records.
const ROOM: usize = SECTOR;

/// Reads a file back, whatever it is.
pub(crate) fn read_back(bytes: &[u8]) {
    if let Err(error) = read(bytes) {
        assert!(!error.to_string().is_empty(), "what is wrong is said");
    }
}

/// Makes a file, has it damaged, and reads it back: no record is missing that was synced, and none is made up.
pub(crate) fn read_back_damaged(entries: &[&[u8]], synced: u32, damage: impl FnOnce(&mut Vec<u8>)) {
    // An entry that makes no sense, or does not fit those before it, ends what can be read.
    let memories: Vec<Memory> =
        (0..=entries.len()).map_while(|count| read(&made(&entries[..count], 0)?).ok()).collect();
    let Some(mut file) = made(entries, synced) else { return };
    damage(&mut file);
    if let Ok(found) = read(&file) {
        let synced = synced as usize;
        let fits = memories.get(synced..).is_some_and(|memories| memories.contains(&found));
        assert!(fits, "what was read is none of the states since the last sync: {found:?}");
    }
}

fn read(bytes: &[u8]) -> Result<Memory, StoreError> {
    replay(bytes, Path::new("zen.st"), GENERATION).map(|(memory, _)| memory)
}

/// A file of these entries, of which so many are marked as synced; none if one of them cannot be written.
fn made(entries: &[&[u8]], synced: u32) -> Option<Vec<u8>> {
    let mut records = Records::starting(GENERATION, 0, 0);
    for entry in entries {
        // Records hold JSON, and no byte of theirs is zero or ends a line.
        let is_json = serde_json::from_slice::<IgnoredAny>(entry).is_ok();
        if !is_json || entry.contains(&b'\n') {
            return None;
        }
        records.push_as(|bytes| bytes.extend_from_slice(entry)).ok()?;
    }
    let preface = Preface { version: FIRST, generation: GENERATION, length: 0, records: 0 };
    let length = preface.records_at() + records.bytes().len() + ROOM;
    let preface = Preface { length: length as u64, ..preface };
    let mut file = vec![0; length];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, preface.text().as_bytes());
    for place in Mark::places() {
        put(place, Mark(synced).text(GENERATION).as_bytes());
    }
    put(preface.records_at(), records.bytes());
    Some(file)
}
