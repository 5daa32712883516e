//! One node driven by hand: what it is told, and what it replies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use zazen::cluster::{Address, ClusterState, Node, NodeId, Roles, StateId, Term, Uuid, Version};
use zazen::protocol::{Call, Effect, Effects, Exchange, Input, Protocol, Resolution, Rng, Time};
use zazen::zen::message::{Body, Join, PeerStatus, Report, Sender};
use zazen::zen::{Bootstrap, Config, Memory, Message, Mode, Tuning, Zen};

/// A node, its time, and what it sent.
pub(crate) struct Hand {
    pub(crate) zen: Zen,
    pub(crate) sent: Vec<(Call, Message)>,
    to: BTreeMap<Call, Address>,
    now: Time,
}

impl Hand {
    /// A node that was just started, with an empty disk.
    pub(crate) fn new(node: Node) -> Self {
        let hosts = [Arc::from(node.address.as_str())].into();
        let (bootstrap, tuning) = (Bootstrap::Hosts(hosts), Tuning::default());
        let config = Config { cluster_name: "prod".into(), node, bootstrap, tuning, rule: zazen::settings::rule };
        let zen = Zen::new(config, Memory::default(), Rng::new(1));
        let mut hand = Hand { zen, sent: Vec::new(), to: BTreeMap::new(), now: Time::ZERO };
        hand.handle(Input::Started);
        hand
    }

    /// Tells it something.
    pub(crate) fn receive(&mut self, message: Message) -> Vec<Message> {
        self.handle(Input::Received { exchange: Exchange(1), message })
    }

    /// Lets it handle an input, stores what it wants stored, and collects what it replies and sends.
    pub(crate) fn handle(&mut self, input: Input<Zen>) -> Vec<Message> {
        let mut out = Effects::default();
        self.zen.handle(self.now, input, &mut out);
        let mut replies = Vec::new();
        for effect in out.drain() {
            match effect {
                Effect::Reply { message, .. } => replies.push(message),
                Effect::Store { id, .. } => replies.extend(self.handle(Input::Stored(id))),
                Effect::Send { call, to, message, .. } => {
                    self.to.insert(call, to);
                    self.sent.push((call, message));
                }
                Effect::Cancel { .. }
                | Effect::Tell { .. }
                | Effect::Link { .. }
                | Effect::Unlink { .. }
                | Effect::Resolve
                | Effect::Apply(_)
                | Effect::Answer { .. }
                | Effect::Note(_) => {}
            }
        }
        replies
    }

    /// Makes it the master of itself.
    pub(crate) fn lead(&mut self) {
        self.handle(Input::Resolved(Resolution::of(Vec::new())));
        assert!(matches!(self.zen.mode(), Mode::Leading(_)), "it does not lead: {:?}", self.zen.mode());
        self.sent.clear();
    }

    /// Has a node join it, reach it and acknowledge what it publishes.
    pub(crate) fn add(&mut self, id: &str) {
        let join = join(self.zen.local().id.as_str(), 0);
        self.receive(Message::Join { from: sender(id), join });
        for _ in 0..4 {
            for (call, message) in std::mem::take(&mut self.sent) {
                let to = self.to[&call].clone();
                let asked = sender(to.as_str().trim_start_matches("host-").trim_end_matches(":9300"));
                let reply =
                    if matches!(message, Message::Ping { .. }) { pong(&asked) } else { self.report_of(&asked.node) };
                self.handle(Input::Replied { call, message: reply });
            }
        }
        assert!(self.zen.applied().nodes.contains(&id.into()), "it was not added: {:?}", self.zen.mode());
        self.sent.clear();
    }

    /// What a node says that follows this one, and has all that it published.
    fn report_of(&self, follower: &Node) -> Message {
        let (ledger, id) = (self.zen.ledger(), &self.zen.local().id);
        Message::Report(Box::new(Report {
            ephemeral_id: follower.ephemeral_id.clone(),
            term: ledger.promise.term,
            vote: Some(id.clone()),
            follows: Some(id.clone()),
            accepted: ledger.accepted.id(),
            committed: ledger.committed,
            needs_full: false,
            storing: None,
        }))
    }

    /// Makes it accept a state of a master.
    pub(crate) fn follow(&mut self, master: &str, version: u64) {
        let from = sender(master);
        let state = state(&from.node, &self.zen, version);
        self.receive(Message::Publish {
            from,
            term: state.term,
            committed: StateId::NONE,
            body: Body::Full(Arc::new(state)),
        });
        assert!(matches!(self.zen.mode(), Mode::Following(_)), "it does not follow: {:?}", self.zen.mode());
    }
}

/// A state of a master in term 1 that holds the node.
pub(crate) fn state(master: &Arc<Node>, zen: &Zen, version: u64) -> ClusterState {
    let mut state = ClusterState::initial("prod".into());
    (state.term, state.uuid) = (term(1), Uuid::from_u128(version.into()));
    state.version = Version::new(version).expect("at most 2^53");
    state.nodes = [master.clone(), zen.local().clone()].into_iter().collect();
    state.nodes.master = Some(master.id.clone());
    state
}

/// What a node says of itself that knows nothing.
pub(crate) fn sight(node: &Arc<Node>) -> PeerStatus {
    PeerStatus {
        node: node.clone(),
        master: None,
        term: Term::ZERO,
        accepted: StateId::NONE,
        masterless: true,
        sees_quorum: false,
        stands: None,
        unwell: false,
        hangs: false,
        leaves: false,
        left_out_by: Default::default(),
        has_recovered_state: false,
        change: 0,
    }
}

/// The reply to a ping of a node that knows nothing.
pub(crate) fn pong(from: &Arc<Sender>) -> Message {
    Message::Pong { from: from.clone(), sight: Box::new(sight(&from.node)), mentioned: Vec::new() }
}

/// A join of a node that knows nothing, for this one.
pub(crate) fn join(to: &str, of: u64) -> Join {
    let accepted = StateId::NONE;
    Join {
        to: to.into(),
        term: term(of),
        vote: false,
        to_master: false,
        accepted,
        bootstrap: None,
        has_recovered_state: false,
        round_trip: Duration::ZERO,
    }
}

pub(crate) fn term(number: u64) -> Term {
    Term::new(number).expect("at most 2^53")
}

pub(crate) fn node(id: &str) -> Node {
    Node {
        id: NodeId::from(id),
        ephemeral_id: format!("{id}1").into(),
        name: format!("node-{id}").into(),
        address: format!("host-{id}:9300").into(),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: "6.8.23".into(),
    }
}

pub(crate) fn sender(id: &str) -> Arc<Sender> {
    Arc::new(Sender { cluster_name: "prod".into(), cluster_uuid: None, node: Arc::new(node(id)) })
}
