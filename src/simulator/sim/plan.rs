//! The faults of one run, drawn from a seed: which kinds exist at all in it, how strong, when, and how each ends.
//!
//! Every run has another mixture (swarm testing), because a fixed cocktail hides what only shows when some ingredient
//! is missing. A plan knows no world; it is asked for the next fault and when.

use super::clock::REAL_TIME_PPM;
use super::fault::Fault;
use super::network::{Mode, Quality};
use crate::protocol::{Rng, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A kind of fault that begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Kill,
    PowerLoss,
    Pause,
    SlowDisk,
    SeedsDown,
    OneWay,
    Cut,
    Isolate,
    Partition,
    Bridge,
    Ring,
    Graph,
}

const KINDS: [Kind; 12] = [
    Kind::Kill,
    Kind::PowerLoss,
    Kind::Pause,
    Kind::SlowDisk,
    Kind::SeedsDown,
    Kind::OneWay,
    Kind::Cut,
    Kind::Isolate,
    Kind::Partition,
    Kind::Bridge,
    Kind::Ring,
    Kind::Graph,
];

/// The faults of one run.
#[derive(Clone, Debug)]
pub struct Plan {
    rng: Rng,
    nodes: usize,
    weather: Quality,
    rates_ppm: Vec<u64>,
    kinds: Vec<Kind>,
    modes: Vec<Mode>,
    /// Bounds of the time between two faults, and of how long one lasts.
    gap_us: (u64, u64),
    lasts_us: (u64, u64),
    /// So many nodes at most are down or paused by this plan at a time.
    down_max: usize,
    slow_disk_max_us: u64,
    down: BTreeSet<usize>,
    next_at: Time,
    ends: BTreeMap<(Time, u64), Fault>,
    serial: u64,
}

impl Plan {
    /// Draws a plan for a world of `nodes` nodes, its first fault after `begin`.
    pub fn draw(seed: u64, nodes: usize, begin: Time) -> Self {
        let mut rng = Rng::new(seed ^ 0x05ee_d0ff_a017);
        let kinds = some_of(&mut rng, &KINDS);
        let gap_max = 8_000 << rng.below(10);
        let lasts_max = 10_000 << rng.below(11);
        let mut plan = Plan {
            weather: draw_weather(&mut rng),
            rates_ppm: draw_rates(&mut rng, nodes),
            kinds,
            modes: some_of(&mut rng, &[Mode::Hole, Mode::Refuse, Mode::RequestHole]),
            gap_us: (gap_max / 10, gap_max),
            lasts_us: (lasts_max / 20, lasts_max),
            down_max: rng.between(1, nodes as u64) as usize,
            slow_disk_max_us: 1_000 << rng.below(13),
            down: BTreeSet::new(),
            next_at: begin,
            ends: BTreeMap::new(),
            serial: 0,
            nodes,
            rng,
        };
        plan.set_next(begin);
        plan
    }

    /// What holds from the start: the weather and the clocks.
    pub fn standing_faults(&self) -> Vec<Fault> {
        let clocks = self.rates_ppm.iter().enumerate();
        let clocks = clocks.filter(|&(_, &rate)| rate != REAL_TIME_PPM).map(|(node, &rate)| Fault::Clock(node, rate));
        std::iter::once(Fault::Weather(self.weather)).chain(clocks).collect()
    }

    /// Begins another episode at `at`, after everything was healed.
    pub fn begin_anew(&mut self, at: Time) {
        self.ends.clear();
        self.down.clear();
        self.set_next(at);
    }

    /// Whether requests may be delivered twice.
    pub fn is_doubling(&self) -> bool {
        self.weather.duplicate_percent > 0
    }

    /// How links carry while faults go on.
    pub(super) fn weather(&self) -> Quality {
        self.weather
    }

    /// How fast the clocks of the nodes run, in millionths.
    pub(super) fn rates_ppm(&self) -> &[u64] {
        &self.rates_ppm
    }

    /// How fast the slowest clock runs, as a part of real time.
    pub fn slowest_clock(&self) -> f64 {
        let slowest = self.rates_ppm.iter().min().copied().unwrap_or(REAL_TIME_PPM);
        slowest as f64 / REAL_TIME_PPM as f64
    }

    /// How fast the fastest clock runs, in millionths.
    pub fn fastest_ppm(&self) -> u64 {
        self.rates_ppm.iter().max().copied().unwrap_or(REAL_TIME_PPM).max(REAL_TIME_PPM)
    }

    /// When the next fault begins or ends.
    pub fn next_at(&self) -> Time {
        self.ends.keys().next().map_or(self.next_at, |&(at, _)| at.min(self.next_at))
    }

    /// Takes what begins or ends next, at the time that `next_at` names; nothing if that fault could not be.
    pub fn take(&mut self) -> Option<Fault> {
        if let Some(end) = self.ends.first_entry()
            && end.key().0 <= self.next_at
        {
            let fault = end.remove();
            if let Fault::Start(node) | Fault::Resume(node) = fault {
                self.down.remove(&node);
            }
            return Some(fault);
        }
        let at = self.next_at;
        self.set_next(at);
        let kind = *self.rng.pick(&self.kinds)?;
        let lasts = self.rng.between(self.lasts_us.0, self.lasts_us.1);
        let (fault, end) = self.draw_fault(kind)?;
        self.serial += 1;
        self.ends.insert((Time::from_micros(at.as_micros() + lasts), self.serial), end);
        Some(fault)
    }

