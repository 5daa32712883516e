//! `zazen start`: one node, until it is told to end.
//!
//! The first signal lets the node leave in good order, the second ends it at once.

use super::allocator;
use super::config::{self, ConfigArgs};
use super::hang_up::{self, HangUp, HangUps};
use super::supervisor::Supervisor;
use super::{CommandError, CommandOutcome, failed, logging};
use crate::embed::{Users, leave};
use crate::live;
use crate::runtime::hooks::Hooks;
use crate::runtime::inquiry;
use crate::runtime::log::NODE;
use crate::runtime::start_failure;
use crate::runtime::{self, Ended, Handle, Running, StartError, descriptors};
use crate::settings::{DiscoveryKind, Loaded, NodeSettings};
use clap::Args;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// How many threads serve users at the most; the node has one of its own.
const REST_THREADS: usize = 2;

/// So many steps they go behind it.
const STEPS_BEHIND: i32 = 5;

/// How long requests of users may go on once the node has left.
const DRAIN: Duration = Duration::from_millis(500);

/// Start a node.
///
/// SIGTERM or Ctrl-C lets it leave the cluster in good order; a second one ends it at once. On SIGHUP it reads its
/// configuration again: what is dynamic takes effect at once.
#[derive(Debug, Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Write the process id into this file, and remove it at the end.
    #[arg(short, long, value_name = "FILE")]
    pidfile: Option<PathBuf>,
    /// End when the standard input does.
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

impl StartArgs {
    pub(super) fn run(&self) -> Result<CommandOutcome, CommandError> {
        allocator::bound();
        let loaded = config::load_to_start(&self.config)?;
        let users = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(rest_threads())
            .thread_name("rest")
            .on_thread_start(|| runtime::go_behind(STEPS_BEHIND))
            .enable_all()
            .build()
            .map_err(|error| failed("make a runtime", error))?;
        let outcome = self.run_on(&users, loaded);
        // A name may still be looked up.
        users.shutdown_background();
        outcome
    }

    fn run_on(&self, users: &Runtime, loaded: Loaded) -> Result<CommandOutcome, CommandError> {
        let out = logging::output(&loaded.settings);
        let out = out.map_err(|error| users.block_on(not_started(&loaded.settings, &error)))?;
        let (log, _flusher) = logging::install(&loaded.settings, out)?;
        config::warn(&loaded);
        raise_descriptors();
        let _pidfile = self.pidfile.as_deref().map(Pidfile::write).transpose()?;
        match loaded.settings.discovery.kind {
            DiscoveryKind::Zen | DiscoveryKind::SingleNode => users.block_on(self.serve(loaded.settings, log)),
            DiscoveryKind::Lab(name) => users.block_on(self.elect(name, loaded.settings)),
        }
    }

    async fn serve(&self, settings: NodeSettings, log: runtime::log::Log) -> Result<CommandOutcome, CommandError> {
        let (mut ends, hang_ups) = self.signals()?;
        let (users, node) = match begin(settings.clone(), log).await {
            Ok(begun) => begun,
            Err(error) => return Err(not_started(&settings, &error).await),
        };
        let handle = node.handle().clone();
        let hooks = Hooks::start(&handle);
        let server = users.serve(&handle);
        tracing::info!(target: NODE, "started {}", handle.local());
        let patience = tokio::spawn(wait_for_a_master(handle.clone()));
        let supervisor = Supervisor::find();
        supervisor.iter().for_each(Supervisor::ready);
        let diagnoses = tokio::spawn(inquiry::tell_while_masterless(handle.clone()));
        let meetings = tokio::spawn(inquiry::meet_neighbours(handle.clone()));
        let hang_ups = tokio::spawn(hang_up::heed(hang_ups, self.config.clone(), handle.clone()));
        let is_asked = tokio::select! {
            () = ends.next() => true,
            () = handle.ended() => false,
            () = attend(supervisor.as_ref(), &handle) => false,
        };
        patience.abort();
        supervisor.iter().for_each(Supervisor::stopping);
        diagnoses.abort();
        meetings.abort();
        hang_ups.abort();
        let mut at_once = false;
        if is_asked {
            tracing::info!(target: NODE, "stopping ...");
            tokio::select! {
                () = leave(&handle, server.as_ref()) => {}
                () = ends.next() => at_once = true,
                () = handle.ended() => {}
            }
        }
        let ended = if is_asked { node.stop().await } else { node.join() };
        if let Some(hooks) = hooks {
            let asked_again = async {
                if !at_once {
                    ends.next().await;
                }
            };
            tokio::select! {
                biased;
                () = asked_again => tracing::warn!(target: NODE, "asked to end at once: hooks that are not done are given up"),
                () = hooks.finish() => {}
            }
        }
        if let Some(server) = server {
            server.stop(DRAIN).await;
        }
        if let Some(Ended::DiskFailed(error)) = &ended {
            inquiry::tell_of_end(&settings, start_failure::after_disk_failed(error, &settings)).await;
        }
        outcome(ended)
    }
}

impl StartArgs {
    /// From here on no signal ends the process by itself.
    fn signals(&self) -> Result<(Ends, HangUps), CommandError> {
        let ends = Ends::listen(self.until_stdin_ends).and_then(|ends| Ok((ends, HangUps::listen()?)));
        ends.map_err(|error| failed("listen to signals", error))
    }

