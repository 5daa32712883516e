//! How one node behaves: Zen discovery with ballots, as a state machine.
//!
//! ```text
//!   Input ─► dispatch ─► ping     ping rounds: who is there
//!                        choose   whom to follow
//!                        join     votes, candidacies, joins
//!                        lead     winning, terms, stepping down, the task queue
//!                        publish  the two phases on the master
//!                        acks     clients who wait until every node has applied
//!                        follow   accepting and applying states
//!                        watch    the fault detectors, both ways
//!                        read     reads that miss nothing
//!                        lease    when leases run out
//!                        gateway  what is waited for after a full restart
//!                        ask      clients' questions, on any node
//!                        leave    good-bye and hand-over            ──► Effects
//! ```
//!
//! The pure decisions stand in `elect` and `quorum`; what a node keeps in `memory`, `mode`, `search` and `leadership`, what
//! may be looked at in `view`.
//! It reads no clock and draws from the generator it was given. Mirrors `ZenDiscovery` (6.8).

mod acks;
mod admit;
mod candidacy;
mod choose;
mod client_requests;
mod dispatch;
pub mod elect;
pub mod explain;
mod fault_detection;
mod follow;
pub mod gateway;
mod health;
mod invariants;
mod join;
mod large_cluster;
mod lead;
mod leadership;
mod leap;
mod lease;
mod leave;
mod masterless_log;
mod memory;
pub mod message;
mod mode;
mod note;
mod ping;
mod propose;
mod publish;
pub mod quorum;
mod read;
pub mod recovery;
mod reject;
mod relay;
mod retune;
mod round_trip;
pub mod rules;
mod search;
mod sent;
mod setbacks;
mod silence;
mod slots;
mod span;
mod state_hash;
mod steps;
mod tuning;
mod view;

pub use client_requests::Ask;
pub use explain::Explanation;
pub use memory::{Ledger, Memory, Promise, Write};
pub use message::Message;
pub use mode::Mode;
pub use note::Note;
pub use quorum::BootstrapSet;
pub use reject::Rejection;
pub use tuning::{NoMasterBlock, Tuning, parse_count, parse_time};

use crate::cluster::{Address, Block, ClusterName, ClusterState, EphemeralId, Node, NodeId, StateId, Term};
use crate::protocol::{Call, Effect, Effects, Exchange, Rng, Ticket, Time, Timers};
use crate::service::SettingRule;
use elect::Lost;
use masterless_log::MasterlessLog;
use message::{Report, Sender};
use reject::Strangers;
use round_trip::RoundTrips;
use rules::{Protection, Rules};
use search::Search;
use sent::Sent;
use setbacks::Setbacks;
use slots::Slots;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// Who must take part in the first forming of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bootstrap {
    /// A majority of these names, addresses or ids.
    Hosts(BTreeSet<Arc<str>>),
    /// Every node found; a host that stays silent postpones it.
    Found,
}

/// What a node is told at its start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the cluster.
    pub cluster_name: ClusterName,
    /// The node. Its id is used only where the disk holds none yet.
    pub node: Node,
    /// Who must take part in the first forming.
    pub bootstrap: Bootstrap,
    /// The numbers to run by.
    pub tuning: Tuning,
    /// Which changes of the cluster's settings are understood.
    pub rule: SettingRule,
}

/// Why a node wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A ping round ends.
    Round,
    /// Silent hosts are pinged again within a round.
    PingAgain,
    /// Silent hosts were waited for long enough.
    Grace,
    /// A candidacy ends.
    Candidacy,
    /// A join is sent again or given up.
    Join,
    /// The master is pinged.
    MasterPing,
    /// Followers that miss the master compare since when.
    Silence,
    /// The nodes are pinged.
    NodePings,
    /// A publish lacks acknowledgements, or a term lacks votes.
    Commit,
    /// Tasks have been queued for too long.
    Queue,
    /// Nodes have had time enough to apply what was committed.
    Behind,
    /// Clients have waited long enough for every node to apply a change.
    Acks,
    /// Leases run out.
    Leases,
    /// More nodes were waited for long enough after a full restart.
    Gateway,
    /// A write is overdue.
    Disk,
    /// Clients' questions are tried again or given up.
    Asks,
    /// A good-bye is given up.
    Leave,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a request that is on its way was for.
#[derive(Clone, Debug, Hash)]
enum CallPurpose {
    Ping { address: Address, asked: Time },
    Join { target: EphemeralId },
    Fetch { from: NodeId },
    Publish { node: NodeId, at: Address, asked: Time },
    Commit { node: NodeId, asked: Time },
    NodePing { node: NodeId, asked: Time, kind: PingKind },
    RoundTrip { joiner: Arc<Node>, asked: Time },
    MasterPing { master: EphemeralId, asked: Time, kind: PingKind },
    CallVote { node: NodeId, asked: Time },
    Leave,
    Forward { ticket: Ticket, attempt: u32 },
    Relay { exchange: Exchange, changes: bool },
}

