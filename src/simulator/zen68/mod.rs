//! Zen as Elasticsearch had it: a participant of its own, for the simulator to show its flaws.
//!
//! No terms and no votes that last: joins are counted whenever they were sent, what was acknowledged stands in memory, and
//! the quorum is the number that a person typed, none unless one did. It says what this protocol says, in the same messages
//! and with the same tasks and states, all of term zero; nothing of `zen`'s own behaviour is in it but the order of candidates.
//!
//! ```text
//!   ping     rounds: who is there                      UnicastZenPing
//!   elect    whom to follow, joins, winning            ZenDiscovery.findMaster, NodeJoinController
//!   publish  the two phases on the master              PublishClusterStateAction
//!   pending  the two phases on the others              PendingClusterStatesQueue
//!   tasks    the master's queue                        MasterService
//!   detect   the fault detectors, both ways            MasterFaultDetection, NodesFaultDetection
//!   rivals   two masters that meet, good-byes          ZenDiscovery.handleAnotherMaster
//!   gateway  what the disks hold after a full restart  Gateway, GatewayService
//!   clients  questions, on any node                    TransportMasterNodeAction
//! ```
//!
//! It differs from Zen in what no failure of it came from: states are sent in full, tasks of all kinds run in one batch, a
//! master that lost too many nodes does not end its publish first, and a recovered state goes on with the version that was
//! found, where Zen began anew. Connections cost nothing.

mod clients;
mod detect;
mod dialect;
mod elect;
mod gateway;
mod pending;
mod ping;
mod publish;
mod rivals;
mod tasks;
mod view;

pub use dialect::Dialect;

use crate::cluster::{Address, Block, ClusterState, EphemeralId, Node, NodeId, StateId};
use crate::protocol::{
    Call, Disk, Effect, Effects, Exchange, Failure, Input, Protocol, Rng, Standing, StoreId, Ticket, Time, Timers,
};
use crate::service::{Answer, Question};
use crate::zen::message::{Body, JoinAnswer, PeerStatus, Report, Sender};
use crate::zen::{Config, Memory, Message, Note, Promise, Rejection, Tuning, Write};
use clients::Ask;
use elect::Joiner;
use ping::Round;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;
use tasks::Reign;

/// Why a node wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next step of a ping round.
    Round,
    /// A candidate waited long enough for joins.
    Joins,
    /// A join is sent again.
    Join,
    /// The master is pinged.
    MasterPing,
    /// The nodes are pinged.
    NodePings,
    /// A publish lacks acknowledgements, or nodes that have applied it.
    Publish,
    /// Clients have waited long enough, or their questions are tried again.
    Clients,
    /// A good-bye is given up.
    Leave,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a node is doing.
#[derive(Clone, Debug)]
enum Mode {
    /// It pings, and keeps the joins that come meanwhile.
    Finding,
    /// It was chosen and waits for joins.
    Electing,
    /// It asked this node to be taken in, so many times, and waits for the answer until then.
    Joining { target: Arc<Node>, tries: u32, until: Time },
    /// It follows this master, which has not answered so many pings in a row.
    Following { master: Arc<Node>, failures: u32 },
    /// It is master, or about to be: until its first state is committed it shows none.
    Leading(Box<Reign>),
}

/// What a request that is on its way was for.
#[derive(Clone, Debug)]
enum CallPurpose {
    Ping { round: u64 },
    Join { target: EphemeralId },
    Validate { exchange: Exchange, node: Arc<Node> },
    Publish { node: NodeId, state: StateId },
    Commit { node: NodeId, state: StateId },
    NodePing { process: EphemeralId },
    MasterPing { master: EphemeralId },
    Disk,
    Forward { ticket: Ticket },
    Leave,
}

/// One node.
#[derive(Clone)]
pub struct Zen68 {
    dialect: Dialect,
    config: Config,
    tuning: Tuning,
    local: Arc<Node>,
    sender: Arc<Sender>,
    rng: Rng,
    disk: Memory,
    stores: u64,
    /// The last committed state, which readers see: without its master, and with a block, once that is lost.
    state: Arc<ClusterState>,
    /// States that it acknowledged and does not know to be committed.
    pending: VecDeque<Arc<ClusterState>>,
    mode: Mode,
    round: Round,
    /// Who pinged this node lately, and until when that counts.
    heard: BTreeMap<EphemeralId, (PeerStatus, Time)>,
    /// Those who joined while this node looks for a master or waits for joins.
    joiners: BTreeMap<EphemeralId, Joiner>,
    timers: Timers<Timer>,
    calls: BTreeMap<Call, CallPurpose>,
    called: u64,
    asks: BTreeMap<Ticket, Ask>,
    leaving: Option<Ticket>,
}

