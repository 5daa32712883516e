//! `zazen sim --mutants`: what is found when one protection is switched off, and after how many runs.
//!
//! A search ends at its first catch. Random runs come first; what none of them catches is tried in the golden traces,
//! whose rare orders are written down, and in graphs of three and four nodes. Last comes what breaks no rule that is
//! checked and is noticed all the same: a golden trace that would fail as a test, because the nodes tell another story.

use super::page::{Page, outcome};
use super::{Request, batch, scenario};
use crate::cli::figures::{count, span};
use crate::cli::progress::Progress;
use crate::cli::quiet::quietly;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{Outcome, Trouble};
use crate::sim::RunOptions;
use crate::sim::graphs::cases;
use crate::zen::rules::{Protection, Rules};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Of so many nodes each how manieth case is tried. An odd step leaves no arrow broken in all of them.
const GRAPHS: [(usize, usize); 2] = [(3, 1), (4, 7)];

/// How a missing protection was noticed.
struct Catch {
    /// The rule that was broken.
    checker: String,
    /// In which of the runs, stories or graphs.
    found: String,
    /// What shows it again.
    replay: String,
}

/// Hunts every mutant that was asked for, and prints the table.
pub(super) fn run(request: &Request, golden: &Path, out: &mut impl Write) -> Result<Outcome, Trouble> {
    let head = ["without", "what holds no longer", "caught by", "found in", "time", "replay"];
    let mut page = Page::new("zazen sim --mutants", &head);
    let wanted: Vec<Protection> = match request.without {
        Some(protection) => vec![protection],
        None => Protection::ALL.to_vec(),
    };
    let stories = stories(golden)?;
    let mut progress = Progress::of(wanted.len() as u64, "mutants");
    let (mut escaped, mut at_random) = (0, 0);
    let stopwatch = Stopwatch::start();
    for (number, protection) in wanted.iter().enumerate() {
        let watch = Stopwatch::start();
        let random = hunt(request, *protection);
        at_random += usize::from(random.is_some());
        let caught = random
            .or_else(|| in_stories(&stories, *protection, scenario::broken_by))
            .or_else(|| in_graphs(*protection))
            .or_else(|| in_stories(&stories, *protection, scenario::told_otherwise));
        escaped += usize::from(caught.is_none());
        let row = row(request, *protection, caught, watch.elapsed());
        progress.aside(|| eprintln!("{}", row[..5].join("  ")));
        page.row(row);
        progress.advance(number as u64 + 1, escaped as u64);
    }
    progress.finish();
    page.remark(format!(
        "{} of {} caught, {at_random} of them by random runs, in {}.",
        count((wanted.len() - escaped) as u64),
        count(wanted.len() as u64),
        span(stopwatch.elapsed())
    ));
    page.publish(request.page.as_deref(), out)?;
    Ok(outcome(escaped))
}

fn row(request: &Request, protection: Protection, caught: Option<Catch>, took: Duration) -> Vec<String> {
    let nothing = || Catch {
        checker: "nothing".into(),
        found: format!("{} runs, the stories and graphs", count(request.runs)),
        replay: String::new(),
    };
    let Catch { checker, found, replay } = caught.unwrap_or_else(nothing);
    let replay = if replay.is_empty() { replay } else { format!("`{replay}`") };
    vec![protection.name().into(), protection.says().into(), checker, found, span(took), replay]
}

/// The first random run that breaks a rule, and does not with all protections.
fn hunt(request: &Request, protection: Protection) -> Option<Catch> {
    let rules = Rules::default().without(protection);
    let (next, first) = (AtomicU64::new(0), AtomicU64::new(request.runs));
    let found = Mutex::new(BTreeMap::new());
    let search = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= first.load(Ordering::Relaxed) {
                return;
            }
            let options = RunOptions { rules, ..request.run(request.seed + number) };
            // What the whole protocol fails as well says nothing of the mutant.
            let is_own = || batch::one(&request.run(options.seed)).result.is_ok();
            if let Err(failure) = batch::one(&options).result
                && is_own()
            {
                first.fetch_min(number, Ordering::Relaxed);
                found.lock().insert(number, failure);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..request.jobs {
            scope.spawn(search);
        }
    });
    let (number, failure) = found.into_inner().pop_first()?;
    let runs = if number == 0 { "1 run".into() } else { format!("{} runs", count(number + 1)) };
    let replay = format!("zazen sim --without {protection} --runs 1 --seed {}", request.seed + number);
    Some(Catch { checker: failure.violation.checker.into(), found: runs, replay })
}

fn stories(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let files = fs::read_dir(folder)
        .map_err(|error| Trouble::Usage(format!("--golden: cannot read {}: {error}", folder.display())))?;
    let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    Ok(files)
}

/// The first story that a judge finds wrong, and does not with all protections.
fn in_stories(stories: &[PathBuf], protection: Protection, judge: fn(&Path, Rules) -> Option<String>) -> Option<Catch> {
    let rules = Rules::default().without(protection);
    stories.iter().find_map(|file| {
        let checker = judge(file, rules)?;
        if judge(file, Rules::default()).is_some() {
            return None;
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let replay = format!("zazen sim --without {protection} --scenario {}", file.display());
        Some(Catch { checker, found: format!("the story {name}"), replay })
    })
}

/// The first graph of a few nodes in which a rule is broken.
fn in_graphs(protection: Protection) -> Option<Catch> {
    let rules = Rules::default().without(protection);
    GRAPHS.into_iter().find_map(|(nodes, step)| {
        let all = cases(nodes, step);
        let first = all.iter().enumerate().find_map(|(number, case)| {
            let violation = quietly(|| case.play(rules)).result.ok()?.err()?;
            quietly(|| case.play(Rules::default())).result.ok()?.ok().map(|_| (number, violation))
        });
        let (number, violation) = first?;
        let replay = format!("zazen sim --without {protection} --graphs {nodes}");
        let found = format!("graph {} of {} of {nodes} nodes", count(number as u64 + 1), count(all.len() as u64));
        Some(Catch { checker: violation.checker.into(), found, replay })
    })
}
