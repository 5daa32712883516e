//! The `zazen` command: arguments in, text and an exit code out.
//!
//! A file or folder for each subcommand; here is only what they share. Arguments are first read, then checked, and
//! nothing is done before. Results go to the standard output, progress and errors to the standard error. Exit codes:
//! 0 fine, 1 a rule was broken or something needed could not be had, 2 the arguments or a file make no sense, 3 the
//! output could not be written.

mod allocator;
mod ask;
mod check_config;
mod completions;
mod config;
mod crew;
mod dev;
mod doctor;
mod events;
mod explain;
mod figures;
mod guard;
mod hang_up;
mod interrupt;
mod kv;
mod lab;
mod lease;
mod logging;
mod man;
mod master;
mod member;
mod paint;
mod progress;
mod quiet;
mod recover;
mod run;
mod settings;
mod setup;
mod sim;
mod start;
mod state;
mod status;
mod stopwatch;
mod supervisor;
mod table;
mod top;
mod user;
mod verdict;
mod version;

use crate::client::ClientError;
use clap::{Parser, Subcommand};
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// Lines of help are never longer.
const WIDTH: usize = 79;

/// Elasticsearch's Zen discovery as a stand-alone cluster service.
#[derive(Debug, Parser)]
#[command(name = "zazen", version, disable_version_flag = true, max_term_width = WIDTH, arg_required_else_help = true)]
struct Zazen {
    /// Print the version.
    #[arg(short = 'V', long)]
    version: bool,
    /// With --version: the commit, and the licences of all that is linked, as well.
    #[arg(long, requires = "version")]
    verbose: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Start(start::StartArgs),
    Dev(dev::DevArgs),
    Status(status::StatusArgs),
    Top(top::TopArgs),
    Explain(explain::ExplainArgs),
    Events(events::EventsArgs),
    CheckConfig(check_config::CheckConfigArgs),
    Doctor(doctor::DoctorArgs),
    Setup(setup::SetupArgs),
    User(user::UserArgs),
    Kv(kv::KvArgs),
    Lease(lease::LeaseArgs),
    Member(member::MemberArgs),
    Settings(settings::SettingsArgs),
    Run(run::RunArgs),
    #[command(hide = true)]
    RunGuard(guard::GuardArgs),
    #[command(hide = true)]
    RunBound(guard::BoundArgs),
    State(state::StateArgs),
    Recover(recover::RecoverArgs),
    Sim(sim::SimArgs),
    Lab(lab::LabArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// How a command ended that was carried out, as far as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandOutcome {
    /// Nothing was wrong.
    Fine,
    /// A rule was broken, or a story was told otherwise than expected.
    Broken,
    /// A command of the user's ended with this code.
    Ended(u8),
}

/// Why a command was not carried out.
#[derive(Debug)]
enum CommandError {
    /// The arguments, or a file that they name, make no sense.
    Usage(String),
    /// Something that was needed could not be had, or a node could not go on.
    Failed(String),
    /// The output could not be written.
    Output(io::Error),
}

/// What is said when the system refuses something.
fn failed(what: &str, error: impl fmt::Display) -> CommandError {
    CommandError::Failed(format!("cannot {what}: {error}"))
}

/// What a client could not do, as a command says it.
fn refused(error: ClientError) -> CommandError {
    CommandError::Failed(error.to_string())
}

/// What a command waits in for answers of nodes.
fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| failed("make a runtime", error))
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        CommandError::Output(error)
    }
}

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    completions::answer();
    quiet::install();
    let arguments = Zazen::parse();
    let mut out = io::stdout().lock();
    let result = match arguments.command {
        Some(command) => run(command, &mut out),
        None => version::print(arguments.verbose, &mut out),
    };
    let result = result.and_then(|outcome| out.flush().map(|()| outcome).map_err(CommandError::Output));
    exit_code(&result)
}

fn run(command: Command, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    match command {
        Command::Start(start) => start.run(),
        Command::Dev(dev) => dev.run(out),
        Command::Status(status) => status.run(out),
        Command::Top(top) => top.run(),
        Command::Explain(explain) => explain.run(out),
        Command::Events(events) => events.run(out),
        Command::CheckConfig(check_config) => check_config.run(out),
        Command::Doctor(doctor) => doctor.run(out),
        Command::Setup(setup) => setup.run(out),
        Command::User(user) => user.run(out),
        Command::Kv(kv) => kv.run(out),
        Command::Lease(lease) => lease.run(out),
        Command::Member(member) => member.run(out),
        Command::Settings(settings) => settings.run(out),
        Command::Run(run) => run.run(),
        Command::RunGuard(guard) => guard.run(),
        Command::RunBound(bound) => bound.run(),
        Command::State(state) => state.run(out),
        Command::Recover(recover) => recover.run(out),
        Command::Sim(sim) => sim.run(out),
        Command::Lab(lab) => lab.run(out),
        Command::Completions(completions) => completions.run(out),
        Command::Man(man) => man.run(out),
    }
}

fn exit_code(result: &Result<CommandOutcome, CommandError>) -> ExitCode {
    match result {
        Ok(CommandOutcome::Fine) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Broken) => ExitCode::from(1),
        Ok(CommandOutcome::Ended(code)) => ExitCode::from(*code),
        Err(CommandError::Failed(what)) => {
            eprintln!("error: {what}");
            ExitCode::from(1)
        }
        Err(CommandError::Usage(what)) => {
            eprintln!("error: {what}");
            ExitCode::from(2)
        }
        // Who reads no further, as `head` does, has what they wanted.
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(CommandError::Output(error)) => {
            eprintln!("error: cannot write the output: {error}");
            ExitCode::from(3)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Zazen::command().debug_assert();
    }
}
