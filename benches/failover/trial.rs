//! The trials: what is done to a cluster, and what is measured meanwhile.

use super::clock::{milliseconds, now, pause};
use super::cluster::{Cluster, SETTLE_MAX};
use super::load::{Seen, load};
use super::meter::{Meter, Shares};
use super::observe::{Observers, agreement};
use super::peer::{Peer, Writer};
use super::process::Process;
use super::progress::Progress;
use super::rows::{
    FROZEN, KILLED, LATENCY_OF_MANY, LATENCY_OF_ONE, LAUNCHED, LISTENING, MEMORY, OWN_MEMORY, PROCESSOR, RATE_OF_MANY,
    RATE_OF_ONE, RESTARTED, ROWS, Scenario, TERMINATED, THAWED, WRITTEN,
};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io;
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

/// How long writes are counted for one sample.
const WINDOW: Duration = Duration::from_secs(2);

/// A service is warm when so many windows differ by no more than this part of the largest; it is given up on after so many.
const WARM_WINDOW: Duration = Duration::from_secs(5);
const WARM_WINDOWS: usize = 3;
const WARM_WINDOWS_MAX: usize = 24;
const WARM_SPREAD: f64 = 0.05;

/// How many latencies of one trial are told at the most; of more, every so manyth.
const LATENCIES_MAX: usize = 20_000;

/// How long a writer waits after a refusal.
const WRITE_AGAIN: Duration = Duration::from_millis(1);

/// No two writes are the same.
static WRITES: AtomicU64 = AtomicU64::new(1);

/// Who is tried, and how often.
pub(crate) struct Contestant {
    pub(crate) peer: &'static dyn Peer,
    pub(crate) trials: usize,
    /// What came out.
    pub(crate) samples: Samples,
    /// Why nothing more came out.
    pub(crate) failure: Option<String>,
}

/// What is asked for.
pub(crate) struct Plan {
    /// How long an idle cluster is watched.
    pub(crate) idle: Duration,
    pub(crate) seed: u64,
}

/// What came out, by the keys of the rows.
#[derive(Default)]
pub(crate) struct Samples {
    pub(crate) rows: BTreeMap<&'static str, Vec<f64>>,
    /// Who took the processors in each trial of a row.
    pub(crate) shares: BTreeMap<&'static str, Vec<Shares>>,
    /// How often a second the slowest observer looked.
    pub(crate) slowest: Option<f64>,
    /// The windows before a service counted as warm.
    pub(crate) warming: Vec<f64>,
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

    fn add_shares(&mut self, row: &'static str, shares: Shares) {
        self.shares.entry(row).or_default().push(shares);
    }

    /// Takes over what another scenario brought.
    pub(crate) fn extend(&mut self, other: Samples) {
        self.rows.extend(other.rows);
        self.shares.extend(other.shares);
        self.warming.extend(other.warming);
        if let Some(pace) = other.slowest {
            self.add_pace(pace);
        }
    }
}

/// Makes the trials of one scenario, those of different services in turn. Those that were made before one failed count.
pub(crate) fn run(scenario: Scenario, contestants: &mut [Contestant], plan: &Plan) {
    if scenario == Scenario::Idle {
        // Nobody else shall run meanwhile.
        contestants.chunks_mut(1).for_each(|one| interleave(scenario, one, plan));
    } else {
        interleave(scenario, contestants, plan);
    }
}

fn interleave(scenario: Scenario, contestants: &mut [Contestant], plan: &Plan) {
    let trials: Vec<usize> = contestants.iter().map(|contestant| contestant.trials).collect();
    let mut progress = Progress::start(title(scenario).into(), "trials");
    let mut victims: Vec<Option<Victim<'_>>> =
        contestants.iter_mut().map(|each| each.prepare(scenario, plan)).collect();
    for (done, at) in turns(&trials).into_iter().enumerate() {
        let Some(victim) = &mut victims[at] else { continue };
        let outcome = victim.metered(scenario, plan);
        contestants[at].failure = outcome.err().map(|why| {
            let kept = victim.cluster.site.keep().display();
            format!("{}: {}: {why}; its files are kept in [{kept}]", contestants[at].peer.title(), title(scenario))
        });
        if let Some(why) = &contestants[at].failure {
            eprintln!("{why}");
            contestants[at].samples.extend(victims[at].take().map(|victim| victim.samples).unwrap_or_default());
        }
        progress.tell(done + 1, trials.iter().sum(), "");
    }
    progress.end();
    for (contestant, victim) in contestants.iter_mut().zip(victims) {
        contestant.samples.extend(victim.map(|victim| victim.samples).unwrap_or_default());
    }
}