impl Zen68 {
    /// A node with what its disk holds; what is there besides its id is looked at only when a master recovers it. The first
    /// input must be [`Input::Started`].
    pub fn new(dialect: Dialect, mut config: Config, disk: Memory, rng: Rng) -> Self {
        // No command line went over the cluster's settings.
        config.tuning.overrides.clear();
        let mut node = config.node.clone();
        node.id = disk.promise.node_id.clone().unwrap_or(node.id);
        let local = Arc::new(node);
        let mut state = ClusterState::initial(config.cluster_name.clone());
        state.nodes.insert(local.clone());
        Zen68 {
            dialect,
            tuning: config.tuning.clone(),
            sender: Arc::new(Sender {
                cluster_name: config.cluster_name.clone(),
                cluster_uuid: None,
                node: local.clone(),
            }),
            config,
            local,
            rng,
            disk,
            stores: 0,
            state: Arc::new(state),
            pending: VecDeque::new(),
            mode: Mode::Finding,
            round: Round::default(),
            heard: BTreeMap::new(),
            joiners: BTreeMap::new(),
            timers: Timers::default(),
            calls: BTreeMap::new(),
            called: 0,
            asks: BTreeMap::new(),
            leaving: None,
        }
    }

    fn call(
        &mut self,
        to: &Address,
        message: Message,
        purpose: CallPurpose,
        timeout: Duration,
        out: &mut Effects<Zen68>,
    ) {
        self.called += 1;
        let call = Call(self.called);
        self.calls.insert(call, purpose);
        out.push(Effect::Send { to: to.clone(), call, message, timeout });
    }

    fn reject(&self, exchange: Exchange, why: impl Into<Rejection>, out: &mut Effects<Zen68>) {
        out.push(Effect::Reply { exchange, message: Message::Rejected(why.into()) });
    }

    fn store(&mut self, write: Write, out: &mut Effects<Zen68>) {
        self.disk.apply(&write);
        self.stores += 1;
        out.push(Effect::Store { id: StoreId(self.stores), write });
    }

    /// What a node says of itself when it is asked for anything; `accepted` is what it acknowledges.
    fn report(&self, exchange: Exchange, accepted: StateId, out: &mut Effects<Zen68>) {
        let report = Report {
            ephemeral_id: self.local.ephemeral_id.clone(),
            term: self.state.term,
            vote: None,
            follows: self.state.nodes.master.clone(),
            accepted,
            committed: self.state.id(),
            needs_full: false,
            storing: None,
        };
        out.push(Effect::Reply { exchange, message: Message::Report(Box::new(report)) });
    }

    /// The number that a person typed.
    fn has_enough(&self, eligible: usize) -> bool {
        eligible > 0 && eligible >= self.tuning.minimum()
    }

    /// Whether this node is the master that its state names.
    fn is_master(&self) -> bool {
        matches!(self.mode, Mode::Leading(_)) && self.state.nodes.master.as_ref() == Some(&self.local.id)
    }

    fn mastership(&mut self) -> Option<&mut Reign> {
        match &mut self.mode {
            Mode::Leading(mastership) => Some(mastership),
            Mode::Finding | Mode::Electing | Mode::Joining { .. } | Mode::Following { .. } => None,
        }
    }

    /// Applies a committed state: writes it down, unless it is yet to be recovered, and shows it.
    fn apply(&mut self, state: Arc<ClusterState>, out: &mut Effects<Zen68>) {
        self.tuning = self.tuned(&state);
        if is_recovered(&state) {
            self.store(Write::Accepted(state.clone()), out);
        }
        self.state = state.clone();
        out.push(Effect::Apply(state));
    }

    /// A master did not take over a number that its nodes cannot meet, not even one that it recovered.
    fn tuned(&self, state: &ClusterState) -> Tuning {
        let tuning = self.config.tuning.with_dynamic(&state.metadata).0;
        let is_refused = tuning.minimum() > state.nodes.eligible().count() && matches!(self.mode, Mode::Leading(_));
        let minimum_master_nodes =
            if is_refused { self.tuning.minimum_master_nodes } else { tuning.minimum_master_nodes };
        Tuning { minimum_master_nodes, ..tuning }
    }

    /// Gives up whatever it was doing and looks for a master.
    fn rejoin(&mut self, now: Time, reason: String, out: &mut Effects<Zen68>) {
        let has_led = matches!(self.mode, Mode::Leading(_));
        self.leave_mode(now, out);
        if self.state.nodes.master.is_some() {
            self.show_masterless(out);
        }
        out.note(if has_led { Note::SteppedDown { reason } } else { Note::Searching { reason } });
        self.start_round(now, out);
    }

