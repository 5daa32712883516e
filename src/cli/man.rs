//! `zazen man`: the manual, for `man`.

use super::{CommandError, CommandOutcome, Zazen, failed};
use clap::{Args, CommandFactory};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// Print the manual page, or write one for each subcommand.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Where to put the pages; without it, that of the whole command is printed.
    directory: Option<PathBuf>,
}

impl ManArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let Some(directory) = &self.directory else {
            clap_mangen::Man::new(Zazen::command()).render(out)?;
            return Ok(CommandOutcome::Fine);
        };
        let written =
            fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Zazen::command(), directory));
        written.map_err(|error| failed(&format!("write manual pages into [{}]", directory.display()), error))?;
        Ok(CommandOutcome::Fine)
    }
}
