//! `zazen completions`: what lets a shell complete the arguments of this command.

use super::{Outcome, Trouble, Zazen};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;

/// Print what lets a shell complete the arguments of zazen.
///
/// For bash: source <(zazen completions bash), in ~/.bashrc for all times.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<Outcome, Trouble> {
        // Its writer must not fail, so it gets one that does not.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Zazen::command(), "zazen", &mut script);
        out.write_all(&script)?;
        Ok(Outcome::Fine)
    }
}