    /// Ends a mode; the caller sets what comes next. Whoever waits for it is told that this node is no master.
    fn leave_mode(&mut self, now: Time, out: &mut Effects<Zen68>) {
        for timer in [Timer::Round, Timer::Joins, Timer::Join, Timer::MasterPing, Timer::NodePings, Timer::Publish] {
            self.timers.stop(timer);
        }
        for joiner in mem::take(&mut self.joiners).into_values() {
            joiner.exchanges.into_iter().for_each(|exchange| answer_join(exchange, JoinAnswer::NotMaster, out));
        }
        if let Mode::Leading(mastership) = mem::replace(&mut self.mode, Mode::Finding) {
            self.end_leading(now, *mastership, out);
        }
    }

    /// Shows readers the last committed state without its master.
    fn show_masterless(&mut self, out: &mut Effects<Zen68>) {
        self.state = Arc::new(self.tuning.no_master_block.masterless(&self.state));
        out.push(Effect::Apply(self.state.clone()));
    }

    fn started(&mut self, now: Time, out: &mut Effects<Zen68>) {
        if self.disk.promise.node_id.is_none() {
            let promise = Promise { node_id: Some(self.local.id.clone()), ..Promise::default() };
            self.store(Write::Promise(promise), out);
        }
        self.show_masterless(out);
        self.rejoin(now, "started".into(), out);
    }

    fn received(&mut self, now: Time, exchange: Exchange, message: Message, out: &mut Effects<Zen68>) {
        let is_foreign = |from: &Arc<Sender>| from.cluster_name != self.config.cluster_name;
        if message.sender().is_some_and(is_foreign) {
            return self.reject(exchange, Rejection::OtherCluster(self.sender.clone()), out);
        }
        match message {
            Message::Ping { sight, .. } => self.on_ping(now, exchange, *sight, out),
            Message::Join { from, .. } => self.on_join(exchange, &from.node, out),
            Message::Fetch { .. } => {
                let message = Message::Fetched { from: self.sender.clone(), state: self.disk.accepted.clone() };
                out.push(Effect::Reply { exchange, message });
            }
            Message::Publish { from, body: Body::Full(state), .. } => {
                self.on_publish(now, exchange, &from.node, state, out)
            }
            Message::Commit { id, .. } => self.on_commit(now, exchange, id, out),
            Message::NodePing { from, target, term } => {
                self.on_node_ping(now, exchange, &from.node, &target, term, out)
            }
            Message::MasterPing { from, master, .. } => self.on_master_ping(exchange, &from.node, &master, out),
            Message::CallVote { from, .. } => self.on_rejoin_request(now, exchange, &from.node, out),
            Message::Leave { from, .. } => self.on_leave(now, exchange, &from.node, out),
            Message::Submit { task, timeout, master_timeout, .. } => {
                self.submit(now, clients::Origin::Node(exchange), *task, (timeout, now + master_timeout), out)
            }
            Message::Read { query, .. } => self.read(now, clients::Origin::Node(exchange), &query, out),
            Message::PendingTasks { .. } => self.tell_pending(now, clients::Origin::Node(exchange), out),
            Message::Publish { body: Body::Diff(_), .. }
            | Message::Notice { .. }
            | Message::Relay { .. }
            | Message::Succession { .. }
            | Message::Pong { .. }
            | Message::Joining(_)
            | Message::Fetched { .. }
            | Message::Report(_)
            | Message::MasterPong(_)
            | Message::Gone
            | Message::Answered(_)
            | Message::Rejected(_) => self.reject(exchange, "no request that Zen knows", out),
        }
    }

    fn replied(&mut self, now: Time, purpose: CallPurpose, message: Message, out: &mut Effects<Zen68>) {
        match (purpose, message) {
            (CallPurpose::Ping { round }, Message::Pong { sight, mentioned, .. }) => {
                self.on_pong(round, *sight, mentioned)
            }
            (CallPurpose::Join { target }, Message::Joining(answer)) => self.on_join_answer(now, &target, &answer, out),
            (CallPurpose::Validate { exchange, node }, Message::Fetched { .. }) => {
                self.take_join(now, exchange, &node, out)
            }
            (CallPurpose::Publish { node, state }, Message::Report(report)) => {
                self.on_ack(now, (&node, state), report.committed == state, out)
            }
            (CallPurpose::Commit { node, state }, Message::Report(_)) => self.on_applied(now, &node, state, out),
            (CallPurpose::NodePing { process }, Message::Report(_)) => self.on_node_pong(now, &process),
            (CallPurpose::MasterPing { master }, Message::MasterPong(pong)) => {
                self.on_master_pong(now, &master, &pong, out)
            }
            (CallPurpose::Disk, Message::Fetched { state, .. }) => self.on_disk_told(now, Some(state), out),
            (CallPurpose::Forward { ticket }, Message::Answered(answer)) => {
                self.answer_client(now, ticket, *answer, out)
            }
            (CallPurpose::Leave, Message::Gone) => self.has_left(out),
            // An error is all that these can be told.
            (purpose, _) => self.failed(now, purpose, Failure::BadAnswer, out),
        }
    }

