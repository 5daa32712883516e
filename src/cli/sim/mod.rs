//! `zazen sim`: many random runs at once, one run with its trace, or a scenario from a file.
//!
//! Reads and checks the arguments and prints; what a run is stands in [`crate::sim`]. `batch` makes the runs, each
//! as `one_run` says, `failure` tells of those that broke a rule, `summary` adds up the rest, `scenario` plays a file,
//! `trace_mutation` changes those of a folder, `flaws` shows those of Zen, `scale` measures large ones, `mutants`, `graphs`
//! and `explore` search; what comes of it goes into a `page`.

mod batch;
mod explore;
mod failure;
mod flaws;
mod graphs;
mod mutants;
mod one_run;
mod page;
mod scale;
mod scenario;
mod summary;
mod trace_mutation;

use super::config::key_and_value;
use super::{CommandError, CommandOutcome, completions, interrupt};
use crate::settings;
use crate::sim::scale::Size;
use crate::sim::script::ScriptWorld;
use crate::sim::{Detail, RunOptions};
use crate::zen::Tuning;
use crate::zen::rules::{Protection, Rules};
use crate::zen68::Dialect;
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

/// How many runs are made, unless it is said.
const RUNS: u64 = 1_000;
/// How many updates the clients of a run ask for, unless it is said.
const UPDATES: u64 = 200;
/// After so many failures no further run is begun: they are told to be read.
const FAILURES_MAX: u64 = 5;
/// A world of more nodes is not drawn at random.
const NODES_MAX: i64 = 1_000;

/// Hurt random clusters, heal them, and check what must always hold.
///
/// Each run draws everything from its seed: how many nodes there are, what clients ask, and what goes wrong. The same
/// seed gives the same run. A run that breaks a rule is told with the last lines of its trace and with the one line that
/// replays it.
///
/// Ctrl-C ends the search, and what was found so far is printed; a second one ends it at once.
///
/// Exit codes: 0 no rule was broken, 1 one was, 2 the arguments make no sense, 130 it was interrupted and none was broken
/// so far.
#[derive(Debug, Args)]
pub(super) struct SimArgs {
    /// The seed of the first run; each further run has the next one.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Runs")]
    seed: u64,

    /// How many runs to make [default: 1000; with --scenarios 100 of each kind].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Runs")]
    runs: Option<u64>,

    /// How many threads make them [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024), help_heading = "Runs")]
    jobs: Option<u16>,

    /// End each run after so many events.
    #[arg(long, value_name = "EVENT", help_heading = "Runs")]
    until: Option<u64>,

