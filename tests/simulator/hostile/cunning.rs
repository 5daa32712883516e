//! Lies made for one node: they fit its term, its state and its mode, and carry something strange.

use crate::messages::random_message_of;
use crate::states::{change, random_state};
use std::sync::Arc;
use zazen::cluster::{Block, ClusterState, Diff, Node, NodeId, Roles, StateId, Term, Uuid, Version, VotingSets};
use zazen::protocol::Rng;
use zazen::service::{MINIMUM_MASTER_NODES, SettingsPatch, Task};
use zazen::zen::message::{Body, Join, JoinAnswer, MasterPong, PeerStatus, Report, Sender};
use zazen::zen::{Message, Mode, Zen};

/// Settings that a state may change, and what has no business in them.
const SETTINGS: [&str; 6] = [
    MINIMUM_MASTER_NODES,
    "discovery.zen.commit_timeout",
    "discovery.zen.publish_diff.enable",
    "discovery.zen.fd.ping_interval",
    "discovery.zen.fd.ping_timeout",
    "discovery.zen.fd.ping_retries",
];
const VALUES: [&str; 10] =
    ["0", "0ms", "1nanos", "18446744073709551615s", "213503982334601d", "4294967295", "-1", "1", "all", "true"];

/// A message that this node will take seriously.
pub(crate) fn cunning(zen: &Zen, rng: &mut Rng) -> Message {
    let from = sender(zen, rng);
    match rng.below(14) {
        0..3 => publish(zen, from, rng),
        3 => Message::Commit { from, id: state_id(zen, rng) },
        4 => Message::Join { from, join: join(zen, rng) },
        5 => Message::CallVote { from, term: term(zen, rng), candidate: node(zen, rng) },
        6 => Message::NodePing { from, target: node(zen, rng).ephemeral_id.clone(), term: term(zen, rng) },
        7 => Message::Report(Box::new(report(zen, rng))),
        8 => submit(from, rng),
        9 => Message::Pong { from, sight: Box::new(sight(zen, rng)), mentioned: vec![node(zen, rng).address.clone()] },
        10 => Message::Notice { from, sight: Box::new(sight(zen, rng)) },
        11 => Message::Fetched { from, state: Some(Arc::new(state(zen, rng))) },
        12 => match rng.below(4) {
            0 => Message::Joining(JoinAnswer::VoteAgain(term(zen, rng))),
            1 => Message::Joining(JoinAnswer::Noted),
            2 => Message::Joining(JoinAnswer::Leads),
            _ => Message::MasterPong(MasterPong { leads: true, is_member: true, term: term(zen, rng) }),
        },
        _ => Message::Leave { from, answered: rng.below(64) },
    }
}

/// The node's master, another member, the node itself, or somebody like it.
fn node(zen: &Zen, rng: &mut Rng) -> Arc<Node> {
    let members: Vec<Arc<Node>> = zen.ledger().accepted.nodes.iter().cloned().collect();
    let mut node = match (zen.mode(), rng.below(4)) {
        (Mode::Following(following), 0 | 1) => (*following.master).clone(),
        (Mode::Joining(joining), 0 | 1) => (*joining.target).clone(),
        (_, 3) => (**zen.local()).clone(),
        _ => (**rng.pick(&members).unwrap_or(zen.local())).clone(),
    };
    match rng.below(12) {
        0 => node.id = format!("n{}", rng.below(9)).into(),
        1 => node.ephemeral_id = zen.local().ephemeral_id.clone(),
        2 => node.ephemeral_id = format!("start-{}", rng.below(9)).into(),
        3 => node.address = zen.local().address.clone(),
        4 => node.roles = Roles::NONE,
        _ => {}
    }
    Arc::new(node)
}

fn sender(zen: &Zen, rng: &mut Rng) -> Arc<Sender> {
    let cluster_uuid = zen.ledger().cluster_uuid.filter(|_| rng.percent(70));
    Arc::new(Sender { cluster_name: "prod".into(), cluster_uuid, node: node(zen, rng) })
}

/// The node's own term, or one a little above or below.
fn term(zen: &Zen, rng: &mut Rng) -> Term {
    let own = zen.ledger().promise.term.get();
    Term::new((own + rng.below(4)).saturating_sub(1)).unwrap_or(Term::MAX)
}

fn state_id(zen: &Zen, rng: &mut Rng) -> StateId {
    let ledger = zen.ledger();
    let uuid = Uuid::from_u128(rng.next_u128());
    match rng.below(5) {
        0 => ledger.committed,
        1 | 2 => ledger.accepted.id(),
        3 => ledger.durable_id(),
        _ => StateId { term: term(zen, rng), version: ledger.accepted.version.next(), uuid },
    }
}

