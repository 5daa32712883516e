//! Many processes on one machine: they form one cluster, and recover from the loss of their master.

use super::sweep::Sweep;
use crate::clock::{now, pause};
use crate::cluster::Cluster;
use crate::figures::figure;
use crate::peers::Zazen;
use crate::progress::Progress;
use clap::Args;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// How long each step may take.
const STEP_MAX: Duration = Duration::from_secs(180);

/// The pause between two sweeps over all nodes.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long the swarm is left alone before its memory is measured.
const REST: Duration = Duration::from_secs(5);

/// Starts many processes on loopback, which form one cluster, lose their master and recover.
#[derive(Args)]
pub(crate) struct SwarmArgs {
    /// How many processes.
    #[arg(default_value_t = 100, value_parser = clap::value_parser!(u32).range(3..=1000))]
    nodes: u32,
    /// How often the master is lost.
    #[arg(long, default_value_t = 3)]
    losses: u32,
}

impl SwarmArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        let size = self.nodes as usize;
        let cluster = Cluster::prepare(&Zazen::PLAIN, size)?;
        let sweep = Sweep::new(&cluster.site.places);
        let mut swarm = Swarm { cluster, sweep };
        let outcome = swarm.live(size, self.losses);
        outcome.map_err(|why| format!("{why}; the files are kept in [{}]", swarm.cluster.site.keep().display()))
    }
}

struct Swarm {
    cluster: Cluster<'static>,
    sweep: Sweep,
}

impl Swarm {
    fn live(&mut self, size: usize, losses: u32) -> Result<(), String> {
        let zero = now();
        let mut progress = Progress::start(format!("{size} processes are started"), "processes");
        for index in 0..size {
            self.cluster.launch(index)?;
            progress.tell(index + 1, size, "");
        }
        progress.end();
        let all: Vec<usize> = (0..size).collect();
        let mut master = self.formed(&all, None)?;
        tell("formed, since the first launch", zero);
        for loss in 1..=losses {
            let zero = self.cluster.node(master).signal(Signal::KILL);
            let survivors: Vec<usize> = all.iter().copied().filter(|index| *index != master).collect();
            let old = master;
            self.cluster.wait(old)?;
            master = self.formed(&survivors, Some(old))?;
            tell(&format!("loss {loss}: a new master, followed by all {}", size - 1), zero);
            let zero = self.cluster.launch(old)?;
            let after = self.formed(&all, None)?;
            tell(&format!("loss {loss}: the old one is back"), zero);
            if after != master {
                return Err(format!("n{master} was master until n{old} came back, and n{after} afterwards"));
            }
        }
        pause(REST);
        self.tell_memory(size)
    }

    /// Waits until all these name one master other than `not`, and it counts exactly these as members.
    fn formed(&mut self, nodes: &[usize], not: Option<usize>) -> Result<usize, String> {
        let deadline = now() + STEP_MAX;
        loop {
            if let Some(master) = self.master(nodes).filter(|master| Some(*master) != not) {
                return Ok(master);
            }
            self.cluster.demand_running()?;
            if now() > deadline {
                return Err(format!("{} nodes agreed on no master within {STEP_MAX:?}", nodes.len()));
            }
            pause(LOOK_EVERY);
        }
    }

    fn master(&mut self, nodes: &[usize]) -> Option<usize> {
        let id = self.sweep.agreement(nodes)?;
        let master = *self.sweep.members(*nodes.first()?)?.get(&id)?;
        let members = self.sweep.members(master)?;
        (members.len() == nodes.len()).then_some(master)
    }

    fn tell_memory(&self, size: usize) -> Result<(), String> {
        let sizes = (0..size).map(|index| self.cluster.node(index).resident_kib());
        let mut sizes = sizes.collect::<Result<Vec<u64>, _>>().map_err(|error| error.to_string())?;
        sizes.sort_unstable();
        let mib = |kib: u64| figure(kib as f64 / 1024.0);
        let (least, median, most) = (mib(sizes[0]), mib(sizes[size / 2]), mib(sizes[size - 1]));
        println!("resident memory: {} MiB in all; a node {least} / {median} / {most} MiB", mib(sizes.iter().sum()));
        Ok(())
    }
}

fn tell(what: &str, zero: Instant) {
    println!("{what}: {} ms", figure((now() - zero).as_secs_f64() * 1e3));
}
