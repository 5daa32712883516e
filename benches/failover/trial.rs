//! The trials: what is done to a cluster, and what is measured meanwhile.

use super::clock::{milliseconds, now, pause};
use super::cluster::{Cluster, SETTLE_MAX};
use super::load::load;
use super::observe::{Observers, agreement};
use super::peer::{Peer, Writer};
use super::progress::Progress;
use super::rows::{
    FROZEN, KILLED, LATENCY_OF_MANY, LATENCY_OF_ONE, LAUNCHED, LISTENING, MEMORY, PROCESSOR, RATE_OF_MANY, RATE_OF_ONE,
    RESTARTED, Scenario, TERMINATED, THAWED, WRITTEN,
};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use zazen::protocol::Rng;

/// How many nodes a cluster has.
const NODES: usize = 3;

/// How many clients are many.
const CLIENTS: usize = 64;

/// How long the master is left in peace before a trial, drawn anew each time, so that no beat falls in step with it.
const PEACE_MS: std::ops::Range<u64> = 200..700;

/// How long a cluster is left alone before it counts as idle.
const REST: Duration = Duration::from_secs(10);

/// How long a writer waits after a refusal.
const WRITE_AGAIN: Duration = Duration::from_millis(1);

/// No two writes are the same.
static WRITES: AtomicU64 = AtomicU64::new(1);

/// What is asked for.
pub(crate) struct Plan {
    pub(crate) trials: usize,
    /// How long an idle cluster is watched.
    pub(crate) idle: Duration,
    pub(crate) seed: u64,
}

/// What came out, by the keys of the rows.
#[derive(Default)]
pub(crate) struct Samples {
    pub(crate) rows: BTreeMap<&'static str, Vec<f64>>,
    /// How often a second the slowest observer looked.
    pub(crate) slowest: Option<f64>,
}

impl Samples {
    fn add(&mut self, row: &'static str, value: f64) {
        self.rows.entry(row).or_default().push(value);
    }

    fn add_span(&mut self, row: &'static str, span: Duration) {
        self.add(row, milliseconds(span));
    }

    fn add_pace(&mut self, pace: f64) {
        self.slowest = Some(self.slowest.map_or(pace, |slowest| slowest.min(pace)));
    }

    /// Takes over what another scenario brought.
    pub(crate) fn extend(&mut self, other: Samples) {
        self.rows.extend(other.rows);
        if let Some(pace) = other.slowest {
            self.add_pace(pace);
        }
    }
}

/// Makes the trials of one scenario. Those that were made before one failed count.
pub(crate) fn run(scenario: Scenario, peer: &dyn Peer, plan: &Plan) -> (Samples, Result<(), String>) {
    let mut samples = Samples::default();
    let outcome = match scenario {
        Scenario::ColdStart => cold_starts(peer, plan, &mut samples),
        Scenario::Load => loads(peer, plan, &mut samples),
        Scenario::Kill | Scenario::Write | Scenario::Freeze | Scenario::Terminate | Scenario::Idle => {
            on_one_cluster(scenario, peer, plan, &mut samples)
        }
    };
    (samples, outcome)
}

fn progress(what: &str, peer: &dyn Peer) -> Progress {
    Progress::start(format!("{}: {what}", peer.title()), "trials")
}

/// Makes trials one after the other on a cluster that recovers from each.
fn on_one_cluster(scenario: Scenario, peer: &dyn Peer, plan: &Plan, samples: &mut Samples) -> Result<(), String> {
    let what = match scenario {
        Scenario::Kill => "the master is killed, and restarted",
        Scenario::Write => "the master is killed under writes",
        Scenario::Freeze => "the master is stopped, and goes on",
        Scenario::Terminate => "the master is asked to end",
        Scenario::ColdStart | Scenario::Load | Scenario::Idle => "nothing happens",
    };
    let mut progress = progress(what, peer);
    let mut victim = Victim { cluster: Cluster::start(peer, NODES)?, rng: Rng::new(plan.seed), samples };
    if scenario == Scenario::Write && victim.writers(NODES).is_none() {
        eprintln!("  no client can write to it, so this row is left out");
        return Ok(());
    }
    for trial in 1..=plan.trials {
        let outcome = match scenario {
            Scenario::Kill => victim.killed(),
            Scenario::Write => victim.killed_under_writes(),
            Scenario::Freeze => victim.frozen(),
            Scenario::Terminate => victim.terminated(),
            Scenario::ColdStart | Scenario::Load | Scenario::Idle => victim.idle(plan.idle),
        };
        outcome.map_err(|why| {
            format!("{}, trial {trial}: {why}; its files are kept in [{}]", what, victim.cluster.site.keep().display())
        })?;
        progress.tell(trial, plan.trials, "");
    }
    progress.end();
    Ok(())
}

