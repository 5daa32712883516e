//! How one node behaves: Zen discovery with ballots, as a state machine.
//!
//! ```text
//!   Input ──► handle ──► ping     ping rounds: who is there
//!                        choose   whom to follow
//!                        join     votes, candidacies, joins
//!                        lead     winning, terms, stepping down, the task queue
//!                        publish  the two phases on the master
//!                        follow   accepting and applying states
//!                        watch    the fault detectors, both ways
//!                        read     reads that miss nothing
//!                        lease    when leases run out
//!                        gateway  what is waited for after a full restart
//!                        ask      clients' questions, on any node
//!                        leave    good-bye and hand-over            ──► Effects
//! ```
//!
//! The pure decisions stand in `elect` and `quorum`; what a node keeps and shows in `memory`, `mode`, `search` and
//! `leadership`.
//! It reads no clock and draws from the generator it was given. Mirrors `ZenDiscovery` (6.8).

mod ask;
mod choose;
pub mod elect;
mod episode;
pub mod explain;
mod fold;
mod follow;
pub mod gateway;
mod invariants;
mod join;
mod lead;
mod leadership;
mod lease;
mod leave;
mod memory;
pub mod message;
mod mode;
mod note;
mod ping;
mod publish;
pub mod quorum;
mod read;
pub mod recovery;
mod reject;
pub mod rules;
mod search;
mod span;
mod tuning;
mod watch;

pub use ask::Ask;
pub use explain::Explanation;
pub use memory::{Ledger, Memory, Promise, Write};
pub use message::Message;
pub use mode::Mode;
pub use note::Note;
pub use quorum::BootstrapSet;
pub use reject::Rejection;
pub use tuning::{NoMasterBlock, Tuning, parse_count, parse_span, parse_time};

use crate::cluster::{Address, Block, ClusterName, ClusterState, EphemeralId, Node, NodeId, StateId, Term};
use crate::protocol::{Call, Effect, Effects, Exchange, Failure, Input, Protocol, Rng, Standing, Ticket, Time, Timers};
use crate::service::{Answer, Question, SettingRule};
use elect::Lost;
use episode::Episode;
use leadership::Origin;
use message::{Report, Sender};
use mode::EarlyJoin;
use reject::Strangers;
use rules::{Protection, Rules};
use search::Search;
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
enum Errand {
    Ping { address: Address, asked: Time },
    Join { target: EphemeralId },
    Fetch { from: NodeId },
    Publish { node: NodeId, asked: Time },
    Commit { node: NodeId, asked: Time },
    NodePing { node: NodeId, asked: Time, kind: PingKind },
    RoundTrip { joiner: Arc<Node> },
    MasterPing { master: EphemeralId, asked: Time, kind: PingKind },
    CallVote { node: NodeId, asked: Time },
    Leave,
    Forward { ticket: Ticket },
}

/// Why a fault detector pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PingKind {
    /// It is time again.
    Regular,
    /// A link closed.
    Probe,
    /// A read wants a confirmation.
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
    between: Vec<Arc<ClusterState>>,
    /// Whether this process has applied a state of a cluster that had its own back.
    is_awake: bool,
    mode: Mode,
    search: Search,
    early_joins: BTreeMap<NodeId, EarlyJoin>,
    /// Masters that were lost or could not be joined, and when.
    lost: BTreeMap<EphemeralId, Lost>,
    episode: Episode,
    strangers: Strangers,
    timers: Timers<Timer>,
    calls: BTreeMap<Call, Errand>,
    called: u64,
    asks: BTreeMap<Ticket, Ask>,
    leaving: Option<Ticket>,
    /// After a hand-over was agreed: who is to be asked for a vote, in which term and for whom.
    successor: Option<leave::Successor>,
    /// The node was stalled and does not count silence before this.
    doubts_until: Time,
}

/// How many early joins, lost masters and the like are remembered.
const REMEMBERED_MAX: usize = 2_048;

/// How many states are kept for those who want to know of every change, while nobody says that they are committed.
const BETWEEN_MAX: usize = 256;

