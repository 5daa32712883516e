//! `zazen lab`: the election algorithms in one arena.
//!
//! `list` names them, `run` plays one scenario with one of them and shows what happened, `compare` measures many over
//! several seeds. What a run is stands in [`crate::arena`]; here are arguments, tables and pages.

mod compare;
mod markdown;
mod page;
mod run;
mod tables;

use super::{CommandError, CommandOutcome, interrupt};
use crate::arena::{self, Entry, FIELD, SCENARIOS, Scenario};
use clap::{Args, Subcommand, ValueEnum};
use std::io::Write;

/// A scenario with more nodes is not played.
const NODES_MAX: i64 = 200;

/// Run the field's other election algorithms, and Zazen beside them.
///
/// Each plays in the simulator, under the same faults, and is judged from outside. Their known faults are kept: they
/// show what Zazen's terms, quorums and delays are for.
#[derive(Debug, Args)]
pub(super) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Name the algorithms and the scenarios.
    List,
    Run(run::RunArgs),
    Compare(compare::CompareArgs),
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people at a terminal.
    Text,
    /// For programs.
    Json,
    /// One page for a browser, with plots and runs to step through; it loads nothing.
    Html,
    /// The page docs/elections.md.
    Markdown,
}

impl LabArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        match self.command {
            LabCommand::List => list(out),
            LabCommand::Run(run) => run.run(out),
            LabCommand::Compare(compare) => interrupt::heed(|| compare.run(out)),
        }
    }
}

fn list(out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    writeln!(out, "Algorithms:")?;
    for entry in FIELD {
        writeln!(out, "  {:<25} {}", entry.name, entry.about)?;
    }
    writeln!(out, "\nScenarios:")?;
    for scenario in SCENARIOS {
        writeln!(out, "  {:<25} {}", scenario.name, scenario.about)?;
    }
    Ok(CommandOutcome::Fine)
}

/// An algorithm by its name.
fn algorithm(name: &str) -> Result<&'static Entry, String> {
    let names = || FIELD.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    arena::entry(name).ok_or_else(|| format!("`{name}` is no algorithm; allowed: {}", names()))
}

/// A scenario by its name.
fn scenario(name: &str) -> Result<&'static Scenario, String> {
    let names = || SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
    arena::scenario(name).ok_or_else(|| format!("`{name}` is no scenario; allowed: {}", names()))
}
