//! Random runs around stories: a golden trace with a few of its commands changed, and everything healed in the end.
//!
//! What must always hold must hold in them too. Where the story itself ends with a master, so must the changed one. Each
//! seed takes another story and changes it otherwise; [`Script::varied`] draws what is changed. Without a protection it is
//! told what breaks that does not with it.

use super::page::outcome;
use super::scenario::{LATE, gives_up};
use super::{FAILURES_MAX, Request};
use crate::cli::figures::{count, span};
use crate::cli::progress::Progress;
use crate::cli::quiet::quietly;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{Outcome, Trouble};
use crate::sim::script::{Block, Script, Stage, Trouble as Stop};
use crate::zen::rules::{Protection, Rules};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A story that can be changed.
struct Story {
    name: String,
    script: Script,
    /// Whether a master leads everybody once everything healed.
    recovers: bool,
    /// Whether everything that is promised holds in it, however it is changed.
    is_bound: bool,
}

/// The stories of a folder.
pub(super) struct Stories(Vec<Story>);

/// What operators must not do to more nodes than a cluster can bear; a change may let them.
const OPERATORS: [&str; 3] = ["wipe ", "copy-disk ", "configure "];

/// How a story sets up nodes that are to form different clusters.
const APART: [&str; 3] = [" initial=", " cluster=", " apart"];

/// What came of a story.
#[derive(Default)]
pub(super) struct Played {
    /// As a script: each command that could be carried out, and what was told.
    told: String,
    /// Which commands waited for something that did not come.
    in_vain: BTreeSet<usize>,
    /// Which rule was broken, and how.
    pub(super) broken: Option<(String, String)>,
}

impl Stories {
    /// The stories of a folder in which somebody plays, by their names.
    pub(super) fn of(folder: &Path) -> Result<Stories, Trouble> {
        let scripts = files(folder)?.into_iter().map(|file| Ok((file.clone(), super::scenario::read(&file)?)));
        let scripts = scripts.collect::<Result<Vec<_>, Trouble>>()?.into_iter();
        let stories: Vec<Story> = scripts.filter_map(|(file, script)| Story::new(&file, script)).collect();
        if stories.is_empty() {
            let what = format!("{} has no story, a file that ends with .txt and starts nodes", folder.display());
            return Err(Trouble::Usage(what));
        }
        Ok(Stories(stories))
    }

    /// Plays the story of a seed, without a protection if one is named. What the whole protocol does not keep either says
    /// nothing of it; without it a story must find every master that is found otherwise.
    pub(super) fn play(&self, seed: u64, without: Option<Protection>) -> (&str, Played) {
        let story = &self.0[(seed % self.0.len() as u64) as usize];
        let whole = story.play(seed, Rules::default());
        let Some(protection) = without else {
            let broken = whole.broken.filter(|_| story.is_bound);
            return (&story.name, Played { broken, ..whole });
        };
        let mut played = story.play(seed, Rules::default().without(protection));
        if whole.broken.is_some() {
            played.broken = None;
        } else if played.broken.is_none() && !played.in_vain.is_subset(&whole.in_vain) {
            played.broken = Some((LATE.into(), format!("{LATE}: one is found with {protection}")));
        }
        (&story.name, played)
    }
}

impl Story {
    fn play(&self, seed: u64, rules: Rules) -> Played {
        self.script.varied(seed).map(|script| play(&script, rules, self.recovers)).unwrap_or_default()
    }

    fn new(file: &Path, script: Script) -> Option<Story> {
        let unchanged = play(&script.healed()?, Rules::default(), true);
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_bound = !script.blocks().flat_map(Block::commands).any(|line| may_break(&line.text));
        Some(Story { name, script, recovers: unchanged.broken.is_none(), is_bound })
    }
}