impl Zen {
    /// A node with what its disk holds. The first input must be [`Input::Started`].
    pub fn new(config: Config, disk: Memory, rng: Rng) -> Self {
        Zen::with_rules(config, disk, rng, Rules::default())
    }

    /// A node that keeps these rules; only the simulator has others than [`Rules::default`].
    pub(crate) fn with_rules(config: Config, mut disk: Memory, rng: Rng, rules: Rules) -> Self {
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
            between: Vec::new(),
            is_awake: false,
            config,
            rules,
            local,
            rng,
            ledger,
            mode: Mode::Finding,
            search: Search::default(),
            early_joins: BTreeMap::new(),
            lost: BTreeMap::new(),
            episode: Episode::default(),
            strangers: Strangers::default(),
            timers: Timers::default(),
            calls: BTreeMap::new(),
            called: 0,
            asks: BTreeMap::new(),
            leaving: None,
            successor: None,
            doubts_until: Time::ZERO,
        };
        zen.tuning = zen.config.tuning.with_dynamic(&zen.ledger.accepted.metadata).0;
        zen
    }

    /// The node itself.
    pub fn local(&self) -> &Arc<Node> {
        &self.local
    }

    /// What the node has decided, and what of it is durable.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What the node is doing.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// The term that the node reigns in, if it is master.
    pub fn reign(&self) -> Option<Term> {
        match &self.mode {
            Mode::Leading(lead) => Some(lead.term),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        }
    }

    /// The newest state that this master made, and the one that it was made from.
    pub fn made(&self) -> Option<(StateId, StateId)> {
        match &self.mode {
            Mode::Leading(lead) => lead.publish.as_ref().map(|publish| (publish.state.id(), publish.base.id())),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        }
    }

    /// Whether a state of this master is on its way and not committed yet.
    pub fn is_publishing(&self) -> bool {
        match &self.mode {
            Mode::Leading(lead) => lead.publish.as_ref().is_some_and(|publish| !publish.is_committed),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => false,
        }
    }

    /// The master that readers see, itself included.
    pub fn open_master(&self) -> Option<&Arc<Node>> {
        match &self.mode {
            Mode::Leading(lead) if lead.is_settled => Some(&self.local),
            Mode::Following(following) if self.follows_openly() => Some(&following.master),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Leading(_) | Mode::Following(_) => None,
        }
    }

    /// What an election or a commit on the accepted state must be backed by, once the cluster is formed.
    pub fn quorum(&self) -> quorum::Requirement {
        self.requirement(BTreeSet::new())
    }

    /// The newest committed state that was applied.
    pub fn applied(&self) -> &Arc<ClusterState> {
        &self.applied
    }

    /// What readers see.
    pub fn shown(&self) -> &Arc<ClusterState> {
        &self.shown
    }

    /// The numbers it runs by at present.
    pub fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// The deadlines that are set.
    pub fn timers(&self) -> &Timers<Timer> {
        &self.timers
    }

    /// How many requests of this node are on their way.
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// How many clients' questions are open.
    pub fn open_questions(&self) -> usize {
        self.asks.len()
    }

    fn started(&mut self, now: Time, out: &mut Effects<Zen>) {
        if self.ledger.promise.node_id.is_none() {
            let promise = Promise { node_id: Some(self.local.id.clone()), ..self.ledger.promise.clone() };
            self.store(Write::Promise(promise), out);
        }
        self.episode = Episode::begin(now);
        self.show_masterless(out);
        self.find(now, Duration::ZERO, "started", out);
    }

    fn received(&mut self, now: Time, exchange: Exchange, message: Message, out: &mut Effects<Zen>) {
        if let Some(why) = self.refuses(now, &message, out) {
            return self.reply(exchange, Message::Rejected(why), out);
        }
        match message {
            Message::Ping { from, sight } => self.on_ping(now, exchange, &from, *sight, out),
            Message::Notice { from, sight } => self.on_notice(now, &from, *sight, out),
            Message::Join { from, join } => self.on_join(now, exchange, &from.node, join, out),
            Message::Fetch { .. } => self.on_fetch(exchange, out),
            Message::Publish { from, term, body } => self.on_publish(now, exchange, &from, term, body, out),
            Message::Commit { from, id } => self.on_commit(now, exchange, &from.node, id, out),
            Message::NodePing { from, target, term } => {
                self.on_node_ping(now, exchange, &from.node, &target, term, out)
            }
            Message::MasterPing { from, master, .. } => self.on_master_ping(exchange, &from.node, &master, out),
            Message::CallVote { from, term, candidate } => {
                self.on_call_vote(now, exchange, &from.node, term, candidate, out)
            }
            Message::Leave { from } => self.on_leave(now, exchange, &from.node, out),
            Message::Submit { task, timeout, master_timeout, .. } => {
                self.on_submit(now, exchange, *task, timeout, master_timeout, out)
            }
            Message::Read { query, master_timeout, .. } => self.on_read(now, exchange, query, master_timeout, out),
            Message::PendingTasks { .. } => self.tell_pending(now, Origin::Node(exchange), out),
            Message::Succession { to, .. } => self.wish_succession(now, Origin::Node(exchange), to, out),
            Message::Pong { .. }
            | Message::Joining(_)
            | Message::Fetched { .. }
            | Message::Report(_)
            | Message::MasterPong(_)
            | Message::Gone
            | Message::Answered(_)
            | Message::Rejected(_) => self.reply(exchange, Message::Rejected("not a request".into()), out),
        }
    }

    fn replied(&mut self, now: Time, call: Call, message: Message, out: &mut Effects<Zen>) {
        let Some(errand) = self.calls.remove(&call) else {
            return;
        };
        match (errand, message) {
            (Errand::Ping { address, asked }, Message::Pong { from, sight, mentioned }) => {
                self.on_pong(now, address, asked, &from, *sight, mentioned, out)
            }
            (Errand::Ping { address, .. }, Message::Rejected(why)) => self.on_ping_rejected(now, &address, why, out),
            (Errand::Join { target }, Message::Rejected(why)) => self.on_join_rejected(now, &target, &why, out),
            (Errand::Join { target }, Message::Joining(answer)) => self.on_join_answer(now, &target, answer, out),
            (Errand::Fetch { from }, Message::Fetched { state, .. }) => self.on_fetched(now, &from, state, out),
            (
                Errand::Publish { node, asked } | Errand::Commit { node, asked } | Errand::CallVote { node, asked },
                Message::Report(report),
            ) => self.on_report(now, &node, asked, &report, out),
            (Errand::NodePing { node, asked, kind }, Message::Report(report)) => {
                self.on_node_pong(now, &node, asked, kind, &report, out)
            }
            (Errand::RoundTrip { joiner }, Message::Report(report)) => self.on_round_trip(now, joiner, &report, out),
            (Errand::MasterPing { master, kind, .. }, Message::MasterPong(pong)) => {
                self.on_master_pong(now, &master, kind, &pong, out)
            }
            (Errand::Leave, Message::Gone) => self.has_left(out),
            (Errand::Forward { ticket }, Message::Answered(answer)) => self.on_answered(now, ticket, *answer, out),
            // What was rejected or makes no sense is told as if nobody had understood the request.
            (errand, _) => self.failed(now, errand, Failure::BadAnswer, out),
        }
    }

    fn failed(&mut self, now: Time, errand: Errand, why: Failure, out: &mut Effects<Zen>) {
        match errand {
            Errand::Ping { address, .. } => self.on_ping_failed(now, &address, why, out),
            Errand::Join { target } => self.on_join_failed(now, &target, why, out),
            Errand::Fetch { from } => self.on_fetch_failed(&from),
            Errand::Publish { node, .. } => self.on_publish_failed(now, &node, why, out),
            Errand::Commit { node, .. } | Errand::CallVote { node, .. } => self.on_call_failed(now, &node, why, out),
            Errand::NodePing { node, asked, kind } => {
                self.doubt_if_late(now, asked + self.tuning.fd_ping_timeout, out);
                self.on_node_silent(now, &node, kind, why, out)
            }
            Errand::RoundTrip { joiner } => self.on_round_trip_failed(&joiner),
            Errand::MasterPing { master, asked, kind } => {
                self.doubt_if_late(now, asked + self.tuning.fd_ping_timeout, out);
                self.on_master_silent(now, &master, kind, why, out)
            }
            // The next master is told; without one the time for the good-bye runs out.
            Errand::Leave => {}
            Errand::Forward { ticket } => self.on_forward_failed(now, ticket, why, out),
        }
    }

    fn woke(&mut self, now: Time, out: &mut Effects<Zen>) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Round => self.end_round(now, out),
                Timer::PingAgain => self.ping_again(now, out),
                Timer::Grace => self.consider(now, out),
                Timer::Candidacy => self.end_candidacy(now, out),
                Timer::Join => self.join_again(now, out),
                Timer::MasterPing => self.ping_master(now, PingKind::Regular, out),
                Timer::NodePings => self.ping_nodes(now, out),
                Timer::Commit => self.commit_timed_out(now, out),
                Timer::Queue => self.expire_tasks(now, out),
                Timer::Behind => self.name_those_behind(now, out),
                Timer::Acks => self.expire_acks(now, out),
                Timer::Leases => self.expire_leases(now, out),
                Timer::Gateway => self.recover(now, out),
                Timer::Asks => self.retry_asks(now, out),
                Timer::Leave => self.has_left(out),
            }
        }
    }

    /// The stall of the own loop shows in a deadline that was kept late.
    fn notice_stall(&mut self, now: Time, out: &mut Effects<Zen>) {
        if let Some((due, _)) = self.timers.next() {
            self.doubt_if_late(now, due, out);
        }
    }

    /// What was due long ago and is handled only now shows a stall, and then silence is no news of others.
    fn doubt_if_late(&mut self, now: Time, due: Time, out: &mut Effects<Zen>) {
        let late = now.since(due);
        if late > self.tuning.fd_ping_timeout / 2 && self.keeps(Protection::SelfDoubt) {
            // What piled up meanwhile is handled before the deadline is; the stall is told of once.
            if late > self.tuning.fd_ping_timeout && now >= self.doubts_until {
                out.note(Note::Stalled { by: late });
            }
            self.doubts_until = now + self.tuning.fd_ping_timeout;
        }
    }

    /// Whether this node keeps a protection, as every real one does.
    fn keeps(&self, protection: Protection) -> bool {
        self.rules.keep(protection)
    }

    fn call(&mut self, to: &Address, message: Message, errand: Errand, timeout: Duration, out: &mut Effects<Zen>) {
        self.called += 1;
        let call = Call(self.called);
        self.calls.insert(call, errand);
        out.push(Effect::Send { to: to.clone(), call, message, timeout });
    }

    fn reply(&mut self, exchange: Exchange, message: Message, out: &mut Effects<Zen>) {
        out.push(Effect::Reply { exchange, message });
    }

    fn store(&mut self, write: Write, out: &mut Effects<Zen>) {
        let id = self.ledger.change(&write);
        if let Write::Identity(uuid) = &write {
            self.sender = Arc::new(Sender { cluster_uuid: Some(*uuid), ..(*self.sender).clone() });
        }
        out.push(Effect::Store { id, write });
    }

    /// Votes: the term never moves without.
    fn promise(&mut self, term: Term, vote: &NodeId, out: &mut Effects<Zen>) {
        assert!(term > self.ledger.promise.term, "a vote is only given in a term above the own one");
        let promise = Promise { node_id: Some(self.local.id.clone()), term, vote: Some(vote.clone()) };
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

    /// Shows readers a committed state.
    fn apply(&mut self, state: Arc<ClusterState>, out: &mut Effects<Zen>) {
        let (tuning, faults) = self.config.tuning.with_dynamic(&state.metadata);
        self.tuning = tuning;
        for what in faults {
            out.note(Note::BadSetting { what });
        }
        for passed in mem::take(&mut self.between) {
            out.push(Effect::Apply(passed));
        }
        self.is_awake |= !state.blocks.contains(Block::STATE_NOT_RECOVERED.id);
        self.applied = state.clone();
        self.shown = state.clone();
        out.push(Effect::Apply(state));
    }

    /// Accepts a state. If it was made from the one accepted before, that is committed when it is, and shown before it to
    /// those who want to know of every change.
    fn accept(&mut self, state: Arc<ClusterState>, base: StateId, out: &mut Effects<Zen>) {
        let before = self.ledger.accepted.clone();
        if base != before.id() || before.id() == self.applied.id() || self.between.len() >= BETWEEN_MAX {
            self.between.clear();
        }
        if base == before.id() && before.id() != self.applied.id() {
            self.between.push(before);
        }
        self.store(Write::Accepted(state), out);
    }

    /// Shows readers the last applied state without its master.
    fn show_masterless(&mut self, out: &mut Effects<Zen>) {
        let mut state = (*self.applied).clone();
        state.nodes.master = None;
        state.blocks.add(match self.tuning.no_master_block {
            NoMasterBlock::Write => Block::NO_MASTER_WRITES,
            NoMasterBlock::All => Block::NO_MASTER_ALL,
        });
        if state.id() == StateId::NONE {
            state.blocks.add(Block::STATE_NOT_RECOVERED);
        }
        self.shown = Arc::new(state);
        out.push(Effect::Apply(self.shown.clone()));
    }

    fn stored(&mut self, now: Time, out: &mut Effects<Zen>) {
        match self.mode {
            Mode::Electing(_) => self.count_votes(now, out),
            Mode::Leading(_) => self.count_acks(now, out),
            Mode::Finding | Mode::Joining(_) | Mode::Following(_) => {}
        }
    }
}

