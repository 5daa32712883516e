//! One event through the core, and one message to JSON and back.

use divan::{Bencher, black_box};
use std::collections::BTreeMap;
use std::sync::Arc;
use zazen::cluster::{ClusterState, EphemeralId, Node, NodeId, Roles, StateId, Term, Uuid, Version};
use zazen::protocol::{Effects, Exchange, Input, Protocol, Rng, StoreId, Time};
use zazen::wire;
use zazen::zen::message::{Body, Message, Sender};
use zazen::zen::{Bootstrap, Config, Memory, Tuning, Zen};

fn main() {
    divan::main();
}

fn node(name: &str, host: u8) -> Node {
    Node {
        id: NodeId::from(name),
        ephemeral_id: EphemeralId::from(format!("{name}-1")),
        name: name.into(),
        address: format!("10.0.0.{host}:9300").into(),
        roles: Roles::ALL,
        attributes: Arc::new(BTreeMap::new()),
        version: "6.8.23".into(),
    }
}

fn master() -> Arc<Sender> {
    Arc::new(Sender { cluster_name: "bench".into(), cluster_uuid: None, node: Arc::new(node("a", 1)) })
}

/// The state of a cluster of so many nodes, led by `a`.
fn state(nodes: u32) -> Arc<ClusterState> {
    let mut state = ClusterState::initial("bench".into());
    state.term = Term::ZERO.next();
    state.version = Version::ZERO.next();
    state.uuid = Uuid::from_u128(7);
    state.cluster_uuid = Some(Uuid::from_u128(1));
    for (name, host) in [("a", 1), ("b", 2)] {
        state.nodes.insert(Arc::new(node(name, host)));
    }
    for other in 2..nodes {
        let mut node = node(&format!("n{other:04}"), 3);
        node.address = format!("10.1.0.{other}:9300").into();
        state.nodes.insert(Arc::new(node));
    }
    state.nodes.master = Some("a".into());
    Arc::new(state)
}

fn publish(nodes: u32) -> Message {
    Message::Publish {
        from: master(),
        term: Term::ZERO.next(),
        committed: StateId::NONE,
        body: Body::Full(state(nodes)),
    }
}

/// A node that follows `a`, everything it stored being durable.
fn follower() -> Zen {
    let config = Config {
        cluster_name: "bench".into(),
        node: node("b", 2),
        bootstrap: Bootstrap::Hosts(["10.0.0.1:9300".into(), "10.0.0.2:9300".into()].into()),
        tuning: Tuning::default(),
        rule: zazen::settings::rule,
    };
    let mut zen = Zen::new(config, Memory::default(), Rng::new(1));
    let mut out = Effects::default();
    zen.handle(Time::ZERO, Input::Started, &mut out);
    zen.handle(Time::ZERO, Input::Received { exchange: Exchange(1), message: publish(3) }, &mut out);
    zen.handle(Time::ZERO, Input::Stored(StoreId(u64::MAX)), &mut out);
    assert!(zen.standing().mode == 'a', "the follower accepted the state");
    zen
}

#[divan::bench]
fn a_follower_answers_its_masters_ping(bencher: Bencher<'_, '_>) {
    let (mut zen, mut out) = (follower(), Effects::default());
    let ping = Message::NodePing { from: master(), target: "b-1".into(), term: Term::ZERO.next() };
    bencher.bench_local(|| {
        zen.handle(Time::ZERO, Input::Received { exchange: Exchange(2), message: black_box(ping.clone()) }, &mut out);
        out.drain().count()
    });
}

#[divan::bench]
fn a_follower_acknowledges_a_state_again(bencher: Bencher<'_, '_>) {
    let (mut zen, mut out) = (follower(), Effects::default());
    let publish = publish(3);
    bencher.bench_local(|| {
        zen.handle(
            Time::ZERO,
            Input::Received { exchange: Exchange(2), message: black_box(publish.clone()) },
            &mut out,
        );
        out.drain().count()
    });
}

#[divan::bench(args = [3, 1_000])]
fn a_publish_to_json(bencher: Bencher<'_, '_>, nodes: u32) {
    let message = publish(nodes);
    bencher.bench(|| wire::encode(black_box(&message)));
}

#[divan::bench(args = [3, 1_000])]
fn a_publish_from_json(bencher: Bencher<'_, '_>, nodes: u32) {
    let bytes = wire::encode(&publish(nodes));
    bencher.bench(|| wire::decode(black_box(&bytes)));
}
