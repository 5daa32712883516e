//! SIGKILL at random moments under writes: nothing that was acknowledged may be lost, and the cluster must come back.

use super::transport::Transport;
use super::writer::{Tally, Writer};
use crate::clock::{now, pause};
use crate::cluster::Cluster;
use crate::figures::count;
use crate::peers::Zazen;
use crate::progress::Progress;
use clap::Args;
use rustix::process::Signal;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use zazen::protocol::Rng;

const NODES: usize = 3;

/// The longest pause before a kill, before a restart, and between kills of the same moment.
const BEFORE_KILL_MS: u64 = 300;
const BEFORE_RESTART_MS: u64 = 150;
const BETWEEN_KILLS_MS: u64 = 20;

/// Kills nodes of a cluster of three at random moments under writes, and demands that nothing acknowledged is lost.
#[derive(Args)]
pub(crate) struct StormArgs {
    /// How many nodes are killed, one after the other or several at once.
    #[arg(default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    kills: u32,
    /// How many clients write at once.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    writers: u32,
    /// Determines who is killed when.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl StormArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        let what = format!("nodes are killed under the writes of {} clients", self.writers);
        let progress = Progress::start(what, "kills");
        let began = now();
        let cluster = Cluster::start(&Zazen::PLAIN, NODES)?;
        let tally = Tally::default();
        let transports = (0..self.writers).map(|number| {
            let name = format!("writer-{number}");
            (name.clone(), Transport::new(&cluster.site.places, &name))
        });
        let writers: Vec<Writer<'_>> =
            transports.map(|(name, transport)| Writer::new(name, transport, &tally)).collect();
        let storm = Storm { kills: self.kills as usize, done: 0, rng: Rng::new(self.seed), cluster, progress };
        let outcome = storm.run(writers, &tally);
        let [acknowledged, unknown, read] =
            [&tally.acknowledged, &tally.unknown, &tally.read].map(|number| count(number.load(Ordering::Relaxed)));
        println!(
            "{acknowledged} writes were acknowledged, {unknown} ended unknown, {read} reads were checked, in {} s",
            (now() - began).as_secs()
        );
        let silence = outcome?.as_millis();
        println!("nothing acknowledged was lost; the longest time without an acknowledged write was {silence} ms");
        Ok(())
    }
}

struct Storm {
    kills: usize,
    done: usize,
    rng: Rng,
    cluster: Cluster<'static>,
    progress: Progress,
}

impl Storm {
    /// Kills while the writers write, then checks every register; tells the longest time that a writer had to wait.
    fn run(mut self, writers: Vec<Writer<'_>>, tally: &Tally) -> Result<Duration, String> {
        let (outcome, writers) = thread::scope(|scope| {
            let threads: Vec<_> = writers.into_iter().map(|writer| scope.spawn(|| writer.run())).collect();
            let outcome = self.rage(tally);
            tally.is_over.store(true, Ordering::Relaxed);
            let writers = threads.into_iter().map(|thread| thread.join().expect("a writer tells what is wrong"));
            (outcome, writers.collect::<Vec<_>>())
        });
        let checked = outcome.and_then(|()| finish(writers, tally));
        checked.map_err(|why| format!("{why}\nits files are kept in [{}]", self.cluster.site.keep().display()))
    }

    fn rage(&mut self, tally: &Tally) -> Result<(), String> {
        while self.done < self.kills {
            self.pause_up_to(BEFORE_KILL_MS);
            let victims = self.victims();
            self.strike(&victims)?;
            // Sometimes the next blow comes before all are back.
            if self.rng.percent(70) || self.done >= self.kills {
                self.cluster.settle()?;
            }
            self.cluster.demand_running()?;
            if let Some(wrong) = tally.wrong() {
                return Err(wrong);
            }
            let acknowledged = tally.acknowledged.load(Ordering::Relaxed);
            self.progress.tell(self.done, self.kills, &format!("{acknowledged} writes acknowledged"));
        }
        Ok(())
    }

    /// Most often the master, often another node, sometimes several or all.
    fn victims(&mut self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..NODES).collect();
        self.rng.shuffle(&mut all);
        let drawn = self.rng.below(100);
        let master = if drawn < 50 { self.cluster.peer.leader(&self.cluster.running()) } else { None };
        let count = match drawn {
            0..50 => return vec![master.unwrap_or(all[0])],
            50..85 => 1,
            85..95 => 2,
            _ => NODES,
        };
        all.truncate(count.min(self.kills - self.done));
        all
    }

    fn strike(&mut self, victims: &[usize]) -> Result<(), String> {
        for victim in victims {
            self.cluster.node(*victim).signal(Signal::KILL);
            self.done += 1;
            self.pause_up_to(BETWEEN_KILLS_MS);
        }
        for victim in victims {
            self.cluster.wait(*victim)?;
        }
        for victim in victims {
            self.pause_up_to(BEFORE_RESTART_MS);
            self.cluster.launch(*victim)?;
        }
        Ok(())
    }

    fn pause_up_to(&mut self, milliseconds: u64) {
        pause(Duration::from_micros(self.rng.below(milliseconds * 1000)));
    }
}

/// Reads everything once more, when nothing disturbs it.
fn finish(writers: Vec<Writer<'_>>, tally: &Tally) -> Result<Duration, String> {
    if let Some(wrong) = tally.wrong() {
        return Err(wrong);
    }
    let mut silence = Duration::ZERO;
    for mut writer in writers {
        let count = writer.check_all()?;
        silence = silence.max(writer.longest_silence);
        eprintln!("  {count} registers hold what they must");
    }
    Ok(silence)
}
