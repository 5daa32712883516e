//! `zazen sim --scale`: what a cold start and masters killed in a row cost at several sizes.

use crate::cli::figures::{count, span};
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{Outcome, Trouble};
use crate::sim::scale::{Phase, Size, measure};
use crate::wire;
use std::io::Write;

/// How many masters are killed in a row.
const KILLS: usize = 10;

/// Measures each size and prints what a node bears of it.
pub(super) fn run(sizes: &[Size], out: &mut impl Write) -> Result<Outcome, Trouble> {
    writeln!(
        out,
        "{:>5} {:>8}  {:<21} {:>9} {:>12} {:>14} {:>12} {:>11}",
        "nodes", "eligible", "", "virtual", "events/node", "messages/node", "bytes/node", "wall clock"
    )?;
    for size in sizes {
        let watch = Stopwatch::start();
        let mut phases = Vec::new();
        if let Err(violation) = measure(*size, KILLS, Some(wire::size), |phase| phases.push(phase.clone())) {
            writeln!(out, "{} nodes: {violation}", size.nodes)?;
            return Ok(Outcome::Broken);
        }
        let (start, kills) = phases.split_at(1);
        for (name, phases) in [("cold start", start), ("a master killed, mean", kills)] {
            print_phases(size, name, phases, out)?;
        }
        writeln!(out, "{:>97}", span(watch.elapsed()))?;
    }
    Ok(Outcome::Fine)
}

fn print_phases(size: &Size, name: &str, phases: &[Phase], out: &mut impl Write) -> Result<(), Trouble> {
    let share = phases.len().max(1) as u64 * size.nodes as u64;
    let per_node = |figure: fn(&Phase) -> u64| count(phases.iter().map(figure).sum::<u64>() / share);
    let took = phases.iter().map(|phase| phase.took).sum::<std::time::Duration>() / phases.len().max(1) as u32;
    writeln!(
        out,
        "{:>5} {:>8}  {name:<21} {:>9} {:>12} {:>14} {:>12}",
        size.nodes,
        size.eligible,
        span(took),
        per_node(|phase| phase.events),
        per_node(|phase| phase.messages),
        per_node(|phase| phase.bytes),
    )?;
    Ok(())
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
