//! What something costs: a cluster with it beside one as it comes, in turns, by the same clients.
//!
//! The clients are the library's, over connections that they keep. What is on in the one cluster is said in `secure` and
//! `watched`.

use crate::clock::{milliseconds, now, pause};
use crate::cluster::{Cluster, SETTLE_MAX};
use crate::figures::{Summary, figure};
use crate::peers::Zazen;
use crate::progress::Progress;
use crate::site::Site;
use clap::Args;
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use zazen::client::{Access, Client};

const NODES: usize = 3;

/// Both clusters stay together so often before the next pair is started.
const KILLS_A_ROUND: u32 = 5;

/// How long a client goes on with one request.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a cluster rests before its master is killed: what its last change set off is over by then.
const REST: Duration = Duration::from_millis(200);

/// How often it is asked whether all nodes are there.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// What is on in one of the two clusters.
pub(super) struct Extra {
    /// What the column is called.
    pub(super) title: &'static str,
    pub(super) peer: Zazen,
    /// Makes what its nodes need, and tells how clients come in.
    pub(super) set_up: fn(&Cluster<'_>) -> Result<Access, String>,
    /// What goes on as long as the cluster is there, until it is over.
    pub(super) attend: fn(&Site, &Arc<AtomicBool>) -> Vec<JoinHandle<()>>,
    /// Fail-over may take so many times as long with it.
    pub(super) failover_max: f64,
    /// So much of the throughput must be left.
    pub(super) throughput_min: f64,
}

/// How much is measured.
#[derive(Args)]
pub(crate) struct BesideArgs {
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

impl BesideArgs {
    pub(super) fn run(&self, extra: &Extra) -> Result<(), String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        let rounds = self.kills.div_ceil(KILLS_A_ROUND);
        let mut columns = [Column::default(), Column::default()];
        let mut progress = Progress::start(format!("a cluster as it comes, and {}", extra.title), "rounds");
        for round in 0..rounds {
            let kills = KILLS_A_ROUND.min(self.kills - round * KILLS_A_ROUND);
            for (extra, column) in [None, Some(extra)].into_iter().zip(&mut columns) {
                let mut pair = Pair::start(&runtime, extra)?;
                column.rates.push(self.write(&runtime, &pair)?);
                for _ in 0..kills {
                    column.failovers.push(pair.fail_over(&runtime)?);
                }
            }
            progress.tell(round as usize + 1, rounds as usize, "");
        }
        progress.end();
        tell(&columns, extra)
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
    is_over: Arc<AtomicBool>,
    attendants: Vec<JoinHandle<()>>,
}

impl Drop for Pair<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.attendants.drain(..).for_each(|attendant| drop(attendant.join()));
    }
}

impl<'a> Pair<'a> {
    fn start(runtime: &Runtime, extra: Option<&'a Extra>) -> Result<Self, String> {
        let mut cluster = Cluster::prepare(extra.map_or(&Zazen::PLAIN, |extra| &extra.peer), NODES)?;
        let access = extra.map_or_else(|| Ok(Access::default()), |extra| (extra.set_up)(&cluster))?;
        (0..NODES).try_for_each(|node| cluster.launch(node).map(drop))?;
        let client = client(&cluster, &access)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let attendants = extra.map_or_else(Vec::new, |extra| (extra.attend)(&cluster.site, &is_over));
        let pair = Pair { cluster, access, client, is_over, attendants };
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
        pause(REST);
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

fn tell(columns: &[Column; 2], extra: &Extra) -> Result<(), String> {
    let of = |samples: fn(&Column) -> &[f64]| {
        let [plain, with] = columns.each_ref().map(|column| Summary::of(samples(column)));
        plain.zip(with).ok_or_else(|| "nothing was measured".to_owned())
    };
    let (failovers, rates) = (of(|column| &column.failovers)?, of(|column| &column.rates)?);
    println!("| three nodes, one run | as it comes | {} | ratio |\n|---|---|---|---|", extra.title);
    let row = |what: &str, plain: f64, with: f64| {
        println!("| {what} | {} | {} | {} |", figure(plain), figure(with), figure(with / plain));
        with / plain
    };
    let slower = row("master killed to the next write, median ms", failovers.0.median, failovers.1.median);
    row("the same, 99th of a hundred", failovers.0.p99, failovers.1.p99);
    let left = row("writes a second, median of the rounds", rates.0.median, rates.1.median);
    println!("\n{} kills and {} rounds each", failovers.0.trials, rates.0.trials);
    let Extra { failover_max, throughput_min, .. } = extra;
    if slower > *failover_max || left < *throughput_min {
        return Err(format!(
            "allowed: {failover_max} times the fail-over, and {throughput_min} times the throughput at the least"
        ));
    }
    Ok(())
}