    /// Play a script instead, in the language of docs/golden.md.
    ///
    /// Prints the script with what the nodes say. Where the script expects something else, that is said too.
    #[arg(long, value_name = "FILE", help_heading = "Runs",
          conflicts_with_all = ["seed", "runs", "jobs", "until", "nodes", "crowd", "updates", "settings", "trace",
                                "lines"])]
    scenario: Option<PathBuf>,

    /// Play the scripts of this folder with a few of their commands changed by chance.
    ///
    /// Each seed takes another story and changes it otherwise; in the end everything heals. A single run is printed.
    #[arg(long, value_name = "FOLDER", help_heading = "Runs",
          conflicts_with_all = ["scenario", "scenarios", "until", "nodes", "crowd", "updates", "settings", "trace",
                                "lines"])]
    around: Option<PathBuf>,

    /// Show Zen's documented failures instead, those of docs/flaws.md.
    ///
    /// Plays each under the rules of its time and under ours, and tells in how many random runs it is found as well.
    #[arg(long, help_heading = "Runs",
          conflicts_with_all = ["scenario", "until", "nodes", "crowd", "updates", "settings", "trace", "lines"])]
    scenarios: bool,

    /// Play a script with nodes of this Zen, whatever it says: `zazen` is ours, the others break rules.
    ///
    /// No terms, votes and acknowledgements in memory only, the number that was typed: `zen68` as in Elasticsearch 6.8,
    /// `fd56` as in 5.6, `zen14` as in 1.4, `zen13` as before that.
    #[arg(long, value_name = "DIALECT", value_parser = zen_version, help_heading = "Cluster", requires = "scenario")]
    rules: Option<ZenVersion>,

    /// Measure clusters of these sizes instead, as in 10,30,100 or 1000/3 where three can be master.
    ///
    /// Starts each at once and kills ten masters in a row; prints events, messages and bytes for each node.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = scale::parse, help_heading = "Runs",
          conflicts_with_all = ["scenario", "around", "seed", "runs", "jobs", "until", "nodes", "crowd", "updates",
                                "settings", "trace", "scenarios"])]
    scale: Vec<Size>,

    /// Switch each protection of the protocol off alone, and search for what it then breaks.
    ///
    /// Each search ends at its first catch, or after --runs seeds: each makes a random run and changes a golden trace.
    #[arg(long, help_heading = "Proof",
          conflicts_with_all = ["scenario", "around", "scale", "graphs", "until", "trace", "lines"])]
    mutants: bool,

    /// Where the golden traces are that --mutants plays.
    #[arg(long, value_name = "FOLDER", default_value = "tests/golden", requires = "mutants", help_heading = "Proof")]
    golden: PathBuf,

    /// Play every way in which so many nodes can reach each other, as in 3,4,5.
    #[arg(long, value_name = "NODES", value_delimiter = ',', value_parser = graphs::parse, help_heading = "Proof",
          conflicts_with_all = ["scenario", "around", "scale", "seed", "runs", "until", "nodes", "crowd", "updates",
                                "settings", "trace"])]
    graphs: Vec<usize>,

    /// Switch this protection of the protocol off: something should break.
    #[arg(long, value_name = "PROTECTION", value_parser = protection, help_heading = "Proof", conflicts_with = "scale")]
    without: Option<Protection>,

    /// Write what comes of it into this page as well, between its marks, as docs/proof.md has them.
    #[arg(long, value_name = "FILE", help_heading = "Proof", conflicts_with_all = ["scenario", "scenarios"])]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    explore: explore::ExploreArgs,

    /// How many nodes each cluster has [default: drawn from 3 to 7].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=NODES_MAX),
          help_heading = "Cluster")]
    nodes: Option<u16>,

    /// More nodes than these are a crowd [default: 32].
    ///
    /// A quarter as many look for everybody, and all others only for these.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Cluster")]
    crowd: Option<u16>,

    /// Make no node half well.
    ///
    /// No disk that hangs, no address that nobody reaches, no slow transfers, no settings that differ, and the like. Clusters,
    /// clients and all other faults are those of the same seed without it.
    #[arg(long, help_heading = "Cluster",
          conflicts_with_all = ["scenario", "around", "scale", "scenarios", "graphs"])]
    well: bool,

    /// How many updates its clients ask for at least.
    #[arg(long, value_name = "N", default_value_t = UPDATES, help_heading = "Cluster")]
    updates: u64,

    /// A setting of all nodes, as in -E discovery.zen.ping_timeout=3s.
    ///
    /// Can be given several times. All settings are listed in docs/settings.md.
    #[arg(short = 'E', value_name = "KEY=VALUE", value_parser = key_and_value, help_heading = "Cluster",
          add = ArgValueCompleter::new(completions::setting_value))]
    settings: Vec<(String, String)>,

    /// Print the trace: of a single run, and of each run that fails.
    ///
    /// `short` has what nodes tell, what is done to them, and where they stand; `full` has every event. Without it, a
    /// run that fails shows its short trace.
    #[arg(long, value_enum, help_heading = "Output")]
    trace: Option<TraceArg>,

    /// Print only the last lines of the trace [default: all of a single run, 30 of one that fails].
    #[arg(long, value_name = "N", help_heading = "Output")]
    lines: Option<usize>,
}

/// Which Zen the nodes of a script are: one of old, or ours.
#[derive(Clone, Copy, Debug)]
struct ZenVersion(Option<Dialect>);

/// How much of a trace is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TraceArg {
    /// Notes, faults, and changes of where a node stands.
    Short,
    /// Every event.
    Full,
}

/// What is asked for, checked.
#[derive(Clone, Debug)]
struct Request {
    /// The seed of the first run.
    seed: u64,
    runs: u64,
    jobs: usize,
    /// Of the first run; the others differ in the seed.
    options: RunOptions,
    /// As they were given, for the line that replays a run.
    settings: Vec<(String, String)>,
    /// The protection that is switched off in all runs.
    without: Option<Protection>,
    /// The page that a table goes to.
    page: Option<PathBuf>,
    trace: Option<TraceArg>,
    lines: Option<usize>,
}

