//! Properties of the plain data that a cluster is made of, over seeded random inputs.

#[path = "generate/states.rs"]
mod states;

use serde_json::json;
use states::{change, random_node, random_state};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use zazen::cluster::{
    ClusterState, Diff, KeyValue, Node, NodeId, Nodes, StateId, Table, TableChange, TableDiff, Term, Uuid, Version,
    VotingSet, WrongBase,
};
use zazen::protocol::Rng;

type Model = BTreeMap<u64, u64>;

#[test]
fn a_table_does_what_a_sorted_map_does() {
    for seed in 0..40 {
        let rng = &mut Rng::new(seed);
        let keys = rng.between(1, 2_000);
        let (mut table, mut model) = (Table::new(), Model::new());
        let mut snapshots: Vec<(Table<u64, u64>, Model)> = Vec::new();
        let mut inserts = 50;
        for step in 0..3_000 {
            if step % 500 == 0 {
                // Phases of growth and of shrinking visit splits, merges and the empty table.
                inserts = *rng.pick(&[5, 50, 95]).expect("there are choices");
            }
            let key = rng.below(keys);
            if rng.percent(inserts) {
                assert_eq!(table.insert(key, step), model.insert(key, step), "seed {seed}, step {step}");
            } else {
                assert_eq!(table.remove(&key), model.remove(&key), "seed {seed}, step {step}");
            }
            let probe = rng.below(keys);
            assert_eq!(table.get(&probe), model.get(&probe), "seed {seed}, step {step}");
            assert_eq!(table.len(), model.len(), "seed {seed}, step {step}");
            if rng.percent(1) {
                assert_ranges_agree(&table, &model, probe);
                snapshots.push((table.clone(), model.clone()));
            }
        }
        for (table, model) in &snapshots {
            assert!(table.iter().eq(model), "seed {seed}: a clone changed");
        }
        for pair in snapshots.windows(2) {
            assert_diff_leads_over(&pair[0], &pair[1]);
            assert_diff_leads_over(&pair[1], &pair[0]);
        }
    }
}

fn assert_ranges_agree(table: &Table<u64, u64>, model: &Model, from: u64) {
    assert!(table.iter().eq(model));
    assert!(table.range_from(&from).eq(model.range((Bound::Included(from), Bound::Unbounded))));
    assert!(table.chunk_count() <= table.len().div_ceil(16) + 1, "chunks stay filled");
    assert_eq!(*table, model.iter().map(|(&key, &value)| (key, value)).collect());
}

fn assert_diff_leads_over(from: &(Table<u64, u64>, Model), to: &(Table<u64, u64>, Model)) {
    let diff = TableDiff::between(&from.0, &to.0);
    let mut table = from.0.clone();
    diff.apply(&mut table);
    assert_eq!(table, to.0);
    assert_eq!(from.0 == to.0, from.1 == to.1);
    assert_eq!(diff.is_empty(), from.1 == to.1);
    let removed: Vec<u64> = from.1.keys().filter(|key| !to.1.contains_key(key)).copied().collect();
    let put: Vec<(u64, u64)> =
        to.1.iter().filter(|(key, value)| from.1.get(key) != Some(value)).map(|(&key, &value)| (key, value)).collect();
    assert_eq!(diff, TableDiff { removed, put });
}

#[test]
fn ranges_start_at_the_first_key_that_is_not_below() {
    let table: Table<u64, ()> = (0..1_000).map(|key| (key * 2, ())).collect();
    for from in [0, 1, 95, 96, 97, 1_997, 1_998] {
        assert!(table.range_from(&from).map(|(key, ())| *key).eq((from.div_ceil(2)..1_000).map(|key| key * 2)));
    }
    assert_eq!(table.range_from(&1_999).next(), None);
    assert_eq!(Table::<u64, ()>::new().range_from(&0).next(), None);
}

#[test]
fn one_change_copies_one_chunk() {
    let base: Table<u64, u64> = (0..10_000).map(|key| (key * 2, 0)).collect();
    for changed in [0, 1, 9_998, 10_001, 19_998, 19_999] {
        let mut table = base.clone();
        assert!(table.ptr_eq(&base));
        table.insert(changed, 1);
        assert!(!table.ptr_eq(&base));
        assert_eq!(table.shared_chunk_count(&base), base.chunk_count() - 1);
        assert_eq!(table.remove(&changed), Some(1));
        assert!(table.shared_chunk_count(&base) >= base.chunk_count() - 1);
    }
}

/// Counts how often two of it are compared.
#[derive(Clone)]
struct Counted(u64);

static COMPARED: AtomicUsize = AtomicUsize::new(0);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        COMPARED.fetch_add(1, Ordering::Relaxed);
        self.0 == other.0
    }
}

#[test]
fn a_diff_passes_over_what_is_shared() {
    let base: Table<u64, Counted> = (0..10_000).map(|key| (key * 100, Counted(0))).collect();
    let mut table = base.clone();
    assert_eq!(table.changes_since(&base).count(), 0);
    assert_eq!(COMPARED.load(Ordering::Relaxed), 0);
    table.insert(500_000, Counted(1));
    // More than a chunk holds: it is split, and the chunks behind stand elsewhere in the spine.
    table.extend((1..90).map(|key| (200_000 + key, Counted(1))));
    for key in 7_000..7_090 {
        table.remove(&(key * 100));
    }
    let removed = table.changes_since(&base).filter(|change| matches!(change, TableChange::Removed(..))).count();
    assert_eq!(removed, 90);
    assert!(COMPARED.load(Ordering::Relaxed) < 6 * 64, "whole chunks were compared that are shared");
}

