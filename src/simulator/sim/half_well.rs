//! What makes nodes of a random run half well, drawn from a seed beside its other faults.
//!
//! Disks that hang, addresses that nobody reaches, slow transfers, connections that break for nothing, clocks that jump,
//! messages that are late by minutes, settings that differ and change, nodes that come late or never come back. As in
//! [`super::Plan`] every run has another mixture. Some nodes stay sick when everything else is healed. Who bears
//! that is for the run to say.

use super::network::{Mode, Quality};
use super::{Fault, Plan};
use crate::protocol::{Rng, Time};
use crate::zen::Tuning;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Something that makes a node half well, and mostly ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    DiskHangs,
    DiskCrawls,
    Unreachable,
    SlowTransfer,
    Reset,
    Jump,
    Wander,
    LateMessages,
    Settings,
    Restart,
    Retire,
    Arrive,
}

const KINDS: [Kind; 12] = [
    Kind::DiskHangs,
    Kind::DiskCrawls,
    Kind::Unreachable,
    Kind::SlowTransfer,
    Kind::Reset,
    Kind::Jump,
    Kind::Wander,
    Kind::LateMessages,
    Kind::Settings,
    Kind::Restart,
    Kind::Retire,
    Kind::Arrive,
];

/// Bounds of a write on a disk that crawls: around the time that a vote waits at the defaults.
const CRAWL_US: (u64, u64) = (1_500_000, 3_000_000);
/// The least that is carried in a second to a node that is reached slowly, but well: a state takes four seconds.
const SLOWEST: u64 = 75_000;
/// About what a state has in a random run.
const STATE_BYTES: u64 = 310_000;
/// The longest delay of a message that is late.
const LATE_US: u64 = 180_000_000;
/// The longest jump of a clock.
const JUMP_US: u64 = 20_000_000;

/// What a restart changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Anew {
    /// The times that the node goes by.
    pub(super) times: Times,
    /// Whether it cannot be master until it is restarted again.
    pub(super) loses_role: bool,
    /// Whether it listens elsewhere.
    pub(super) moves: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Something breaks or ends.
    Fault(Fault),
    /// An operator changes a setting of the cluster through some node; without a value it is removed.
    Set { node: usize, key: &'static str, value: Option<String> },
    /// A node is restarted.
    Restart(usize, Anew),
}

/// The times of a node, in milliseconds; zero stands for what the run is configured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    ping_timeout: u64,
    fd_ping_interval: u64,
    fd_ping_timeout: u64,
    commit_timeout: u64,
}

impl Times {
    /// The longest that are drawn.
    const LONGEST: Times =
        Times { ping_timeout: 3_000, fd_ping_interval: 1_000, fd_ping_timeout: 1_000, commit_timeout: 8_000 };

    fn draw(rng: &mut Rng) -> Self {
        let mut one_of = |choices: &[u64]| if rng.percent(50) { rng.pick(choices).copied().unwrap_or(0) } else { 0 };
        Times {
            ping_timeout: one_of(&[300, 500, 1_000, 2_000, 3_000]),
            fd_ping_interval: one_of(&[100, 200, 500, 1_000]),
            fd_ping_timeout: one_of(&[150, 250, 500, 1_000]),
            commit_timeout: one_of(&[1_000, 2_000, 5_000, 8_000]),
        }
    }

