//! `zazen dev`: a whole cluster of real processes under one terminal.
//!
//! Each node is a process of its own that runs `zazen start` on a file of its own, so that all that can be done to a node
//! can be done to these. Their log lines share the terminal; what is typed there kills, pauses and starts nodes.

mod fleet;
mod orders;
mod plan;

use super::config::key_and_value;
use super::{CommandError, CommandOutcome, completions, failed};
use clap::Args;
use clap_complete::ArgValueCompleter;
use fleet::{Fleet, is_formed};
use orders::Order;
use plan::Plan;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long the nodes are given to form a cluster before the terminal is handed over anyway.
const FORMING_MAX: Duration = Duration::from_secs(10);

/// Run a whole cluster of real processes under this terminal.
///
/// Prints the addresses and pids of its nodes, who is master, and what to try; then the nodes' own lines follow. Ctrl-C
/// ends it, a second one at once.
#[derive(Debug, Args)]
pub(super) struct DevArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    nodes: u16,
    /// Where the nodes keep their data, kept for the next time; without it, a directory that is removed at the end.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The first HTTP port that is tried; every node takes the next one that is free.
    #[arg(long, default_value_t = 9200, value_name = "PORT")]
    http_port: u16,
    /// The first transport port that is tried.
    #[arg(long, default_value_t = 9300, value_name = "PORT")]
    transport_port: u16,
    /// Secure it: TLS and a secret between the nodes, TLS and a login for users.
    #[arg(long)]
    secure: bool,
    /// A setting for every node, as in `-E discovery.zen.fd.ping_timeout=1s`.
    #[arg(short = 'E', value_name = "KEY=VALUE", value_parser = key_and_value,
          add = ArgValueCompleter::new(completions::setting_value))]
    settings: Vec<(String, String)>,
}

impl DevArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        let plan = Plan::make(self)?;
        let outcome = runtime.block_on(run(&plan, out));
        // A read of the terminal may still be under way, and never ends by itself.
        runtime.shutdown_background();
        plan.clean_up();
        outcome
    }
}

async fn run(plan: &Plan, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    let mut ends = Ends::listen().map_err(|error| failed("listen to signals", error))?;
    let mut fleet = Fleet::start(plan)?;
    if is_called_off(&mut fleet, plan, &mut ends, out).await? {
        return fleet.end(ends.next()).await;
    }
    write!(out, "{}", fleet.picture().await)?;
    out.flush()?;
    let mut terminal = BufReader::new(tokio::io::stdin()).lines();
    let mut is_open = true;
    loop {
        tokio::select! {
            () = ends.next() => break,
            ended = fleet.next_ended() => writeln!(out, "{ended}")?,
            line = terminal.next_line(), if is_open => match line {
                Ok(Some(line)) if line.trim().is_empty() => {}
                Ok(Some(line)) => match Order::read(&line) {
                    Ok(Order::Quit) => break,
                    Ok(order) => writeln!(out, "{}", fleet.obey(order).await?)?,
                    Err(what) => writeln!(out, "{what}")?,
                },
                Ok(None) | Err(_) => is_open = false,
            },
        }
        out.flush()?;
        if !is_open && !fleet.is_running() {
            return Err(CommandError::Failed(
                "all nodes have ended, and there is no terminal to start one from".into(),
            ));
        }
    }
    fleet.end(ends.next()).await
}

/// Waits until the nodes form a cluster, for a while; tells whether they are to end instead.
async fn is_called_off(
    fleet: &mut Fleet<'_>,
    plan: &Plan,
    ends: &mut Ends,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    let mut formed = std::pin::pin!(is_formed(plan, FORMING_MAX));
    loop {
        tokio::select! {
            _ = &mut formed => return Ok(false),
            () = ends.next() => return Ok(true),
            ended = fleet.next_ended() => writeln!(out, "{ended}")?,
        }
        out.flush()?;
        if !fleet.is_running() {
            return Err(CommandError::Failed(
                "all nodes ended before they formed a cluster; their lines tell why".into(),
            ));
        }
    }
}

/// The signals that end the cluster.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Ends {
    fn listen() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Ends { interrupt, terminate: signal(SignalKind::terminate())?, hang_up: signal(SignalKind::hangup())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
