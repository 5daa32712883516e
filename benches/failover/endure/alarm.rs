//! A starved machine and short stops: nothing of the kind is a reason to change the master.

use super::sweep::{Sight, Sweep};
use crate::clock::{now, pause};
use crate::cluster::Cluster;
use crate::peers::Zazen;
use crate::process::Process;
use crate::progress::Progress;
use clap::Args;
use rustix::process::Signal;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NODES: usize = 3;

/// How many busy loops compete with the nodes for each core.
const LOOPS_A_CORE: usize = 2;

/// How long a node is stopped, and how long all run until the next is.
const STOPPED: Duration = Duration::from_millis(300);
const RUNNING: Duration = Duration::from_secs(3);

/// How often each node is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Starves a cluster of three and stops its nodes in turn; fails if the master, the term or the state changes.
#[derive(Args)]
pub(crate) struct AlarmArgs {
    /// For how many minutes.
    #[arg(default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
}

impl AlarmArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let what =
            format!("{LOOPS_A_CORE} busy loops on each of {cores} cores, each node stopped for {STOPPED:?} in turn");
        let mut progress = Progress::start(what, "minutes");
        let mut cluster = Cluster::start(&Zazen::PLAIN, NODES)?;
        // What the formation of the cluster leaves to do is done before the watch begins.
        pause(RUNNING);
        let mut watch = Watch::begin(&cluster)?;
        let _loops: Vec<Process> = (0..LOOPS_A_CORE * cores).map(|_| busy_loop()).collect::<Result<_, _>>()?;
        let began = now();
        let minutes = self.minutes as usize;
        for stops in 0.. {
            let passed = (now() - began).as_secs() as usize / 60;
            if passed >= minutes {
                break;
            }
            progress.tell(passed, minutes, &format!("{stops} stops, {}", watch.findings()));
            watch.stop_one(&cluster, stops % NODES);
            cluster.demand_running()?;
        }
        progress.end();
        println!("{minutes} minutes: {}", watch.findings());
        if watch.is_calm() {
            return Ok(());
        }
        Err(format!("there was a false alarm; the files are kept in [{}]", cluster.site.keep().display()))
    }
}

fn busy_loop() -> Result<Process, String> {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    Process::start(&mut command).map_err(|error| format!("no busy loop can be started: {error}"))
}

/// What each node showed last, and how often that changed.
struct Watch {
    sweep: Sweep,
    last: Vec<Sight>,
    masters: usize,
    terms: usize,
    versions: usize,
    silences: usize,
}

impl Watch {
    fn begin(cluster: &Cluster<'_>) -> Result<Self, String> {
        let mut sweep = Sweep::new(&cluster.site.places);
        let last: Option<Vec<Sight>> = (0..NODES).map(|index| sweep.look(index)).collect();
        let last = last.ok_or("a node of a formed cluster tells no term and version")?;
        Ok(Watch { sweep, last, masters: 0, terms: 0, versions: 0, silences: 0 })
    }

    fn stop_one(&mut self, cluster: &Cluster<'_>, stopped: usize) {
        let others: Vec<usize> = (0..NODES).filter(|index| *index != stopped).collect();
        let all: Vec<usize> = (0..NODES).collect();
        let since = cluster.node(stopped).signal(Signal::STOP);
        self.look_until(&others, since + STOPPED);
        let since = cluster.node(stopped).signal(Signal::CONT);
        self.look_until(&all, since + RUNNING);
    }

    fn look_until(&mut self, nodes: &[usize], end: Instant) {
        while now() < end {
            for index in nodes {
                self.look(*index);
                // A stop is to last no longer than it should.
                if now() >= end {
                    return;
                }
            }
            pause(LOOK_EVERY);
        }
    }

    fn look(&mut self, index: usize) {
        let Some(sight) = self.sweep.look(index) else {
            self.silences += 1;
            return;
        };
        let last = &mut self.last[index];
        self.masters += usize::from(last.master != sight.master);
        self.terms += usize::from(last.term != sight.term);
        self.versions += usize::from(last.version != sight.version);
        *last = sight;
    }

    fn findings(&self) -> String {
        let Watch { masters, terms, versions, silences, .. } = self;
        format!(
            "{masters} changes of master, {terms} of term, {versions} of the state, {silences} looks without answer"
        )
    }

    fn is_calm(&self) -> bool {
        self.masters == 0 && self.terms == 0 && self.versions == 0
    }
}
