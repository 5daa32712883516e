//! What a large state costs: one key changed in it, a full restart, memory.
//!
//! Real nodes hold 10,000 keys; that there are 1,000 nodes besides is measured on the state itself, as its master and its
//! followers handle it.

use crate::clock::{milliseconds, now};
use crate::cluster::Cluster;
use crate::figures::{Summary, count, figure};
use crate::http::Http;
use crate::peers::Zazen;
use clap::Args;
use rustix::process::Signal;
use std::sync::Arc;
use std::time::{Duration, Instant};
use zazen::cluster::{ClusterState, Diff, KeyValue, Node, Roles, Term};
use zazen::service::{Put, Txn};
use zazen::wire;
use zazen::zen::message::{Body, Message, Sender};

const NODES: usize = 3;

/// What is stored under a key, but for its number.
const VALUE_BYTES: usize = 64;

/// How many keys one request writes, while the state is made.
const KEYS_A_REQUEST: usize = 500;

/// How often each thing is done.
const WRITES: usize = 500;
const RESTARTS: usize = 10;
const ROUNDS: usize = 300;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells what one changed key costs, and a restart, in a state of many keys and nodes.
#[derive(Args)]
pub(crate) struct LargeArgs {
    /// How many keys the large state has.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    keys: u32,
    /// How many nodes the largest one has.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(3..=10_000))]
    members: u32,
}

impl LargeArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        println!("| three real nodes, {VALUE_BYTES} bytes a value | no keys | {} keys |", count(self.keys.into()));
        println!("|---|---|---|");
        let [small, large] = [real(0)?, real(self.keys)?];
        for (what, (few, many)) in REAL.iter().zip(small.iter().zip(&large)) {
            println!("| {what} | {} | {} |", figure(*few), figure(*many));
        }
        let shapes = [(3, 0), (3, self.keys), (self.members, self.keys)];
        let heads = shapes.map(|(nodes, keys)| format!("{} nodes, {} keys", count(nodes.into()), count(keys.into())));
        println!("\n| one key changed in a state of | {} |\n|---|---|---|---|", heads.join(" | "));
        let columns = shapes.map(|(nodes, keys)| pure(nodes, keys));
        for (row, what) in PURE.iter().enumerate() {
            println!("| {what} | {} |", columns.each_ref().map(|column| figure(column[row])).join(" | "));
        }
        Ok(())
    }
}

/// The rows of what real nodes show.
const REAL: [&str; 5] = [
    "one key written and committed, median ms",
    "the same, 99th of a hundred",
    "all nodes killed and launched: each names the master and shows a key, median ms",
    "the same, the longest",
    "memory of the largest node, MiB",
];

fn real(keys: u32) -> Result<[f64; 5], String> {
    eprintln!("three nodes with {keys} keys");
    let mut cluster = Cluster::start(&Zazen::PLAIN, NODES)?;
    let master = cluster.settle()?;
    let mut master = http(&cluster, master);
    let keys: Vec<u32> = (0..keys).collect();
    keys.chunks(KEYS_A_REQUEST).try_for_each(|keys| fill(&mut master, keys))?;
    let written = write(&mut master)?;
    let kib = (0..NODES).map(|node| cluster.node(node).resident_kib());
    let kib = kib.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let restarts = (0..RESTARTS).map(|_| restart(&mut cluster)).collect::<Result<Vec<_>, _>>()?;
    let none = || "nothing was measured".to_owned();
    let (written, restarts) = (Summary::of(&written).ok_or_else(none)?, Summary::of(&restarts).ok_or_else(none)?);
    let mib = kib.into_iter().max().unwrap_or(0) as f64 / 1024.0;
    Ok([written.median, written.p99, restarts.median, restarts.maximum, mib])
}

fn http(cluster: &Cluster<'_>, node: usize) -> Http {
    Http::new(cluster.site.places[node].client(), PATIENCE)
}

fn demand(reply: std::io::Result<crate::http::Reply>) -> Result<(), String> {
    match reply {
        Ok(reply) if reply.is_fine() => Ok(()),
        Ok(reply) => Err(format!("a healthy cluster answered with {}", reply.status)),
        Err(error) => Err(format!("a healthy cluster did not answer: {error}")),
    }
}

fn value(number: u32) -> String {
    format!("{number:0VALUE_BYTES$}")
}

