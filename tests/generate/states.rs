//! Random states and what they are made of, the same for the same stream of numbers.

use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use zazen::cluster::{
    Blob, Block, Blocks, ClusterState, Forward, Holding, KeyValue, Lease, Metadata, Node, NodeId, Remembered,
    RequestId, RequestOutcome, Revision, Roles, Slot, StateId, Table, Term, Token, Uuid, Version, VotingSet,
    VotingSets,
};
use zazen::protocol::Rng;

/// A state that up to so many changes made.
pub(crate) fn random_state(rng: &mut Rng, changes_max: u64) -> ClusterState {
    let mut state = ClusterState::initial("initial".into());
    for _ in 0..rng.between(0, changes_max) {
        change(&mut state, rng);
    }
    state
}

/// Changes one thing.
pub(crate) fn change(state: &mut ClusterState, rng: &mut Rng) {
    state.version = state.version.next();
    state.uuid = Uuid::from_u128(rng.next_u128());
    match rng.below(12) {
        0 => state.term = state.term.next(),
        1 => state.cluster_name = random_name(rng).as_str().into(),
        2 => state.cluster_uuid = rng.percent(50).then(|| Uuid::from_u128(rng.next_u128())),
        3 => state.nodes.master = rng.percent(70).then(|| random_id(rng)),
        4 if rng.percent(40) => drop(state.nodes.remove(&random_id(rng))),
        4 => drop(state.nodes.insert(random_node(rng))),
        5 => change_blocks(&mut state.blocks, rng),
        6 => change_table(&mut state.routing, rng, |rng| Arc::new(json!({ "primary": rng.below(3) }))),
        _ => change_metadata(&mut state.metadata, rng),
    }
}

fn change_blocks(blocks: &mut Blocks, rng: &mut Rng) {
    let choices = [Block::STATE_NOT_RECOVERED, Block::NO_MASTER_ALL, Block::NO_MASTER_WRITES, Block::READ_ONLY];
    let block = rng.pick(&choices).expect("there are choices").clone();
    if rng.percent(50) {
        blocks.add(block);
    } else {
        blocks.remove(block.id);
    }
}

fn change_metadata(metadata: &mut Metadata, rng: &mut Rng) {
    let json = |rng: &mut Rng| -> Arc<Value> {
        // Any bits that make a number: it must come back to the last of them.
        Arc::new(json!({ "shards": rng.below(3), "boost": f64::from_bits(rng.next_u64()) }))
    };
    let text = |rng: &mut Rng| random_name(rng).as_str().into();
    match rng.below(11) {
        0 => change_table(&mut metadata.persistent, rng, text),
        1 => change_table(&mut metadata.transient, rng, text),
        2 => metadata.voting = VotingSets { committed: random_set(rng), own: random_set(rng) },
        3 => change_table(&mut metadata.indices, rng, json),
        4 => change_table(&mut metadata.templates, rng, json),
        5 => change_table(&mut metadata.leases, rng, random_lease),
        6 => {
            let outcome = RequestOutcome::Written { part: rng.below(2) as u32, deleted: rng.below(2) as u32 };
            metadata.requests.remember(
                random_request(rng),
                Remembered { digest: rng.percent(50).then_some(7), ..Remembered::new(StateId::NONE, outcome) },
            );
        }
        8 => {
            let done = Remembered::new(StateId::NONE, RequestOutcome::Applied);
            metadata.forwards.remember(&random_forward(rng), done);
        }
        7 => {
            metadata.last_token = Token::new(rng.below(1 << 53)).expect("below 2^53");
            metadata.key_bytes = rng.below(1 << 53);
        }
        _ => change_table(&mut metadata.keys, rng, random_key_value),
    }
}

fn change_table<V: Clone>(table: &mut Table<Arc<str>, V>, rng: &mut Rng, value: impl FnOnce(&mut Rng) -> V) {
    let key: Arc<str> = format!("key-{:03}", rng.below(200)).into();
    if rng.percent(30) {
        table.remove(&key);
    } else {
        table.insert(key, value(rng));
    }
}

pub(crate) fn random_name(rng: &mut Rng) -> String {
    format!("name-{}", rng.below(5))
}

pub(crate) fn random_id(rng: &mut Rng) -> NodeId {
    format!("n{}", rng.below(20)).into()
}

pub(crate) fn random_blob(rng: &mut Rng) -> Blob {
    if rng.percent(50) {
        return random_name(rng).into();
    }
    (0..rng.below(5)).map(|_| rng.below(256) as u8).collect::<Vec<u8>>().into()
}

pub(crate) fn random_key_value(rng: &mut Rng) -> KeyValue {
    let version = Version::new(rng.below(1 << 53)).expect("below 2^53");
    let changed = Revision { term: Term::ZERO.next(), version, part: rng.below(2) as u32 };
    KeyValue { value: random_blob(rng), changed, lease: rng.percent(30).then(|| random_holding(rng)) }
}

pub(crate) fn random_holding(rng: &mut Rng) -> Holding {
    Holding { name: random_name(rng).into(), token: Token::new(rng.below(1 << 53)).expect("below 2^53") }
}

pub(crate) fn random_lease(rng: &mut Rng) -> Lease {
    Lease {
        holder: random_name(rng).into(),
        token: Token::new(rng.below(1 << 53)).expect("below 2^53"),
        ttl: Duration::from_millis(rng.below(1 << 30)),
        granted: (Term::ZERO.next(), Version::new(rng.below(1 << 53)).expect("below 2^53")).into(),
    }
}

pub(crate) fn random_forward(rng: &mut Rng) -> Forward {
    let slot = Slot { by: format!("start-{}", rng.below(3)).into(), number: rng.below(4) as u16 };
    let since = Version::new(rng.below(1 << 53)).expect("below 2^53");
    Forward { slot, sequence: rng.below(1 << 53), since }
}

pub(crate) fn random_request(rng: &mut Rng) -> RequestId {
    RequestId { client: Uuid::from_u128(u128::from(rng.below(5))), sequence: rng.below(1 << 53) }
}

fn random_set(rng: &mut Rng) -> VotingSet {
    (0..rng.below(6)).map(|_| random_id(rng)).collect()
}

pub(crate) fn random_node(rng: &mut Rng) -> Arc<Node> {
    Arc::new(Node {
        id: random_id(rng),
        ephemeral_id: format!("start-{}", rng.below(3)).into(),
        name: random_name(rng).as_str().into(),
        address: format!("127.0.0.1:{}", rng.between(9300, 9400)).into(),
        roles: Roles { master: rng.percent(50), data: rng.percent(50), ingest: rng.percent(50) },
        attributes: Arc::new((0..rng.below(3)).map(|n| (format!("attribute-{n}"), random_name(rng))).collect()),
        version: "6.8.23".into(),
    })
}
