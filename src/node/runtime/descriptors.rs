//! How many files and sockets this process may have open, and how they are shared out.
//!
//! Whoever connects takes a descriptor, and a process without one can open no file and call nobody. So connections from
//! outside get a part of them, and the rest is for what the node opens itself: its journal, its connections to other
//! nodes, the files of its seed hosts. Mirrors `BootstrapChecks.FileDescriptorCheck` (6.8).
//!
//! Differs from ES: a low limit is no reason not to start, as less is taken in; only one with which nobody could be called is.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// How many connections a side takes unless it is told otherwise, where there are enough descriptors.
pub const CONNECTIONS_DEFAULT: usize = 8_192;

/// The most that is kept from all who connect.
const RESERVE_MAX: u64 = 128;

/// With fewer a node among others can take nothing in beside its own files and calls.
pub const LEAST: u64 = 64;

/// Who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Users, who may be many.
    Users,
    /// Other nodes. This one calls them as well, which takes as many again.
    Nodes,
}

/// Raises the limit of this process to the one that its system allows, and tells both: what it was, and what it is.
pub fn raise() -> io::Result<(u64, u64)> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (was, most) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    if was < most {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    Ok((was, most))
}

/// The limit of this process, if it is too low for a node.
pub(super) fn too_few() -> Option<u64> {
    getrlimit(Resource::Nofile).current.filter(|limit| *limit < LEAST)
}

/// Whether something failed for want of a descriptor, of the process or of the system.
pub(super) fn is_lack(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// How many connections a side may have: what it was told, within what fits.
pub fn fitting(side: Side, wanted: Option<usize>) -> usize {
    wanted.unwrap_or(CONNECTIONS_DEFAULT).min(share(side, limit()))
}

fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The same for a side that begins to listen, which is told if it is less.
pub fn connections(side: Side, wanted: Option<usize>) -> usize {
    let (limit, connections) = (limit(), fitting(side, wanted));
    let fits = share(side, limit);
    if wanted.is_some_and(|wanted| wanted > fits) {
        let setting = match side {
            Side::Users => "zazen.http.max_connections",
            Side::Nodes => "zazen.transport.max_connections",
        };
        tracing::warn!(
            target: super::log::NODE,
            "[{setting}] is lowered to [{fits}]: this process may have [{limit}] files and sockets open (ulimit -n)"
        );
    }
    connections
}

/// Half of what is left besides the reserve is for users, a quarter for nodes, and a quarter for calls to nodes.
fn share(side: Side, limit: u64) -> usize {
    let left = limit - RESERVE_MAX.min(limit / 4);
    let share = match side {
        Side::Users => left / 2,
        Side::Nodes => left / 4,
    };
    usize::try_from(share).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_descriptors_is_kept_from_all_who_connect() {
        let shares = |limit| (share(Side::Users, limit), share(Side::Nodes, limit));
        assert_eq!(shares(1_048_576), (524_224, 262_112));
        assert_eq!(shares(1_024), (448, 224));
        assert_eq!(shares(256), (96, 48));
        assert_eq!(shares(16), (6, 3));
        assert_eq!(shares(0), (1, 1));
    }

    #[test]
    fn a_side_gets_what_it_is_told_within_what_fits() {
        let fits = share(Side::Users, getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX));
        assert_eq!(connections(Side::Users, None), fits.min(CONNECTIONS_DEFAULT));
        assert_eq!(connections(Side::Users, Some(1)), 1);
        assert_eq!(connections(Side::Users, Some(usize::MAX)), fits);
    }
}
