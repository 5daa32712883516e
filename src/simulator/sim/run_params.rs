//! What is asked of a random run, and what it consists of, drawn from its seed: the cluster, its clients, and how it is
//! hurt and healed.
//!
//! The faults themselves are drawn by [`Plan`], the rest of the run by whoever makes it.

use super::half_well::HalfWell;
use super::{Detail, Plan};
use crate::protocol::{Rng, Time};
use crate::zen::Tuning;
use crate::zen::rules::Rules;
use std::fmt;

/// More nodes have too many links to be drawn.
const GRAPH_MAX: usize = 8;

/// What is asked of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What everything is drawn from.
    pub seed: u64,
    /// How many nodes; drawn from 3 to 7 if it is not said.
    pub nodes: Option<usize>,
    /// How many updates are asked for at least.
    pub updates: u64,
    /// The numbers that the nodes run by.
    pub tuning: Tuning,
    /// The protections that the nodes keep.
    pub rules: Rules,
    /// Whether nodes are half well besides their other faults.
    pub half_well: bool,
    /// Stop after so many events.
    pub until: Option<u64>,
    /// How much of the trace to keep, and how many lines of it.
    pub trace: Option<(Detail, usize)>,
    /// Whether all that happens is hashed, so that runs can be compared.
    pub is_hashed: bool,
}

/// What was drawn for a run.
#[derive(Clone, Debug)]
pub struct RunParams {
    /// The seed.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them can be master: the first ones.
    pub eligible: usize,
    /// How many of these every node is configured with as hosts, besides itself.
    pub hosts: usize,
    /// The operator's number in the configuration: the one that was asked for, as far as it can be met.
    pub minimum: Option<u32>,
    /// How many pings in a row must fail, on each node.
    pub retries: Vec<u32>,
    /// Which links work while the nodes start for the first time, as in [`super::Fault::Graph`]; all, if it is not said.
    pub first_links: Option<u64>,
    /// How many clients ask.
    pub clients: usize,
    /// How many keys they share.
    pub keys: u64,
    /// Bounds of a client's pause.
    pub pause_us: (u64, u64),
    /// How many of a hundred processes that are ended lose their disks as well, if the cluster can bear it.
    pub wipe_percent: u64,
    /// What is healed in the end.
    pub healing: Healing,
    /// How many updates are asked for.
    pub updates: u64,
    /// The faults of each episode.
    pub plan: Plan,
    /// How nodes are half well.
    pub half_well: HalfWell,
}

/// What is healed before a master is demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Healing {
    /// Everything.
    All,
    /// A random quorum; the others stay cut off.
    Quorum,
    /// All nodes, and of the links those of a random one only; the rest follows later.
    Star,
    /// All nodes, and each direction of a link by chance, but those of one node to a quorum; the rest follows later.
    Graph,
}

impl RunParams {
    /// Draws a run.
    pub fn new(options: &RunOptions) -> Self {
        let mut rng = Rng::new(options.seed ^ 0x7a7a_0001);
        let nodes = options.nodes.unwrap_or_else(|| rng.between(3, 7) as usize);
        let eligible = if rng.percent(70) { nodes } else { rng.between(nodes.min(3) as u64, nodes as u64) as usize };
        let minimum = rng.percent(20).then(|| rng.between(1, eligible as u64 / 2 + 1) as u32);
        let minimum = options.tuning.minimum_master_nodes.map(|asked| asked.min(eligible as u32)).or(minimum);
        let clients = rng.between(2, 6) as usize;
        let pause_us = *rng.pick(&[(1_000, 20_000), (5_000, 100_000), (20_000, 300_000)]).unwrap_or(&(1_000, 20_000));
        let plan = Plan::draw(options.seed, nodes, Time::ZERO);
        let half_well =
            if options.half_well { HalfWell::draw(options.seed, nodes, &plan) } else { HalfWell::none(nodes) };
        RunParams {
            seed: options.seed,
            nodes,
            eligible,
            hosts: if rng.percent(75) { eligible } else { rng.between(1, eligible as u64) as usize },
            minimum,
            retries: draw_retries(&mut rng, nodes, options.tuning.fd_ping_retries),
            first_links: (nodes <= GRAPH_MAX && rng.percent(20)).then(|| rng.next_u64() | rng.next_u64()),
            clients,
            keys: 2 * rng.between(1, 6),
            pause_us,
            wipe_percent: if rng.percent(30) { 25 } else { 0 },
            healing: draw_healing(&mut rng),
            updates: options.updates,
            plan,
            half_well,
        }
    }
}

/// Mostly as configured, sometimes one on all nodes, sometimes another number on each.
fn draw_retries(rng: &mut Rng, nodes: usize, configured: u32) -> Vec<u32> {
    match rng.below(10) {
        0..6 => vec![configured; nodes],
        6..8 => vec![1; nodes],
        _ => (0..nodes).map(|_| rng.between(1, 4) as u32).collect(),
    }
}

fn draw_healing(rng: &mut Rng) -> Healing {
    match rng.below(100) {
        0..40 => Healing::All,
        40..70 => Healing::Quorum,
        70..85 => Healing::Star,
        _ => Healing::Graph,
    }
}

impl fmt::Display for RunParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {} nodes, the first {} master-eligible", self.seed, self.nodes, self.eligible)?;
        writeln!(f, "hosts: the first {} and oneself", self.hosts)?;
        match self.minimum {
            Some(minimum) => writeln!(f, "minimum_master_nodes {minimum}")?,
            None => writeln!(f, "minimum_master_nodes unset")?,
        }
        writeln!(f, "ping_retries {:?}", self.retries)?;
        if let Some(arrows) = self.first_links {
            writeln!(f, "starts with the links of graph {arrows}")?;
        }
        let (low, high) = self.pause_us;
        writeln!(f, "{} clients on {} keys, pausing {low} to {high} us", self.clients, self.keys)?;
        writeln!(f, "wipes {} of 100 disks of processes that end", self.wipe_percent)?;
        writeln!(
            f,
            "heals {}",
            match self.healing {
                Healing::All => "everything",
                Healing::Quorum => "a random quorum only",
                Healing::Star => "all nodes and a star of links, then the rest",
                Healing::Graph => "all nodes and a random graph of links, then the rest",
            }
        )?;
        writeln!(f, "{}", self.plan)?;
        write!(f, "{}", self.half_well)
    }
}
