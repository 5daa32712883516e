//! Who takes part, and at which addresses.

use crate::lab::Rank;
use crate::settings::NodeSettings;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;

/// Fewer processes elect nobody, more are no experiment.
const PROCESSES: RangeInclusive<usize> = 2..=100;

/// Where the processes are: the first in the order of addresses has rank 1.
pub(super) struct Places {
    all: Vec<SocketAddr>,
    pub(super) me: Rank,
}

impl Places {
    /// Who takes part: the seed hosts and the process itself, in the order of their addresses.
    pub(super) fn of(settings: &NodeSettings, own: SocketAddr) -> Result<Self, String> {
        let hosts = settings.discovery.hosts.as_deref().unwrap_or_default();
        let mut all = vec![own];
        for host in hosts {
            let found = host.to_socket_addrs().ok().and_then(|mut found| found.next());
            let allowed = "allowed here: host:port of each process";
            all.push(
                found
                    .ok_or_else(|| format!("[{host}] of discovery.zen.ping.unicast.hosts is no address; {allowed}"))?,
            );
        }
        all.sort_unstable();
        all.dedup();
        if !PROCESSES.contains(&all.len()) {
            let (count, least, most) = (all.len(), PROCESSES.start(), PROCESSES.end());
            return Err(format!(
                "discovery.zen.ping.unicast.hosts and this node are [{count}] processes; allowed: {least} to {most}, the \
                 same list on each"
            ));
        }
        let place = all.iter().position(|&address| address == own).unwrap_or(0);
        Ok(Places { me: Rank(place as u32 + 1), all })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Rank, SocketAddr)> + '_ {
        self.all.iter().zip(1..).map(|(&address, rank)| (Rank(rank), address))
    }

    pub(super) fn address(&self, rank: Rank) -> Option<SocketAddr> {
        self.all.get(rank.0.checked_sub(1)? as usize).copied()
    }
}