/// Why a fault detector pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PingKind {
    /// It is time again.
    Regular,
    /// A link closed.
    Probe,
    /// A read wants a confirmation, or a voting set new answers.
    Confirm,
}

/// One node.
#[derive(Clone)]
pub struct Zen {
    config: Config,
    rules: Rules,
    tuning: Tuning,
    local: Arc<Node>,
    sender: Arc<Sender>,
    rng: Rng,
    ledger: Ledger,
    /// The newest committed state that was applied.
    applied: Arc<ClusterState>,
    /// The same as readers see it: without its master while there is none.
    shown: Arc<ClusterState>,
    /// Accepted states between the applied and the accepted one, each made from the one before: committed when it is.
    accepted_unapplied: Vec<Arc<ClusterState>>,
    /// Whether this process has applied a recovered state of its master.
    has_recovered_state: bool,
    mode: Mode,
    search: Search,
    /// Masters that were lost or could not be joined, and when.
    lost: BTreeMap<EphemeralId, Lost>,
    /// With whom it did not work out lately, this node included.
    setbacks: Setbacks,
    /// The states that were sent to others.
    sent: Sent,
    /// How long answers take at the least.
    round_trips: RoundTrips,
    /// Another process that goes by this node's id, and when it was last heard of.
    twin: Option<(Arc<Node>, Time)>,
    masterless_log: MasterlessLog,
    strangers: Strangers,
    timers: Timers<Timer>,
    calls: BTreeMap<Call, CallPurpose>,
    called: u64,
    asks: BTreeMap<Ticket, Ask>,
    slots: Slots,
    leaving: Option<Ticket>,
    /// After a hand-over was agreed: who is to be asked for a vote, in which term and for whom.
    successor: Option<leave::Successor>,
    /// When the present input came.
    now: Time,
    /// The node was stalled and does not count silence before this.
    doubts_until: Time,
}

/// How many early joins, lost masters and the like are remembered.
const REMEMBERED_MAX: usize = 2_048;

/// How many states are kept for those who want to know of every change, while nobody says that they are committed.
const ACCEPTED_UNAPPLIED_MAX: usize = 256;

impl Zen {
    /// A node with what its disk holds. The first input must be [`Input::Started`](crate::protocol::Input::Started).
    pub fn new(config: Config, disk: Memory, rng: Rng) -> Self {
        Zen::begin(config, disk, rng, Rules::default())
    }

    /// A node that keeps these rules.
    #[cfg(feature = "switches")]
    pub fn with_rules(config: Config, disk: Memory, rng: Rng, rules: Rules) -> Self {
        Zen::begin(config, disk, rng, rules)
    }

    fn begin(config: Config, mut disk: Memory, rng: Rng, rules: Rules) -> Self {
        if !rules.keep(Protection::DurableVote) {
            disk.promise = Promise { node_id: disk.promise.node_id, ..Promise::default() };
        }
        if !rules.keep(Protection::DurableState) {
            disk = Memory { accepted: None, committed: None, ..disk };
        }
        let mut node = config.node.clone();
        if !rules.keep(Protection::IdWithVote) {
            node.id = NodeId::from(&*node.name);
        }
        if let Some(id) = &disk.promise.node_id {
            node.id = id.clone();
        }
        let local = Arc::new(node);
        let ledger = Ledger::new(disk, ClusterState::initial(config.cluster_name.clone()));
        let mut initial = ClusterState::initial(config.cluster_name.clone());
        initial.nodes.insert(local.clone());
        let is_shown = ledger.is_settled() || !rules.keep(Protection::SettledRestart);
        let applied = if is_shown { ledger.accepted.clone() } else { Arc::new(initial) };
        let mut zen = Zen {
            tuning: config.tuning.clone(),
            sender: Arc::new(Sender {
                cluster_name: config.cluster_name.clone(),
                cluster_uuid: ledger.cluster_uuid,
                node: local.clone(),
            }),
            shown: applied.clone(),
            applied,
            accepted_unapplied: Vec::new(),
            has_recovered_state: false,
            config,
            rules,
            local,
            rng,
            ledger,
            mode: Mode::Finding,
            search: Search::default(),
            lost: BTreeMap::new(),
            setbacks: Setbacks::default(),
            round_trips: RoundTrips::default(),
            twin: None,
            now: Time::ZERO,
            masterless_log: MasterlessLog::default(),
            strangers: Strangers::default(),
            timers: Timers::default(),
            calls: BTreeMap::new(),
            sent: Sent::default(),
            called: 0,
            asks: BTreeMap::new(),
            slots: Slots::default(),
            leaving: None,
            successor: None,
            doubts_until: Time::ZERO,
        };
        zen.tuning = zen.config.tuning.with_dynamic(&zen.ledger.accepted.metadata).0;
        zen
    }

