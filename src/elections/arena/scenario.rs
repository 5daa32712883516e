//! The scenarios: how each hurts a bout, and when the clock runs.
//!
//! Nodes are started within a few milliseconds of each other. Most scenarios let a leader settle first; the clock runs
//! from the moment that is marked until the end, some time after everything was healed.

use super::algorithms::Entry;
use super::figures::{Figures, measure};
use super::trial::Trial;
use crate::protocol::{Rng, Time};
use crate::sim::Violation;
use crate::sim::{Detail, Fault, Mode, Quality};
use std::time::Duration;

/// How long a first leader may take before anything is hurt.
const SETTLE: Duration = Duration::from_secs(4);
/// How long all may take to recover after it was healed.
const TAIL: Duration = Duration::from_secs(8);
/// Nodes that are started together are so within this.
const JITTER_US: u64 = 20_000;

/// One way to hurt a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// What happens.
    pub about: &'static str,
    /// How many nodes there are unless it is said.
    pub nodes: usize,
    /// So many are needed at least.
    pub nodes_min: usize,
    play: fn(&mut Course<'_>),
}

const fn row(
    name: &'static str,
    nodes: usize,
    nodes_min: usize,
    about: &'static str,
    play: fn(&mut Course<'_>),
) -> Scenario {
    Scenario { name, about, nodes, nodes_min, play }
}

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    row("cold-start", 5, 2, "all nodes start at once", cold_start),
    row("leader-crash", 5, 3, "the leader's process ends, and is started again later", leader_crash),
    row("leader-flapping", 5, 3, "the first leader hangs and returns, five times", leader_flapping),
    row("two-detections", 5, 4, "the leader's machine falls silent, and two notice at once", two_detections),
    row("cascading-crashes", 7, 7, "three leaders crash, each soon after the other", cascading_crashes),
    row("partition-3-7", 10, 10, "three nodes with the leader, and seven", |course| split(course, 3)),
    row("split-2-3", 5, 5, "two nodes with the leader, and three", |course| split(course, 2)),
    row("bridge", 5, 5, "two sides that reach each other only through one node between", bridge),
    row("one-way", 5, 3, "half of the others hear nothing of the leader, which hears them", one_way),
    row("loss-10", 5, 3, "all nodes start, and 10 % of all messages are lost", |course| loss(course, 10)),
    row("loss-30", 5, 3, "all nodes start, and 30 % of all messages are lost", |course| loss(course, 30)),
    row("slow-leader", 5, 3, "whatever the leader sends or is sent takes 150 ms", slow_leader),
    row("duplicates", 5, 3, "messages come twice and out of order, then the leader crashes", duplicates),
    row("slow-clock", 5, 3, "the leader's clock runs at half speed, then it is cut off", slow_clock),
    row("growth", 100, 10, "five nodes start, then five more each half second", growth),
];

/// The scenario of this name.
pub fn scenario(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

/// One run, measured.
pub struct TrialOutcome {
    /// The figures.
    pub figures: Figures,
    /// The bout at its end, with what was kept.
    pub bout: Box<dyn Trial>,
    /// When the clock began to run.
    pub began: Time,
    /// When all was healed.
    pub healed: Time,
    /// The rule that was broken, if rules are checked.
    pub violation: Option<Violation>,
}

/// Plays a scenario with an algorithm. With a detail the bout has its text trace, arrows and remarks from the moment
/// when the clock began.
pub fn run(entry: &Entry, scenario: &Scenario, nodes: usize, seed: u64, detail: Option<Detail>) -> TrialOutcome {
    let mut bout = entry.enter(nodes.max(scenario.nodes_min), seed);
    let mut course =
        Course { bout: bout.as_mut(), rng: Rng::new(seed ^ 0x5ce_a210), detail, began: None, healed: None };
    (scenario.play)(&mut course);
    let (began, healed) = (course.began.unwrap_or_default(), course.healed.unwrap_or_default());
    let figures = measure(bout.as_ref(), began);
    let violation = bout.violation().cloned();
    TrialOutcome { figures, bout, began, healed, violation }
}

/// A scenario while it is played.
struct Course<'a> {
    bout: &'a mut dyn Trial,
    rng: Rng,
    detail: Option<Detail>,
    began: Option<Time>,
    healed: Option<Time>,
}