    fn failed(&mut self, now: Time, purpose: CallPurpose, why: Failure, out: &mut Effects<Zen68>) {
        match purpose {
            CallPurpose::Ping { .. } | CallPurpose::Leave => {}
            CallPurpose::Join { target } => self.on_join_unanswered(now, &target, why, out),
            CallPurpose::Validate { exchange, .. } => {
                let why = format!("failure when sending a validation request to node: {why}");
                answer_join(exchange, JoinAnswer::Rejected(why), out);
            }
            CallPurpose::Publish { node, state } | CallPurpose::Commit { node, state } => {
                self.on_publish_failed(now, &node, state, why, out)
            }
            CallPurpose::NodePing { process } => self.on_node_silent(now, &process, why, out),
            CallPurpose::MasterPing { master } => self.on_master_silent(now, &master, why, out),
            CallPurpose::Disk => self.on_disk_told(now, None, out),
            CallPurpose::Forward { ticket } => self.answer_client(now, ticket, Answer::NotMaster, out),
        }
    }

    fn woke(&mut self, now: Time, out: &mut Effects<Zen68>) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Round => self.go_on_with_round(now, out),
                Timer::Joins => self.rejoin(now, "timed out waiting to be elected".into(), out),
                Timer::Join => self.send_join(now, out),
                Timer::MasterPing => self.ping_master(out),
                Timer::NodePings => self.ping_nodes(now, out),
                Timer::Publish => self.publish_timed_out(now, out),
                Timer::Clients => self.attend_clients(now, out),
                Timer::Leave => self.has_left(out),
            }
        }
    }

    fn on_link_closed(&mut self, now: Time, peer: &Address, out: &mut Effects<Zen68>) {
        match &self.mode {
            Mode::Following { master, .. } if master.address == *peer => {
                self.master_gone(now, "transport disconnected", out)
            }
            Mode::Joining { target, .. } if target.address == *peer => {
                let target = target.ephemeral_id.clone();
                self.on_join_failed(now, &target, "disconnected".into(), out)
            }
            Mode::Leading(mastership) => {
                if let Some(process) = mastership.watched_at(peer) {
                    self.node_failed(now, &process, "transport disconnected", out);
                }
            }
            Mode::Finding | Mode::Electing | Mode::Joining { .. } | Mode::Following { .. } => {}
        }
    }
}

impl Protocol for Zen68 {
    type Peer = Address;
    type Message = Message;
    type Disk = Memory;
    type View = Arc<ClusterState>;
    type Question = Question;
    type Answer = Answer;
    type Note = Note;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Zen68>, out: &mut Effects<Zen68>) {
        match input {
            Input::Started => self.started(now, out),
            Input::Received { exchange, message } => self.received(now, exchange, message, out),
            Input::Replied { call, message } => {
                if let Some(purpose) = self.calls.remove(&call) {
                    self.replied(now, purpose, message, out);
                }
            }
            Input::Failed { call, why } => {
                if let Some(purpose) = self.calls.remove(&call) {
                    self.failed(now, purpose, why, out);
                }
            }
            Input::LinkClosed { peer } => self.on_link_closed(now, &peer, out),
            Input::Woke => self.woke(now, out),
            Input::Stored(_) => {}
            Input::Resolved(found) => self.on_resolved(now, found.peers, out),
            Input::Asked { ticket, question } => self.on_asked(now, ticket, question, out),
        }
    }

    fn next_deadline(&self) -> Option<(Time, Timer)> {
        self.timers.next()
    }

    fn standing(&self) -> Standing<Address> {
        let mode = match &self.mode {
            Mode::Finding => 'F',
            Mode::Electing => 'E',
            Mode::Joining { .. } => 'J',
            Mode::Following { .. } => 'f',
            Mode::Leading(_) if self.is_master() => 'L',
            Mode::Leading(_) => 'l',
        };
        let leader = self.open_master().map(|master| master.address.clone());
        Standing { mode, term: self.state.term.get(), version: self.state.version.get(), leader }
    }
}

/// Whether the metadata in a state is the cluster's own.
fn is_recovered(state: &ClusterState) -> bool {
    state.id() != StateId::NONE && !state.blocks.contains(Block::STATE_NOT_RECOVERED.id)
}

fn answer_join(exchange: Exchange, answer: JoinAnswer, out: &mut Effects<Zen68>) {
    out.push(Effect::Reply { exchange, message: Message::Joining(answer) });
}