/// Whether a command, done at another time or to somebody else, can take more from a cluster than it can bear.
fn may_break(command: &str) -> bool {
    OPERATORS.iter().any(|verb| command.starts_with(verb)) || APART.iter().any(|option| command.contains(option))
}

/// The scripts of a folder, in order.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let files = fs::read_dir(folder)
        .map_err(|error| Trouble::Usage(format!("cannot read the folder {}: {error}", folder.display())))?;
    let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    Ok(files)
}

/// Plays a script until a rule is broken. Commands that make no sense any more, because others were changed, are left out.
fn play(script: &Script, rules: Rules, recovers: bool) -> Played {
    let mut stage = Stage::keeping(rules);
    let mut played = Played::default();
    for (number, block) in script.blocks().enumerate() {
        let quiet = quietly(|| stage.play(block));
        let told = match quiet.result {
            Ok(Ok(told)) => told,
            Ok(Err(Stop::Mistake(_))) => continue,
            Ok(Err(Stop::Violation { violation, .. })) => {
                played.broken = Some((violation.checker.into(), violation.to_string()));
                stage.printed().to_vec()
            }
            Err(message) => {
                let place = quiet.place.unwrap_or_default();
                played.broken = Some(("assertion".into(), format!("assertion: {message}, {place}")));
                stage.printed().to_vec()
            }
        };
        for line in block.commands().map(|line| &line.text).chain([&"----".into()]).chain(&told) {
            played.told += &format!("{line}\n");
        }
        played.told += "\n";
        if played.broken.is_some() {
            return played;
        }
        if gives_up(&told) {
            played.in_vain.insert(number);
        }
    }
    let last = script.blocks().count().saturating_sub(1);
    if recovers && played.in_vain.contains(&last) {
        played.broken = Some((LATE.into(), format!("{LATE}: none after everything healed")));
    }
    played
}

/// Plays the stories of all seeds, and prints each that breaks a rule.
pub(super) fn run(request: &Request, folder: &Path, out: &mut impl Write) -> Result<Outcome, Trouble> {
    let stories = Stories::of(folder)?;
    let stopwatch = Stopwatch::start();
    let (next, failed) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    let progress = Mutex::new(Progress::of(request.runs, "stories"));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= request.runs || failed.lock().len() as u64 >= FAILURES_MAX {
                return;
            }
            let seed = request.seed + number;
            let (name, played) = stories.play(seed, request.without);
            if played.broken.is_some() || request.runs == 1 {
                failed.lock().insert(seed, (name.to_owned(), played));
            }
            progress.lock().advance(number + 1, failed.lock().len() as u64);
        }
    };
    thread::scope(|scope| (0..request.jobs).for_each(|_| drop(scope.spawn(work))));
    progress.into_inner().finish();
    let shown = failed.into_inner();
    for (seed, (name, played)) in &shown {
        tell(request, folder, (*seed, name), played, out)?;
    }
    let broken = shown.values().filter(|(_, played)| played.broken.is_some()).count();
    let (runs, all) = (count(request.runs), stories.0.len());
    let bound = stories.0.iter().filter(|story| story.is_bound).count();
    let took = span(stopwatch.elapsed());
    writeln!(out, "{runs} runs around {all} stories, {bound} of them judged, {broken} failed, in {took}")?;
    Ok(outcome(broken))
}

/// Prints a changed story, and what went wrong.
fn tell(
    request: &Request,
    folder: &Path,
    (seed, name): (u64, &str),
    played: &Played,
    out: &mut impl Write,
) -> Result<(), Trouble> {
    writeln!(out, "# The story {name}, changed by chance: seed {seed}.\n\n{}", played.told)?;
    if let Some((_, what)) = &played.broken {
        let without = request.without.map(|protection| format!(" --without {protection}")).unwrap_or_default();
        writeln!(out, "FAIL {what}")?;
        writeln!(out, "replay: zazen sim --around {} --seed {seed} --runs 1{without}\n", folder.display())?;
    }
    Ok(())
}