    /// The tuning with these times in it.
    pub(super) fn over(&self, tuning: Tuning) -> Tuning {
        let or = |millis: u64, other| if millis == 0 { other } else { Duration::from_millis(millis) };
        Tuning {
            ping_timeout: or(self.ping_timeout, tuning.ping_timeout),
            fd_ping_interval: or(self.fd_ping_interval, tuning.fd_ping_interval),
            fd_ping_timeout: or(self.fd_ping_timeout, tuning.fd_ping_timeout),
            commit_timeout: or(self.commit_timeout, tuning.commit_timeout),
            ..tuning
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Times { ping_timeout, fd_ping_interval, fd_ping_timeout, commit_timeout } = self;
        write!(f, "{ping_timeout}/{fd_ping_interval}/{fd_ping_timeout}/{commit_timeout}")
    }
}

/// How nodes of one run are half well.
#[derive(Clone, Debug)]
pub struct HalfWell {
    rng: Rng,
    nodes: usize,
    kinds: Vec<Kind>,
    /// The times of each node at its first start.
    pub(super) times: Vec<Times>,
    /// Nodes that are not there at the beginning.
    pub(super) late: Vec<usize>,
    /// What stays wrong with nodes when all is healed, if the others can do without them.
    pub(super) lasting: Vec<Fault>,
    /// Whether that is wrong from the beginning, with those who can never have been counted on then.
    pub(super) from_birth: bool,
    /// A node that everything reaches slowly when all is healed, and how many bytes a second.
    pub(super) slow: Option<(usize, u64)>,
    /// Whether some get sick in the end while the master is lost.
    pub(super) loses_master: bool,
    /// Of a hundred nodes that are away at the end, so many never arrive, if the others can do without them.
    pub(super) never_percent: u64,
    weather: Quality,
    rates_ppm: Vec<u64>,
    gap_us: (u64, u64),
    lasts_us: (u64, u64),
    next_at: Option<Time>,
    ends: BTreeMap<(Time, u64), Fault>,
    serial: u64,
}

impl HalfWell {
    /// Nodes that are well, or ill in ways that the plan knows.
    pub(super) fn none(nodes: usize) -> Self {
        HalfWell {
            rng: Rng::new(0),
            nodes,
            kinds: Vec::new(),
            times: vec![Times::default(); nodes],
            late: Vec::new(),
            lasting: Vec::new(),
            from_birth: false,
            slow: None,
            loses_master: false,
            never_percent: 0,
            weather: Quality::default(),
            rates_ppm: Vec::new(),
            gap_us: (0, 0),
            lasts_us: (0, 0),
            next_at: None,
            ends: BTreeMap::new(),
            serial: 0,
        }
    }

    /// Extra recovery time where states take long to reach a node: each may be under way twice for a vote and twice for a join.
    pub(super) fn transfer_bound(&self) -> Duration {
        self.slow.map_or(Duration::ZERO, |(_, rate)| Duration::from_secs(STATE_BYTES).div_f64(rate as f64)) * 4
    }

    /// Whether links may be slow for a while.
    pub(super) fn has_slow_links(&self) -> bool {
        self.slow.is_some() || self.kinds.contains(&Kind::SlowTransfer)
    }

    /// The tuning with the longest times that any node may have, as far as they are drawn here.
    pub(super) fn slowest(&self, tuning: Tuning) -> Tuning {
        let is_changed = self.kinds.iter().any(|kind| matches!(kind, Kind::Settings | Kind::Restart));
        let longest = |of: fn(&Times) -> u64| {
            let times = if is_changed { Some(of(&Times::LONGEST)) } else { self.times.iter().map(of).max() };
            Duration::from_millis(times.unwrap_or_default())
        };
        Tuning {
            ping_timeout: tuning.ping_timeout.max(longest(|times| times.ping_timeout)),
            fd_ping_interval: tuning.fd_ping_interval.max(longest(|times| times.fd_ping_interval)),
            fd_ping_timeout: tuning.fd_ping_timeout.max(longest(|times| times.fd_ping_timeout)),
            commit_timeout: tuning.commit_timeout.max(longest(|times| times.commit_timeout)),
            ..tuning
        }
    }

    /// Draws how the nodes of a run are half well, besides what its plan does to them.
    pub(super) fn draw(seed: u64, nodes: usize, plan: &Plan) -> Self {
        let mut rng = Rng::new(seed ^ 0x4a1f_3e11);
        let percent = rng.between(10, 80);
        let kinds = KINDS.into_iter().filter(|_| rng.percent(percent)).collect();
        let differ = rng.percent(50);
        let gap_max = 50_000 << rng.below(8);
        let lasts_max = 50_000 << rng.below(9);
        let late = if rng.percent(20) { some_nodes(&mut rng, nodes) } else { Vec::new() };
        let lasting = if rng.percent(50) { draw_lasting(&mut rng, nodes) } else { Vec::new() };
        HalfWell {
            nodes,
            kinds,
            times: (0..nodes).map(|_| if differ { Times::draw(&mut rng) } else { Times::default() }).collect(),
            late,
            lasting,
            from_birth: rng.percent(40),
            slow: rng.percent(20).then(|| (rng.below(nodes as u64) as usize, SLOWEST << rng.below(3))),
            loses_master: rng.percent(60),
            never_percent: if rng.percent(30) { 70 } else { 0 },
            weather: plan.weather(),
            rates_ppm: plan.rates_ppm().to_vec(),
            gap_us: (gap_max / 10, gap_max),
            lasts_us: (lasts_max / 20, lasts_max),
            next_at: None,
            ends: BTreeMap::new(),
            serial: 0,
            rng,
        }
    }

