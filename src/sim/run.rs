//! One random run: hurt a cluster, heal it, and demand that it recovers.
//!
//! Everything is drawn from the seed. Phase one hurts in episodes with calm between them, phase two heals everything, or
//! only a random quorum, and demands one master within a bound computed from the settings; phase three disturbs single
//! followers and demands that the master stays. Mirrors `AbstractCoordinatorTestCase.Cluster` (7.x).

use super::operation::MASTER_TIMEOUT;
use super::watch::Violation;
use super::{Boot, Clients, Counters, Detail, Fault, Habits, Histories, Mode, Plan, Told, World};
use crate::cluster::{Address, ClusterName, EphemeralId, Node, NodeId, Roles};
use crate::protocol::{Rng, Time};
use crate::zen::rules::Rules;
use crate::zen::{Bootstrap, Config, Tuning, Zen};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
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
    /// Stop after so many events.
    pub until: Option<u64>,
    /// How much of the trace to keep, and how many lines of it.
    pub trace: Option<(Detail, usize)>,
}

/// What was drawn for a run.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The seed.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them can be master: the first ones.
    pub eligible: usize,
    /// The operator's number in the configuration: the one that was asked for, as far as it can be met.
    pub minimum: Option<u32>,
    /// How many clients ask.
    pub clients: usize,
    /// How many keys they share.
    pub keys: u64,
    /// Bounds of a client's pause.
    pub pause_us: (u64, u64),
    /// Whether only a quorum is healed.
    pub heals_quorum_only: bool,
    /// How many updates are asked for.
    pub updates: u64,
    /// The faults of each episode.
    pub plan: Plan,
}

/// What a run showed.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it consisted of.
    pub counters: Counters,
    /// How many terms had a master.
    pub reigns: usize,
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
    pub watched: Told,
    /// The virtual time at the end.
    pub lasted: Duration,
    /// A hash of everything that happened.
    pub hash: u64,
    /// The last lines of the trace, if one was kept.
    pub trace: Vec<String>,
}

impl Report {
    /// Why the run proves little, if it does.
    pub fn vacuous(&self) -> Option<&'static str> {
        if self.acknowledged < 50 {
            Some("fewer than 50 acknowledged updates")
        } else if self.reigns < 2 {
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
    pub draw: Draw,
    /// After how many events.
    pub event: u64,
    /// When.
    pub at: Time,
    /// The last lines of the trace, if one was kept.
    pub trace: Vec<String>,
}

/// Makes one run.
pub fn run(options: &RunOptions) -> Result<Report, Box<Failure>> {
    let draw = Draw::new(options);
    let mut run = Run::new(options, draw.clone());
    let verdict = catch_unwind(AssertUnwindSafe(|| run.all()));
    let violation = match verdict {
        Ok(Ok(())) => return Ok(run.report()),
        Ok(Err(violation)) => violation,
        Err(panic) => Violation { checker: "assertion", what: panic_text(panic.as_ref()) },
    };
    if violation.checker == STOPPED {
        return Ok(run.report());
    }
    let (event, at) = (run.world.counters().events, run.world.now());
    Err(Box::new(Failure { violation, draw, event, at, trace: run.world.take_trace() }))
}

/// The checker that ends a run early because it was asked to.
const STOPPED: &str = "stopped";

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a node panicked").to_string()
}

