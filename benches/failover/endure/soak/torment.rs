//! What is done to the nodes: killed, restarted, stopped, cut off, told to hand over; often one thing within another.

use super::desk::Desk;
use crate::clock::{now, pause};
use crate::cluster::{Cluster, END_MAX};
use crate::http::Http;
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use zazen::protocol::Rng;

/// The longest peace before a blow, and how long blows last, in milliseconds.
const PEACE_MS: u64 = 900;
const DOWN_MS: u64 = 1_500;
const STOPPED_MS: u64 = 4_000;
const CUT_MS: u64 = 5_000;

/// How long a node may take to cut a link, and to mend it.
const CUTTING_MAX: Duration = Duration::from_secs(1);

/// Half of a link that does not work, as one of its ends is told.
#[derive(Clone, Copy, Debug)]
struct Cut {
    at: usize,
    peer: usize,
    /// Whether what goes to the peer is swallowed, and what comes from it.
    ways: (bool, bool),
}

/// One thing that is done.
#[derive(Debug)]
enum Blow {
    Kill(Vec<usize>),
    /// Asked to end, and started again.
    Restart(usize),
    Stop(Vec<usize>),
    Cut(&'static str, Vec<Cut>),
    HandOver(usize),
}

/// A cluster that is tormented.
pub(super) struct Torment<'a> {
    pub(super) cluster: Cluster<'static>,
    pub(super) counts: BTreeMap<&'static str, u64>,
    rng: Rng,
    desk: &'a Desk,
    stopped: BTreeSet<usize>,
}

impl<'a> Torment<'a> {
    pub(super) fn new(cluster: Cluster<'static>, rng: Rng, desk: &'a Desk) -> Self {
        Torment { cluster, counts: BTreeMap::new(), rng, desk, stopped: BTreeSet::new() }
    }

    /// How much was done.
    pub(super) fn faults(&self) -> u64 {
        self.counts.values().sum()
    }

    /// One blow, perhaps another one within it; often the cluster may come to rest then.
    pub(super) fn episode(&mut self) -> Result<(), String> {
        self.pause_up_to(PEACE_MS);
        let outer = self.draw();
        self.strike(&outer)?;
        if self.rng.percent(35) {
            self.pause_up_to(outer.lasts_ms() / 2);
            let inner = self.draw();
            self.strike(&inner)?;
            self.pause_up_to(inner.lasts_ms());
            self.mend(&inner)?;
        }
        self.pause_up_to(outer.lasts_ms());
        self.mend(&outer)?;
        if self.rng.percent(40) {
            self.cluster.settle()?;
        }
        self.cluster.demand_running()
    }

    /// Nothing is done any more, and all must follow one master.
    pub(super) fn relieve(&mut self) -> Result<(), String> {
        self.cluster.settle().map(drop)
    }

    /// Most blows are for the master, others for anybody.
    fn draw(&mut self) -> Blow {
        let nodes = self.desk.doors.len();
        let mut all: Vec<usize> = (0..nodes).collect();
        self.rng.shuffle(&mut all);
        if self.rng.percent(45)
            && let Some(master) = self.master()
        {
            all.retain(|node| *node != master);
            all.insert(0, master);
        }
        match self.rng.below(100) {
            0..25 => Blow::Kill(all[..self.some_of(nodes)].to_vec()),
            25..35 => Blow::Restart(all[0]),
            35..60 => Blow::Stop(all[..self.some_of(nodes)].to_vec()),
            60..95 => self.draw_cut(&all),
            _ => Blow::HandOver(all[0]),
        }
    }

    /// Mostly one, sometimes two, seldom all.
    fn some_of(&mut self, nodes: usize) -> usize {
        match self.rng.below(100) {
            0..70 => 1,
            70..92 => 2,
            _ => nodes,
        }
    }

    fn draw_cut(&mut self, all: &[usize]) -> Blow {
        let nodes = all.len();
        let between = |some: &[usize], others: &[usize], ways| {
            let pairs = some.iter().flat_map(|at| others.iter().map(move |peer| (*at, *peer)));
            pairs.map(|(at, peer)| Cut { at, peer, ways }).collect()
        };
        match self.rng.below(5) {
            0 => Blow::Cut("one node cut off", between(&all[..1], &all[1..], (true, true))),
            1 => Blow::Cut("one node unheard", between(&all[..1], &all[1..], (true, false))),
            2 => Blow::Cut("one node deaf", between(&all[..1], &all[1..], (false, true))),
            3 => Blow::Cut("one link cut", between(&all[..1], &all[1..2], (true, true))),
            _ => Blow::Cut("cut in two", between(&all[..nodes / 2], &all[nodes / 2..], (true, true))),
        }
    }

    /// The node that all name that are not stopped, if there is one.
    fn master(&self) -> Option<usize> {
        let running = self.cluster.running();
        let places: Vec<_> = running.into_iter().filter(|place| !self.stopped.contains(&place.index)).collect();
        self.cluster.peer.leader(&places)
    }

