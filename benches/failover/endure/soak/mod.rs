//! Real nodes that are killed, stopped and cut off, under clients who write down everything: keys with conditions, leases,
//! watches. What they wrote is judged as the simulator judges its own: see `zazen::sim::check::chronicle`.

mod desk;
mod door;
mod holder;
mod keys;
mod summary;
mod torment;
mod watcher;

use crate::clock::{now, pause};
use crate::cluster::Cluster;
use crate::http::Http;
use crate::peers::Zazen;
use crate::progress::Progress;
use crate::site::Place;
use clap::Args;
use desk::Desk;
use door::{client, runtime};
use holder::Holder;
use keys::KeyClient;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use torment::Torment;
use watcher::Watcher;
use zazen::cluster::KeyValue;
use zazen::protocol::Rng;
use zazen::sim::check::chronicle::{Judgement, judge};
use zazen::sim::check::heard::Known;

/// How many leases are fought for, by how many holders each.
const LEASES: usize = 2;
const HOLDERS_OF_A_LEASE: usize = 2;

/// How many follow every change: by the library's client, and at one node after the other.
const WATCHERS: usize = 4;

/// How long the cluster has to come to rest when all is healed, and watchers to hear of the end.
const REST_MAX: Duration = Duration::from_secs(90);

/// What is written last, so that watchers know when they know everything.
const THE_END: &str = "the-end";

/// How many lines of what is wrong are shown; the rest is in a file.
const LINES_MAX: usize = 40;

/// Torments real nodes under clients who write down what they are told, and judges whether all of it fits together.
#[derive(Args)]
pub(crate) struct SoakArgs {
    /// For how many minutes each cluster is tormented; 0.5 is half a minute.
    #[arg(default_value_t = 30.0)]
    minutes: f64,
    /// How many nodes the clusters have, one cluster after the other.
    #[arg(long, value_delimiter = ',', default_value = "3,5", value_parser = clap::value_parser!(u8).range(3..=9))]
    nodes: Vec<u8>,
    /// How many clients write and read keys.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    clients: u8,
    /// Give each node a network of its own, and cut links there, which takes root; otherwise nodes cut their links themselves.
    #[arg(long)]
    namespaces: bool,
    /// Determines what is done to whom when.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl SoakArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        let lasts = Duration::try_from_secs_f64(self.minutes * 60.0).map_err(|error| format!("MINUTES: {error}"))?;
        self.nodes.iter().try_for_each(|nodes| self.trial(usize::from(*nodes), lasts))
    }

    /// One cluster.
    fn trial(&self, nodes: usize, lasts: Duration) -> Result<(), String> {
        let what = format!("{nodes} nodes are killed, stopped and cut off under {} clients", self.clients);
        let progress = Progress::start(what, "seconds");
        let cluster = match self.namespaces {
            true => Cluster::start_wired(&Zazen::PLAIN, nodes)?,
            false => Cluster::start(&Zazen::CUTTABLE, nodes)?,
        };
        let desk = Desk::new(cluster.site.places.iter().map(Place::door).collect());
        let rng = Rng::new(self.seed);
        let mut torment = Torment::new(cluster, rng, &desk);
        let outcome = self.torture(&mut torment, &desk, lasts, progress);
        match outcome {
            Ok(verdict) => {
                summary::print(nodes, lasts, &torment, &desk, &verdict);
                Ok(())
            }
            Err(why) => {
                let kept = torment.cluster.site.keep();
                // The files of the nodes tell something without it, too.
                let _ = fs::write(kept.join("wrong"), format!("{why}\n"));
                let _ = fs::write(kept.join("leases"), desk.chronicle.lock().leases());
                let first: Vec<&str> = why.lines().take(LINES_MAX).collect();
                let (first, kept) = (first.join("\n"), kept.display());
                Err(format!(
                    "{first}\nseed {}; the files of the nodes, and all of this, are kept in [{kept}]",
                    self.seed
                ))
            }
        }
    }

    fn torture(
        &self,
        torment: &mut Torment<'_>,
        desk: &Desk,
        lasts: Duration,
        progress: Progress,
    ) -> Result<Judgement, String> {
        let mut rng = Rng::new(self.seed ^ 0x50a4);
        thread::scope(|scope| {
            let mut keys: Vec<_> = (0..usize::from(self.clients))
                .map(|number| KeyClient::new(number, rng.fork(), desk))
                .map(|client| scope.spawn(|| client.run()))
                .collect();
            let holders = (0..LEASES * HOLDERS_OF_A_LEASE).map(|number| Holder::new(number, rng.fork(), desk));
            keys.extend(holders.map(|holder| scope.spawn(|| holder.run())));
            let watchers = (0..WATCHERS).map(|number| Watcher::new(number, rng.fork(), desk));
            let watchers: Vec<_> = watchers.map(|watcher| scope.spawn(|| watcher.run())).collect();
            let outcome = rage(torment, desk, lasts, progress).and_then(|()| torment.relieve());
            desk.close();
            keys.into_iter().for_each(|client| client.join().expect("a client tells what is wrong"));
            let last = outcome.and_then(|()| rest(desk));
            desk.end(last.is_err());
            watchers.into_iter().for_each(|watcher| watcher.join().expect("a watcher tells what is wrong"));
            desk.demand_right()?;
            let last = last?;
            desk.chronicle.lock().judge(&last).map_err(|violation| tell(desk, &violation.to_string()))
        })
    }
}