impl Protocol for Zen {
    type Peer = Address;
    type Message = Message;
    type Disk = Memory;
    type View = Arc<ClusterState>;
    type Question = Question;
    type Answer = Answer;
    type Note = Note;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Zen>, out: &mut Effects<Zen>) {
        self.notice_stall(now, out);
        match input {
            Input::Started => self.started(now, out),
            Input::Received { exchange, message } => self.received(now, exchange, message, out),
            Input::Replied { call, message } => self.replied(now, call, message, out),
            Input::Failed { call, why } => {
                if let Some(errand) = self.calls.remove(&call) {
                    self.failed(now, errand, why, out);
                }
            }
            Input::LinkClosed { peer } => self.on_link_closed(now, &peer, out),
            Input::Woke => self.woke(now, out),
            Input::Stored(id) => {
                self.ledger.stored(id);
                self.stored(now, out);
            }
            Input::Resolved(found) => self.on_resolved(now, found, out),
            Input::Asked { ticket, question } => self.on_asked(now, ticket, question, out),
        }
        self.keep_episode(now);
        self.tell_if_changed(now, out);
        if !self.keeps(Protection::StoredVotes) {
            out.put_last(|effect| matches!(effect, Effect::Store { write: Write::Promise(_), .. }));
        }
        if !self.keeps(Protection::StoredAcks) {
            out.put_last(|effect| matches!(effect, Effect::Store { write: Write::Accepted(_), .. }));
        }
        self.check();
    }

    fn next_deadline(&self) -> Option<(Time, Timer)> {
        self.timers.next()
    }

    fn standing(&self) -> Standing<Address> {
        let (mode, leader) = match &self.mode {
            Mode::Finding => ('F', None),
            Mode::Electing(_) => ('E', None),
            Mode::Joining(_) => ('J', None),
            Mode::Leading(lead) if lead.is_settled => ('L', Some(self.local.address.clone())),
            Mode::Leading(_) => ('l', None),
            Mode::Following(following) if self.follows_openly() => ('f', Some(following.master.address.clone())),
            Mode::Following(_) => ('a', None),
        };
        Standing { mode, term: self.ledger.promise.term.get(), version: self.applied.version.get(), leader }
    }
}
