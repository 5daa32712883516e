//! `zazen sim --mutants`: what is found when one protection is switched off, and after how many runs.
//!
//! A search ends at its first catch. Each seed is tried twice, in a random run and around a story: rules that need one
//! order in many thousands are hardly ever missed far from one that is known.

use super::page::{Page, outcome};
use super::{Request, one_run, trace_mutation};
use crate::cli::figures::{count, span};
use crate::cli::progress::Progress;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{CommandError, CommandOutcome, interrupt};
use crate::sim::RunOptions;
use crate::sim::trace_mutation::Stories;
use crate::zen::rules::{Protection, Rules};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How a missing protection was noticed.
struct Catch {
    /// The rule that was broken.
    checker: String,
    /// The story near which it was noticed, if it was near one.
    story: Option<String>,
    /// What shows it again.
    replay: String,
}

/// Hunts every mutant that was asked for, and prints the table.
pub(super) fn run(request: &Request, golden: &Path, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    let head = ["without", "what holds no longer", "caught by", "found in", "time", "replay"];
    let mut page = Page::new("zazen sim --mutants", &head);
    let wanted: Vec<Protection> = match request.without {
        Some(protection) => vec![protection],
        None => Protection::ALL.to_vec(),
    };
    let stories = trace_mutation::stories(golden)?;
    let mut progress = Progress::of(wanted.len() as u64, "mutants");
    let (mut hunted, mut caught, mut at_random) = (0, 0, 0);
    let stopwatch = Stopwatch::start();
    for (number, protection) in wanted.iter().enumerate() {
        let watch = Stopwatch::start();
        let catch = hunt(request, &stories, golden, *protection);
        if catch.is_none() && interrupt::came() {
            break;
        }
        hunted += 1;
        caught += usize::from(catch.is_some());
        at_random += usize::from(catch.as_ref().is_some_and(|(_, catch)| catch.story.is_none()));
        let row = row(request, *protection, catch, watch.elapsed());
        progress.aside(|| eprintln!("{}", row[..5].join("  ")));
        page.row(row);
        progress.advance(number as u64 + 1, (number + 1 - caught) as u64);
    }
    progress.finish();
    let (all, stories, took) = (hunted, caught - at_random, span(stopwatch.elapsed()));
    page.remark(format!(
        "{caught} of {all} caught, {at_random} by random runs and {stories} around stories, in {took}."
    ));
    page.publish(request.page.as_deref(), out)?;
    Ok(outcome(all - caught))
}

fn row(request: &Request, protection: Protection, caught: Option<(u64, Catch)>, took: Duration) -> Vec<String> {
    let seeds = |number: u64| if number == 1 { "1 seed".into() } else { format!("{} seeds", count(number)) };
    let story = |story: Option<String>| story.map(|story| format!(", around {story}")).unwrap_or_default();
    let (checker, found, replay) = match caught {
        Some((number, catch)) => {
            (catch.checker, format!("{}{}", seeds(number), story(catch.story)), format!("`{}`", catch.replay))
        }
        None => ("nothing".into(), seeds(request.runs), String::new()),
    };
    vec![protection.name().into(), protection.says().into(), checker, found, span(took), replay]
}

/// After how many seeds a rule is broken that is not with all protections, and how.
fn hunt(request: &Request, stories: &Stories, golden: &Path, protection: Protection) -> Option<(u64, Catch)> {
    let (next, first) = (AtomicU64::new(0), AtomicU64::new(request.runs));
    let found = Mutex::new(BTreeMap::new());
    let search = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= first.load(Ordering::Relaxed) || interrupt::came() {
                return;
            }
            let seed = request.seed + number;
            let catch = at_random(request, protection, seed).or_else(|| near_story(stories, golden, protection, seed));
            if let Some(catch) = catch {
                first.fetch_min(number, Ordering::Relaxed);
                found.lock().insert(number, catch);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..request.jobs {
            scope.spawn(search);
        }
    });
    let (number, catch) = found.into_inner().pop_first()?;
    Some((number + 1, catch))
}

fn at_random(request: &Request, protection: Protection, seed: u64) -> Option<Catch> {
    let rules = Rules::default().without(protection);
    let failure = one_run::make(&RunOptions { rules, ..request.run(seed) }).result.err()?;
    // What the whole protocol fails as well says nothing of the mutant.
    one_run::make(&request.run(seed)).result.ok()?;
    let well = if request.options.half_well { "" } else { " --well" };
    let replay = format!("zazen sim{well} --without {protection} --runs 1 --seed {seed}");
    Some(Catch { checker: failure.violation.checker.into(), story: None, replay })
}

fn near_story(stories: &Stories, golden: &Path, protection: Protection, seed: u64) -> Option<Catch> {
    let told = trace_mutation::one(stories, seed, Some(protection));
    let checker = told.played.broken?.checker.into();
    Some(Catch { checker, story: Some(told.name), replay: trace_mutation::replay(golden, seed, Some(protection)) })
}
