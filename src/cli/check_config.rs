//! `zazen check-config`: what a node would run by, and where each setting comes from.
//!
//! Loads the settings exactly as a node does at its start, prints them, and looks at the files of secrets as it does.

use super::config::{self, ConfigArgs};
use super::doctor::sides;
use super::{CommandError, CommandOutcome};
use crate::runtime::secure::{gate, readable};
use crate::runtime::{StartError, addresses};
use crate::settings::{Loaded, NodeSettings, Origin, Unheeded, weaknesses};
use clap::Args;
use std::io::{self, Write};

/// Wider values do not push the next column away from all others.
const VALUE_WIDTH_MAX: usize = 40;

/// Read a configuration as a node would, and print what it comes to.
///
/// Prints every setting that was given, with its value and where that comes from, and those that follow one that was
/// given. Settings in force that weaken what keeps strangers out are named behind them, and at the end what has no
/// meaning here.
///
/// Exit codes: 0 a node would start with it, 2 it would not.
#[derive(Debug, Args)]
pub(super) struct CheckConfigArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Print settings at their defaults as well.
    #[arg(long)]
    all: bool,
}

impl CheckConfigArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let loaded = config::load(&self.config)?;
        print(&loaded, self.all, out)?;
        match refusal(&loaded.settings) {
            Some(error) => Err(CommandError::Usage(error.to_string())),
            None => Ok(CommandOutcome::Fine),
        }
    }
}

/// What a node refuses to start for, though each setting is right: files that cannot be used, and ports that would be open.
fn refusal(settings: &NodeSettings) -> Option<StartError> {
    if let Err(error) = readable(settings) {
        return Some(StartError::Secret(error));
    }
    sides(settings).find_map(|(_, side, listen)| {
        // It may be for another machine, whose addresses are not here.
        let written = || listen.bind_hosts.iter().filter_map(|host| host.parse().ok()).collect();
        let hosts = addresses::bind_addresses(listen).unwrap_or_else(|_| written());
        gate(settings, side, &hosts).err().map(StartError::Insecure)
    })
}

fn print(loaded: &Loaded, is_all: bool, out: &mut impl Write) -> io::Result<()> {
    let shown = loaded.effective.iter().filter(|one| is_all || one.origin != Origin::Default);
    let rows: Vec<[String; 3]> =
        shown.map(|one| [one.key.clone(), one.value.to_string(), one.origin.to_string()]).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (keys, values) = (width(0), width(1).min(VALUE_WIDTH_MAX));
    for [key, value, origin] in &rows {
        writeln!(out, "{key:<keys$}  {value:<values$}  {origin}")?;
    }
    if rows.is_empty() {
        writeln!(out, "Nothing is set, so everything has its default.")?;
    }
    for warning in &loaded.warnings {
        writeln!(out, "\nwarning: {warning}")?;
    }
    for weakness in weaknesses(&loaded.settings) {
        writeln!(out, "\ninsecure: {weakness}")?;
    }
    if !loaded.without_meaning.is_empty() {
        writeln!(out, "\nKnown to Elasticsearch, without a meaning here:")?;
    }
    let keys = loaded.without_meaning.iter().map(|one| one.key.chars().count()).max().unwrap_or(0);
    for Unheeded { key, origin } in &loaded.without_meaning {
        writeln!(out, "  {key:<keys$}  {origin}")?;
    }
    Ok(())
}
