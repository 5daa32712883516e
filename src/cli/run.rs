//! `zazen run`: a command that runs on one machine at a time, of all that are told to run it.
//!
//! The command runs as long as this process holds a lease, and is stopped before the lease can pass on. What a lease is not
//! is told in `docs/leases.md`.

use super::ask::UrlArgs;
use super::guard::{Guarded, code};
use super::{CommandError, CommandOutcome, failed, refused};
use crate::client::{Client, ClientError, Grant};
use crate::runtime::host_name;
use crate::zen::parse_time;
use clap::Args;
use std::ffi::OsString;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// How long one request for the lease waits until it is free.
const WAIT: Duration = Duration::from_secs(20);
/// And the first one, after which it is said that it waits.
const WAIT_AT_FIRST: Duration = Duration::from_secs(1);
/// The pause before the lease is asked for again when nobody can grant it.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// What is added to the number of a signal for an exit code.
const BY_SIGNAL: u8 = 128;
/// The least time before the end of the lease at which the command is killed.
const MARGIN_MIN: Duration = Duration::from_millis(20);

/// Run a command on exactly one machine of those that run this.
///
/// Waits for the lease, runs the command as long as it holds it, and stops it before the lease can pass on: with SIGTERM
/// first, and SIGKILL before the time is over. Then it waits for the lease again. When the command ends by itself, the lease
/// is given back and this ends as the command did.
///
/// A second process stands guard over the command: it kills it in time when this one is stopped, frozen or killed.
///
/// The command finds its fencing token in ZAZEN_FENCING_TOKEN, which is greater than that of every run before, and the name
/// of the lease in ZAZEN_LEASE. What it writes to elsewhere should be guarded by the token: a machine that stands still for
/// longer than the lease lasts does not know that its time is over.
///
/// Exit codes: that of the command, 128 and the signal that ended it, or this process while it waited, or 1 if the cluster
/// refuses the lease.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    urls: UrlArgs,
    /// The name of the lease.
    #[arg(long, value_name = "NAME")]
    lease: String,
    /// How long after the last sign of life another machine may begin, from 1s to 1d.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = ttl)]
    ttl: Duration,
    /// How long the command is given between SIGTERM and SIGKILL; a third of the lease at the most.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = time)]
    grace: Duration,
    /// What this machine calls itself.
    #[arg(long, value_name = "NAME")]
    holder: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A time as it is written.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    parse_time(text).ok_or_else(|| "allowed: a whole number and one of ms, s, m, h".into())
}

fn ttl(text: &str) -> Result<Duration, String> {
    let allowed = Duration::from_secs(1)..=Duration::from_secs(86_400);
    Some(time(text)?).filter(|ttl| allowed.contains(ttl)).ok_or_else(|| "allowed: 1s to 1d".into())
}

/// What this process calls itself unless it is told.
pub(super) fn holder() -> String {
    format!("{}:{}", host_name(), std::process::id())
}

/// What happens first while the command runs.
enum Event {
    /// It ended.
    Ended(ExitStatus),
    /// The lease was lost.
    Lost(ClientError),
    /// This process was told to end.
    Told,
}

/// What ended one run of the command.
enum Run {
    /// It ended by itself.
    Ended(ExitStatus),
    /// The lease was lost, and it was stopped.
    Lost(String),
    /// This process was told to end, and stopped it.
    Told(ExitStatus),
}

impl RunArgs {
    pub(super) fn run(&self) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        runtime.block_on(self.again_and_again())
    }

    async fn again_and_again(&self) -> Result<CommandOutcome, CommandError> {
        let client = self.urls.client()?;
        let mut ends = Ends::listen().map_err(|error| failed("listen to signals", error))?;
        loop {
            let grant = tokio::select! {
                grant = self.acquire(&client) => grant?,
                signal = ends.next() => {
                    eprintln!("zazen run: told to end while it waited for lease [{}], the command does not run", self.lease);
                    return Ok(CommandOutcome::Ended(BY_SIGNAL.saturating_add(signal)));
                }
            };
            eprintln!("zazen run: holds lease [{}] under token {}", self.lease, grant.token());
            match self.once(grant, &mut ends).await? {
                Run::Ended(status) | Run::Told(status) => return Ok(CommandOutcome::Ended(code(status))),
                Run::Lost(why) => eprintln!("zazen run: lost lease [{}], the command was stopped: {why}", self.lease),
            }
        }
    }

    async fn acquire(&self, client: &Client) -> Result<Grant, CommandError> {
        let holder = self.holder.clone().unwrap_or_else(holder);
        let (mut is_told, mut wait) = (false, WAIT_AT_FIRST);
        loop {
            match client.acquire(&self.lease, &holder, self.ttl, wait).await {
                Ok(Some(grant)) => return Ok(grant),
                Ok(None) if wait == WAIT_AT_FIRST => {
                    eprintln!("zazen run: waits until lease [{}] is free", self.lease);
                    wait = WAIT;
                }
                Ok(None) => {}
                Err(error) if error.kind().is_some() && !error.is_overload() => return Err(refused(error)),
                Err(error) => {
                    if !is_told {
                        eprintln!("zazen run: waits for the cluster: {error}");
                    }
                    is_told = true;
                    tokio::time::sleep(ASK_AGAIN).await;
                }
            }
        }
    }

    async fn once(&self, mut grant: Grant, ends: &mut Ends) -> Result<Run, CommandError> {
        let grace = self.grace.min(grant.ttl() / 3);
        let margin = (grant.ttl() / 20).max(MARGIN_MIN);
        // The guard kills behind the time at which this process should have stopped the command, and before the end.
        let late = margin / 2;
        let variables = [("ZAZEN_FENCING_TOKEN", grant.token().to_string()), ("ZAZEN_LEASE", self.lease.clone())];
        let mut command = Guarded::start(&self.command, &variables, grant.left().saturating_sub(late))?;
        let mut voice = command.voice()?;
        let event = tokio::select! {
            status = command.wait() => Event::Ended(status?),
            why = grant.keep_and(grace + margin, |left| voice.allow(left.saturating_sub(late))) => Event::Lost(why),
            _ = ends.next() => Event::Told,
        };
        let run = match event {
            Event::Ended(_) if grant.left() <= late => Run::Lost("this process stood still for too long".into()),
            Event::Ended(status) => Run::Ended(status),
            Event::Lost(why) => {
                command.stop(grace.min(grant.left().saturating_sub(margin)), late).await?;
                Run::Lost(why.to_string())
            }
            Event::Told => Run::Told(command.stop(grace, late).await?),
        };
        if !matches!(run, Run::Lost(_)) {
            // It ends by itself if nobody hears of this.
            let _ = grant.release().await;
        }
        Ok(run)
    }
}

/// What ends this process.
struct Ends {
    interrupt: Signals,
    terminate: Signals,
    hang_up: Signals,
}

impl Ends {
    fn listen() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Ends { interrupt, terminate: signal(SignalKind::terminate())?, hang_up: signal(SignalKind::hangup())? })
    }

    /// The number of the signal.
    async fn next(&mut self) -> u8 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        };
        u8::try_from(kind.as_raw_value()).unwrap_or_default()
    }
}
