//! `zazen sim --scenarios`: Zen's documented failures, each under its rules and under ours, and in random runs.
//!
//! What they are and how they are judged stands in [`crate::sim::flaws`].

use crate::cli::progress::Progress;
use crate::cli::quiet::quietly;
use crate::cli::{CommandError, CommandOutcome, crew};
use crate::sim::flaws::{self, FLAWS, Flaw, Kind, Oracle};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// How many random runs of each kind are made unless it is said.
pub(super) const RUNS: u64 = 100;

/// What the random runs showed.
#[derive(Default)]
struct Found {
    /// How many were made of each kind.
    made: BTreeMap<Kind, u64>,
    /// In how many of them each flaw showed.
    shown: BTreeMap<(Kind, Oracle), u64>,
}

/// Prints the table.
pub(super) fn run(seed: u64, runs: u64, jobs: usize, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    let played = FLAWS.iter().map(|flaw| {
        let under = |dialect| quietly(|| flaws::play(flaw, dialect)).result.unwrap_or_else(flaws::PlayOutcome::Broken);
        (flaw, under(Some(flaw.dialect)), under(None))
    });
    let played: Vec<_> = played.collect();
    let found = search(seed, runs, jobs);
    writeln!(
        out,
        "{:<4} {:<27} {:<6} {:<11} {:<10} what was seen under those rules",
        "", "flaw", "rules", "random runs", "zazen"
    )?;
    for (flaw, old, new) in &played {
        let (seen, share) = (tell(old), share(flaw, &found));
        let Flaw { id, title, dialect, .. } = flaw;
        let new = if *new == flaws::PlayOutcome::Clean { "no flaw".into() } else { tell(new) };
        writeln!(out, "{id:<4} {title:<27} {:<6} {share:<11} {new:<10} {seen}", dialect.name())?;
    }
    for flaw in FLAWS.iter() {
        if let Err(why) = flaw.search {
            writeln!(out, "{:<4} not looked for at random: {why}", flaw.id)?;
        }
    }
    let is_shown = |(_, old, new): &(_, flaws::PlayOutcome, flaws::PlayOutcome)| {
        matches!(old, flaws::PlayOutcome::Flawed(_)) && *new == flaws::PlayOutcome::Clean
    };
    let shown = played.iter().filter(|row| is_shown(row)).count();
    writeln!(out, "\n{shown} of {} flaws show under their rules and not under ours.", FLAWS.len())?;
    Ok(if shown == FLAWS.len() { CommandOutcome::Fine } else { CommandOutcome::Broken })
}

fn tell(outcome: &flaws::PlayOutcome) -> String {
    match outcome {
        flaws::PlayOutcome::Flawed(evidence) => format!("FLAW {evidence}"),
        flaws::PlayOutcome::Clean => "nothing".into(),
        flaws::PlayOutcome::Broken(why) => format!("BROKEN {why}"),
    }
}

fn share(flaw: &Flaw, found: &Found) -> String {
    let count = |count: Option<&u64>| count.copied().unwrap_or(0);
    match flaw.runs() {
        Some(kind) => format!("{} of {}", count(found.shown.get(&(kind, flaw.oracle))), count(found.made.get(&kind))),
        None => "–".into(),
    }
}

/// Makes the random runs of every kind that some flaw is looked for in.
fn search(seed: u64, runs: u64, jobs: usize) -> Found {
    let kinds: BTreeSet<Kind> = FLAWS.iter().filter_map(Flaw::runs).collect();
    let wanted: Vec<(Kind, u64)> =
        kinds.into_iter().flat_map(|kind| (seed..seed + runs).map(move |seed| (kind, seed))).collect();
    let mut found = Found::default();
    let mut progress = Progress::of(wanted.len() as u64, "runs");
    crew::share(&wanted, jobs, witnessed, |hear| {
        for (made, (kind, seen)) in hear.iter().enumerate() {
            *found.made.entry(kind).or_default() += 1;
            seen.into_iter().for_each(|oracle| *found.shown.entry((kind, oracle)).or_default() += 1);
            progress.advance(made as u64 + 1, 0);
        }
    });
    progress.finish();
    found
}

/// Makes one random run and tells which flaws it showed.
fn witnessed((kind, seed): &(Kind, u64)) -> (Kind, Vec<Oracle>) {
    match quietly(|| flaws::witnessed(*kind, *seed)).result {
        Ok(seen) => (*kind, seen.into_keys().collect()),
        Err(message) => panic!("a node panicked in the run of seed {seed} of {kind:?}: {message}"),
    }
}
