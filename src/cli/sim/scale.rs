//! `zazen sim --scale`: what a cold start and masters killed in a row cost at several sizes.
//!
//! Each world is made twice: once against the wall clock, and once more to count bytes, because writing every message
//! down takes longer than handling it.

use super::page::{Page, outcome};
use crate::cli::figures::{count, span};
use crate::cli::progress::Progress;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{CommandError, CommandOutcome, interrupt};
use crate::runtime;
use crate::sim::Violation;
use crate::sim::scale::{Kind, Phase, Size, measure};
use crate::wire;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// How many masters are killed in a row.
const KILLS: usize = 10;
/// How many of them are killed once more, to count bytes.
const WEIGHED: usize = 1;

/// A phase, and how long it took on this machine.
struct Timed {
    phase: Phase,
    wall: Duration,
}

/// What one size took.
struct Figures {
    phases: Vec<Timed>,
    weighed: Vec<Phase>,
    /// How much memory the world took once all had joined.
    memory: Option<u64>,
}

/// Measures each size and prints what a node bears of it.
pub(super) fn run(sizes: &[Size], file: Option<&Path>, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    let head = [
        "nodes",
        "eligible",
        "what",
        "virtual",
        "wall clock",
        "events/node",
        "messages/node",
        "bytes/node",
        "memory/node",
    ];
    let mut page = Page::new("zazen sim --scale", &head);
    for size in sizes {
        if interrupt::came() {
            break;
        }
        match figures(*size) {
            Ok(figures) => rows(size, &figures, &mut page),
            Err(violation) => {
                writeln!(out, "{} nodes: {violation}", size.nodes)?;
                return Ok(outcome(1));
            }
        }
    }
    page.publish(file, out)?;
    Ok(outcome(0))
}

fn figures(size: Size) -> Result<Figures, Violation> {
    let before = runtime::resident();
    let mut memory = None;
    let mut phases: Vec<Timed> = Vec::new();
    let mut progress = Progress::of(2 * (KILLS + WEIGHED + 1) as u64, "phases");
    let mut watch = Stopwatch::start();
    measure(size, KILLS, None, |phase| {
        phases.push(Timed { phase: phase.clone(), wall: watch.elapsed() });
        memory = memory.or_else(|| Some(runtime::resident()?.saturating_sub(before?)));
        progress.advance(phases.len() as u64, 0);
        watch = Stopwatch::start();
    })?;
    let mut weighed = Vec::new();
    measure(size, WEIGHED, Some(wire::size), |phase| {
        weighed.push(phase.clone());
        progress.advance((phases.len() + weighed.len()) as u64, 0);
    })?;
    progress.finish();
    Ok(Figures { phases, weighed, memory })
}

fn rows(size: &Size, figures: &Figures, page: &mut Page) {
    for (kind, name) in [
        (Kind::ColdStart, "cold start"),
        (Kind::MasterKilled, "a master killed, mean"),
        (Kind::TakenIn, "taken in again, mean"),
    ] {
        let phases: Vec<&Timed> = figures.phases.iter().filter(|timed| timed.phase.kind == kind).collect();
        let weighed: Vec<&Phase> = figures.weighed.iter().filter(|phase| phase.kind == kind).collect();
        let memory = figures.memory.filter(|_| kind == Kind::ColdStart);
        let memory =
            memory.map_or_else(String::new, |bytes| format!("{} KiB", count((bytes >> 10) / size.nodes as u64)));
        page.row(row(size, name, &phases, &weighed, memory));
    }
}

fn row(size: &Size, name: &str, phases: &[&Timed], weighed: &[&Phase], memory: String) -> [String; 9] {
    let times = phases.len().max(1);
    let share = (times * size.nodes) as u64;
    let per_node =
        |figure: fn(&Phase) -> u64| count(phases.iter().map(|timed| figure(&timed.phase)).sum::<u64>() / share);
    let bytes = weighed.iter().map(|phase| phase.bytes).sum::<u64>() / (weighed.len().max(1) * size.nodes) as u64;
    let took = phases.iter().map(|timed| timed.phase.took).sum::<Duration>() / times as u32;
    let wall = phases.iter().map(|timed| timed.wall).sum::<Duration>() / times as u32;
    [
        count(size.nodes as u64),
        count(size.eligible as u64),
        name.into(),
        span(took),
        span(wall),
        per_node(|phase| phase.events),
        per_node(|phase| phase.messages),
        count(bytes),
        memory,
    ]
}

/// A size as it is written: `100`, or `1000/3` if only three can be master.
pub(super) fn parse(text: &str) -> Result<Size, String> {
    let (nodes, eligible) = text.split_once('/').unwrap_or((text, text));
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("`{text}` is no number of nodes"));
    let size = Size { nodes: number(nodes)?, eligible: number(eligible)? };
    if size.eligible < 3 || size.nodes < size.eligible || size.nodes > 5_000 {
        return Err(format!("{text}; allowed: NODES or NODES/ELIGIBLE with 3 <= ELIGIBLE <= NODES <= 5000"));
    }
    Ok(size)
}
