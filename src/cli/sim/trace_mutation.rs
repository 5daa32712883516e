//! `zazen sim --around`: the stories of a folder, each changed by chance.
//!
//! Reads them, and prints those that break a rule; what is changed and what must hold stands in [`crate::sim::trace_mutation`].

use super::page::{outcome, quote};
use super::{FAILURES_MAX, Request, scenario};
use crate::cli::figures::{count, span};
use crate::cli::progress::Progress;
use crate::cli::quiet::{Quiet, quietly};
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{CommandError, CommandOutcome, interrupt};
use crate::sim::trace_mutation::{Played, Stories};
use crate::zen::rules::Protection;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A story that was changed and played.
pub(super) struct MutatedStory {
    pub(super) name: String,
    pub(super) played: Played,
    /// Where a node panicked, if one did.
    place: Option<String>,
}

/// The stories of a folder, in the order of their names.
pub(super) fn stories(folder: &Path) -> Result<Stories, CommandError> {
    let name = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let scripts = files(folder)?.into_iter().map(|file| Ok((name(&file), scenario::read(&file)?)));
    let stories = Stories::of(scripts.collect::<Result<Vec<_>, CommandError>>()?);
    if stories.count() == (0, 0) {
        let what = format!("{} has no story, a file that ends with .txt and starts nodes", folder.display());
        return Err(CommandError::Usage(what));
    }
    Ok(stories)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let files = fs::read_dir(folder)
        .map_err(|error| CommandError::Usage(format!("cannot read the folder {}: {error}", folder.display())))?;
    let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    Ok(files)
}

/// Plays the stories of all seeds, and prints each that breaks a rule.
pub(super) fn run(request: &Request, folder: &Path, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    let stories = stories(folder)?;
    let stopwatch = Stopwatch::start();
    let (made, shown) = play(request, &stories);
    for (seed, story) in &shown {
        tell(request, folder, *seed, story, out)?;
    }
    let broken = shown.values().filter(|story| story.played.broken.is_some()).count();
    let (all, judged) = stories.count();
    let (runs, took) = (count(made), span(stopwatch.elapsed()));
    let sum = format!("{runs} runs around {all} stories, {judged} of them judged, {broken} failed, in {took}");
    writeln!(out, "{sum}")?;
    quote(request.page.as_deref(), "zazen sim --around", &sum)?;
    Ok(outcome(broken))
}

/// Plays the stories of all seeds, counts them, and keeps those to be shown: what breaks a rule, or the only one.
fn play(request: &Request, stories: &Stories) -> (u64, BTreeMap<u64, MutatedStory>) {
    let (next, made, shown) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    let progress = Mutex::new(Progress::of(request.runs, "stories"));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let is_enough = shown.lock().len() as u64 >= FAILURES_MAX || interrupt::came();
            if number >= request.runs || is_enough {
                return;
            }
            let seed = request.seed + number;
            let told = one(stories, seed, request.without);
            if told.played.broken.is_some() || request.runs == 1 {
                shown.lock().insert(seed, told);
            }
            let made = made.fetch_add(1, Ordering::Relaxed) + 1;
            progress.lock().advance(made, shown.lock().len() as u64);
        }
    };
    thread::scope(|scope| {
        for _ in 0..request.jobs {
            scope.spawn(work);
        }
    });
    progress.into_inner().finish();
    (made.into_inner(), shown.into_inner())
}

/// Plays the story of a seed; a node's panic is a finding, and not printed.
pub(super) fn one(stories: &Stories, seed: u64, without: Option<Protection>) -> MutatedStory {
    let Quiet { result, place } = quietly(|| match without {
        Some(protection) => stories.play_without(seed, protection),
        None => stories.play(seed),
    });
    match result {
        Ok((name, played)) => MutatedStory { name: name.to_owned(), played, place },
        Err(panic) => panic!("the simulator itself panicked in the story of seed {seed}: {panic}"),
    }
}

/// The line that plays the story of a seed again.
pub(super) fn replay(folder: &Path, seed: u64, without: Option<Protection>) -> String {
    let without = without.map(|protection| format!(" --without {protection}")).unwrap_or_default();
    format!("zazen sim{without} --runs 1 --seed {seed} --around {}", folder.display())
}

/// Prints a changed story, and what went wrong.
fn tell(
    request: &Request,
    folder: &Path,
    seed: u64,
    told: &MutatedStory,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let MutatedStory { name, played, place } = told;
    writeln!(out, "# The story {name}, changed by chance: seed {seed}.\n\n{}", played.told)?;
    if let Some(violation) = &played.broken {
        let place = place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
        writeln!(out, "FAIL {violation}{place}\nreplay: {}\n", replay(folder, seed, request.without))?;
    }
    Ok(())
}
