//! The file that a node keeps on disk: read as it was written, and after bytes of it were changed.
//!
//! What cannot be read is refused with its place, or what was never synced is missing; nothing else may come of it.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum File<'a> {
    /// Whatever it is.
    Raw(&'a [u8]),
    /// Records of these entries, so many of which are synced; then bytes are changed, and the end is zeros.
    Made { entries: Vec<&'a str>, synced: u8, changes: Vec<(u16, u8)>, zeros: Option<u16> },
}

fuzz_target!(|file: File<'_>| match file {
    File::Raw(bytes) => zazen::runtime::fuzz::journal(bytes),
    File::Made { entries, synced, changes, zeros } => {
        let entries: Vec<&[u8]> = entries.iter().map(|entry| entry.as_bytes()).collect();
        let synced = u32::from(synced).min(u32::try_from(entries.len()).unwrap_or(u32::MAX));
        zazen::runtime::fuzz::damaged_journal(&entries, synced, |bytes| {
            for (at, mask) in &changes {
                if let Some(byte) = bytes.get_mut(usize::from(*at)) {
                    *byte ^= mask;
                }
            }
            if let Some(zeros) = zeros {
                let from = bytes.len().saturating_sub(usize::from(zeros));
                bytes[from..].fill(0);
            }
        });
    }
});