fn title(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Kill => "the master is killed, and restarted",
        Scenario::Write => "the master is killed under writes",
        Scenario::Freeze => "the master is stopped, and goes on",
        Scenario::Terminate => "the master is asked to end",
        Scenario::ColdStart => "three nodes without data are started",
        Scenario::Load => "clients write as fast as they are answered",
        Scenario::Idle => "nothing happens",
    }
}

/// Whose turn it is: everybody's turns are spread evenly over the whole.
pub(crate) fn turns(trials: &[usize]) -> Vec<usize> {
    let rounds = trials.iter().copied().max().unwrap_or_default();
    let is_next = |round: usize, trials: usize| (round + 1) * trials / rounds > round * trials / rounds;
    let of_round = |round| (0..trials.len()).filter(move |at| is_next(round, trials[*at]));
    (0..rounds).flat_map(of_round).collect()
}

impl Contestant {
    /// A cluster for the trials; nothing if it cannot be had, or cannot be tried in this way.
    fn prepare(&mut self, scenario: Scenario, plan: &Plan) -> Option<Victim<'static>> {
        match Victim::prepare(scenario, self.peer, plan) {
            Ok(Some(victim)) => Some(victim),
            Ok(None) => {
                eprintln!("  {} has no clients for this that are known here, so it is left out", self.peer.title());
                None
            }
            Err(why) => {
                self.failure = Some(format!("{}: {}: {why}", self.peer.title(), title(scenario)));
                None
            }
        }
    }
}

/// A cluster that things are done to.
struct Victim<'a> {
    cluster: Cluster<'a>,
    rng: Rng,
    samples: Samples,
}

impl<'a> Victim<'a> {
    fn prepare(scenario: Scenario, peer: &'a dyn Peer, plan: &Plan) -> Result<Option<Self>, String> {
        let cluster = match scenario {
            Scenario::ColdStart => Cluster::prepare(peer, NODES),
            Scenario::Kill
            | Scenario::Write
            | Scenario::Freeze
            | Scenario::Terminate
            | Scenario::Load
            | Scenario::Idle => Cluster::start(peer, NODES),
        };
        let mut victim = Victim { cluster: cluster?, rng: Rng::new(plan.seed), samples: Samples::default() };
        let can_be_tried = match scenario {
            Scenario::Write => victim.writers(NODES).is_some(),
            Scenario::Load => victim.warm()?,
            Scenario::Kill | Scenario::Freeze | Scenario::Terminate | Scenario::ColdStart | Scenario::Idle => true,
        };
        Ok(can_be_tried.then_some(victim))
    }