fn state(zen: &Zen, rng: &mut Rng) -> ClusterState {
    let mut state = if rng.percent(50) { (*zen.ledger().accepted).clone() } else { random_state(rng, 20) };
    for _ in 0..rng.below(4) {
        change(&mut state, rng);
    }
    state.term = term(zen, rng);
    state.version = zen.ledger().accepted.version.next();
    state.uuid = Uuid::from_u128(rng.next_u128());
    state.cluster_name = "prod".into();
    state.cluster_uuid = zen.ledger().cluster_uuid.or(state.cluster_uuid);
    for _ in 0..rng.below(3) {
        state.nodes.insert(node(zen, rng));
    }
    for _ in 0..rng.below(3) {
        let (key, value) = setting(rng);
        state.metadata.transient.insert(key.into(), value.into());
    }
    if rng.percent(30) {
        let ids = |rng: &mut Rng| (0..rng.below(4)).map(|_| node(zen, rng).id.clone()).collect();
        state.metadata.voting = VotingSets { committed: ids(rng), own: ids(rng) };
    }
    if rng.percent(10) {
        state.version = Version::MAX;
        state.blocks.add(Block::READ_ONLY);
    }
    state
}

/// From its master, with the receiver in it, as a receiver demands.
fn publish(zen: &Zen, from: Arc<Sender>, rng: &mut Rng) -> Message {
    let mut state = state(zen, rng);
    if rng.percent(90) {
        state.nodes.insert(zen.local().clone());
        state.nodes.insert(from.node.clone());
        state.nodes.master = Some(from.node.id.clone());
    }
    let term = state.term;
    let body = if rng.percent(50) {
        Body::Full(Arc::new(state))
    } else {
        Body::Diff(Arc::new(Diff::between(&zen.ledger().accepted, &state)))
    };
    Message::Publish { from, term, committed: zen.ledger().accepted.id(), body }
}

fn join(zen: &Zen, rng: &mut Rng) -> Join {
    let Message::Join { join, .. } = random_message_of("join", rng) else {
        panic!("a join was asked for");
    };
    Join { term: term(zen, rng), accepted: state_id(zen, rng), ..join }
}

fn report(zen: &Zen, rng: &mut Rng) -> Report {
    let some_id = |rng: &mut Rng| -> Option<NodeId> { rng.percent(80).then(|| node(zen, rng).id.clone()) };
    Report {
        ephemeral_id: node(zen, rng).ephemeral_id.clone(),
        term: term(zen, rng),
        vote: some_id(rng),
        follows: some_id(rng),
        accepted: state_id(zen, rng),
        committed: state_id(zen, rng),
        needs_full: rng.percent(20),
        storing: rng.percent(20).then(|| state_id(zen, rng)),
    }
}

fn sight(zen: &Zen, rng: &mut Rng) -> PeerStatus {
    let Message::Ping { sight, .. } = random_message_of("ping", rng) else {
        panic!("a ping was asked for");
    };
    let master = sight.master.as_ref().map(|(_, ago)| (node(zen, rng), *ago));
    PeerStatus {
        node: node(zen, rng),
        master,
        term: term(zen, rng),
        accepted: state_id(zen, rng),
        stands: rng.percent(40).then(|| term(zen, rng)),
        ..*sight
    }
}

fn setting(rng: &mut Rng) -> (&'static str, &'static str) {
    (rng.pick(&SETTINGS).expect("there are settings"), rng.pick(&VALUES).expect("there are values"))
}

fn submit(from: Arc<Sender>, rng: &mut Rng) -> Message {
    let Message::Submit { timeout, master_timeout, task, .. } = random_message_of("submit", rng) else {
        panic!("a task was asked for");
    };
    let task = match rng.below(3) {
        0 => {
            let patch: SettingsPatch =
                (0..3).map(|_| setting(rng)).map(|(key, value)| (key.into(), Some(value.into()))).collect();
            Task::PutSettings { persistent: patch.clone(), transient: patch }
        }
        1 => {
            let levels = *rng.pick(&[1, 20, 60, 124, 127]).expect("there are choices");
            let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            Task::PutIndex { name: "deep".into(), metadata: Some(text.into()) }
        }
        _ => *task,
    };
    Message::Submit { from, task: Box::new(task), timeout, master_timeout }
}
