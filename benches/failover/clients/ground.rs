//! A cluster, its clients, and what they saw in all trials of one way.

use super::client::{Client, Seen};
use super::way::Way;
use crate::clock::{now, pause};
use crate::cluster::{Cluster, SETTLE_MAX};
use crate::figures::{Summary, count, figure};
use crate::meter::{Meter, Shares};
use crate::peer::Peer;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How long clients ask before the first trial, so that a service that compiles itself has begun to.
const WARM_UP: Duration = Duration::from_secs(3);

/// How long clients ask before it happens, and when it is over.
const BEFORE: Duration = Duration::from_millis(300);
const AFTER: Duration = Duration::from_millis(700);

/// How often it is asked whether all are connected.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// One service under its clients.
pub(super) struct Ground {
    way: Way,
    cluster: Cluster<'static>,
    clients: Vec<Client>,
    pub(super) seen: Seen,
    /// The longest request of each trial, in milliseconds.
    pub(super) longest: Vec<f64>,
    foreign: Vec<f64>,
}

impl Ground {
    /// A cluster for this; nothing if it cannot be done to such a one.
    pub(super) fn prepare(peer: &'static dyn Peer, way: Way, clients: usize) -> Result<Option<Self>, String> {
        let cluster = match way.is_wired() {
            true => Cluster::start_wired(peer, way.nodes())?,
            false => Cluster::start(peer, way.nodes())?,
        };
        let clients = (0..clients).map(Client::new).collect();
        let (seen, longest, foreign) = (Seen::default(), Vec::new(), Vec::new());
        let mut ground = Ground { way, cluster, clients, seen, longest, foreign };
        let master = ground.cluster.settle()?;
        // Doing it once shows whether it can be done.
        if way == Way::HandOver && peer.hand_over(&ground.cluster.running(), master).is_none() {
            return Ok(None);
        }
        let doors: Vec<SocketAddr> = ground.cluster.running().iter().map(|place| place.door()).collect();
        let (outcome, _) = ground.under_clients(&doors, |_| {
            pause(WARM_UP);
            Ok(())
        });
        outcome.map(|()| Some(ground))
    }

    /// Keeps the files of the nodes, and tells where.
    pub(super) fn keep(&self) -> String {
        self.cluster.site.keep().display().to_string()
    }

    pub(super) fn peer(&self) -> &'static dyn Peer {
        self.cluster.peer
    }

    /// One trial. What the clients see is no failure of the trial, unless a request takes longer than is bearable.
    pub(super) fn trial(&mut self, bearable: f64) -> Result<(), String> {
        let master = self.cluster.settle()?;
        let is_asked = |node: usize| self.way.is_for_all() || node != master;
        let doors: Vec<SocketAddr> =
            self.cluster.running().iter().filter(|place| is_asked(place.index)).map(|place| place.door()).collect();
        let before = Meter::read(self.cluster.processes())?;
        let (way, trial) = (self.way, self.longest.len());
        let (outcome, seen) = self.under_clients(&doors, |cluster| way.go(cluster, master, trial));
        // What a process took is told when it was waited for.
        let outcome = outcome.and_then(|()| way.mend(&mut self.cluster, master));
        let shares = before.until(&Meter::read(self.cluster.processes())?);
        let longest = self.note(seen, shares);
        if longest > bearable {
            return Err(format!("in trial {} a request took {longest:.0} ms, with node {master} as master", trial + 1));
        }
        outcome
    }

    /// Does something while all clients ask.
    fn under_clients(
        &mut self,
        doors: &[SocketAddr],
        something: impl FnOnce(&mut Cluster<'static>) -> Result<(), String>,
    ) -> (Result<(), String>, Seen) {
        let (peer, cluster, clients) = (self.cluster.peer, &mut self.cluster, std::mem::take(&mut self.clients));
        let (all, ready, is_over) = (clients.len(), AtomicUsize::new(0), AtomicBool::new(false));
        let (outcome, ended) = thread::scope(|scope| {
            let (ready, is_over) = (&ready, &is_over);
            let run = |client: Client| {
                let register = peer.register(doors, client.number);
                scope.spawn(move || client.run(register, ready, is_over))
            };
            let threads: Vec<_> = clients.into_iter().map(run).collect();
            let deadline = now() + SETTLE_MAX;
            while ready.load(Ordering::Relaxed) < all && now() < deadline {
                pause(LOOK_EVERY);
            }
            pause(BEFORE);
            let outcome = something(cluster);
            pause(AFTER);
            is_over.store(true, Ordering::Relaxed);
            let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect();
            (outcome, ended)
        });
        let mut all = Seen::default();
        for (client, seen) in ended {
            self.clients.push(client);
            all.add(seen);
        }
        (outcome, all)
    }

    /// The longest request is told.
    fn note(&mut self, seen: Seen, shares: Shares) -> f64 {
        let longest = seen.spans.iter().copied().fold(0.0, f64::max);
        self.longest.push(longest);
        self.foreign.push(shares.foreign);
        self.seen.add(seen);
        longest
    }

    /// What is wrong, if anything is.
    pub(super) fn complaint(&self) -> Option<String> {
        let Seen { errors, lost, twice, reasons, .. } = &self.seen;
        let is_fine = errors + lost + twice == 0;
        (!is_fine).then(|| format!("{errors} errors, {lost} lost, {twice} twice; first:\n  {}", reasons.join("\n  ")))
    }

    /// The cells of a row, in the order of [`HEAD`].
    pub(super) fn row(&self) -> Option<Vec<String>> {
        let (all, longest) = (Summary::of(&self.seen.spans)?, Summary::of(&self.longest)?);
        let twice = if self.peer().tells_twice() { count(self.seen.twice) } else { "–".into() };
        let foreign = Summary::of(&self.foreign)?.median;
        let mut cells = vec![self.way.to_string(), self.peer().title(), self.longest.len().to_string()];
        cells.extend([all.trials as u64, self.seen.errors, self.seen.lost].map(count));
        cells.push(twice);
        cells.extend([all.median, all.p99, longest.median, longest.maximum].map(figure));
        cells.push(format!("{foreign:.2}"));
        Some(cells)
    }

    pub(super) fn json(&self) -> Value {
        let all = Summary::of(&self.seen.spans);
        let Seen { errors, lost, twice, reasons, .. } = &self.seen;
        json!({
            "way": self.way.to_string(), "peer": self.peer().key(), "requests": self.seen.spans.len(),
            "errors": errors, "lost": lost, "twice": twice, "reasons": reasons,
            "median": all.map(|all| all.median), "p99": all.map(|all| all.p99),
            "longest": self.longest, "foreign": self.foreign,
        })
    }
}

/// The first line of the table.
pub(super) const HEAD: [&str; 12] = [
    "what happens",
    "who",
    "trials",
    "requests",
    "errors",
    "lost",
    "twice",
    "median",
    "99th",
    "longest: median",
    "maximum",
    "others",
];
