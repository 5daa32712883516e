//! What security costs: a cluster that `zazen setup` made the files of beside one as it comes, in turns, by the same clients.
//!
//! The clients are the library's, over connections that they keep. Seals, certificates, login, roles and the audit log are on
//! in the one and off in the other.

use crate::clock::{milliseconds, now, pause};
use crate::cluster::{Cluster, SETTLE_MAX};
use crate::figures::{Summary, figure};
use crate::peers::Zazen;
use crate::progress::Progress;
use clap::Args;
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use zazen::client::{Access, Client};

const NODES: usize = 3;

/// Both clusters stay together so often before the next pair is started.
const KILLS_A_ROUND: u32 = 5;

/// How long a client goes on with one request.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is asked whether all nodes are there.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Fail-over may take so many times as long with security, and so much of the throughput must be left.
const FAILOVER_MAX: f64 = 1.5;
const THROUGHPUT_MIN: f64 = 0.7;

/// Measures fail-over and throughput with TLS, seals and login beside those without.
#[derive(Args)]
pub(crate) struct SecureArgs {
    /// How often the master of each cluster is killed.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
    /// How many clients write at a time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// How many seconds they write, for each cluster and round.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

/// What was measured of one of the two.
#[derive(Default)]
struct Column {
    /// Milliseconds from the kill of a master to the next acknowledged write.
    failovers: Vec<f64>,
    /// Acknowledged writes a second, of each round.
    rates: Vec<f64>,
}

impl SecureArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        let rounds = self.kills.div_ceil(KILLS_A_ROUND);
        let mut columns = [Column::default(), Column::default()];
        let mut progress = Progress::start("a cluster as it comes, and a secure one".into(), "rounds");
        for round in 0..rounds {
            let kills = KILLS_A_ROUND.min(self.kills - round * KILLS_A_ROUND);
            for (is_secure, column) in [false, true].into_iter().zip(&mut columns) {
                let mut pair = Pair::start(&runtime, is_secure)?;
                column.rates.push(self.write(&runtime, &pair)?);
                for _ in 0..kills {
                    column.failovers.push(pair.fail_over(&runtime)?);
                }
            }
            progress.tell(round as usize + 1, rounds as usize, "");
        }
        progress.end();
        tell(&columns)
    }

    /// Acknowledged writes a second.
    fn write(&self, runtime: &Runtime, pair: &Pair<'_>) -> Result<f64, String> {
        let end = now() + Duration::from_secs(self.seconds);
        let mut clients = JoinSet::new();
        for number in 0..self.clients {
            let client = pair.client()?;
            let work = async move {
                let mut written = 0_u64;
                while now() < end {
                    client.put(&format!("k{number}"), format!("{written:064}")).await?;
                    written += 1;
                }
                Ok::<u64, zazen::client::ClientError>(written)
            };
            clients.spawn_on(work, runtime.handle());
        }
        let written = runtime.block_on(clients.join_all());
        let written: Vec<u64> = written.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(written.iter().sum::<u64>() as f64 / self.seconds as f64)
    }
}

/// A cluster, and how its users come in.
struct Pair<'a> {
    cluster: Cluster<'a>,
    access: Access,
    client: Client,
}