impl Draw {
    /// Draws a run.
    pub fn new(options: &RunOptions) -> Self {
        let mut rng = Rng::new(options.seed ^ 0x7a7a_0001);
        let nodes = options.nodes.unwrap_or_else(|| rng.between(3, 7) as usize);
        let eligible = if rng.percent(70) { nodes } else { rng.between(nodes.min(3) as u64, nodes as u64) as usize };
        let minimum = rng.percent(20).then(|| rng.between(1, eligible as u64 / 2 + 1) as u32);
        let minimum = options.tuning.minimum_master_nodes.map(|asked| asked.min(eligible as u32)).or(minimum);
        let clients = rng.between(2, 6) as usize;
        let pause_us = *rng.pick(&[(1_000, 20_000), (5_000, 100_000), (20_000, 300_000)]).unwrap_or(&(1_000, 20_000));
        Draw {
            seed: options.seed,
            nodes,
            eligible,
            minimum,
            clients,
            keys: 2 * rng.between(1, 6),
            pause_us,
            heals_quorum_only: rng.percent(25),
            updates: options.updates,
            plan: Plan::draw(options.seed, nodes, Time::ZERO),
        }
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {} nodes, the first {} master-eligible", self.seed, self.nodes, self.eligible)?;
        match self.minimum {
            Some(minimum) => writeln!(f, "minimum_master_nodes {minimum}")?,
            None => writeln!(f, "minimum_master_nodes unset")?,
        }
        let (low, high) = self.pause_us;
        writeln!(f, "{} clients on {} keys, pausing {low} to {high} us", self.clients, self.keys)?;
        writeln!(f, "heals {}", if self.heals_quorum_only { "a random quorum only" } else { "everything" })?;
        write!(f, "{}", self.plan)
    }
}

/// A run under way.
struct Run {
    world: World<Zen, Clients>,
    draw: Draw,
    rng: Rng,
    until: Option<u64>,
    struck: u64,
    recoveries: Vec<Duration>,
    interrupted: u64,
    disturbances: u64,
    histories: Histories,
}

/// Busy clients ask for all their updates within one episode, which may show nothing.
const EPISODES_MIN: u32 = 3;
/// A run that hurts for longer than this was drawn too hard to go on with.
const HURT_MAX: Duration = Duration::from_secs(120);

impl Run {
    fn new(options: &RunOptions, draw: Draw) -> Self {
        let mut rng = Rng::new(options.seed ^ 0x7a7a_0002);
        let fastest_ppm = draw.plan.fastest_ppm();
        let (pause_us, keys, nodes) = (draw.pause_us, draw.keys, draw.nodes);
        let habits = Habits { clients: draw.clients, pause_us, keys, nodes, fastest_ppm };
        let clients = Clients::new(rng.fork(), habits);
        let rules = options.rules;
        let mut world = World::new(options.seed, clients);
        let addresses: Vec<Address> = (0..draw.nodes).map(address).collect();
        let hosts: BTreeSet<Arc<str>> = addresses[..draw.eligible].iter().map(|host| host.as_str().into()).collect();
        for (node, address) in addresses.iter().enumerate() {
            let tuning = Tuning { minimum_master_nodes: draw.minimum, ..options.tuning.clone() };
            let config = config(node, address, node < draw.eligible, &hosts, tuning);
            world.add(address.clone(), addresses[..draw.eligible].to_vec(), move |boot| start(&config, rules, boot));
        }
        if let Some((detail, kept)) = options.trace {
            world.trace(detail, kept);
        }
        let (until, recoveries) = (options.until, Vec::new());
        Run {
            world,
            draw,
            rng,
            until,
            struck: 0,
            recoveries,
            interrupted: 0,
            disturbances: 0,
            histories: Histories::default(),
        }
    }

