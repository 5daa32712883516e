//! How much room there is for files of nodes.

use std::path::Path;

/// With less room than this another place is looked for.
pub const LITTLE_ROOM: u64 = 16 << 20;

/// The room for what a node has in its data directory: that may be a link to another disk.
pub fn room(data: &Path) -> Option<u64> {
    free(&data.join("nodes").join("0")).or_else(|| free(data))
}

/// What a new file may have. Where no more files can be made there is none, however many bytes are free.
fn free(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let is_counted = stat.f_files > 0;
    if is_counted && stat.f_favail < FILES_LEFT_MIN {
        return Some(0);
    }
    stat.f_bavail.checked_mul(stat.f_frsize)
}

/// A data directory has so many files and directories at most.
const FILES_LEFT_MIN: u64 = 8;

/// Where there would be room, if there is little.
pub(in crate::runtime) fn roomy(path: &Path) -> Option<String> {
    room(path).filter(|free| *free < LITTLE_ROOM)?;
    let has_room = |place: &&str| free(Path::new(place)).is_some_and(|free| free > 64 * LITTLE_ROOM);
    ["/var/lib", "/var/tmp", "/home", "/tmp"].into_iter().find(has_room).map(ToOwned::to_owned)
}