    /// Begins another episode at `at`, after everything was healed.
    pub(super) fn begin_anew(&mut self, at: Time) {
        self.ends.clear();
        self.set_next(at);
    }

    fn set_next(&mut self, after: Time) {
        let gap = self.rng.between(self.gap_us.0, self.gap_us.1);
        self.next_at = (!self.kinds.is_empty()).then(|| Time::from_micros(after.as_micros() + gap));
    }

    /// When something begins or ends next.
    pub(super) fn next_at(&self) -> Option<Time> {
        let ends = self.ends.keys().next().map(|(at, _)| *at);
        ends.into_iter().chain(self.next_at).min()
    }

    /// Takes what begins or ends next, at the time that `next_at` names.
    pub(super) fn take(&mut self) -> Option<Act> {
        if let Some(end) = self.ends.first_entry()
            && self.next_at.is_none_or(|next| end.key().0 <= next)
        {
            return Some(Act::Fault(end.remove()));
        }
        let at = self.next_at?;
        self.set_next(at);
        let kind = *self.rng.pick(&self.kinds)?;
        let lasts = self.rng.between(self.lasts_us.0, self.lasts_us.1);
        let (act, end) = self.draw_act(kind);
        if let Some(end) = end {
            self.serial += 1;
            self.ends.insert((Time::from_micros(at.as_micros() + lasts), self.serial), end);
        }
        Some(act)
    }

    /// What a kind begins with, and the fault that ends it, if it has an end.
    fn draw_act(&mut self, kind: Kind) -> (Act, Option<Fault>) {
        let node = self.rng.below(self.nodes as u64) as usize;
        let other = self.rng.below(self.nodes as u64) as usize;
        let (min_us, max_us) = super::disk::LATENCY_US;
        let (fault, end) = match kind {
            Kind::DiskHangs => (Fault::DiskHangs(node), Some(Fault::Disk(node, min_us, max_us))),
            Kind::DiskCrawls => (Fault::Disk(node, CRAWL_US.0, CRAWL_US.1), Some(Fault::Disk(node, min_us, max_us))),
            Kind::Unreachable => (Fault::Unreachable(node, draw_mode(&mut self.rng)), Some(Fault::Reachable(node))),
            Kind::SlowTransfer => (Fault::Rate(node, 50_000 << self.rng.below(6)), Some(Fault::Rate(node, 0))),
            Kind::Reset => (Fault::Reset(node, other), None),
            Kind::Jump => (Fault::Jump(node, self.rng.between(1_000, JUMP_US)), None),
            Kind::Wander => (Fault::Clock(node, self.rates_ppm[other]), Some(Fault::Clock(node, self.rates_ppm[node]))),
            Kind::LateMessages => (Fault::Weather(self.late_weather()), Some(Fault::Weather(self.weather))),
            Kind::Retire => (Fault::Retire(node), None),
            Kind::Arrive => (Fault::Arrive(node), None),
            Kind::Settings => return (self.draw_setting(node), None),
            Kind::Restart => return (Act::Restart(node, self.draw_anew()), None),
        };
        (Act::Fault(fault), end)
    }

    fn late_weather(&mut self) -> Quality {
        Quality {
            stall_permille: self.rng.between(1, 20),
            stall_max_us: self.rng.between(1_000_000, LATE_US),
            ..self.weather
        }
    }

