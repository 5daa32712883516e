//! Random runs in which nothing is stopped: which flaws a search finds that knows none of the scripts.
//!
//! Faults are those of every random run; a few clients write and read through any node. The nodes run at this protocol's
//! pace, whatever they are: a run lasts some minutes, and Zen took one and a half to notice a silent node.

use crate::cluster::{Address, Roles};
use crate::protocol::{Rng, Ticket, Time};
use crate::service::{Answer, Query, Question, Task, Txn};
use crate::sim::cluster_world::{self, NodeSpec};
use crate::sim::network::Mode;
use crate::sim::watch::{Violation, Watch};
use crate::sim::witness::{Oracle, Witness};
use crate::sim::{Fault, Member, Plan, World};
use crate::zen::{Message, Tuning};
use crate::zen68::Dialect;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// For so long a healed cluster is left alone before it is judged.
const REST: Duration = Duration::from_secs(90);
/// How many updates the clients of a run ask for at least.
const UPDATES: u64 = 200;
/// A run is hurt at least so often.
const EPISODES_MIN: u32 = 3;
/// A run that hurts for longer than this was drawn too hard to go on with.
const HURT_MAX: Duration = Duration::from_secs(120);
/// How long a client waits for a master, and for every node.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often clients are looked after.
const ATTENTION: Duration = Duration::from_millis(5);

/// What a person typed for the nodes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Typed {
    /// Nothing, as is the default.
    Nothing,
    /// The right number.
    Majority,
}

/// A kind of random run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// Which Zen the nodes are, if they are of old.
    pub dialect: Option<Dialect>,
    /// Their `minimum_master_nodes`.
    pub typed: Typed,
}

/// Makes one run and tells every flaw that showed in it.
pub fn witnessed(kind: Kind, seed: u64) -> BTreeMap<Oracle, String> {
    let mut search = Search::new(kind, seed);
    // Neither clients nor the witness stop anything.
    let _ = search.all();
    let now = search.world.now();
    let seen = &search.world.watch.witness;
    // An update that is asked of a node that stands still takes as long as that lasts, and rightly so.
    let oracles = Oracle::ALL.into_iter().filter(|oracle| *oracle != Oracle::SlowUpdate);
    let judged = oracles.map(|oracle| (oracle, seen.judge(oracle, now, &[], oracle.span())));
    judged.filter_map(|(oracle, found)| Some((oracle, found?))).collect()
}

/// Clients, each of which asks one thing after the other, and the witness.
struct Asking {
    witness: Witness,
    rng: Rng,
    /// When each client asks next; none while it waits for an answer.
    clients: Vec<Option<Time>>,
    open: BTreeMap<Ticket, usize>,
    pause_us: (u64, u64),
    keys: u64,
    issued: u64,
}

impl Asking {
    /// Mostly a write of what nobody else writes.
    fn question(&mut self) -> Question {
        let key = format!("k{}", self.rng.below(self.keys));
        if self.rng.percent(25) {
            return Question::Read { query: Query::Key { key: key.into() }, master_timeout: PATIENCE };
        }
        self.issued += 1;
        let task = Task::Txn(Txn::put(key, self.issued.to_string()));
        Question::Submit { task, timeout: PATIENCE, master_timeout: PATIENCE }
    }

    fn rest(&mut self, at: Time, ticket: Ticket) {
        let pause = self.rng.between(self.pause_us.0, self.pause_us.1);
        if let Some(client) = self.open.remove(&ticket).and_then(|client| self.clients.get_mut(client)) {
            *client = Some(at + Duration::from_micros(pause));
        }
    }
}

impl Watch<Member> for Asking {
    fn booted(&mut self, at: Time, node: usize, member: &Member) -> Result<(), Violation> {
        self.witness.booted(at, node, member)
    }

    fn handled(&mut self, at: Time, node: usize, member: &Member) -> Result<(), Violation> {
        self.witness.handled(at, node, member)
    }

    fn ended(&mut self, at: Time, node: usize) -> Result<(), Violation> {
        self.witness.ended(at, node)
    }

    fn paused(&mut self, at: Time, node: usize, is_paused: bool) -> Result<(), Violation> {
        self.witness.paused(at, node, is_paused)
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.witness.sent(at, from, to, message)
    }

    fn answered(&mut self, at: Time, node: usize, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        self.rest(at, ticket);
        self.witness.answered(at, node, ticket, answer)
    }

    fn lost(&mut self, at: Time, node: usize, ticket: Ticket) -> Result<(), Violation> {
        self.rest(at, ticket);
        self.witness.lost(at, node, ticket)
    }
}

/// A run under way.
struct Search {
    world: World<Member, Asking>,
    plan: Plan,
    rng: Rng,
    /// Which links work while the nodes start for the first time; all, if it is not said.
    first_links: Option<u64>,
}