#[test]
fn a_table_is_a_map_in_json_and_the_last_of_two_equal_keys_wins() -> Result<(), serde_json::Error> {
    let table: Table<String, u32> = serde_json::from_str(r#"{"b":1,"a":2,"b":3}"#)?;
    assert_eq!(serde_json::to_string(&table)?, r#"{"a":2,"b":3}"#);
    assert_eq!(format!("{table:?}"), r#"{"a": 2, "b": 3}"#);
    let table: Table<u32, u32> = [(1, 1), (0, 0), (1, 2), (1, 3), (0, 1)].into_iter().collect();
    assert!(table.iter().eq([(&0, &1), (&1, &3)]));
    assert!(serde_json::from_str::<Table<String, u32>>("[]").is_err());
    Ok(())
}

#[test]
fn applying_the_difference_of_two_states_to_the_one_makes_the_other() {
    for seed in 0..300 {
        let rng = &mut Rng::new(seed);
        let from = random_state(rng, 300);
        let unrelated = random_state(rng, 300);
        let mut derived = from.clone();
        for _ in 0..rng.between(0, 12) {
            change(&mut derived, rng);
        }
        for to in [unrelated, derived] {
            let diff = Diff::between(&from, &to);
            assert_eq!(diff.apply(&from), Ok(to.clone()), "seed {seed}");
            assert_eq!(Diff::between(&to, &from).apply(&to), Ok(from.clone()), "seed {seed}");
            let read: Diff = through_json(&diff);
            assert_eq!(read, diff, "seed {seed}");
            assert_eq!(read.apply(&from), Ok(to.clone()), "seed {seed}");
            let read: ClusterState = through_json(&to);
            assert_eq!(read, to, "seed {seed}");
        }
    }
}

#[test]
fn a_diff_applies_to_the_state_it_was_made_from_only() {
    let one = ClusterState::initial("one".into());
    let mut two = one.clone();
    two.version = two.version.next();
    two.uuid = Uuid::from_u128(5);
    let refusal = Diff::between(&one, &two).apply(&two);
    assert_eq!(refusal, Err(WrongBase { expected: StateId::NONE, found: two.id() }));
    assert_eq!(
        refusal.map_err(|error| error.to_string()),
        Err("a diff from state 0/0 [AAAAAAAAAAAAAAAAAAAAAA] does not apply to state 0/1 [AAAAAAAAAAAAAAAAAAAABQ]"
            .into())
    );
}

#[test]
fn a_diff_says_only_what_differs() -> Result<(), serde_json::Error> {
    let from = ClusterState { cluster_uuid: Some(Uuid::ZERO), ..ClusterState::initial("one".into()) };
    let mut to = ClusterState { version: Version::ZERO.next(), cluster_uuid: None, ..from.clone() };
    to.metadata.persistent.insert("discovery.zen.minimum_master_nodes".into(), "2".into());
    let uuid = "AAAAAAAAAAAAAAAAAAAAAA";
    let expected = json!({
        "from": {"term": 0, "version": 0, "uuid": uuid},
        "to": {"term": 0, "version": 1, "uuid": uuid},
        "cluster_uuid": null,
        "metadata": {"persistent": {"put": [["discovery.zen.minimum_master_nodes", "2"]]}},
    });
    assert_eq!(serde_json::to_value(Diff::between(&from, &to))?, expected);
    Ok(())
}

#[test]
fn one_changed_key_of_a_large_state_shares_the_rest() {
    let base = large_state(1_000, 10_000);
    let mut state = base.clone();
    state.version = state.version.next();
    state.metadata.keys.insert("key-05000".into(), key_value("new", &state));
    let made = Diff::between(&base, &state).apply(&base).expect("made from this base");
    assert_eq!(made, state);
    for keys in [&state.metadata.keys, &made.metadata.keys] {
        assert_eq!(keys.shared_chunk_count(&base.metadata.keys), base.metadata.keys.chunk_count() - 1);
    }
    assert!(made.nodes.ptr_eq(&base.nodes) && made.routing.ptr_eq(&base.routing));
    assert!(made.metadata.persistent.ptr_eq(&base.metadata.persistent));
}

#[test]
fn a_state_may_say_more_or_less_than_is_known() -> Result<(), serde_json::Error> {
    let text = r#"{"term":1,"version":2,"uuid":"AAAAAAAAAAAAAAAAAAAAAA","cluster_name":"one",
        "nodes":{"nodes":[],"colour":"red"},"metadata":{"voting":{"own":["a"]},"tombstones":[]},"customs":{}}"#;
    let state: ClusterState = serde_json::from_str(text)?;
    let mut expected = ClusterState::initial("one".into());
    (expected.term, expected.version) = (Term::ZERO.next(), Version::ZERO.next().next());
    expected.metadata.voting.own = VotingSet::new(["a".into()]);
    assert_eq!(state, expected);
    Ok(())
}

fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("plain data can be written");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn large_state(nodes: u32, keys: u32) -> ClusterState {
    let mut state = ClusterState::initial("large".into());
    state.nodes = (0..nodes)
        .map(|index| Arc::new(Node { id: node_id(index), ..(*random_node(&mut Rng::new(1))).clone() }))
        .collect::<Nodes>();
    let value = key_value("old", &state);
    state.metadata.keys = (0..keys).map(|index| (format!("key-{index:05}").into(), value.clone())).collect();
    state
}

fn node_id(index: u32) -> NodeId {
    format!("node-{index:04}").into()
}

fn key_value(value: &str, state: &ClusterState) -> KeyValue {
    KeyValue::new(value, state.rank())
}