    /// Whether this node keeps a protection, as every real one does.
    fn keeps(&self, protection: Protection) -> bool {
        self.rules.keep(protection)
    }

    fn call(
        &mut self,
        to: &Address,
        message: Message,
        purpose: CallPurpose,
        timeout: Duration,
        out: &mut Effects<Zen>,
    ) {
        self.called += 1;
        let call = Call(self.called);
        self.calls.insert(call, purpose);
        out.push(Effect::Send { to: to.clone(), call, message, timeout });
    }

    fn reply(&mut self, exchange: Exchange, message: Message, out: &mut Effects<Zen>) {
        out.push(Effect::Reply { exchange, message });
    }

    fn store(&mut self, write: Write, out: &mut Effects<Zen>) {
        let id = self.ledger.change(self.now, &write);
        self.timers.set_earlier(Timer::Disk, self.now + self.tuning.write_patience());
        if let Write::Identity(uuid) = &write {
            self.sender = Arc::new(Sender { cluster_uuid: Some(*uuid), ..(*self.sender).clone() });
        }
        out.push(Effect::Store { id, write });
    }

    /// Votes: the term never moves without.
    fn promise(&mut self, term: Term, vote: &NodeId, out: &mut Effects<Zen>) {
        assert!(term > self.ledger.promise.term, "a vote is only given in a term above the own one");
        let promise = Promise { term, vote: Some(vote.clone()), ..self.ledger.promise.clone() };
        self.store(Write::Promise(promise), out);
    }

    /// What the node has promised and knows. All of it is durable.
    fn report(&self) -> Report {
        let durable = &self.ledger.durable;
        let stored =
            if self.keeps(Protection::StoredReports) { self.ledger.durable_id() } else { self.ledger.accepted.id() };
        let follows = match &self.mode {
            Mode::Leading(_) => Some(self.local.id.clone()),
            Mode::Following(following) => Some(following.master.id.clone()),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => None,
        };
        Report {
            ephemeral_id: self.local.ephemeral_id.clone(),
            term: durable.promise.term,
            vote: durable.promise.vote.clone(),
            follows,
            accepted: stored,
            committed: self.ledger.committed,
            needs_full: false,
            storing: Some(self.ledger.accepted.id()).filter(|id| *id != self.ledger.durable_id()),
        }
    }

    fn reply_report(&mut self, exchange: Exchange, out: &mut Effects<Zen>) {
        let report = Box::new(self.report());
        self.reply(exchange, Message::Report(report), out);
    }

    fn is_formed(&self) -> bool {
        self.ledger.cluster_uuid.is_some()
    }

    /// Shows readers a committed state: without its master, while this node has none.
    fn apply(&mut self, state: Arc<ClusterState>, out: &mut Effects<Zen>) {
        self.tune(&state, out);
        self.applied = state.clone();
        let passed = mem::take(&mut self.accepted_unapplied);
        if !matches!(self.mode, Mode::Leading(_) | Mode::Following(_)) {
            return self.show_masterless(out);
        }
        passed.into_iter().for_each(|one| out.push(Effect::Apply(one)));
        self.has_recovered_state |= !state.blocks.contains(Block::STATE_NOT_RECOVERED.id);
        self.shown = state.clone();
        out.push(Effect::Apply(state));
    }

    /// Accepts a state, sent as a change of `base`. If it was made from the one accepted before, by way of those that it
    /// passed, they are committed when it is, and shown before it to those who want to know of every change.
    fn accept(
        &mut self,
        state: Arc<ClusterState>,
        base: StateId,
        passed: &[Arc<ClusterState>],
        out: &mut Effects<Zen>,
    ) {
        let before = self.ledger.accepted.clone();
        let chain: Vec<_> = std::iter::once(&before).chain(passed).cloned().collect();
        let mut pairs = chain.iter().zip(passed.iter().chain(std::iter::once(&state)));
        let is_next = base == before.id() && pairs.all(|(one, next)| is_made_from(next, one));
        if !is_next || self.accepted_unapplied.len() + chain.len() > ACCEPTED_UNAPPLIED_MAX {
            self.accepted_unapplied.clear();
        }
        if is_next {
            let applied = self.applied.id();
            self.accepted_unapplied.extend(chain.into_iter().filter(|one| one.id() != applied));
        }
        self.store(Write::Accepted(state), out);
    }

    /// Shows readers the last applied state without its master.
    fn show_masterless(&mut self, out: &mut Effects<Zen>) {
        self.shown = Arc::new(self.tuning.no_master_block.masterless(&self.applied));
        out.push(Effect::Apply(self.shown.clone()));
    }
}

/// Whether a state was made from one that the same master sent. What is sent as a change of a state need not be made from it:
/// a state that takes a proposal back is made from the one before that, and so are all that come after it.
fn is_made_from(state: &ClusterState, before: &ClusterState) -> bool {
    state.version == before.version.next() && state.metadata.voting.committed == before.metadata.voting.own
}
