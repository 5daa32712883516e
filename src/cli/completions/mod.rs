//! `zazen completions`: what lets a shell complete the arguments of this command.
//!
//! The shell asks this program itself, with a variable that says so, and gets what may stand next: `candidates` knows of
//! settings, nodes, keys and leases.

mod candidates;

pub(super) use candidates::{key_value, keys, leases, nodes, setting, setting_value};

use super::{CommandError, CommandOutcome, Zazen, failed};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};
use std::io::Write;

/// Says that a shell asks, and which one.
const VARIABLE: &str = "ZAZEN_COMPLETE";

/// Print what lets a shell complete the arguments of zazen.
///
/// For bash: source <(zazen completions bash), in ~/.bashrc for all times. Keys of settings are known, and the nodes, keys
/// and leases of the cluster that --url names, or of this machine.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let shells = Shells::builtins();
        let name = self.shell.to_string();
        let shell = shells.completer(&name).ok_or_else(|| CommandError::Usage(format!("no shell is called {name}")))?;
        let mut script = Vec::new();
        let written = shell.write_registration(VARIABLE, "zazen", "zazen", "zazen", &mut script);
        written.map_err(|error| failed("write the script", error))?;
        out.write_all(&script)?;
        Ok(CommandOutcome::Fine)
    }
}

/// Answers a shell that asks what may stand next, and ends then. To be called before anything else is done.
pub(super) fn answer() {
    CompleteEnv::with_factory(Zazen::command).var(VARIABLE).completer("zazen").complete();
}
