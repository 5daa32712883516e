//! Zazen over real processes: how fast it fails over, beside its peers, and what it endures.
//!
//! `scripts/bench`, `scripts/false-alarm`, `scripts/swarm`, `scripts/kill-storm`, `scripts/clients` and `scripts/soak --processes` run this.

mod clients;
mod clock;
mod cluster;
mod doors;
mod endure;
mod figures;
mod guard;
mod http;
mod load;
mod meter;
mod observe;
mod peer;
mod peers;
mod process;
mod progress;
mod register;
mod report;
mod rows;
mod site;
mod table;
mod talk;
mod trial;
mod wires;

use clap::{Args, Parser, Subcommand};
use clients::ClientsArgs;
use endure::{AlarmArgs, LargeArgs, SecureArgs, SoakArgs, StormArgs, SwarmArgs, WatchedArgs};
use peer::Peer;
use report::{Column, Report};
use rows::Scenario;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use trial::{Contestant, Plan, Samples};

/// Measures Zazen over real processes on this machine.
#[derive(Parser)]
#[command(name = "failover")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Measures Zazen beside its peers, and prints the figures as ratios.
    #[command(override_usage = "scripts/bench [OPTIONS]")]
    Bench(BenchArgs),
    #[command(override_usage = "scripts/false-alarm [MINUTES]")]
    FalseAlarm(AlarmArgs),
    #[command(override_usage = "scripts/swarm [OPTIONS] [NODES]")]
    Swarm(SwarmArgs),
    #[command(override_usage = "scripts/clients [OPTIONS] [TRIALS]")]
    Clients(ClientsArgs),
    #[command(override_usage = "scripts/kill-storm [OPTIONS] [KILLS]")]
    KillStorm(StormArgs),
    #[command(override_usage = "scripts/soak --processes [OPTIONS] [MINUTES]")]
    Soak(SoakArgs),
    #[command(override_usage = "cargo bench --bench failover -- large-state [OPTIONS]")]
    LargeState(LargeArgs),
    #[command(override_usage = "cargo bench --bench failover -- tls [OPTIONS]")]
    Tls(SecureArgs),
    #[command(override_usage = "cargo bench --bench failover -- watched [OPTIONS]")]
    Watched(WatchedArgs),
}

#[derive(Args)]
struct BenchArgs {
    /// Who is measured.
    #[arg(long, value_delimiter = ',', default_value = "zazen,etcd,zookeeper,elasticsearch")]
    peers: Vec<String>,
    /// How often Zazen is tried; 100 times unless given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: Option<u32>,
    /// How often each peer is tried; up to 20 times unless given, less where a trial takes long.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    peer_trials: Option<u32>,
    /// What is tried; all unless given.
    #[arg(long, value_delimiter = ',', value_enum)]
    rows: Vec<Scenario>,
    /// How many seconds an idle cluster is watched.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    idle_seconds: u64,
    /// Determines the pauses between trials.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Installs the peers that are missing: packages of Debian, and what Maven fetches.
    #[arg(long)]
    install: bool,
    /// Writes everything, each sample included, into this file; its path is taken from the root of the repository.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Puts the tables into this page, as in --markdown docs/benchmarks.md.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Some(command) => guard::end_all_on_signals().map_err(|error| error.to_string()).and_then(|()| match command {
            Command::Bench(args) => bench(&args),
            Command::FalseAlarm(args) => args.run(),
            Command::Swarm(args) => args.run(),
            Command::Clients(args) => args.run(),
            Command::KillStorm(args) => args.run(),
            Command::Soak(args) => args.run(),
            Command::LargeState(args) => args.run(),
            Command::Tls(args) => args.run(),
            Command::Watched(args) => args.run(),
        }),
        // This is no part of a plain `cargo bench`: it takes long, and other programs.
        None => {
            eprintln!("real processes are measured by scripts/bench");
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn bench(args: &BenchArgs) -> Result<(), String> {
    use clap::ValueEnum;
    let mut failures = Vec::new();
    let mut columns: Vec<Column> = peer::present(&args.peers, args.install)?
        .into_iter()
        .map(|peer| Column { peer, samples: Samples::default() })
        .collect();
    let scenarios = if args.rows.is_empty() { Scenario::value_variants() } else { &args.rows };
    let plan = Plan { idle: Duration::from_secs(args.idle_seconds), seed: args.seed };
    for scenario in scenarios {
        let contestant = |column: &Column| Contestant {
            peer: column.peer,
            trials: trials(args, *scenario, column.peer),
            samples: Samples::default(),
            failure: None,
        };
        let mut contestants: Vec<Contestant> = columns.iter().map(contestant).collect();
        trial::run(*scenario, &mut contestants, &plan);
        for (column, contestant) in columns.iter_mut().zip(contestants) {
            column.samples.extend(contestant.samples);
            failures.extend(contestant.failure);
        }
    }
    let report = Report { columns };
    let tables = report.tables();
    println!("{tables}");
    if let Some(file) = &args.json {
        let written = std::fs::write(file, format!("{:#}\n", report.json()));
        written.map_err(|error| format!("[{}] cannot be written: {error}", file.display()))?;
    }
    if let Some(page) = &args.markdown {
        table::refresh(page, report::MARK, &tables)?;
    }
    if report.misses() {
        eprintln!("a bar was missed");
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// How often a service is tried in one way.
fn trials(args: &BenchArgs, scenario: Scenario, peer: &dyn Peer) -> usize {
    let asked = if peer.key() == "zazen" { args.trials } else { args.peer_trials };
    match (scenario, asked) {
        (Scenario::Idle, _) | (_, None) => rows::trials(scenario, peer),
        (_, Some(trials)) => trials as usize,
    }
}