impl Search {
    fn new(kind: Kind, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x7a7a_0003);
        let nodes = rng.between(3, 7) as usize;
        let eligible = if rng.percent(70) { nodes } else { rng.between(3, nodes as u64) as usize };
        let pause_us = *rng.pick(&[(1_000, 20_000), (5_000, 100_000), (20_000, 300_000)]).unwrap_or(&(1_000, 20_000));
        let asking = Asking {
            witness: Witness::default(),
            clients: vec![Some(Time::ZERO); rng.between(2, 6) as usize],
            open: BTreeMap::new(),
            pause_us,
            keys: rng.between(1, 12),
            issued: 0,
            rng: rng.fork(),
        };
        let mut world = World::new(seed, asking);
        cluster_world::prepare(&mut world);
        let hosts: Vec<Address> = (0..eligible).map(cluster_world::address).collect();
        let typed = (kind.typed == Typed::Majority).then_some(eligible as u32 / 2 + 1);
        for node in 0..nodes {
            let spec = NodeSpec::new(&format!("n{node}"), cluster_world::address(node), &hosts);
            let tuning = Tuning { minimum_master_nodes: typed, ..Tuning::default() };
            let roles = Roles { master: node < eligible, ..Roles::ALL };
            cluster_world::add(&mut world, NodeSpec { roles, tuning, dialect: kind.dialect, ..spec });
        }
        let plan = Plan::draw(seed, nodes, Time::ZERO);
        let first_links = rng.percent(20).then(|| rng.next_u64() | rng.next_u64());
        Search { world, plan, rng, first_links }
    }

    /// Hurts a cluster in episodes with calm between them, heals it, and leaves it alone.
    fn all(&mut self) -> Result<(), Violation> {
        if let Some(arrows) = self.first_links {
            self.world.inject(Fault::Graph(arrows, Mode::Hole));
        }
        self.world.start_all();
        let mut episodes = 0;
        while episodes < EPISODES_MIN || self.world.watch.issued < UPDATES {
            if self.world.now() >= Time::ZERO + HURT_MAX {
                break;
            }
            episodes += 1;
            self.hurt()?;
            self.world.inject(Fault::Heal);
            let calm = Duration::from_millis(self.rng.between(200, 4_000));
            self.run_clients(self.world.now() + calm)?;
        }
        // Mostly there is no calm before the end: what is to recover is hurt.
        if self.rng.percent(70) {
            self.hurt()?;
        }
        self.world.inject(Fault::Heal);
        self.world.watch.clients.clear();
        self.world.run_for(REST)
    }

    fn hurt(&mut self) -> Result<(), Violation> {
        for fault in self.plan.standing_faults() {
            self.world.inject(fault);
        }
        self.plan.begin_anew(self.world.now());
        let end = self.world.now() + Duration::from_millis(self.rng.between(500, 5_000));
        while self.plan.next_at() <= end {
            self.run_clients(self.plan.next_at())?;
            // Every other fault waits for a publish to strike.
            if self.rng.percent(50) {
                let patience = (self.world.now() + Duration::from_millis(200)).min(end);
                self.world.run_while(patience, |world| !world.participants().any(|(_, node)| node.is_publishing()))?;
            }
            if let Some(fault) = self.plan.take() {
                let fault = self.aim(fault);
                self.world.inject(fault);
            }
        }
        self.run_clients(end)
    }

    /// Some faults of single nodes hit a master; what ends them is healing.
    fn aim(&mut self, fault: Fault) -> Fault {
        let Some(&master) = self.masters().first().filter(|_| self.rng.percent(30)) else {
            return fault;
        };
        if let Fault::Isolate(_, mode) = fault
            && mode != Mode::Up
        {
            Fault::Isolate(master, mode)
        } else if let Fault::Pause(_) = fault {
            Fault::Pause(master)
        } else {
            fault
        }
    }

    fn masters(&self) -> BTreeSet<usize> {
        self.world.participants().filter(|(_, member)| member.leads()).map(|(node, _)| node).collect()
    }

    fn run_clients(&mut self, end: Time) -> Result<(), Violation> {
        while self.world.now() < end {
            self.ask();
            let stop = (self.world.now() + ATTENTION).min(end);
            self.world.run_until(stop)?;
        }
        Ok(())
    }

    /// Lets the clients ask whose time has come. Some keep to whoever takes itself for the master, also when others know
    /// better.
    fn ask(&mut self) {
        let now = self.world.now();
        for client in 0..self.world.watch.clients.len() {
            if self.world.watch.clients[client].is_none_or(|next| next > now) {
                continue;
            }
            let masters: Vec<usize> = self.masters().into_iter().collect();
            let any = self.rng.below(self.world.len() as u64) as usize;
            let node = if self.rng.percent(30) { self.rng.pick(&masters).copied().unwrap_or(any) } else { any };
            if self.world.participant(node).is_none() {
                continue;
            }
            let question = self.world.watch.question();
            let ticket = self.world.ask(node, question.clone());
            self.world.watch.witness.asked(now, ticket, &question);
            self.world.watch.open.insert(ticket, client);
            self.world.watch.clients[client] = None;
        }
    }
}