    fn strike(&mut self, blow: &Blow) -> Result<(), String> {
        match blow {
            Blow::Kill(victims) => {
                let victims: Vec<usize> =
                    victims.iter().copied().filter(|node| self.cluster.is_running(*node)).collect();
                for victim in &victims {
                    self.cluster.node(*victim).signal(Signal::KILL);
                    self.stopped.remove(victim);
                    self.count("killed");
                }
                victims.into_iter().try_for_each(|victim| self.cluster.wait(victim))?;
            }
            Blow::Restart(victim) => {
                if self.is_reachable(*victim) {
                    self.cluster.node(*victim).signal(Signal::TERM);
                    self.count("told to end");
                    self.cluster.wait(*victim)?;
                }
            }
            Blow::Stop(victims) => {
                for victim in victims {
                    if self.cluster.is_running(*victim) && self.stopped.insert(*victim) {
                        self.cluster.node(*victim).signal(Signal::STOP);
                        self.count("stopped");
                    }
                }
            }
            Blow::Cut(what, cuts) => {
                let done: Vec<bool> = cuts.iter().map(|cut| self.cut(cut)).collect::<Result<_, _>>()?;
                if done.contains(&true) {
                    self.count(what);
                }
            }
            Blow::HandOver(to) => {
                let mut http = Http::at(self.desk.doors[*to], CUTTING_MAX);
                let path = format!("/_zazen/handover?to=n{to}&master_timeout=500ms");
                let is_done = self.is_reachable(*to) && http.ask("POST", &path, b"").is_ok_and(|reply| reply.is_fine());
                if is_done {
                    self.count("handed over to");
                }
            }
        }
        Ok(())
    }

    fn mend(&mut self, blow: &Blow) -> Result<(), String> {
        match blow {
            Blow::Kill(victims) => {
                for victim in victims {
                    if !self.cluster.is_running(*victim) {
                        self.cluster.launch(*victim)?;
                    }
                }
            }
            Blow::Restart(victim) => {
                if !self.cluster.is_running(*victim) {
                    self.cluster.launch(*victim)?;
                }
            }
            Blow::Stop(victims) => {
                for victim in victims {
                    if self.stopped.remove(victim) {
                        self.cluster.node(*victim).signal(Signal::CONT);
                    }
                }
            }
            Blow::Cut(_, cuts) => {
                let ends: BTreeSet<usize> = cuts.iter().map(|cut| cut.at).collect();
                ends.into_iter().try_for_each(|end| self.heal(end))?;
            }
            Blow::HandOver(_) => {}
        }
        Ok(())
    }

    fn is_reachable(&self, node: usize) -> bool {
        self.cluster.is_running(node) && !self.stopped.contains(&node)
    }

    /// Cuts a link: in the network, or by the node, unless it is not there to do it. Tells whether it did.
    fn cut(&self, cut: &Cut) -> Result<bool, String> {
        let Cut { at, peer, ways: (to, from) } = *cut;
        if let Some(wires) = &self.cluster.site.wires {
            let ways = [(to, at, peer), (from, peer, at)];
            ways.iter().filter(|(is_cut, ..)| *is_cut).try_for_each(|(_, from, to)| wires.cut(*from, *to))?;
            return Ok(true);
        }
        let address = self.cluster.site.places[peer].peer();
        let body = format!(r#"{{"peer":"{address}","to":{to},"from":{from}}}"#);
        let mut http = Http::at(self.desk.doors[at], CUTTING_MAX);
        let mut ask = || http.ask("POST", "/_zazen/faults", body.as_bytes()).is_ok_and(|reply| reply.is_fine());
        Ok(self.is_reachable(at) && ask())
    }

    /// Mends all links of a node, or of all. One that was killed meanwhile has forgotten what it cut itself.
    fn heal(&self, node: usize) -> Result<(), String> {
        if let Some(wires) = &self.cluster.site.wires {
            return wires.mend();
        }
        let deadline = now() + END_MAX;
        let mut http = Http::at(self.desk.doors[node], CUTTING_MAX);
        while self.is_reachable(node) {
            match http.ask("DELETE", "/_zazen/faults", b"") {
                Ok(reply) if reply.is_fine() => return Ok(()),
                Ok(_) | Err(_) if now() < deadline => pause(Duration::from_millis(10)),
                Ok(reply) => return Err(format!("n{node} does not mend its links: status {}", reply.status)),
                Err(error) => return Err(format!("n{node} does not mend its links: {error}")),
            }
        }
        Ok(())
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn pause_up_to(&mut self, milliseconds: u64) {
        pause(Duration::from_micros(self.rng.below(milliseconds * 1_000 + 1)));
    }
}

impl Blow {
    fn lasts_ms(&self) -> u64 {
        match self {
            Blow::Kill(_) | Blow::Restart(_) => DOWN_MS,
            Blow::Stop(_) => STOPPED_MS,
            Blow::Cut(..) => CUT_MS,
            Blow::HandOver(_) => 0,
        }
    }
}
