//! `zazen lab compare`: many algorithms in many scenarios, over several seeds, on several threads.

use super::page::{self, Film};
use super::tables::{self, Row, Sheet};
use super::{Format, algorithm, markdown, scenario};
use crate::arena::{self, Entry, FIELD, Figures, SCENARIOS, Scenario};
use crate::cli::progress::Progress;
use crate::cli::{CommandError, CommandOutcome, crew, failed, interrupt};
use crate::sim::Detail;
use clap::Args;
use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::thread;

/// A scenario with more nodes is not shown as a diagram.
const FILM_NODES_MAX: usize = 12;

/// Measure algorithms in scenarios: medians over seeds, a table for each scenario.
///
/// Ctrl-C ends the runs, and the tables of those that were made are printed.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// The scenarios, with commas between them, or `all`.
    #[arg(long, value_name = "NAMES", default_value = "all", value_parser = scenarios)]
    scenario: Scenarios,

    /// The algorithms, with commas between them, or `all`.
    #[arg(long, value_name = "NAMES", default_value = "all", value_parser = algorithms)]
    algorithm: Algorithms,

    /// How many seeds each is run with, from 1 on.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,

    /// How many threads make the runs [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,

    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Debug)]
struct Scenarios(Vec<&'static Scenario>);

#[derive(Clone, Debug)]
struct Algorithms(Vec<&'static Entry>);

fn scenarios(names: &str) -> Result<Scenarios, String> {
    let all = || SCENARIOS.iter().collect();
    let named = || names.split(',').map(scenario).collect::<Result<_, _>>();
    if names == "all" { Ok(Scenarios(all())) } else { named().map(Scenarios) }
}

fn algorithms(names: &str) -> Result<Algorithms, String> {
    let all = || FIELD.iter().collect();
    let named = || names.split(',').map(algorithm).collect::<Result<_, _>>();
    if names == "all" { Ok(Algorithms(all())) } else { named().map(Algorithms) }
}

/// One run to be made.
#[derive(Clone, Copy)]
struct Job {
    sheet: usize,
    row: usize,
    scenario: &'static Scenario,
    entry: &'static Entry,
    seed: u64,
}

/// What came of it.
struct Done {
    job: Job,
    figures: Figures,
    violation: Option<String>,
}

impl CompareArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let jobs = self.jobs();
        let threads =
            self.jobs.map_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from);
        let done = make(&jobs, threads);
        let sheets = self.sheets(&done);
        match self.format {
            Format::Text => {
                for sheet in &sheets {
                    writeln!(out, "{}", tables::text(&sheet.heading, &sheet.rows))?;
                }
            }
            Format::Json => {
                let text =
                    serde_json::to_string_pretty(&sheets).map_err(|error| failed("write the tables as JSON", error))?;
                writeln!(out, "{text}")?;
            }
            Format::Html => page::write(&sheets, &self.films(), out)?,
            Format::Markdown => markdown::write(&sheets, &self.films(), out)?,
        }
        if interrupt::came() {
            eprintln!("after {} of {} runs; medians are over those", done.len(), jobs.len());
        }
        let broken: Vec<&Done> = done.iter().filter(|done| done.violation.is_some()).collect();
        for Done { job, violation, .. } in &broken {
            let what = violation.as_deref().unwrap_or_default();
            eprintln!("FAIL {} in {} with seed {}: {what}", job.entry.name, job.scenario.name, job.seed);
        }
        Ok(if broken.is_empty() { CommandOutcome::Fine } else { CommandOutcome::Broken })
    }

    /// All runs, those that take longest first.
    fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (sheet, &scenario) in self.scenario.0.iter().enumerate() {
            for (row, &entry) in self.algorithm.0.iter().enumerate() {
                jobs.extend((1..=self.seeds).map(|seed| Job { sheet, row, scenario, entry, seed }));
            }
        }
        jobs.sort_by_key(|job| (usize::MAX - job.scenario.nodes, job.sheet, job.row, job.seed));
        jobs
    }

    fn sheets(&self, done: &[Done]) -> Vec<Sheet> {
        let mut runs: BTreeMap<(usize, usize), Vec<Figures>> = BTreeMap::new();
        for Done { job, figures, .. } in done {
            runs.entry((job.sheet, job.row)).or_default().push(*figures);
        }
        let row = |sheet: usize, (row, entry): (usize, &&'static Entry)| {
            let summary = runs.get(&(sheet, row)).and_then(|runs| arena::median(runs))?;
            Some(Row { algorithm: entry.name, summary })
        };
        let sheet = |(number, scenario): (usize, &&'static Scenario)| Sheet {
            scenario: scenario.name,
            heading: tables::heading(scenario, scenario.nodes, self.seeds),
            rows: self.algorithm.0.iter().enumerate().filter_map(|entry| row(number, entry)).collect(),
        };
        self.scenario.0.iter().enumerate().map(sheet).collect()
    }

    /// One run of each pair, to be stepped through.
    fn films(&self) -> Vec<Film> {
        let small = self.scenario.0.iter().filter(|scenario| scenario.nodes <= FILM_NODES_MAX);
        let pairs = small.flat_map(|scenario| self.algorithm.0.iter().map(move |entry| (*scenario, *entry)));
        // Whoever waits no longer does not wait for these either.
        pairs
            .filter(|_| !interrupt::came())
            .map(|(scenario, entry)| {
                let outcome = arena::run(entry, scenario, scenario.nodes, 1, Some(Detail::Off));
                Film::of(entry, scenario, &outcome)
            })
            .collect()
    }
}

/// Makes all runs and shows how far they are.
fn make(jobs: &[Job], threads: usize) -> Vec<Done> {
    let mut progress = Progress::of(jobs.len() as u64, "runs");
    let mut done: Vec<Done> = Vec::new();
    crew::share(jobs, threads, play, |hear| {
        for one in hear {
            done.push(one);
            let failed = done.iter().filter(|done| done.violation.is_some()).count();
            progress.advance(done.len() as u64, failed as u64);
        }
    });
    progress.finish();
    done.sort_by_key(|done| (done.job.sheet, done.job.row, done.job.seed));
    done
}

fn play(job: &Job) -> Done {
    let outcome = arena::run(job.entry, job.scenario, job.scenario.nodes, job.seed, None);
    let violation = outcome.violation.map(|violation| violation.to_string());
    Done { job: *job, figures: outcome.figures, violation }
}
