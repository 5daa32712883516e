//! One random run: hurt a cluster, heal it, and demand that it recovers.
//!
//! Everything is drawn from the seed (`run_params`). Phase one hurts in episodes with calm between them; phase two heals
//! everything or a part and demands one master within a bound computed from the settings, and phase three disturbs single
//! followers and demands that the master stays (`liveness`). Mirrors `AbstractCoordinatorTestCase.Cluster` (7.x).

use super::afflict::transfer_bound;
use super::check::{Bounds, Phase, Service, Storms};
use super::cluster_world;
use super::disk::LATENCY_US;
use super::liveness::{Mended, is_stable};
use super::operation::COMMIT_TIMEOUT_MAX;
use super::run_params::RunParams;
use super::watch::Violation;
use super::{Boot, Clients, Counters, Detail, Fault, Habits, Histories, Mode as Cut, Quality, WatcherTotals, World};
use crate::cluster::{Address, ClusterName, EphemeralId, Node, NodeId, Roles};
use crate::protocol::{Rng, Time};
use crate::zen::rules::Rules;
use crate::zen::{Bootstrap, Config, Mode, Tuning, Zen};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// What is asked of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What everything is drawn from.
    pub seed: u64,
    /// How many nodes; drawn from 3 to 7 if it is not said.
    pub nodes: Option<usize>,
    /// How many updates are asked for at least.
    pub updates: u64,
    /// The numbers that the nodes run by.
    pub tuning: Tuning,
    /// The protections that the nodes keep.
    pub rules: Rules,
    /// Whether nodes are half well besides their other faults.
    pub half_well: bool,
    /// Stop after so many events.
    pub until: Option<u64>,
    /// How much of the trace to keep, and how many lines of it.
    pub trace: Option<(Detail, usize)>,
    /// Whether all that happens is hashed, so that runs can be compared.
    pub is_hashed: bool,
}

/// What a run showed.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it consisted of.
    pub counters: Counters,
    /// How many terms had a master.
    pub masterships: usize,
    /// How many states were committed.
    pub committed: usize,
    /// How many updates were asked for.
    pub issued: u64,
    /// How many updates were acknowledged.
    pub acknowledged: usize,
    /// What clients were told.
    pub told: BTreeMap<&'static str, u64>,
    /// How long the cluster took to recover, each time that it was healed and did.
    pub recoveries: Vec<Duration>,
    /// The same while nodes were sick, links slow, or times longer than by default.
    pub hard_recoveries: Vec<Duration>,
    /// How often the next faults came before it had recovered.
    pub interrupted: u64,
    /// How many faults struck while a publish was under way.
    pub struck: u64,
    /// How many disturbances the master outlived.
    pub disturbances: u64,
    /// What was found out about the histories of the clients.
    pub histories: Histories,
    /// How many leases were granted.
    pub grants: usize,
    /// What watchers were told.
    pub watched: WatcherTotals,
    /// What clients got while a majority was well.
    pub service: Service,
    /// The most that nodes sent and wrote.
    pub storms: Storms,
    /// The virtual time at the end.
    pub lasted: Duration,
    /// Whether wiped disks left no quorum of what was decided, so that nothing could be demanded.
    pub quorum_lost: bool,
    /// A hash of everything that happened, if one was wanted.
    pub hash: Option<u64>,
    /// The last lines of the trace, if one was kept.
    pub trace: Vec<String>,
}

impl Report {
    /// Why the run proves little, if it does.
    pub fn vacuous(&self) -> Option<&'static str> {
        if self.quorum_lost {
            Some("no quorum was left of the disks")
        } else if self.acknowledged < 50 {
            Some("fewer than 50 acknowledged updates")
        } else if self.masterships < 2 {
            Some("no change of master")
        } else if self.histories.is_trivial() {
            Some("too few operations at once")
        } else if self.struck == 0 {
            Some("no fault while a publish was under way")
        } else {
            None
        }
    }
}

/// A run in which a rule was broken.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The rule, and how.
    pub violation: Violation,
    /// What was drawn.
    pub draw: RunParams,
    /// After how many events.
    pub event: u64,
    /// When.
    pub at: Time,
    /// The last lines of the trace, if one was kept.
    pub trace: Vec<String>,
}

