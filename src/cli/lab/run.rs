//! `zazen lab run`: one scenario with one algorithm, and what happened.

use super::page::{self, Film};
use super::tables::{self, Row};
use super::{Format, NODES_MAX, algorithm, scenario};
use crate::arena::{self, Entry, Scenario};
use crate::cli::{CommandError, CommandOutcome, failed};
use crate::sim::Detail;
use clap::{Args, ValueEnum};
use std::io::Write;

/// Play one scenario with one algorithm.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The algorithm, as `zazen lab list` names it.
    #[arg(long, value_name = "NAME", value_parser = algorithm)]
    algorithm: &'static Entry,

    /// The scenario.
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    scenario: &'static Scenario,

    /// How many nodes there are [default: as many as the scenario is about].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=NODES_MAX))]
    nodes: Option<u16>,

    /// What everything left to chance is drawn from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Print what happened since the clock began to run.
    ///
    /// `short` has what nodes tell, what is done to them, and where they stand; `full` has every event.
    #[arg(long, value_enum)]
    trace: Option<TraceArg>,

    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TraceArg {
    /// Notes, faults, and changes of where a node stands.
    Short,
    /// Every event.
    Full,
}

impl RunArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let nodes = self.nodes.map_or(self.scenario.nodes, usize::from);
        let detail = match self.trace {
            Some(TraceArg::Full) => Detail::Full,
            Some(TraceArg::Short) => Detail::Short,
            None => Detail::Off,
        };
        let mut outcome = arena::run(self.algorithm, self.scenario, nodes, self.seed, Some(detail));
        match self.format {
            Format::Text | Format::Markdown => {
                for line in outcome.bout.take_trace() {
                    writeln!(out, "{line}")?;
                }
                let summary = arena::median(&[outcome.figures]);
                let rows: Vec<Row> =
                    summary.map(|summary| Row { algorithm: self.algorithm.name, summary }).into_iter().collect();
                let about = tables::heading(self.scenario, outcome.bout.size(), 1);
                write!(out, "{}", tables::text(&about, &rows))?;
            }
            Format::Json => {
                let film = Film::of(self.algorithm, self.scenario, &outcome);
                let text =
                    serde_json::to_string_pretty(&film).map_err(|error| failed("write the run as JSON", error))?;
                writeln!(out, "{text}")?;
            }
            Format::Html => {
                let film = Film::of(self.algorithm, self.scenario, &outcome);
                page::write(&[], &[film], out)?;
            }
        }
        if let Some(violation) = outcome.violation {
            writeln!(out, "FAIL {violation}")?;
            return Ok(CommandOutcome::Broken);
        }
        Ok(CommandOutcome::Fine)
    }
}
