//! The world of a random run: its nodes as they are configured, and its clients, who ask whenever their time has come.
//!
//! What is done to it stands in `run` and `afflict`, what is demanded of it in `liveness`.

use super::check::Bounds;
use super::cluster_world;
use super::disk::LATENCY_US;
use super::operation::COMMIT_TIMEOUT_MAX;
use super::run_params::{RunOptions, RunParams};
use super::watch::Violation;
use super::{Boot, Clients, Fault, Habits, Histories, Quality, World};
use crate::cluster::{Address, ClusterName, EphemeralId, Node, NodeId, Roles};
use crate::protocol::{Rng, Time};
use crate::zen::rules::Rules;
use crate::zen::{Bootstrap, Config, Tuning, Zen};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The checker that ends a run early because it was asked to.
pub(super) const STOPPED: &str = "stopped";
/// A message without a whole state has no more bytes than these.
const SMALL_BYTES: u64 = 2_000;
/// A state takes no longer than this to a node that is reached slowly, if another one is on its way there before it.
const TRANSFER_MAX: Duration = Duration::from_secs(13);

/// A run under way.
pub(super) struct Run {
    pub(super) world: World<Zen, Clients>,
    pub(super) draw: RunParams,
    pub(super) rng: Rng,
    pub(super) configs: Vec<Config>,
    /// What each node goes by unless it was restarted with other times.
    pub(super) tunings: Vec<Tuning>,
    pub(super) rules: Rules,
    /// Nodes that are kept back or were taken out.
    pub(super) away: BTreeSet<usize>,
    /// Nodes that stay sick when all else is healed.
    pub(super) sick: BTreeSet<usize>,
    /// Those of them whose disks never wrote anything, or whom nobody ever reached.
    pub(super) never_well: BTreeSet<usize>,
    /// How often a node moved to another address.
    pub(super) moves: u64,
    until: Option<u64>,
    pub(super) is_hashed: bool,
    pub(super) struck: u64,
    pub(super) recoveries: Vec<Duration>,
    pub(super) hard_recoveries: Vec<Duration>,
    pub(super) interrupted: u64,
    pub(super) disturbances: u64,
    pub(super) quorum_lost: bool,
    pub(super) histories: Histories,
}

impl Run {
    pub(super) fn new(options: &RunOptions, draw: RunParams) -> Self {
        let mut rng = Rng::new(options.seed ^ 0x7a7a_0002);
        let habits = Habits {
            clients: draw.clients,
            pause_us: draw.pause_us,
            keys: draw.keys,
            nodes: draw.nodes,
            fastest_ppm: draw.plan.fastest_ppm(),
            is_doubling: draw.plan.is_doubling(),
            has_slow_link: draw.half_well.slow.is_some(),
            ping_interval: options.tuning.fd_ping_interval,
            bounds: bounds(options, &draw),
        };
        let clients = Clients::new(rng.fork(), habits);
        let rules = options.rules;
        let mut world = World::new(options.seed, clients);
        cluster_world::prepare_bulky(&mut world);
        let addresses: Vec<Address> = (0..draw.nodes).map(address).collect();
        let hosts: BTreeSet<Arc<str>> = addresses[..draw.hosts].iter().map(|host| host.as_str().into()).collect();
        let (mut configs, mut tunings) = (Vec::new(), Vec::new());
        for (node, address) in addresses.iter().enumerate() {
            let (minimum_master_nodes, fd_ping_retries) = (draw.minimum, draw.retries[node]);
            let tuning = Tuning { minimum_master_nodes, fd_ping_retries, ..options.tuning.clone() };
            tunings.push(tuning.clone());
            let tuning = draw.half_well.times[node].over(tuning);
            let config = config(node, address, node < draw.eligible, &hosts, tuning);
            configs.push(config.clone());
            world.add(address.clone(), addresses[..draw.eligible].to_vec(), move |boot| start(&config, rules, boot));
        }
        if let Some((detail, kept)) = options.trace {
            world.trace(detail, kept);
        }
        if !options.is_hashed {
            world.without_hash();
        }
        let (until, recoveries) = (options.until, Vec::new());
        Run {
            world,
            draw,
            rng,
            configs,
            tunings,
            rules,
            is_hashed: options.is_hashed,
            away: BTreeSet::new(),
            sick: BTreeSet::new(),
            never_well: BTreeSet::new(),
            moves: 0,
            until,
            struck: 0,
            recoveries,
            hard_recoveries: Vec::new(),
            interrupted: 0,
            disturbances: 0,
            quorum_lost: false,
            histories: Histories::default(),
        }
    }

    pub(super) fn run_clients(&mut self, end: Time) -> Result<(), Violation> {
        self.run_while(end, |_| true).map(|_| ())
    }