/// A cluster that things are done to.
struct Victim<'a> {
    cluster: Cluster<'a>,
    rng: Rng,
    samples: &'a mut Samples,
}

impl Victim<'_> {
    fn peace(&mut self) -> Duration {
        Duration::from_millis(self.rng.between(PEACE_MS.start, PEACE_MS.end))
    }

    fn killed(&mut self) -> Result<(), String> {
        let master = self.cluster.settle()?;
        let span = self.fail_over(master, Signal::KILL, SETTLE_MAX)?;
        self.samples.add_span(KILLED, span);
        self.cluster.wait(master)?;
        pause(self.peace());
        let span = self.restart(master)?;
        self.samples.add_span(RESTARTED, span);
        Ok(())
    }

    fn frozen(&mut self) -> Result<(), String> {
        let master = self.cluster.settle()?;
        let span = self.fail_over(master, Signal::STOP, self.cluster.peer.patience_with_the_frozen())?;
        self.samples.add_span(FROZEN, span);
        pause(self.peace());
        let survivors: Vec<_> = self.cluster.running().into_iter().filter(|place| place.index != master).collect();
        let named = self.cluster.peer.leader(&survivors).ok_or("the survivors lost their new master at once")?;
        let thawed = self.cluster.node(master).signal(Signal::CONT);
        let after = self.cluster.settle()?;
        if after != named {
            return Err(format!("n{named} was master until n{master} went on, and n{after} afterwards"));
        }
        self.samples.add_span(THAWED, now() - thawed);
        Ok(())
    }

    fn terminated(&mut self) -> Result<(), String> {
        let master = self.cluster.settle()?;
        let span = self.fail_over(master, Signal::TERM, SETTLE_MAX)?;
        self.samples.add_span(TERMINATED, span);
        self.cluster.wait(master)?;
        self.cluster.launch(master).map(drop)
    }

    /// Signals the master, and tells how long it took until every other node named another one.
    fn fail_over(&mut self, master: usize, signal: Signal, patience: Duration) -> Result<Duration, String> {
        let peace = self.peace();
        let cluster = &self.cluster;
        let (span, pace) = thread::scope(|scope| {
            let observers = Observers::start(scope, cluster.watch_all_but(master));
            let (old, _) = observers.wait_for(SETTLE_MAX, agreement).ok_or("the survivors lost their master early")?;
            pause(peace);
            let zero = cluster.node(master).signal(signal);
            let another = observers.wait_for(patience, |seen| agreement(seen).filter(|(name, _)| *name != old));
            let (_, named) = another.ok_or_else(|| format!("no other master was named within {patience:?}"))?;
            Ok::<_, String>((named.saturating_duration_since(zero), observers.stop()))
        })?;
        self.samples.add_pace(pace);
        Ok(span)
    }

    /// Starts a node that was down, and tells how long it took until it named its master.
    fn restart(&mut self, index: usize) -> Result<Duration, String> {
        let watch = self.cluster.peer.watch(&self.cluster.site.places[index]);
        thread::scope(|scope| {
            let observers = Observers::start(scope, vec![watch]);
            let zero = self.cluster.launch(index)?;
            let (_, named) = observers.wait_for(SETTLE_MAX, agreement).ok_or("the restarted node found no master")?;
            Ok(named - zero)
        })
    }

    /// A client for every node but one, if they can be written to.
    fn writers(&self, but: usize) -> Option<Vec<Box<dyn Writer>>> {
        let others = self.cluster.running().into_iter().filter(|place| place.index != but);
        others.map(|place| self.cluster.peer.writer(place)).collect()
    }

    fn killed_under_writes(&mut self) -> Result<(), String> {
        let master = self.cluster.settle()?;
        let writers = self.writers(master).ok_or("a node that took writes takes none")?;
        pause(self.peace());
        let node = self.cluster.node(master);
        let (is_over, start) = (AtomicBool::new(false), Barrier::new(writers.len() + 1));
        let span = thread::scope(|scope| {
            let (written, first) = mpsc::channel();
            for writer in writers {
                let (written, is_over, start) = (written.clone(), &is_over, &start);
                scope.spawn(move || write_once(writer, start, is_over, &written));
            }
            let zero = node.signal(Signal::KILL);
            start.wait();
            let first = first.recv_timeout(SETTLE_MAX);
            is_over.store(true, Ordering::Relaxed);
            first.map(|moment| moment - zero).map_err(|_| format!("nothing was written within {SETTLE_MAX:?}"))
        })?;
        self.samples.add_span(WRITTEN, span);
        self.cluster.wait(master)?;
        self.cluster.launch(master).map(drop)
    }

    fn idle(&mut self, watched: Duration) -> Result<(), String> {
        pause(REST);
        let (began, before) = (now(), self.processor_times()?);
        pause(watched);
        let (spent, after) = (now() - began, self.processor_times()?);
        let busiest = before.iter().zip(&after).map(|(before, after)| after.saturating_sub(*before)).max();
        let a_minute = busiest.unwrap_or_default().as_secs_f64() * 60.0 / spent.as_secs_f64();
        let sizes = (0..NODES).map(|index| self.cluster.node(index).resident_kib());
        let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        self.samples.add(MEMORY, sizes.into_iter().max().unwrap_or_default() as f64 / 1024.0);
        self.samples.add(PROCESSOR, a_minute);
        self.cluster.demand_running()
    }

    fn processor_times(&self) -> Result<Vec<Duration>, String> {
        let times = (0..NODES).map(|index| self.cluster.node(index).processor_time());
        times.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }
}