    fn set_next(&mut self, after: Time) {
        let gap = self.rng.between(self.gap_us.0, self.gap_us.1);
        self.next_at = Time::from_micros(after.as_micros() + gap);
    }

    /// A fault of some kind, and what ends it.
    fn draw_fault(&mut self, kind: Kind) -> Option<(Fault, Fault)> {
        let node = self.rng.below(self.nodes as u64) as usize;
        let other = self.rng.below(self.nodes as u64) as usize;
        let mode = *self.rng.pick(&self.modes)?;
        Some(match kind {
            Kind::Kill => (Fault::Kill(self.take_down(node)?), Fault::Start(node)),
            Kind::PowerLoss => (Fault::PowerLoss(self.take_down(node)?), Fault::Start(node)),
            Kind::Pause => (Fault::Pause(self.take_down(node)?), Fault::Resume(node)),
            Kind::SlowDisk => {
                let max = self.slow_disk_max_us;
                let (min_us, max_us) = super::disk::LATENCY_US;
                (Fault::Disk(node, max / 4, max), Fault::Disk(node, min_us, max_us))
            }
            Kind::SeedsDown => (Fault::Seeds(node, false), Fault::Seeds(node, true)),
            Kind::OneWay if node != other => (Fault::Link(node, other, mode), Fault::Link(node, other, Mode::Up)),
            Kind::Cut if node != other => (Fault::Cut(node, other, mode), Fault::MendPair(node, other)),
            Kind::OneWay | Kind::Cut => return None,
            Kind::Isolate => (Fault::Isolate(node, mode), Fault::Isolate(node, Mode::Up)),
            Kind::Partition => (Fault::Partition(self.draw_groups(), mode), Fault::Mend),
            Kind::Bridge => (Fault::Bridge(self.draw_bridge()?, mode), Fault::Mend),
            Kind::Ring => (Fault::Ring(self.draw_order(), mode), Fault::Mend),
            Kind::Graph if self.nodes <= 8 => (Fault::Graph(self.draw_arrows(), mode), Fault::Mend),
            Kind::Graph => return None,
        })
    }

    fn take_down(&mut self, node: usize) -> Option<usize> {
        let may = self.down.len() < self.down_max && self.down.insert(node);
        may.then_some(node)
    }

    fn draw_order(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes).collect();
        self.rng.shuffle(&mut order);
        order
    }

    fn draw_groups(&mut self) -> Vec<Vec<usize>> {
        let count = self.rng.between(2, 3) as usize;
        let mut groups = vec![Vec::new(); count];
        for node in self.draw_order() {
            groups[self.rng.below(count as u64) as usize].push(node);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    fn draw_bridge(&mut self) -> Option<[Vec<usize>; 3]> {
        if self.nodes < 3 {
            return None;
        }
        let mut left = self.draw_order();
        let between = left.split_off(left.len() - 1);
        let right = left.split_off(left.len().div_ceil(2));
        Some([left, between, right])
    }

    /// Graphs with few arrows are as likely as those with many.
    fn draw_arrows(&mut self) -> u64 {
        let percent = self.rng.below(101);
        (0..self.nodes * (self.nodes - 1)).fold(0, |arrows, _| arrows << 1 | u64::from(self.rng.percent(percent)))
    }
}

/// A random part of the choices, never none.
fn some_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> Vec<T> {
    let percent = rng.between(10, 90);
    let mut some: Vec<T> = choices.iter().copied().filter(|_| rng.percent(percent)).collect();
    if some.is_empty() {
        some.extend(rng.pick(choices));
    }
    some
}

fn draw_weather(rng: &mut Rng) -> Quality {
    let delay_min_us = 1 << rng.below(12);
    let delay_max_us = delay_min_us << rng.below(6);
    let stalls = rng.percent(30);
    Quality {
        delay_min_us,
        delay_max_us,
        loss_percent: if rng.percent(50) { rng.between(0, 30) } else { 0 },
        duplicate_percent: if rng.percent(50) { rng.between(0, 50) } else { 0 },
        stall_permille: if stalls { rng.between(1, 50) } else { 0 },
        stall_max_us: if stalls { delay_max_us + (10_000 << rng.below(8)) } else { 0 },
        bytes_per_s: 0,
    }
}

/// Mostly true clocks, sometimes ones off by a few percent, seldom by half.
fn draw_rates(rng: &mut Rng, nodes: usize) -> Vec<u64> {
    let spread = match rng.below(4) {
        0 | 1 => 0,
        2 => 50_000,
        _ => 500_000,
    };
    let (low, high) = (REAL_TIME_PPM - spread, REAL_TIME_PPM + spread);
    (0..nodes).map(|_| rng.between(low, high)).collect()
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "nodes       {}, at most {} down at a time", self.nodes, self.down_max)?;
        writeln!(f, "weather     {}", self.weather)?;
        writeln!(f, "clocks      {:?} ppm", self.rates_ppm)?;
        writeln!(f, "faults      {:?}", self.kinds)?;
        writeln!(f, "cut links   {:?}", self.modes)?;
        writeln!(
            f,
            "every       {} to {} us, lasting {} to {} us",
            self.gap_us.0, self.gap_us.1, self.lasts_us.0, self.lasts_us.1
        )?;
        write!(f, "slow disks  up to {} us a write", self.slow_disk_max_us)
    }
}