    /// Runs while `goes_on`, with the clients asking when they want to.
    pub(super) fn run_while(
        &mut self,
        end: Time,
        goes_on: impl Fn(&World<Zen, Clients>) -> bool,
    ) -> Result<bool, Violation> {
        loop {
            let now = self.world.now();
            let wanted = self.world.watch.next_at().filter(|next| *next <= end);
            let stop = wanted.map_or(end, |next| next.max(now));
            let until = self.until.unwrap_or(u64::MAX);
            let is_quiet =
                |world: &World<Zen, Clients>| !wants_attention(world, stop) && world.counters().events < until;
            if self.world.run_while(stop, |world| goes_on(world) && is_quiet(world))? && !goes_on(&self.world) {
                return Ok(true);
            }
            self.stop_if_asked()?;
            self.attend()?;
            if self.world.now() >= end && self.world.watch.next_at().is_none_or(|next| next > end) {
                return Ok(!goes_on(&self.world));
            }
        }
    }

    fn stop_if_asked(&self) -> Result<(), Violation> {
        match self.until {
            Some(until) if self.world.counters().events >= until => {
                Err(Violation { checker: STOPPED, what: format!("after event {until}") })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Lets clients ask whose time has come, and ends the nodes that said good-bye.
    fn attend(&mut self) -> Result<(), Violation> {
        let now = self.world.now();
        for node in std::mem::take(&mut self.world.watch.left) {
            self.world.inject(Fault::Kill(node));
            // Once all is healed nobody else would bring back a node whose good-bye took until then.
            if self.world.watch.is_retired() {
                self.world.inject(Fault::Start(node));
            }
        }
        self.world.watch.look(now)?;
        while let Some(request) = self.world.watch.next(now, self.draw.eligible as u64) {
            let node = self.pick_node();
            if self.world.participant(node).is_none() {
                self.world.watch.not_there(request, now);
                continue;
            }
            let ticket = self.world.ask(node, request.question.clone());
            self.world.watch.asked(ticket, node, request, now);
        }
        Ok(())
    }

    /// Some clients keep to whoever takes itself for the master, also when others know better.
    fn pick_node(&mut self) -> usize {
        let any = self.world.watch.pick_node(self.draw.nodes);
        let leads = |node: &usize| self.world.participant(*node).is_some_and(|zen| zen.mastership().is_some());
        let masters: Vec<usize> = (0..self.draw.nodes).filter(leads).collect();
        if self.rng.percent(30) { self.rng.pick(&masters).copied().unwrap_or(any) } else { any }
    }
}

/// Whether a node said good-bye, or a client that was answered wants to ask again before `stop`.
fn wants_attention(world: &World<Zen, Clients>, stop: Time) -> bool {
    !world.watch.left.is_empty() || world.watch.next_at().is_some_and(|next| next < stop)
}

/// How long a publish may last; where no node is half well no state takes long to arrive.
fn publish_bound(options: &RunOptions, slowest: &Tuning) -> Duration {
    let slowest = Tuning { commit_timeout: slowest.commit_timeout.max(COMMIT_TIMEOUT_MAX), ..slowest.clone() };
    slowest.publish_timeout() + if options.half_well { TRANSFER_MAX } else { Duration::ZERO }
}

/// By what the requests of clients are judged.
fn bounds(options: &RunOptions, draw: &RunParams) -> Bounds {
    let (quality, (_, disk_us)) = (Quality::default(), LATENCY_US);
    let transfer_us = draw.half_well.slow.map_or(0, |(_, rate)| 2 * SMALL_BYTES * 1_000_000 / rate.max(1));
    let slowest = draw.half_well.slowest(options.tuning.clone());
    Bounds {
        round_trip: Duration::from_micros(2 * quality.delay_max_us + disk_us + transfer_us),
        publish_timeout: publish_bound(options, &slowest),
        master_change: slowest.recovery_bound() + draw.half_well.transfer_bound(),
        ack_patience: slowest.fd_ping_timeout,
        may_stall: options.half_well && draw.half_well.has_slow_links(),
        slowest_clock: draw.plan.slowest_clock(),
        fastest_clock: draw.plan.fastest_ppm() as f64 / 1e6,
    }
}

fn node_id(node: usize) -> NodeId {
    format!("n{node}").into()
}

fn address(node: usize) -> Address {
    format!("10.0.0.{}:9300", node + 1).into()
}

fn config(node: usize, address: &Address, eligible: bool, hosts: &BTreeSet<Arc<str>>, tuning: Tuning) -> Config {
    let name: Arc<str> = format!("n{node}").into();
    Config {
        cluster_name: ClusterName::from("sim"),
        node: Node {
            id: node_id(node),
            ephemeral_id: EphemeralId::from("none"),
            name,
            address: address.clone(),
            roles: Roles { master: eligible, ..Roles::ALL },
            attributes: Arc::default(),
            version: "6.8.23".into(),
        },
        bootstrap: Bootstrap::Hosts(hosts.clone()),
        tuning,
        rule: crate::settings::rule,
    }
}

pub(super) fn start(config: &Config, rules: Rules, boot: Boot<'_, Zen>) -> Zen {
    let mut config = config.clone();
    let start = boot.boots + 1;
    config.node.ephemeral_id = format!("n{}-{start}", boot.node).into();
    if start > 1 {
        // Who starts on a wiped disk is another node.
        config.node.id = format!("n{}~{start}", boot.node).into();
    }
    Zen::with_rules(config, boot.disk, boot.rng, rules)
}