    fn all(&mut self) -> Result<(), Violation> {
        self.world.start_all();
        self.hurt()?;
        let group = self.heal()?;
        self.demand_master(&group)?;
        self.demand_stability(&group)?;
        self.demand_answers(&group)?;
        self.histories = self.world.watch.judge_histories()?;
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
            self.draw.plan.begin_anew(self.world.now());
            let span = Duration::from_millis(self.rng.between(500, 5_000));
            let episode_end = self.world.now() + span;
            self.run_episode(episode_end)?;
            self.world.inject(Fault::Heal);
            let calm = Duration::from_millis(self.rng.between(200, 4_000));
            self.calm(self.world.now() + calm)?;
        }
        Ok(())
    }

    /// Nothing goes wrong until `end`.
    fn calm(&mut self, end: Time) -> Result<(), Violation> {
        let healed = self.world.now();
        let everybody: Vec<usize> = (0..self.draw.nodes).collect();
        if self.run_while(end, |world| !is_stable(world, &everybody))? {
            self.recoveries.push(self.world.now().since(healed));
        } else {
            self.interrupted += 1;
        }
        self.run_clients(end)
    }

    fn run_episode(&mut self, end: Time) -> Result<(), Violation> {
        while self.draw.plan.next_at() <= end {
            let at = self.draw.plan.next_at();
            if at > self.world.now() {
                self.run_clients(at)?;
            }
            // Every other fault waits for a publish to strike.
            if self.rng.percent(50) {
                let patience = (self.world.now() + Duration::from_millis(200)).min(end);
                self.run_while(patience, |world| !is_publishing(world))?;
            }
            if let Some(fault) = self.draw.plan.take() {
                self.struck += u64::from(is_publishing(&self.world));
                self.world.inject(fault);
            }
        }
        self.run_clients(end)
    }

    fn run_clients(&mut self, end: Time) -> Result<(), Violation> {
        self.run_while(end, |_| true).map(|_| ())
    }

    /// Runs while `goes_on`, with the clients asking when they want to.
    fn run_while(&mut self, end: Time, goes_on: impl Fn(&World<Zen, Clients>) -> bool) -> Result<bool, Violation> {
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
        }
        self.world.watch.look(now)?;
        while let Some(request) = self.world.watch.next(now, self.draw.eligible as u64) {
            let node = self.world.watch.pick_node(self.draw.nodes);
            if self.world.participant(node).is_none() {
                self.world.watch.not_there(request, now);
                continue;
            }
            let ticket = self.world.ask(node, request.question.clone());
            self.world.watch.asked(ticket, node, request, now);
        }
        Ok(())
    }

    /// Heals everything, or a random group that is a quorum whatever was decided; tells who must recover.
    fn heal(&mut self) -> Result<Vec<usize>, Violation> {
        for node in self.world.watch.retire_operators() {
            self.world.inject(Fault::Kill(node));
        }
        let everybody: Vec<usize> = (0..self.draw.nodes).collect();
        let group = if self.draw.heals_quorum_only { self.draw_quorum() } else { None };
        match group {
            Some(group) => {
                for node in everybody.iter().filter(|node| !group.contains(node)) {
                    self.world.inject(Fault::Isolate(*node, Mode::Hole));
                }
                self.world.inject(Fault::HealOnly(group.to_vec()));
                Ok(group)
            }
            None => {
                self.world.inject(Fault::Heal);
                Ok(everybody)
            }
        }
    }

    /// A random group whose eligible nodes are a quorum of everything that any node has accepted, or is about to.
    fn draw_quorum(&mut self) -> Option<Vec<usize>> {
        let size = self.draw.eligible / 2 + 1;
        let mut nodes: Vec<usize> = (0..self.draw.eligible).collect();
        self.rng.shuffle(&mut nodes);
        let mut group: Vec<usize> = nodes.into_iter().take(size).collect();
        group.extend((self.draw.eligible..self.draw.nodes).filter(|_| self.rng.percent(50)));
        group.sort_unstable();
        self.is_quorum(&group).then_some(group)
    }

    fn is_quorum(&self, group: &[usize]) -> bool {
        let eligible = group.iter().filter(|node| **node < self.draw.eligible);
        let ids: BTreeSet<NodeId> = eligible.clone().map(|node| node_id(*node)).collect();
        let minimums = self.world.participants().map(|(_, zen)| zen.quorum().minimum);
        let is_enough = minimums.max().unwrap_or(0).max(self.draw.minimum.unwrap_or(0) as usize) <= ids.len();
        let accepted = (0..self.draw.nodes).filter_map(|node| self.world.disk(node).accepted.as_ref());
        let running = self.world.participants().map(|(_, zen)| &zen.ledger().accepted);
        is_enough
            && !self.world.watch.is_setting()
            && ids.len() * 2 > self.draw.eligible
            && accepted.chain(running).all(|state| {
                state.metadata.voting.has_majority(|id| ids.contains(id))
                    && minimum_in(state).is_none_or(|minimum| minimum <= ids.len())
            })
    }

    /// L1: one master, followed by all who reach it, all at its version, within the bound.
    fn demand_master(&mut self, group: &[usize]) -> Result<(), Violation> {
        let healed = self.world.now();
        let bound = self.recovery_bound();
        let group = group.to_vec();
        let is_there = self.run_while(healed + bound, move |world| !is_stable(world, &group))?;
        if is_there {
            self.recoveries.push(self.world.now().since(healed));
            return Ok(());
        }
        let standings: Vec<String> = self.world.participants().map(|(node, zen)| stands(node, zen)).collect();
        let what = format!("no stable master within {bound:?} after healing: {}", standings.join("; "));
        Err(Violation { checker: "L1 one master within the bound", what })
    }

    fn recovery_bound(&self) -> Duration {
        self.longest(Tuning::recovery_bound)
    }

    fn detection(&self) -> Duration {
        self.longest(Tuning::detection_bound)
    }

    /// The longest of a time on all nodes, which count it on their own clocks.
    fn longest(&self, time: fn(&Tuning) -> Duration) -> Duration {
        let longest = self.world.participants().map(|(_, zen)| time(zen.tuning())).max();
        longest.unwrap_or_else(|| time(&Tuning::default())).div_f64(self.draw.plan.slowest_clock().min(1.0))
    }

    /// L2: a healthy master is never replaced by what single followers go through.
    fn demand_stability(&mut self, group: &[usize]) -> Result<(), Violation> {
        // What operators asked for before may still take effect.
        self.world.watch.fall_silent();
        self.run_clients(self.world.now() + MASTER_TIMEOUT * 2)?;
        self.demand_master(group)?;
        for _ in 0..self.rng.between(1, 3) {
            let Some((master, process)) = self.master(group) else {
                return Err(Violation { checker: "L1 one master within the bound", what: "it was lost again".into() });
            };
            let others: Vec<usize> = group.iter().copied().filter(|node| *node != master).collect();
            let Some(victim) = self.rng.pick(&others).copied() else {
                return Ok(());
            };
            if !self.can_do_without(master, victim, group) {
                continue;
            }
            self.disturbances += 1;
            self.disturb(master, &process, victim, group)?;
        }
        Ok(())
    }

    fn disturb(
        &mut self,
        master: usize,
        process: &EphemeralId,
        victim: usize,
        group: &[usize],
    ) -> Result<(), Violation> {
        let (hurt, mend) = match self.rng.below(4) {
            0 => (Fault::Kill(victim), Fault::Start(victim)),
            1 => (Fault::Pause(victim), Fault::Resume(victim)),
            2 => (Fault::Isolate(victim, Mode::Hole), Fault::HealOnly(group.to_vec())),
            _ => (Fault::PowerLoss(victim), Fault::Start(victim)),
        };
        let process = process.clone();
        let is_replaced = move |world: &World<Zen, Clients>| {
            world.participant(master).is_none_or(|zen| zen.reign().is_none() || zen.local().ephemeral_id != process)
        };
        let lasts = Duration::from_millis(self.rng.between(1, 3_000));
        self.world.inject(hurt);
        let first = self.run_while(self.world.now() + lasts, |world| !is_replaced(world))?;
        self.world.inject(mend);
        // What is under way may still be noticed; the next disturbance must not meet this one.
        let settling = self.detection() * 2;
        let second = self.run_while(self.world.now() + settling, |world| !is_replaced(world))?;
        let bound = self.recovery_bound();
        let third =
            self.run_while(self.world.now() + bound, |world| !is_replaced(world) && !is_stable(world, group))?;
        if first || second || is_replaced(&self.world) {
            let what = format!("n{master} was replaced because of n{victim}");
            return Err(Violation { checker: "L2 a healthy master is never replaced", what });
        }
        if third {
            return Ok(());
        }
        let what = format!("n{victim} was not taken in again within {bound:?}");
        Err(Violation { checker: "L1 one master within the bound", what })
    }

    fn can_do_without(&self, master: usize, victim: usize, group: &[usize]) -> bool {
        let Some(zen) = self.world.participant(master) else {
            return false;
        };
        let rest = group.iter().filter(|node| **node != victim && **node < self.draw.eligible);
        let ids: BTreeSet<NodeId> = rest.map(|node| node_id(*node)).collect();
        let voting = &zen.ledger().accepted.metadata.voting;
        voting.has_majority(|id| ids.contains(id)) && ids.len() >= zen.quorum().minimum
    }

    fn master(&self, group: &[usize]) -> Option<(usize, EphemeralId)> {
        let leads = |node: &&usize| self.world.participant(**node).is_some_and(|zen| zen.reign().is_some());
        let master = *group.iter().find(leads)?;
        Some((master, self.world.participant(master)?.local().ephemeral_id.clone()))
    }

    /// Whoever asks a healthy cluster is answered, and what was asked before has been answered by then.
    fn demand_answers(&mut self, group: &[usize]) -> Result<(), Violation> {
        self.world.watch.fall_silent();
        self.run_clients(self.world.now() + MASTER_TIMEOUT * 8)?;
        let asked = self.world.now();
        let before = self.world.watch.acknowledged();
        let tickets = group.len();
        for node in group {
            let request = self.world.watch.passer(asked);
            let ticket = self.world.ask(*node, request.question.clone());
            self.world.watch.asked(ticket, *node, request, asked);
        }
        self.run_clients(asked + MASTER_TIMEOUT)?;
        let done = self.world.watch.acknowledged() - before;
        let stuck = self.world.watch.waiting();
        if done == tickets && stuck == 0 {
            return Ok(());
        }
        let what = format!("{done} of {tickets} updates were acknowledged after healing, {stuck} questions are open");
        Err(Violation { checker: "S7 every question is answered", what })
    }

    fn report(&mut self) -> Report {
        let trace = self.world.take_trace();
        let watch = &self.world.watch;
        Report {
            counters: self.world.counters().clone(),
            reigns: watch.checkers.reigns(),
            committed: watch.checkers.descent.len(),
            issued: watch.issued(),
            acknowledged: watch.acknowledged(),
            told: watch.told.clone(),
            recoveries: self.recoveries.clone(),
            interrupted: self.interrupted,
            struck: self.struck,
            disturbances: self.disturbances,
            histories: self.histories.clone(),
            grants: watch.grants(),
            watched: watch.watched().clone(),
            lasted: self.world.now().since(Time::ZERO),
            hash: self.world.trace_hash(),
            trace,
        }
    }
}

