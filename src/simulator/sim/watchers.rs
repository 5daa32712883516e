//! Watchers: they follow every change, on one node after the other.
//!
//! Each node has the log that a real one feeds with what it applies. What watchers are told is judged in `check`.

use super::check::{Descent, Watched, WatcherTotals};
use super::watch::Violation;
use crate::cluster::ClusterState;
use crate::protocol::{Rng, Time};
use crate::service::watch::{ChangeLog, Resume};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How many steps a watcher takes at once.
const STEPS_MAX: usize = 64;

/// The logs of all nodes, and the watchers.
#[derive(Debug)]
pub(super) struct Watchers {
    rng: Rng,
    nodes: usize,
    logs: BTreeMap<usize, ChangeLog>,
    watchers: Vec<Watcher>,
    pub(super) told: WatcherTotals,
}

#[derive(Debug)]
struct Watcher {
    node: usize,
    next: Time,
    watched: Watched,
}

impl Watchers {
    /// Two of them.
    pub(super) fn new(mut rng: Rng, nodes: usize) -> Self {
        let watcher = |rng: &mut Rng| Watcher {
            node: rng.below(nodes as u64) as usize,
            next: Time::from_micros(rng.below(100_000)),
            watched: Watched::default(),
        };
        let watchers = (0..2).map(|_| watcher(&mut rng)).collect();
        Watchers { rng, nodes, logs: BTreeMap::new(), watchers, told: WatcherTotals::default() }
    }

    /// A process was started, and its log is empty.
    pub(super) fn booted(&mut self, node: usize) {
        self.logs.remove(&node);
    }

    pub(super) fn applied(&mut self, node: usize, state: &Arc<ClusterState>) {
        self.logs.entry(node).or_default().advance(state);
    }

    pub(super) fn fall_silent(&mut self) {
        self.watchers.clear();
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.watchers.iter().map(|watcher| watcher.next).min()
    }

    /// Lets those look whose time has come.
    pub(super) fn look(&mut self, now: Time, descent: &Descent) -> Result<(), Violation> {
        for watcher in self.watchers.iter_mut().filter(|watcher| watcher.next <= now) {
            watcher.next = now + Duration::from_micros(self.rng.between(1_000, 150_000));
            if self.rng.percent(15) {
                watcher.node = self.rng.below(self.nodes as u64) as usize;
                self.told.moves += 1;
            }
            let Some(log) = self.logs.get(&watcher.node) else {
                continue;
            };
            match log.resume(watcher.watched.rank(), STEPS_MAX, usize::MAX) {
                Resume::Steps(steps) => {
                    self.told.steps += steps.len() as u64;
                    steps.iter().try_for_each(|step| watcher.watched.stepped(descent, step))?;
                }
                Resume::Compacted(state) => {
                    self.told.jumps += 1;
                    watcher.watched.jumped(descent, &state)?;
                }
                Resume::Ahead => {}
            }
        }
        Ok(())
    }
}