/// Makes one run.
pub fn run(options: &RunOptions) -> Result<Report, Box<Failure>> {
    let draw = RunParams::new(options);
    let mut run = Run::new(options, draw.clone());
    let verdict = catch_unwind(AssertUnwindSafe(|| run.all()));
    let violation = match verdict {
        Ok(Ok(())) => return Ok(run.report()),
        Ok(Err(violation)) => violation,
        Err(panic) => Violation::assertion(panic.as_ref()),
    };
    if violation.checker == STOPPED {
        return Ok(run.report());
    }
    let (event, at) = (run.world.counters().events, run.world.now());
    Err(Box::new(Failure { violation, draw, event, at, trace: run.world.take_trace() }))
}

/// The checker that ends a run early because it was asked to.
const STOPPED: &str = "stopped";
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
    is_hashed: bool,
    struck: u64,
    pub(super) recoveries: Vec<Duration>,
    pub(super) hard_recoveries: Vec<Duration>,
    interrupted: u64,
    pub(super) disturbances: u64,
    quorum_lost: bool,
    histories: Histories,
}

/// Busy clients ask for all their updates within one episode, which may show nothing.
const EPISODES_MIN: u32 = 3;
/// A run that hurts for longer than this was drawn too hard to go on with.
const HURT_MAX: Duration = Duration::from_secs(120);

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

    pub(super) fn all(&mut self) -> Result<(), Violation> {
        if let Some(arrows) = self.draw.first_links {
            self.world.inject(Fault::Graph(arrows, Cut::Hole));
        }
        self.keep_back_late();
        self.begin_sick();
        self.world.start_all();
        self.hurt()?;
        self.hurt_again()?;
        let mended = self.heal();
        let everybody = self.well();
        self.quorum_lost = !self.bears_without_others(&everybody);
        if self.quorum_lost {
            return Ok(());
        }
        self.world.watch.timely.begin(Phase::Well, &mended.group);
        let healed = self.healed();
        self.quorum_lost = !self.keeps_quorum(&mended)?;
        if self.quorum_lost {
            return Ok(());
        }
        let Mended { mut group, is_all, .. } = mended;
        self.demand_recovery_since(healed, &group)?;
        if group.len() < everybody.len() && self.rng.percent(50) && self.is_led_from_within(&group) {
            self.demand_welcome(&group, &everybody)?;
            group = everybody.clone();
            self.world.watch.timely.begin(Phase::Well, &group);
        }
        if !is_all {
            self.world.inject(Fault::Mend);
            group = everybody;
            self.world.watch.timely.begin(Phase::Well, &group);
            self.demand_recovery(&group)?;
        }
        self.demand_service(&group)?;
        if self.is_led_from_within(&group) {
            self.demand_stability(&group)?;
        }
        self.demand_another(&group)?;
        self.demand_answers(&group)?;
        self.demand_voters(&group)?;
        self.histories = self.world.watch.judge_histories(self.world.now())?;
        Ok(())
    }

    /// Several episodes of faults with calm between them, until enough updates were asked for.
    fn hurt(&mut self) -> Result<(), Violation> {
        let end = self.world.now() + HURT_MAX;
        let mut episodes = 0;
        while (self.world.watch.issued() < self.draw.updates || episodes < EPISODES_MIN) && self.world.now() < end {
            episodes += 1;
            for fault in self.draw.plan.standing_faults() {
                self.world.inject(fault);
            }
            self.begin_anew();
            let span = Duration::from_millis(self.rng.between(500, 5_000));
            self.world.watch.timely.begin(Phase::Hurt, &[]);
            self.run_episode(self.world.now() + span)?;
            self.give_roles_back();
            self.world.inject(Fault::Heal);
            let calm = Duration::from_millis(self.rng.between(200, 4_000));
            self.calm(self.world.now() + calm)?;
        }
        Ok(())
    }

    /// Mostly there is no calm before the end: what is to recover is hurt.
    fn hurt_again(&mut self) -> Result<(), Violation> {
        if self.rng.percent(30) {
            return Ok(());
        }
        for fault in self.draw.plan.standing_faults() {
            self.world.inject(fault);
        }
        self.begin_anew();
        let span = Duration::from_millis(self.rng.between(500, 5_000));
        self.world.watch.timely.begin(Phase::Hurt, &[]);
        self.run_episode(self.world.now() + span)
    }

    fn begin_anew(&mut self) {
        self.draw.plan.begin_anew(self.world.now());
        self.draw.half_well.begin_anew(self.world.now());
    }

    /// Nothing goes wrong until `end`.
    fn calm(&mut self, end: Time) -> Result<(), Violation> {
        let healed = self.healed();
        let everybody = self.well();
        self.world.watch.timely.begin(Phase::Well, &everybody);
        if self.run_while(end, |world| !is_stable(world, &everybody, &[]))? {
            self.recovered(healed);
        } else {
            self.interrupted += 1;
        }
        self.run_clients(end)
    }

    fn run_episode(&mut self, end: Time) -> Result<(), Violation> {
        while self.next_fault() <= end {
            let at = self.next_fault();
            if at > self.world.now() {
                self.run_clients(at)?;
            }
            if self.draw.half_well.next_at().is_some_and(|next| next <= at) {
                if let Some(act) = self.draw.half_well.take() {
                    self.act(act);
                }
                continue;
            }
            // Every other fault waits for a publish to strike, and some for an election.
            let patience = (self.world.now() + Duration::from_millis(200)).min(end);
            match self.rng.below(100) {
                0..50 => self.run_while(patience, |world| !is_publishing(world))?,
                50..65 => self.run_while(patience, |world| !is_electing(world))?,
                _ => false,
            };
            if let Some(fault) = self.draw.plan.take() {
                let fault = self.aim(fault);
                let fault = self.worsen(fault);
                self.struck += u64::from(is_publishing(&self.world));
                self.inject(fault);
            }
        }
        self.run_clients(end)
    }

    /// When the next fault of either kind begins or ends.
    fn next_fault(&self) -> Time {
        let next = self.draw.plan.next_at();
        self.draw.half_well.next_at().map_or(next, |other| other.min(next))
    }

    /// Some faults of single nodes hit the master; what ends them is healing.
    fn aim(&mut self, fault: Fault) -> Fault {
        let master = self.world.participants().find(|(_, zen)| zen.mastership().is_some()).map(|(node, _)| node);
        let Some(master) = master.filter(|_| self.rng.percent(30)) else {
            return fault;
        };
        if let Fault::Isolate(_, mode) = fault
            && mode != Cut::Up
        {
            Fault::Isolate(master, mode)
        } else if let Fault::Pause(_) = fault {
            Fault::Pause(master)
        } else {
            fault
        }
    }

    /// Some of the processes that end take what is on their disk with them.
    fn worsen(&mut self, fault: Fault) -> Fault {
        if let Fault::Kill(node) | Fault::PowerLoss(node) = fault
            && self.rng.percent(self.draw.wipe_percent)
            && self.may_wipe(node)
        {
            self.world.watch.wiped(node);
            return Fault::Wipe(node);
        }
        fault
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

    fn report(&mut self) -> Report {
        let trace = self.world.take_trace();
        let watch = &self.world.watch;
        Report {
            counters: self.world.counters().clone(),
            masterships: watch.checkers.masterships(),
            committed: watch.checkers.descent.len(),
            issued: watch.issued(),
            acknowledged: watch.acknowledged(),
            told: watch.told.clone(),
            recoveries: self.recoveries.clone(),
            hard_recoveries: self.hard_recoveries.clone(),
            interrupted: self.interrupted,
            struck: self.struck,
            disturbances: self.disturbances,
            histories: self.histories.clone(),
            grants: watch.grants(),
            watched: watch.watched().clone(),
            service: watch.timely.service.clone(),
            storms: watch.storm.storms.clone(),
            lasted: self.world.now().since(Time::ZERO),
            quorum_lost: self.quorum_lost,
            hash: self.is_hashed.then(|| self.world.trace_hash()),
            trace,
        }
    }
}

/// Whether a node said good-bye, or a client that was answered wants to ask again before `stop`.
fn wants_attention(world: &World<Zen, Clients>, stop: Time) -> bool {
    !world.watch.left.is_empty() || world.watch.next_at().is_some_and(|next| next < stop)
}

fn is_publishing(world: &World<Zen, Clients>) -> bool {
    world.participants().any(|(_, zen)| zen.is_publishing())
}

fn is_electing(world: &World<Zen, Clients>) -> bool {
    world.participants().any(|(_, zen)| matches!(zen.mode(), Mode::Electing(_) | Mode::Joining(_)))
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
        master_change: slowest.recovery_bound() + transfer_bound(draw.half_well.slow),
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