impl SimArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        interrupt::heed(|| self.search(out))
    }

    fn search(self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        if let Some(file) = &self.scenario {
            let keeping = || ScriptWorld::keeping(self.protections());
            let stage = self.rules.map_or_else(keeping, |ZenVersion(dialect)| ScriptWorld::under(dialect));
            return scenario::play(file, stage, self.rules.is_none(), out);
        }
        if !self.scale.is_empty() {
            return scale::run(&self.scale, self.markdown.as_deref(), out);
        }
        if self.scenarios {
            let jobs = self.jobs();
            return flaws::run(self.seed, self.runs.unwrap_or(flaws::RUNS), jobs, out);
        }
        let (is_hunt, golden, graphs) = (self.mutants, self.golden.clone(), self.graphs.clone());
        let (exploring, around) = (self.explore, self.around.clone());
        let request = self.checked()?;
        if let Some(folder) = &around {
            return trace_mutation::run(&request, folder, out);
        }
        if exploring.explore {
            return exploring.run(&request, out);
        }
        if is_hunt {
            return mutants::run(&request, &golden, out);
        }
        if !graphs.is_empty() {
            return graphs::run(&request, &graphs, out);
        }
        let summary = batch::make(&request, out)?;
        write!(out, "{summary}")?;
        page::quote(request.page.as_deref(), request.command(), &summary.to_string())?;
        Ok(if summary.has_failed() { CommandOutcome::Broken } else { CommandOutcome::Fine })
    }

    /// How many threads make the runs.
    fn jobs(&self) -> usize {
        self.jobs.map_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from)
    }

    fn protections(&self) -> Rules {
        self.without.map_or_else(Rules::default, |protection| Rules::default().without(protection))
    }

    fn checked(self) -> Result<Request, CommandError> {
        let rules = self.protections();
        let mut tuning = settings::tuning(&self.settings).map_err(|error| CommandError::Usage(error.to_string()))?;
        tuning.crowd = self.crowd.map_or(tuning.crowd, usize::from);
        let (runs, jobs) = (self.runs.unwrap_or(RUNS), self.jobs());
        if self.seed.checked_add(runs).is_none() {
            let what = format!("--seed {} and --runs {runs} make seeds above {}", self.seed, u64::MAX);
            return Err(CommandError::Usage(what));
        }
        let options = RunOptions {
            seed: self.seed,
            nodes: self.nodes.map(usize::from),
            updates: self.updates,
            tuning,
            rules,
            half_well: !self.well,
            until: self.until,
            trace: None,
            is_hashed: false,
        };
        Ok(Request {
            seed: self.seed,
            runs,
            jobs: jobs.min(usize::try_from(runs).unwrap_or(usize::MAX)),
            options,
            settings: self.settings,
            without: self.without,
            page: self.markdown,
            trace: self.trace,
            lines: self.lines,
        })
    }
}

impl Request {
    /// The run with this seed, without a trace.
    fn run(&self, seed: u64) -> RunOptions {
        RunOptions { seed, ..self.options.clone() }
    }

    /// What the marks in a page call the random runs.
    fn command(&self) -> &'static str {
        if self.is_crowd() { "zazen sim --crowd" } else { "zazen sim" }
    }

    /// Whether another number than that of every node makes a crowd.
    fn is_crowd(&self) -> bool {
        self.options.tuning.crowd != Tuning::default().crowd
    }

    /// How much of a run is printed even if nothing goes wrong.
    fn shown(&self) -> Option<(Detail, usize)> {
        let trace = self.trace.filter(|_| self.runs == 1)?;
        Some((trace.detail(), self.lines.unwrap_or(usize::MAX)))
    }
}

/// A dialect by its name.
fn zen_version(name: &str) -> Result<ZenVersion, String> {
    let dialect = Dialect::named(name);
    if dialect.is_none() && name != "zazen" {
        return Err(format!("allowed: zazen, {}", Dialect::ALL.map(Dialect::name).join(", ")));
    }
    Ok(ZenVersion(dialect))
}

/// A protection by its name.
fn protection(name: &str) -> Result<Protection, String> {
    let known = || Protection::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ");
    Protection::ALL
        .iter()
        .find(|known| known.name() == name)
        .copied()
        .ok_or_else(|| format!("no protection is called `{name}`; allowed: {}", known()))
}

impl TraceArg {
    fn detail(self) -> Detail {
        match self {
            TraceArg::Short => Detail::Short,
            TraceArg::Full => Detail::Full,
        }
    }
}
