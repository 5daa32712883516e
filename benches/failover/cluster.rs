//! The processes of one cluster, each on its place.

use super::clock::{now, pause};
use super::peer::{Peer, Watch};
use super::process::Process;
use super::site::{Place, Site};
use std::fs::OpenOptions;
use std::time::{Duration, Instant};

/// How long a cluster of a few nodes may take to agree on a master.
pub(crate) const SETTLE_MAX: Duration = Duration::from_secs(90);

/// How long a process may take to end when it is asked to.
pub(crate) const END_MAX: Duration = Duration::from_secs(30);

/// How often it is asked whether all name one master.
const ASK_AGAIN: Duration = Duration::from_millis(5);

/// A cluster, some of whose nodes may be down.
pub(crate) struct Cluster<'a> {
    pub(crate) peer: &'a dyn Peer,
    // The processes end before their directories go.
    nodes: Vec<Option<Process>>,
    pub(crate) site: Site,
}

impl<'a> Cluster<'a> {
    /// A cluster that is not started.
    pub(crate) fn prepare(peer: &'a dyn Peer, size: usize) -> Result<Self, String> {
        let site = Site::new(size).map_err(|error| format!("no place for {}: {error}", peer.title()))?;
        Ok(Cluster { peer, nodes: (0..size).map(|_| None).collect(), site })
    }

    /// A cluster whose nodes all name one master.
    pub(crate) fn start(peer: &'a dyn Peer, size: usize) -> Result<Self, String> {
        Cluster::prepare(peer, size)?.begin()
    }

    /// The same, each node on a network of its own.
    pub(crate) fn start_wired(peer: &'a dyn Peer, size: usize) -> Result<Self, String> {
        Cluster { peer, nodes: (0..size).map(|_| None).collect(), site: Site::wired(size)? }.begin()
    }

    fn begin(mut self) -> Result<Self, String> {
        (0..self.nodes.len()).try_for_each(|index| self.launch(index).map(drop))?;
        self.settle()?;
        Ok(self)
    }

    /// Starts a node, and tells when: the moment just before.
    pub(crate) fn launch(&mut self, index: usize) -> Result<Instant, String> {
        let place = &self.site.places[index];
        let cannot = |error| format!("{} of {} cannot be started: {error}", place.name, self.peer.title());
        let mut command = self.peer.command(&self.site, place).map_err(cannot)?;
        let log = OpenOptions::new().create(true).append(true).open(place.log()).map_err(cannot)?;
        let errors = log.try_clone().map_err(cannot)?;
        command.current_dir(&place.directory).stdin(std::process::Stdio::null()).stdout(log).stderr(errors);
        let before = now();
        self.nodes[index] = Some(Process::start(&mut command).map_err(cannot)?);
        Ok(before)
    }

    /// The processes that run.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.nodes.iter().flatten()
    }

    /// A node that runs.
    pub(crate) fn node(&self, index: usize) -> &Process {
        self.nodes[index].as_ref().expect("only nodes that were started are asked for")
    }

    /// Waits for the end of a node that was killed or asked to end.
    pub(crate) fn wait(&mut self, index: usize) -> Result<(), String> {
        match self.nodes[index].take() {
            Some(mut node) => node.wait(END_MAX),
            None => Ok(()),
        }
    }

    /// Whether a node runs, stopped or not.
    pub(crate) fn is_running(&self, index: usize) -> bool {
        self.nodes[index].is_some()
    }

    /// The places of the nodes that run.
    pub(crate) fn running(&self) -> Vec<&Place> {
        self.site.places.iter().filter(|place| self.nodes[place.index].is_some()).collect()
    }

    /// Observers of all nodes that run but one.
    pub(crate) fn watch_all_but(&self, index: usize) -> Vec<Box<dyn Watch>> {
        let others = self.running().into_iter().filter(|place| place.index != index);
        others.map(|place| self.peer.watch(place)).collect()
    }

    /// Waits until all nodes that run name the same master, and tells which.
    pub(crate) fn settle(&mut self) -> Result<usize, String> {
        let deadline = now() + SETTLE_MAX;
        loop {
            if let Some(leader) = self.peer.leader(&self.running()) {
                return Ok(leader);
            }
            self.demand_running()?;
            if now() > deadline {
                return Err(format!("{} agreed on no master within {SETTLE_MAX:?}", self.peer.title()));
            }
            pause(ASK_AGAIN);
        }
    }

    /// Fails if a node has ended by itself.
    pub(crate) fn demand_running(&mut self) -> Result<(), String> {
        for (place, node) in self.site.places.iter().zip(&mut self.nodes) {
            if node.as_mut().is_some_and(Process::has_ended) {
                let log = std::fs::read_to_string(place.log()).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(5).collect();
                let last: Vec<&str> = last.into_iter().rev().collect();
                return Err(format!("{} of {} ended by itself:\n{}", place.name, self.peer.title(), last.join("\n")));
            }
        }
        Ok(())
    }
}
