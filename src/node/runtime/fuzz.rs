//! For fuzzers, into what nobody else may call. Compiled with `--cfg fuzzing` only.

use super::{read_frame, store};

/// Reads a line of a link between nodes.
pub fn frame(line: &[u8]) {
    read_frame(line);
}

/// Reads a file of the store.
pub fn journal(bytes: &[u8]) {
    store::read_back(bytes);
}

/// Makes a file of these entries, of which so many are synced, has it damaged, and reads it back: what was synced is
/// there, or the damage is named.
pub fn damaged_journal(entries: &[&[u8]], synced: u32, damage: impl FnOnce(&mut Vec<u8>)) {
    store::read_back_damaged(entries, synced, damage);
}