    /// One trial, and who took the processors meanwhile.
    fn metered(&mut self, scenario: Scenario, plan: &Plan) -> Result<(), String> {
        let lengths: Vec<usize> = ROWS.iter().map(|row| self.samples.rows.get(row.key).map_or(0, Vec::len)).collect();
        let before = Meter::read(self.cluster.processes())?;
        match scenario {
            Scenario::Kill => self.killed(),
            Scenario::Write => self.killed_under_writes(),
            Scenario::Freeze => self.frozen(),
            Scenario::Terminate => self.terminated(),
            Scenario::ColdStart => self.cold_start(),
            // The windows have meters of their own.
            Scenario::Load => return self.loads(),
            Scenario::Idle => self.idle(plan.idle),
        }?;
        let shares = before.until(&Meter::read(self.cluster.processes())?);
        for (row, length) in ROWS.iter().zip(lengths) {
            if self.samples.rows.get(row.key).is_some_and(|samples| samples.len() > length) {
                self.samples.add_shares(row.key, shares);
            }
        }
        Ok(())
    }

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
        self.start_again(master)
    }

    /// Starts a node that was down, and waits for it: a service that takes seconds to start would else take the processors from
    /// the trial of the next one.
    fn start_again(&mut self, index: usize) -> Result<(), String> {
        self.cluster.launch(index)?;
        self.cluster.settle().map(drop)
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
        self.start_again(master)
    }

    fn idle(&mut self, watched: Duration) -> Result<(), String> {
        pause(REST);
        let (began, before) = (now(), self.processor_times()?);
        pause(watched);
        let (spent, after) = (now() - began, self.processor_times()?);
        let busiest = before.iter().zip(&after).map(|(before, after)| after.saturating_sub(*before)).max();
        let a_minute = busiest.unwrap_or_default().as_secs_f64() * 60.0 / spent.as_secs_f64();
        self.samples.add(MEMORY, self.largest(Process::resident_kib)?);
        self.samples.add(OWN_MEMORY, self.largest(Process::own_kib)?);
        self.samples.add(PROCESSOR, a_minute);
        self.cluster.demand_running()
    }

    /// The most memory that a node has, in MiB.
    fn largest(&self, kib: fn(&Process) -> io::Result<u64>) -> Result<f64, String> {
        let sizes = (0..NODES).map(|index| kib(self.cluster.node(index)));
        let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        Ok(sizes.into_iter().max().unwrap_or_default() as f64 / 1024.0)
    }

    /// Lets many clients write until the service is as fast as it gets. Tells whether it has such clients.
    fn warm(&mut self) -> Result<bool, String> {
        let is_enough = |rates: &[f64]| is_warm(rates) || rates.len() >= WARM_WINDOWS_MAX;
        let Some(seen) = load(&mut self.cluster, CLIENTS, WARM_WINDOW, is_enough)? else {
            return Ok(false);
        };
        if !is_warm(&seen.rates) {
            let (who, windows) = (self.cluster.peer.title(), seen.rates.len());
            eprintln!("  {who} was not warm after {windows} windows of {WARM_WINDOW:?}");
        }
        self.samples.warming = seen.rates;
        Ok(true)
    }

    /// One client writes, then many do.
    fn loads(&mut self) -> Result<(), String> {
        for (clients, rate, latency) in [(1, RATE_OF_ONE, LATENCY_OF_ONE), (CLIENTS, RATE_OF_MANY, LATENCY_OF_MANY)] {
            let seen = load(&mut self.cluster, clients, WINDOW, |rates| !rates.is_empty());
            let seen = seen.map_err(|why| format!("{clients} clients: {why}"))?;
            let Seen { rates, latencies, shares } = seen.ok_or("its clients cannot write any more")?;
            let every = latencies.len().div_ceil(LATENCIES_MAX).max(1);
            rates.into_iter().for_each(|a_second| self.samples.add(rate, a_second));
            latencies.into_iter().step_by(every).for_each(|span| self.samples.add(latency, span));
            [rate, latency].into_iter().for_each(|row| self.samples.add_shares(row, shares));
        }
        self.cluster.demand_running()
    }

    /// Starts a cluster without data, on places of its own.
    fn cold_start(&mut self) -> Result<(), String> {
        self.cluster = Cluster::prepare(self.cluster.peer, NODES)?;
        let cluster = &mut self.cluster;
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
            let (listening, named) =
                formed.ok_or_else(|| format!("no master was named by all within {SETTLE_MAX:?}"))?;
            Ok::<_, String>((launched, listening, named))
        })?;
        self.samples.add_span(LAUNCHED, named - launched);
        if self.cluster.peer.listens_at_once() {
            self.samples.add_span(LISTENING, named.saturating_duration_since(listening));
        }
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

/// Whether the last windows hardly differ.
fn is_warm(rates: &[f64]) -> bool {
    let Some(last) = rates.len().checked_sub(WARM_WINDOWS).map(|from| &rates[from..]) else {
        return false;
    };
    let (least, most) =
        last.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
    most - least <= WARM_SPREAD * most
}