    /// Elects by an algorithm of the lab, and does nothing else.
    async fn elect(&self, name: &'static str, settings: NodeSettings) -> Result<CommandOutcome, CommandError> {
        let (mut ends, _hang_ups) = self.signals()?;
        let users = Users::listen(&settings).await.map_err(refused)?;
        tracing::warn!(target: NODE, "[discovery.type: {name}] is experimental: it elects, keeps nothing and promises no safety");
        let process = live::start(name, settings).map_err(CommandError::Failed)?;
        let handle = process.handle().clone();
        let server = users.serve(&handle);
        tracing::info!(target: NODE, "started {}", handle.local());
        tokio::select! {
            () = ends.next() => process.stop(),
            () = handle.ended() => return Err(CommandError::Failed("the process crashed (a bug in Zazen); see the log above".into())),
        }
        if let Some(server) = server {
            server.stop(DRAIN).await;
        }
        Ok(CommandOutcome::Fine)
    }
}

/// The users' port is had before the node makes itself known to others.
async fn begin(settings: NodeSettings, log: runtime::log::Log) -> Result<(Users, Running), StartError> {
    let users = Users::listen(&settings).await?;
    let node = runtime::start(settings, users.place().cloned(), log)?;
    Ok((users, node))
}

/// Tells the seed hosts why there will be no node, and whoever wanted to start it.
async fn not_started(settings: &NodeSettings, error: &StartError) -> CommandError {
    let told = start_failure::verdict(error, settings);
    let words = start_failure::words(&told);
    inquiry::tell_of_failed_start(settings, told).await;
    // What stands in the file alone decides it, so it is no use to start it again.
    if matches!(error, StartError::Insecure(_)) { CommandError::Usage(words) } else { CommandError::Failed(words) }
}

/// One thread is enough where it shares two processors with the node's: a second one would be woken for nothing.
fn rest_threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).clamp(1, REST_THREADS)
}

fn refused(error: impl std::fmt::Display) -> CommandError {
    CommandError::Failed(error.to_string())
}

fn outcome(ended: Option<Ended>) -> Result<CommandOutcome, CommandError> {
    match ended {
        Some(Ended::Stopped) => {
            tracing::info!(target: NODE, "stopped");
            Ok(CommandOutcome::Fine)
        }
        Some(Ended::DiskFailed(error)) => {
            tracing::error!(target: NODE, "the node takes part no more, because its disk failed: {error}");
            Err(CommandError::Failed(format!("the node takes part no more, because its disk failed: {error}")))
        }
        None => Err(CommandError::Failed("the node crashed (a bug in Zazen); see the log above".into())),
    }
}

/// A node that runs out of descriptors can neither write nor call anybody, and the first limit is a low one on most systems.
fn raise_descriptors() {
    match descriptors::raise() {
        Ok((was, is)) if was < is => {
            tracing::debug!(target: NODE, "may have [{is}] files and sockets open, not [{was}]")
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(target: NODE, "cannot raise the limit of open files and sockets: {error}"),
    }
}

/// Elasticsearch keeps its users waiting for so long; here they are only told.
async fn wait_for_a_master(handle: Handle) {
    let patience = handle.settings().discovery.initial_state_timeout;
    let mut states = handle.states();
    let found = tokio::time::timeout(patience, states.wait_for(|state| state.nodes.master.is_some())).await;
    if !patience.is_zero() && found.is_err() {
        tracing::warn!(target: NODE, "timed out while waiting for initial discovery state - timeout: {patience:?}");
    }
}

/// Tells a supervisor how the node is until that has ended.
async fn attend(supervisor: Option<&Supervisor>, handle: &Handle) {
    if let Some(supervisor) = supervisor {
        supervisor.attend(handle).await;
    }
    handle.ended().await;
}

/// What ends a node.
struct Ends {
    hang_up: HangUps,
    interrupt: Signal,
    terminate: Signal,
    stdin: Option<oneshot::Receiver<()>>,
}

/// Once that signal is listened to, a file that may not grow further is an error of its disk, which is told.
pub(super) fn outlive_file_limit() -> std::io::Result<()> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

impl Ends {
    fn listen(heeds_stdin: bool) -> std::io::Result<Self> {
        let hang_up = HangUps::listen()?;
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        outlive_file_limit()?;
        let stdin = if heeds_stdin { Some(end_of_stdin()?) } else { None };
        Ok(Ends { hang_up, interrupt, terminate, stdin })
    }

    async fn next(&mut self) {
        let stdin = async {
            match &mut self.stdin {
                // Both the end and the death of the thread that waits for it are the end.
                Some(stdin) => drop(stdin.await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.hang_up.wait_for(HangUp::Closed) => {}
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = stdin => self.stdin = None,
        }
    }
}

/// Waits for the end on a thread, because a read of a terminal cannot be called off.
fn end_of_stdin() -> std::io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    let wait = move || {
        let mut rest = [0; 64];
        while matches!(std::io::stdin().read(&mut rest), Ok(1..)) {}
        // The process may be ending for another reason.
        let _ = ended.send(());
    };
    std::thread::Builder::new().name("stdin".into()).spawn(wait)?;
    Ok(end)
}

/// A file with the process id, removed with this.
struct Pidfile<'a>(&'a Path);

impl<'a> Pidfile<'a> {
    fn write(path: &'a Path) -> Result<Self, CommandError> {
        let written = fs::write(path, format!("{}\n", std::process::id()));
        written.map_err(|error| failed(&format!("write the pid file [{}]", path.display()), error))?;
        Ok(Pidfile(path))
    }
}

impl Drop for Pidfile<'_> {
    fn drop(&mut self) {
        // It may have been removed by hand.
        let _ = fs::remove_file(self.0);
    }
}