impl Course<'_> {
    /// The clock runs from here.
    fn mark(&mut self) {
        self.began = Some(self.bout.now());
        if let Some(detail) = self.detail {
            self.bout.keep(true);
            self.bout.trace(detail);
        }
    }

    fn pass(&mut self, millis: u64) {
        self.bout.run_for(Duration::from_millis(millis));
    }

    /// Starts these within a few milliseconds, in any order.
    fn start(&mut self, nodes: impl Iterator<Item = usize>) {
        let mut nodes: Vec<usize> = nodes.collect();
        self.rng.shuffle(&mut nodes);
        let step = JITTER_US / nodes.len().max(1) as u64;
        for node in nodes {
            self.bout.inject(Fault::Start(node));
            let pause = self.rng.below(step.max(1));
            self.bout.run_for(Duration::from_micros(pause));
        }
    }

    /// Starts all, and waits for a leader; tells who it is, or who is as good as any if there is none.
    fn settle(&mut self) -> usize {
        self.start(0..self.bout.size());
        self.bout.run_for(SETTLE);
        self.leader()
    }

    fn leader(&self) -> usize {
        let record = self.bout.record();
        let running = (0..self.bout.size()).rev().find(|&node| record.stances[node].is_some());
        record.settled().or_else(|| record.leaders().first().copied()).or(running).unwrap_or(0)
    }

    /// All others, from the one after it around to the one before it.
    fn others(&self, node: usize) -> Vec<usize> {
        let nodes = self.bout.size();
        (1..nodes).map(|step| (node + step) % nodes).collect()
    }

    /// Hurts a leader that has settled, for so long.
    fn hurt(&mut self, millis: u64, hurt: impl FnOnce(&mut Self, usize)) {
        let leader = self.settle();
        self.mark();
        hurt(self, leader);
        self.pass(millis);
        self.heal();
    }

    /// Mends everything, and lets it recover.
    fn heal(&mut self) {
        self.bout.inject(Fault::Heal);
        self.healed = Some(self.bout.now());
        self.bout.run_for(TAIL);
    }
}

fn cold_start(course: &mut Course<'_>) {
    course.mark();
    course.start(0..course.bout.size());
    course.healed = Some(course.bout.now());
    course.bout.run_for(TAIL);
}

fn leader_crash(course: &mut Course<'_>) {
    course.hurt(5_000, |course, leader| course.bout.inject(Fault::Kill(leader)));
}

fn leader_flapping(course: &mut Course<'_>) {
    let first = course.settle();
    course.mark();
    for _ in 0..5 {
        course.bout.inject(Fault::Pause(first));
        course.pass(2_500);
        course.bout.inject(Fault::Resume(first));
        course.pass(2_500);
    }
    course.heal();
}

fn two_detections(course: &mut Course<'_>) {
    course.hurt(5_000, |course, leader| {
        let others = course.others(leader);
        course.bout.inject(Fault::PowerLoss(leader));
        course.bout.notice(others[0]);
        course.bout.notice(others[1]);
    });
}

fn cascading_crashes(course: &mut Course<'_>) {
    course.settle();
    course.mark();
    for _ in 0..3 {
        let leader = course.leader();
        course.bout.inject(Fault::Kill(leader));
        course.pass(1_000);
    }
    course.pass(4_000);
    course.heal();
}

/// So many on the leader's side, itself included.
fn split(course: &mut Course<'_>, with_leader: usize) {
    course.hurt(8_000, |course, leader| {
        let mut near = course.others(leader);
        let far = near.split_off(with_leader - 1);
        near.push(leader);
        course.bout.inject(Fault::Partition(vec![near, far], Mode::Hole));
    });
}

/// The leader on one side, one node in the middle.
fn bridge(course: &mut Course<'_>) {
    course.hurt(8_000, |course, leader| {
        let others = course.others(leader);
        let half = others.len() / 2;
        let left: Vec<usize> = others[..half - 1].iter().copied().chain([leader]).collect();
        let between = vec![others[half - 1]];
        course.bout.inject(Fault::Bridge([left, between, others[half..].to_vec()], Mode::Hole));
    });
}

fn one_way(course: &mut Course<'_>) {
    course.hurt(6_000, |course, leader| {
        let others = course.others(leader);
        for &deaf in &others[..others.len() / 2] {
            course.bout.inject(Fault::Link(leader, deaf, Mode::Hole));
        }
    });
}

fn loss(course: &mut Course<'_>, percent: u64) {
    let weather = Quality { delay_min_us: 500, delay_max_us: 1_500, loss_percent: percent, ..Quality::default() };
    course.mark();
    course.bout.inject(Fault::Weather(weather));
    course.start(0..course.bout.size());
    course.pass(15_000);
    course.heal();
}

fn slow_leader(course: &mut Course<'_>) {
    let slow = Quality { delay_min_us: 140_000, delay_max_us: 160_000, ..Quality::default() };
    course.hurt(6_000, |course, leader| {
        for other in course.others(leader) {
            course.bout.inject(Fault::LinkWeather(leader, other, slow));
            course.bout.inject(Fault::LinkWeather(other, leader, slow));
        }
    });
}

fn duplicates(course: &mut Course<'_>) {
    let wild = Quality { delay_min_us: 100, delay_max_us: 20_000, duplicate_percent: 30, ..Quality::default() };
    course.bout.inject(Fault::Weather(wild));
    leader_crash(course);
}

fn slow_clock(course: &mut Course<'_>) {
    course.hurt(5_000, |course, leader| {
        course.bout.inject(Fault::Clock(leader, 500_000));
        course.pass(1_000);
        course.bout.inject(Fault::Isolate(leader, Mode::Hole));
    });
}

fn growth(course: &mut Course<'_>) {
    const STEP: usize = 5;
    course.mark();
    let nodes = course.bout.size();
    for first in (0..nodes).step_by(STEP) {
        course.start(first..(first + STEP).min(nodes));
        course.pass(480);
    }
    course.heal();
}