    fn draw_setting(&mut self, node: usize) -> Act {
        let choices: [(&'static str, &[u64]); 3] = [
            ("discovery.zen.fd.ping_timeout", &[150, 250, 500, 1_000]),
            ("discovery.zen.fd.ping_interval", &[100, 200, 500, 1_000]),
            ("discovery.zen.commit_timeout", &[1_000, 2_000, 5_000, 8_000]),
        ];
        let (key, millis) = choices[self.rng.below(choices.len() as u64) as usize];
        let millis = self.rng.pick(millis).filter(|_| self.rng.percent(60)).copied();
        Act::Set { node, key, value: millis.map(|millis| format!("{millis}ms")) }
    }

    fn draw_anew(&mut self) -> Anew {
        let times = if self.rng.percent(50) { Times::draw(&mut self.rng) } else { Times::default() };
        Anew { times, loses_role: self.rng.percent(30), moves: self.rng.percent(30) }
    }
}

/// Some of the nodes, fewer than half of them.
fn some_nodes(rng: &mut Rng, nodes: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nodes).collect();
    rng.shuffle(&mut order);
    let fewer = nodes.saturating_sub(1) / 2;
    order.truncate(rng.between(1.min(fewer as u64), fewer as u64) as usize);
    order
}

fn draw_lasting(rng: &mut Rng, nodes: usize) -> Vec<Fault> {
    some_nodes(rng, nodes).into_iter().map(|node| draw_sickness(rng, node)).collect()
}

/// What a majority can do without.
pub(super) fn draw_sickness(rng: &mut Rng, node: usize) -> Fault {
    match rng.below(3) {
        0 => Fault::DiskHangs(node),
        1 => Fault::Disk(node, CRAWL_US.0, CRAWL_US.1),
        _ => Fault::Unreachable(node, draw_mode(rng)),
    }
}

fn draw_mode(rng: &mut Rng) -> Mode {
    if rng.percent(50) { Mode::Hole } else { Mode::Refuse }
}

impl fmt::Display for HalfWell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "half well   {:?}", self.kinds)?;
        let times: Vec<String> = self.times.iter().map(ToString::to_string).collect();
        writeln!(f, "times       {} ms (ping/interval/timeout/commit)", times.join(" "))?;
        let (gap, lasts) = (self.gap_us, self.lasts_us);
        writeln!(f, "every       {} to {} us, lasting {} to {} us", gap.0, gap.1, lasts.0, lasts.1)?;
        let lasting: Vec<String> = self.lasting.iter().map(ToString::to_string).collect();
        writeln!(f, "late        {:?}, of those who are away {} of 100 never come", self.late, self.never_percent)?;
        let since = if self.from_birth { " from birth" } else { "" };
        writeln!(f, "stays sick  [{}]{since}, slow {:?}", lasting.join(", "), self.slow)?;
        write!(
            f,
            "in the end  {}",
            if self.loses_master { "some get sick while the master is lost" } else { "all stay well" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn drawn(seed: u64) -> HalfWell {
        let mut half_well = HalfWell::draw(seed, 5, &Plan::draw(seed, 5, Time::ZERO));
        half_well.begin_anew(Time::ZERO);
        half_well
    }

    /// What a draw does in the first acts of an episode.
    fn acts(mut half_well: HalfWell) -> Vec<(Time, Act)> {
        let mut acts = Vec::new();
        while let Some(at) = half_well.next_at().filter(|_| acts.len() < 50) {
            acts.extend(half_well.take().map(|act| (at, act)));
        }
        acts
    }

    fn name(act: &Act) -> &'static str {
        match act {
            Act::Fault(fault) => fault.kind(),
            Act::Set { .. } => "set",
            Act::Restart(..) => "restart",
        }
    }

    #[test]
    fn every_kind_is_drawn_and_a_seed_draws_the_same_again() {
        let all: Vec<Vec<(Time, Act)>> = (0..200).map(|seed| acts(drawn(seed))).collect();
        let kinds: BTreeSet<&str> = all.iter().flatten().map(|(_, act)| name(act)).collect();
        let expected = "arrive clock disk disk-hangs jump rate reachable reset restart retire set unreachable weather";
        assert_eq!(kinds.into_iter().collect::<Vec<_>>().join(" "), expected);
        for (seed, acts_once) in (0..).zip(&all) {
            assert_eq!(&acts(drawn(seed)), acts_once, "seed {seed}");
            assert!(acts_once.is_sorted_by_key(|(at, _)| *at), "seed {seed}: time does not run back");
        }
    }

    #[test]
    fn those_who_stay_sick_are_fewer_than_half() {
        for seed in 0..200 {
            let half_well = drawn(seed);
            assert!(half_well.lasting.len() <= 2 && half_well.late.len() <= 2, "seed {seed}: {half_well}");
        }
        assert_eq!(acts(HalfWell::none(5)), Vec::new());
    }
}
