//! What one trial showed, in numbers.

use super::desk::Desk;
use super::torment::Torment;
use crate::figures::{count, figure};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use zazen::sim::check::chronicle::Judgement;

fn row(what: &str, number: u64) {
    println!("  {what:<52} {:>12}", count(number));
}

fn counted(what: &str, number: &AtomicU64) {
    row(what, number.load(Ordering::Relaxed));
}

/// Prints what was done to the nodes, what the clients were told, and what was judged.
pub(super) fn print(nodes: usize, lasts: Duration, torment: &Torment<'_>, desk: &Desk, verdict: &Judgement) {
    let minutes = lasts.as_secs_f64() / 60.0;
    println!(
        "{nodes} nodes, {} minutes: nothing that was acknowledged was lost, and no rule was broken",
        figure(minutes)
    );
    row("faults", torment.faults());
    for (what, number) in &torment.counts {
        row(&format!("  {what}"), *number);
    }
    let counts = &desk.counts;
    row("operations on keys", desk.operations());
    counted("  changes that were carried out", &counts.done);
    counted("  changes refused, for a condition did not hold", &counts.refused);
    counted("  changes that nobody could carry out", &counts.not_done);
    counted("  changes of unknown outcome", &counts.unknown);
    counted("  reads", &counts.reads);
    counted("  changes asked for again, at another node", &counts.again);
    counted("    whose outcome was told then", &counts.cleared);
    counted("  longest time without a change, in ms", &counts.silence_ms);
    let histories = &verdict.histories;
    row("histories judged for linearizability", histories.count);
    row("  operations in them", histories.operations);
    row("  pairs of operations whose order matters", histories.conflicts);
    row("  too few of those to show much", verdict.trivial);
    row("  inconclusive", histories.inconclusive);
    row("leases granted, each under a greater token", verdict.grants as u64);
    row("  times a holder concluded to hold one", verdict.beliefs as u64);
    let chronicle = desk.chronicle.lock();
    let told = chronicle.heard.told();
    row("steps told to watchers", told.steps);
    row("  states to go on from", told.jumps);
    counted("  moves to another node", &counts.moves);
    row("  acknowledged writes looked for among them", verdict.written as u64);
}