impl Pair<'_> {
    fn start(runtime: &Runtime, is_secure: bool) -> Result<Self, String> {
        let peer = if is_secure { &Zazen::SECURE } else { &Zazen::PLAIN };
        let mut cluster = Cluster::prepare(peer, NODES)?;
        let access = if is_secure { set_up(&cluster)? } else { Access::default() };
        (0..NODES).try_for_each(|node| cluster.launch(node).map(drop))?;
        let client = client(&cluster, &access)?;
        let pair = Pair { cluster, access, client };
        pair.settle(runtime)?;
        Ok(pair)
    }

    fn client(&self) -> Result<Client, String> {
        client(&self.cluster, &self.access)
    }

    /// Waits until all nodes are members, and tells which one leads.
    fn settle(&self, runtime: &Runtime) -> Result<usize, String> {
        let deadline = now() + SETTLE_MAX;
        while now() < deadline {
            let members = runtime.block_on(self.client.members()).unwrap_or_default();
            let all_there = members.iter().filter(|member| member.present).count() == NODES;
            let master = members.iter().find(|member| member.master).and_then(|member| member.name.as_deref());
            let index = master.and_then(|name| self.cluster.site.places.iter().position(|place| place.name == name));
            if let Some(index) = index.filter(|_| all_there) {
                return Ok(index);
            }
            pause(ASK_AGAIN);
        }
        Err(format!("the nodes agreed on no master within {SETTLE_MAX:?}"))
    }

    /// Kills the master, writes as soon as that can be done, and has the node back.
    fn fail_over(&mut self, runtime: &Runtime) -> Result<f64, String> {
        let master = self.settle(runtime)?;
        let killed = self.cluster.node(master).signal(Signal::KILL);
        runtime.block_on(self.client.put("failover", "x")).map_err(|error| error.to_string())?;
        let took = milliseconds(now() - killed);
        self.cluster.wait(master)?;
        self.cluster.launch(master)?;
        self.settle(runtime)?;
        Ok(took)
    }
}

fn client(cluster: &Cluster<'_>, access: &Access) -> Result<Client, String> {
    let doors = cluster.site.places.iter().map(|place| place.door().to_string());
    let client = Client::with_access(doors, access).map_err(|error| error.to_string())?;
    Ok(client.with_patience(PATIENCE))
}

/// Gives every node the files that `zazen setup` makes, and tells how an administrator comes in.
fn set_up(cluster: &Cluster<'_>) -> Result<Access, String> {
    let first = &cluster.site.places[0].directory;
    let out = first.join("security");
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    let made = command.args(["setup", "--cluster-name", "bench", "--out"]).arg(&out).arg("127.0.0.1").output();
    let made = made.map_err(|error| format!("zazen setup cannot be run: {error}"))?;
    if !made.status.success() {
        return Err(format!("zazen setup failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    cluster.site.places.iter().try_for_each(|place| hand_out(&out.join("127.0.0.1"), &place.directory))?;
    let access = Access::new(Some(out.join("ca.crt"))).with_token_file(&out.join("admin.token"));
    access.map_err(|error| error.to_string())
}

/// Copies all files but the configuration.
fn hand_out(from: &Path, to: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("[{}] cannot be copied: {error}", from.display());
    for file in fs::read_dir(from).map_err(cannot)? {
        let file = file.map_err(cannot)?;
        if file.file_name() != "zazen.yml" {
            fs::copy(file.path(), to.join(file.file_name())).map_err(cannot)?;
        }
    }
    Ok(())
}

fn tell(columns: &[Column; 2]) -> Result<(), String> {
    let of = |samples: fn(&Column) -> &[f64]| {
        let [plain, secure] = columns.each_ref().map(|column| Summary::of(samples(column)));
        plain.zip(secure).ok_or_else(|| "nothing was measured".to_owned())
    };
    let (failovers, rates) = (of(|column| &column.failovers)?, of(|column| &column.rates)?);
    println!("| three nodes, one run | as it comes | secure | ratio |\n|---|---|---|---|");
    let row = |what: &str, plain: f64, secure: f64| {
        println!("| {what} | {} | {} | {} |", figure(plain), figure(secure), figure(secure / plain));
        secure / plain
    };
    let slower = row("master killed to the next write, median ms", failovers.0.median, failovers.1.median);
    row("the same, 99th of a hundred", failovers.0.p99, failovers.1.p99);
    let left = row("writes a second, median of the rounds", rates.0.median, rates.1.median);
    println!("\n{} kills and {} rounds each", failovers.0.trials, rates.0.trials);
    if slower > FAILOVER_MAX || left < THROUGHPUT_MIN {
        return Err(format!(
            "allowed: {FAILOVER_MAX} times the fail-over, and {THROUGHPUT_MIN} times the throughput at the least"
        ));
    }
    Ok(())
}
