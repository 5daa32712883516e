//! What is found out of nodes on this host without asking any of them: what they left, what their files say, what lies beside
//! these, how much room there is, and what is locked.
//!
//! It is read and never waited for. What it means is said by `start_failure` and `inquiry`.

mod beside;
mod configurations;
mod credentials;
mod encoding;
mod launch;
mod locks;
mod mending;
pub(super) mod note;
mod room;
mod seed_hosts;

pub(super) use beside::{OneOfSecurity, around, file_beside, files_beside, listed, ports_beside};
pub(super) use configurations::{Configurations, loaded, rewritten, started_besides};
pub(super) use credentials::{
    believe_each_other, credentials, is_same, origin_of, own_credentials, share_an_authority,
};
pub use encoding::{Misencoded, misencoded};
pub(super) use launch::besides;
pub use launch::launch_of;
pub(super) use locks::Locks;
pub(super) use mending::mending;
pub(super) use room::roomy;
pub use room::{LITTLE_ROOM, room};
pub(super) use seed_hosts::outward;
pub use seed_hosts::{hosts_file, seed_hosts};

use std::path::Path;

/// How many files and directories beside a node's own are looked at.
pub(super) const FILES_MAX: usize = 64;

/// The user and the group of this process, unless it is root's.
pub(super) fn user() -> Option<(u32, u32)> {
    let user = rustix::process::geteuid();
    (!user.is_root()).then(|| (user.as_raw(), rustix::process::getegid().as_raw()))
}

/// Whether a user is root or the one of this process.
pub(super) fn is_trusted(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

/// A path from the root of the file system, whether it leads anywhere or not.
pub(super) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}