/// One fault after the other until it is over or something is wrong.
fn rage(torment: &mut Torment<'_>, desk: &Desk, lasts: Duration, mut progress: Progress) -> Result<(), String> {
    let began = now();
    while now() - began < lasts {
        torment.episode()?;
        desk.demand_right()?;
        for (group, history) in desk.finished() {
            judge(group, &history).map_err(|violation| tell(desk, &violation.to_string()))?;
        }
        let (faults, operations) = (torment.faults(), desk.operations());
        let what = format!("{faults} faults, {operations} operations");
        progress.tell((now() - began).as_secs() as usize, lasts.as_secs() as usize, &what);
    }
    progress.end();
    Ok(())
}

/// What was found wrong, with the history that it was found in.
fn tell(desk: &Desk, what: &str) -> String {
    let group =
        what.split("group ").nth(1).and_then(|rest| rest.split(',').next()).and_then(|group| group.parse().ok());
    let history: Vec<String> = match group {
        Some(group) => desk.chronicle.lock().history(group).iter().map(|entry| format!("  {entry:?}")).collect(),
        None => Vec::new(),
    };
    format!("{what}\n{}", history.join("\n"))
}

/// Waits until no lease is left, writes the end, and reads everything once more.
fn rest(desk: &Desk) -> Result<Known, String> {
    let deadline = now() + REST_MAX;
    let mut http = Http::at(desk.doors[0], REST_MAX);
    let has_leases = |http: &mut Http| {
        let leases = http.get("/_zazen/lease").ok().and_then(|reply| reply.json());
        leases.is_none_or(|leases| leases["leases"].as_array().is_none_or(|leases| !leases.is_empty()))
    };
    while has_leases(&mut http) {
        if now() > deadline {
            return Err(format!("leases that nobody keeps alive are held for more than {REST_MAX:?}"));
        }
        pause(Duration::from_millis(50));
    }
    let (runtime, client) = (runtime()?, client(desk, REST_MAX)?);
    let cannot = |error: zazen::client::ClientError| format!("the healed cluster cannot be asked: {error}");
    let end = runtime.block_on(client.put(THE_END, "1")).map_err(cannot)?;
    desk.ends_at(end.rank());
    let began = desk.time();
    let entries = runtime.block_on(client.list("")).map_err(cannot)?;
    desk.read_in_the_end(began, &entries);
    let held = |entry: zazen::client::Entry| {
        let value = KeyValue { value: entry.value, changed: entry.revision, lease: entry.lease };
        (Arc::from(entry.key.as_str()), value)
    };
    Ok(Known { keys: entries.into_iter().map(held).collect(), ..Known::default() })
}