fn fill(master: &mut Http, keys: &[u32]) -> Result<(), String> {
    let put = |number: &u32| Put { key: key(*number), value: value(*number).into(), lease: None };
    let txn = Txn { puts: keys.iter().map(put).collect(), ..Txn::default() };
    let body = serde_json::to_vec(&txn).map_err(|error| error.to_string())?;
    demand(master.ask("POST", "/_zazen/txn", &body))
}

fn key(number: u32) -> Arc<str> {
    format!("key-{number:05}").into()
}

/// Milliseconds of writes of one key, one after the other, through the master.
fn write(master: &mut Http) -> Result<Vec<f64>, String> {
    let one = |number: usize| {
        let began = now();
        demand(master.ask("PUT", "/_zazen/kv/key-00001?timeout=0ms", value(number as u32).as_bytes()))?;
        Ok(milliseconds(now() - began))
    };
    (0..WRITES).map(one).collect()
}

/// Milliseconds from the first launch until every node shows what it has.
fn restart(cluster: &mut Cluster<'_>) -> Result<f64, String> {
    for node in 0..NODES {
        cluster.node(node).signal(Signal::KILL);
    }
    (0..NODES).try_for_each(|node| cluster.wait(node))?;
    let began = cluster.launch(0)?;
    (1..NODES).try_for_each(|node| cluster.launch(node).map(drop))?;
    cluster.settle()?;
    for node in 0..NODES {
        demand(http(cluster, node).get("/_zazen/kv/key-00001?local=true"))?;
    }
    Ok(milliseconds(now() - began))
}

/// The rows of what a state costs.
const PURE: [&str; 5] = [
    "bytes of the publish to each follower",
    "master: what differs, and the message, µs",
    "follower: the message read, and the new state, µs",
    "bytes of the whole state, as a newcomer is sent it",
    "follower: the whole state read, ms",
];

fn pure(nodes: u32, keys: u32) -> [f64; 5] {
    let from = Arc::new(state(nodes, keys));
    let mut to = (*from).clone();
    to.version = to.version.next();
    to.metadata.keys.insert(key(1), KeyValue::new(value(7), to.rank()));
    let publish = || {
        let body = Body::Diff(Arc::new(Diff::between(&from, &to)));
        wire::encode(&Message::Publish { from: sender(), term: to.term, committed: from.id(), body })
    };
    let bytes = publish();
    let made = micros(|began| {
        std::hint::black_box(publish());
        now() - began
    });
    let applied = micros(|began| {
        let Ok(Message::Publish { body: Body::Diff(diff), .. }) = wire::decode(&bytes) else {
            unreachable!("it was just written");
        };
        std::hint::black_box(diff.apply(&from)).expect("it was made from this state");
        now() - began
    });
    let body = Body::Full(Arc::new(to.clone()));
    let whole = wire::encode(&Message::Publish { from: sender(), term: to.term, committed: from.id(), body });
    let read = micros(|began| {
        std::hint::black_box(wire::decode(&whole)).expect("it was just written");
        now() - began
    });
    [bytes.len() as f64, made, applied, whole.len() as f64, read / 1e3]
}

/// The median of some rounds.
fn micros(round: impl Fn(Instant) -> Duration) -> f64 {
    let samples: Vec<f64> = (0..ROUNDS).map(|_| round(now()).as_secs_f64() * 1e6).collect();
    Summary::of(&samples).map_or(0.0, |summary| summary.median)
}

fn state(nodes: u32, keys: u32) -> ClusterState {
    let mut state = ClusterState::initial("large".into());
    state.term = Term::ZERO.next();
    state.nodes = (0..nodes).map(node).collect();
    state.nodes.master = Some("node-0000".into());
    let held = (0..keys.max(2)).map(|number| (key(number), KeyValue::new(value(number), state.rank())));
    state.metadata.keys = held.collect();
    state
}

fn sender() -> Arc<Sender> {
    Arc::new(Sender { cluster_name: "large".into(), cluster_uuid: None, node: node(0) })
}

fn node(number: u32) -> Arc<Node> {
    Arc::new(Node {
        id: format!("node-{number:04}").into(),
        ephemeral_id: format!("start-{number:04}").into(),
        name: format!("name-{number:04}").into(),
        address: format!("10.0.0.1:{}", 9300 + number).into(),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}
