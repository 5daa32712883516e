//! What states cost: 1,000 nodes, 10,000 keys, one change.

use divan::{Bencher, black_box};
use std::sync::Arc;
use zazen::cluster::{ClusterState, Diff, KeyValue, Node, Roles};

fn main() {
    divan::main();
}

#[divan::bench]
fn clone_of_state(bencher: Bencher<'_, '_>) {
    let state = large_state();
    bencher.bench(|| state.clone());
}

#[divan::bench]
fn insert_of_one_key_into_a_shared_state(bencher: Bencher<'_, '_>) {
    let state = large_state();
    bencher.bench(|| with_one_change(&state));
}

#[divan::bench]
fn insert_of_one_key_into_an_unshared_state(bencher: Bencher<'_, '_>) {
    let mut state = large_state();
    let value = key_value(&state);
    let key: Arc<str> = "key-05000".into();
    bencher.bench_local(|| state.metadata.keys.insert(key.clone(), value.clone()));
}

#[divan::bench]
fn diff_of_one_change(bencher: Bencher<'_, '_>) {
    let from = large_state();
    let to = with_one_change(&from);
    bencher.bench(|| Diff::between(black_box(&from), black_box(&to)));
}

#[divan::bench]
fn apply_of_one_change(bencher: Bencher<'_, '_>) {
    let from = large_state();
    let diff = Diff::between(&from, &with_one_change(&from));
    bencher.bench(|| diff.apply(black_box(&from)));
}

#[divan::bench]
fn diff_of_unrelated_equal_states(bencher: Bencher<'_, '_>) {
    let (from, to) = (large_state(), large_state());
    bencher.bench(|| Diff::between(black_box(&from), black_box(&to)));
}

#[divan::bench]
fn diff_to_json_and_back(bencher: Bencher<'_, '_>) {
    let from = large_state();
    let diff = Diff::between(&from, &with_one_change(&from));
    bencher.bench(|| {
        let text = serde_json::to_vec(&diff).expect("plain data can be written");
        serde_json::from_slice::<Diff>(&text).expect("it was just written")
    });
}

#[divan::bench]
fn state_to_json(bencher: Bencher<'_, '_>) {
    let state = large_state();
    bencher.bench(|| serde_json::to_vec(&state).expect("plain data can be written"));
}

#[divan::bench]
fn state_from_json(bencher: Bencher<'_, '_>) {
    let text = serde_json::to_vec(&large_state()).expect("plain data can be written");
    bencher.bench(|| serde_json::from_slice::<ClusterState>(&text).expect("it was just written"));
}

fn with_one_change(state: &ClusterState) -> ClusterState {
    let mut state = state.clone();
    state.version = state.version.next();
    let value = key_value(&state);
    state.metadata.keys.insert("key-05000".into(), value);
    state
}

fn large_state() -> ClusterState {
    let mut state = ClusterState::initial("large".into());
    state.nodes = (0..1_000).map(node).collect();
    let keys = (0..10_000).map(|index| (format!("key-{index:05}").into(), key_value(&state)));
    state.metadata.keys = keys.collect();
    state
}

fn key_value(state: &ClusterState) -> KeyValue {
    KeyValue::new("sixteen bytes...", state.rank())
}

fn node(index: u32) -> Arc<Node> {
    Arc::new(Node {
        id: format!("node-{index:04}").into(),
        ephemeral_id: format!("start-{index:04}").into(),
        name: format!("name-{index:04}").into(),
        address: format!("10.0.0.1:{}", 9300 + index).into(),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: "6.8.23".into(),
    })
}
