//! `zazen sim --mutants`: what is found when one protection is switched off, and after how many runs.
//!
//! A search ends at its first catch. Each seed is tried twice, in a random run and around a story, since rules that need
//! one order in many thousands are missed beside that order only. Last comes what breaks no rule that is checked and is
//! noticed all the same: a golden trace that would fail as a test, because the nodes tell another story.

use super::around::{self, Stories};
use super::page::{Page, outcome};
use super::{Request, batch, scenario};
use crate::cli::figures::{count, span};
use crate::cli::progress::Progress;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{Outcome, Trouble};
use crate::sim::RunOptions;
use crate::zen::rules::{Protection, Rules};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How a missing protection was noticed.
struct Catch {
    /// The rule that was broken.
    checker: String,
    /// After how many seeds, or in which story.
    found: String,
    by: By,
    /// What shows it again.
    replay: String,
}

/// What noticed a missing protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Chance,
    ChangedStory,
    Story,
}

/// Hunts every mutant that was asked for, and prints the table.
pub(super) fn run(request: &Request, golden: &Path, out: &mut impl Write) -> Result<Outcome, Trouble> {
    let head = ["without", "what holds no longer", "caught by", "found in", "time", "replay"];
    let mut page = Page::new("zazen sim --mutants", &head);
    let wanted: Vec<Protection> = match request.without {
        Some(protection) => vec![protection],
        None => Protection::ALL.to_vec(),
    };
    let (stories, files) = (Stories::of(golden)?, around::files(golden)?);
    let mut progress = Progress::of(wanted.len() as u64, "mutants");
    let mut caught: Vec<By> = Vec::new();
    let stopwatch = Stopwatch::start();
    for (number, protection) in wanted.iter().enumerate() {
        let watch = Stopwatch::start();
        let catch = hunt(request, &stories, golden, *protection).or_else(|| told_otherwise(&files, *protection));
        caught.extend(catch.as_ref().map(|catch| catch.by));
        let row = row(request, *protection, catch, watch.elapsed());
        progress.aside(|| eprintln!("{}", row[..5].join("  ")));
        page.row(row);
        progress.advance(number as u64 + 1, (number + 1 - caught.len()) as u64);
    }
    progress.finish();
    let by = |what: By| caught.iter().filter(|by| **by == what).count();
    page.remark(format!(
        "{} of {} caught: {} by random runs, {} around stories, {} by a golden trace; in {}.",
        caught.len(),
        wanted.len(),
        by(By::Chance),
        by(By::ChangedStory),
        by(By::Story),
        span(stopwatch.elapsed())
    ));
    page.publish(request.page.as_deref(), out)?;
    Ok(outcome(wanted.len() - caught.len()))
}

fn row(request: &Request, protection: Protection, caught: Option<Catch>, took: Duration) -> Vec<String> {
    let nothing = || Catch {
        checker: "nothing".into(),
        found: format!("{} seeds and the stories", count(request.runs)),
        replay: String::new(),
        by: By::Story,
    };
    let Catch { checker, found, replay, by: _ } = caught.unwrap_or_else(nothing);
    let replay = if replay.is_empty() { replay } else { format!("`{replay}`") };
    vec![protection.name().into(), protection.says().into(), checker, found, span(took), replay]
}

/// The first seed with which a rule is broken, and is not with all protections.
fn hunt(request: &Request, stories: &Stories, golden: &Path, protection: Protection) -> Option<Catch> {
    let (next, first) = (AtomicU64::new(0), AtomicU64::new(request.runs));
    let found = Mutex::new(BTreeMap::new());
    let search = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= first.load(Ordering::Relaxed) {
                return;
            }
            let seed = request.seed + number;
            let catch = at_random(request, protection, seed).or_else(|| around(stories, golden, protection, seed));
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
    let seeds = if number == 0 { "1 seed".into() } else { format!("{} seeds", count(number + 1)) };
    Some(Catch { found: format!("{seeds}{}", catch.found), ..catch })
}

fn at_random(request: &Request, protection: Protection, seed: u64) -> Option<Catch> {
    let rules = Rules::default().without(protection);
    let failure = batch::one(&RunOptions { rules, ..request.run(seed) }).result.err()?;
    // What the whole protocol fails as well says nothing of the mutant.
    batch::one(&request.run(seed)).result.ok()?;
    let replay = format!("zazen sim --without {protection} --runs 1 --seed {seed}");
    Some(Catch { checker: failure.violation.checker.into(), found: String::new(), replay, by: By::Chance })
}

fn around(stories: &Stories, golden: &Path, protection: Protection, seed: u64) -> Option<Catch> {
    let (story, played) = stories.play(seed, Some(protection));
    let (checker, _) = played.broken?;
    let replay = format!("zazen sim --without {protection} --runs 1 --seed {seed} --around {}", golden.display());
    Some(Catch { checker, found: format!(", around {story}"), replay, by: By::ChangedStory })
}

/// The first golden trace in which nodes without a protection tell another story, and do not with it.
fn told_otherwise(files: &[PathBuf], protection: Protection) -> Option<Catch> {
    let rules = Rules::default().without(protection);
    files.iter().find_map(|file| {
        let checker = scenario::told_otherwise(file, rules)?;
        if scenario::told_otherwise(file, Rules::default()).is_some() {
            return None;
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let replay = format!("zazen sim --without {protection} --scenario {}", file.display());
        Some(Catch { checker, found: format!("the story {name}"), replay, by: By::Story })
    })
}