fn minimum_in(state: &crate::cluster::ClusterState) -> Option<usize> {
    let key = crate::service::MINIMUM_MASTER_NODES;
    state.metadata.transient.get(key).or_else(|| state.metadata.persistent.get(key))?.parse().ok()
}

/// Whether a node said good-bye, or a client that was answered wants to ask again before `stop`.
fn wants_attention(world: &World<Zen, Clients>, stop: Time) -> bool {
    !world.watch.left.is_empty() || world.watch.next_at().is_some_and(|next| next < stop)
}

fn is_publishing(world: &World<Zen, Clients>) -> bool {
    world.participants().any(|(_, zen)| zen.is_publishing())
}

/// Whether one node of the group is master, with nothing in flight, and all others follow it at its version.
fn is_stable(world: &World<Zen, Clients>, group: &[usize]) -> bool {
    let running = || group.iter().map(|node| world.participant(*node).filter(|_| world.is_running(*node)));
    let Some(master) = running().flatten().find(|zen| zen.reign().is_some()) else {
        return false;
    };
    let applied = master.applied().id();
    !master.is_publishing()
        && running().all(|zen| {
            zen.is_some_and(|zen| {
                zen.open_master().is_some_and(|followed| followed.same_process(master.local()))
                    && zen.applied().id() == applied
            })
        })
}

fn stands(node: usize, zen: &Zen) -> String {
    use crate::protocol::Protocol;
    let standing = zen.standing();
    format!("n{node} {} term {} applied {}", standing.mode, standing.term, zen.applied().id())
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

fn start(config: &Config, rules: Rules, boot: Boot<'_, Zen>) -> Zen {
    let mut config = config.clone();
    config.node.ephemeral_id = format!("n{}-{}", boot.node, boot.boots + 1).into();
    Zen::with_rules(config, boot.disk, boot.rng, rules)
}