/// Writes until one write succeeds anywhere; none was begun before the start.
fn write_once(mut writer: Box<dyn Writer>, start: &Barrier, is_over: &AtomicBool, written: &mpsc::Sender<Instant>) {
    start.wait();
    while !is_over.load(Ordering::Relaxed) {
        if writer.write(WRITES.fetch_add(1, Ordering::Relaxed)) {
            // Nobody listens once another was first.
            let _ = written.send(now());
            return;
        }
        pause(WRITE_AGAIN);
    }
}

/// Lets one client write to a cluster, then many.
fn loads(peer: &dyn Peer, plan: &Plan, samples: &mut Samples) -> Result<(), String> {
    let loads = [(1, RATE_OF_ONE, LATENCY_OF_ONE), (CLIENTS, RATE_OF_MANY, LATENCY_OF_MANY)];
    let mut progress = progress("clients write as fast as they are answered", peer);
    let mut cluster = Cluster::start(peer, NODES)?;
    for (done, (clients, rate, latency)) in loads.into_iter().enumerate() {
        let outcome = load(&mut cluster, clients, plan.trials);
        let seen = outcome.map_err(|why| {
            format!("{clients} clients: {why}; its files are kept in [{}]", cluster.site.keep().display())
        })?;
        let Some(seen) = seen else {
            eprintln!("  its clients are not known here, so these rows are left out");
            return Ok(());
        };
        samples.rows.insert(rate, seen.rates);
        samples.rows.insert(latency, seen.latencies);
        progress.tell(done + 1, loads.len(), "");
    }
    progress.end();
    cluster.demand_running()
}

/// Starts clusters without data, each on places of its own.
fn cold_starts(peer: &dyn Peer, plan: &Plan, samples: &mut Samples) -> Result<(), String> {
    let mut progress = progress("three nodes without data are started", peer);
    for trial in 1..=plan.trials {
        let mut cluster = Cluster::prepare(peer, NODES)?;
        let outcome = cold_start(&mut cluster, samples);
        outcome.map_err(|why| {
            format!("cold start {trial}: {why}; its files are kept in [{}]", cluster.site.keep().display())
        })?;
        progress.tell(trial, plan.trials, "");
    }
    progress.end();
    Ok(())
}

fn cold_start(cluster: &mut Cluster<'_>, samples: &mut Samples) -> Result<(), String> {
    let watches = cluster.site.places.iter().map(|place| cluster.peer.watch(place)).collect();
    let (launched, listening, named) = thread::scope(|scope| {
        let observers = Observers::start(scope, watches);
        let launched = cluster.launch(0)?;
        (1..NODES).try_for_each(|index| cluster.launch(index).map(drop))?;
        let formed = observers.wait_for(SETTLE_MAX, |seen| {
            let listening = seen.iter().filter_map(|seen| seen.reached).max()?;
            let (_, named) = agreement(seen)?;
            Some((listening, named))
        });
        let (listening, named) = formed.ok_or_else(|| format!("no master was named by all within {SETTLE_MAX:?}"))?;
        Ok::<_, String>((launched, listening, named))
    })?;
    samples.add_span(LAUNCHED, named - launched);
    if cluster.peer.listens_at_once() {
        samples.add_span(LISTENING, named.saturating_duration_since(listening));
    }
    cluster.demand_running()
}
