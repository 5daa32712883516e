//! What it costs to make a node's promises durable, by the way they are written: the table of `docs/storage.md`.
//!
//! Prints medians in milliseconds, and how many times the store's own median that is. The files lie below the build
//! directory, so that is the disk that is measured: `cargo bench --bench store`.

#[path = "store/scheme.rs"]
mod scheme;
#[path = "store/table.rs"]
mod table;

use scheme::{Atomic, Growing, InPlace, Scheme, Space};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use table::{Row, Table, timed};
use zazen::cluster::{ClusterState, Diff, KeyValue, StateId, Term, Uuid, Version};
use zazen::runtime::store::Store;
use zazen::zen::{Promise, Write};

/// How often each thing is done.
const ROUNDS: usize = 300;

/// How many bytes the value of a key takes.
const VALUE: usize = 100;

fn main() {
    small_records();
    accepted_states();
    batches();
    new_generations();
    openings();
}

/// A directory that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-store-{name}"));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("the build directory can be written to");
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn store(scratch: &Scratch) -> Store {
    Store::open(&scratch.0).expect("a fresh directory can be opened").0
}

fn promise(term: usize) -> Write {
    let term = Term::new(term as u64).expect("it is far below 2^53");
    Write::Promise(Promise {
        node_id: Some("a-node-of-the-cluster".into()),
        term,
        vote: Some("another-node".into()),
        left_out: Default::default(),
    })
}

/// A state of about so many bytes.
fn state(bytes: usize) -> ClusterState {
    let mut state = ClusterState::initial("bench".into());
    state.term = Term::ZERO.next();
    for key in 0..(bytes / 160).max(1) {
        put(&mut state, key, 0);
    }
    state
}

fn put(state: &mut ClusterState, key: usize, round: usize) {
    let value = KeyValue::new(format!("{round:0>VALUE$}"), state.rank());
    state.metadata.keys.insert(format!("key-{key:07}").into(), value);
}

/// The state after it, with so many keys changed.
fn next(state: &ClusterState, round: usize, changes: usize) -> ClusterState {
    let mut next = state.clone();
    (next.version, next.uuid) = (state.version.next(), Uuid::from_u128(round as u128 + 1));
    let keys = next.metadata.keys.len();
    (0..changes).for_each(|change| put(&mut next, (round * 7 + change * 13) % keys, round));
    next
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data can be written")
}

/// All ways to write one value after another.
fn schemes(dir: &Path, largest: usize) -> Vec<(&'static str, Box<dyn Scheme>)> {
    vec![
        ("atomic file: tmp, sync, rename, sync dir", Box::new(Atomic::new(dir))),
        ("two slots in place", Box::new(InPlace::new(dir, "slots", largest, Space::Zeros, 2))),
        ("log that grows", Box::new(Growing::new(dir))),
        ("log, space allocated", Box::new(InPlace::new(dir, "allocated", largest, Space::Allocated, ROUNDS))),
        ("log, space zeroed", Box::new(InPlace::new(dir, "zeroed", largest, Space::Zeros, ROUNDS))),
    ]
}

fn small_records() {
    let mut table = Table::new("a small record (term and vote), synced", &["200 B"]);
    let scratch = Scratch::new("small");
    let mut store = store(&scratch);
    let ours = timed(ROUNDS, |round| store.write(&[promise(round)]).expect("the disk works"));
    for (name, mut scheme) in schemes(&scratch.0, 200) {
        table.add(name, vec![Row::of(timed(ROUNDS, |_| scheme.write(&[7; 200])))]);
    }
    table.add("zazen's store", vec![Row::of(ours)]);
    table.print();
}

fn accepted_states() {
    let sizes = [("2 KB", 2_000), ("64 KB", 64_000), ("1 MB", 1_000_000)];
    let mut table = Table::new("an accepted state, one key changed, synced", &sizes.map(|(name, _)| name));
    let scratch = Scratch::new("states");
    let mut rows: Vec<(String, Vec<Row>)> = Vec::new();
    for (size, (_, bytes)) in sizes.into_iter().enumerate() {
        for (name, content, row) in raw_states(&scratch, bytes) {
            let name = format!("{name}; {content}");
            match rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, cells)) => cells.push(row),
                None => rows.push((name, vec![row])),
            }
        }
        let ours = Row::of(store_states(bytes));
        if size == 0 {
            rows.push(("zazen's store".into(), vec![ours]));
        } else {
            rows.iter_mut().find(|(name, _)| name == "zazen's store").expect("it was pushed first").1.push(ours);
        }
    }
    rows.sort_by_key(|(name, _)| name == "zazen's store");
    rows.into_iter().for_each(|(name, cells)| table.add(&name, cells));
    table.print();
}

/// Every scheme with the full state and with the difference, from the state to the synced file.
fn raw_states(scratch: &Scratch, bytes: usize) -> Vec<(&'static str, &'static str, Row)> {
    let mut rows = Vec::new();
    for (content, is_full) in [("full state", true), ("diff", false)] {
        let largest = if is_full { bytes * 2 } else { 2_000 };
        for (name, mut scheme) in schemes(&scratch.0, largest) {
            let is_log = name.starts_with("log");
            if !is_full && !is_log {
                continue;
            }
            let mut last = state(bytes);
            let rounds = if is_full && bytes > 500_000 { ROUNDS / 3 } else { ROUNDS };
            let times = timed(rounds, |round| {
                let new = next(&last, round, 1);
                scheme.write(&if is_full { json(&new) } else { json(&Diff::between(&last, &new)) });
                last = new;
            });
            rows.push((name, content, Row::of(times)));
        }
    }
    rows
}

fn store_states(bytes: usize) -> Vec<Duration> {
    let scratch = Scratch::new("store");
    let mut store = store(&scratch);
    let mut last = Arc::new(state(bytes));
    store.write(&[Write::Accepted(last.clone())]).expect("the disk works");
    timed(ROUNDS * 10, |round| {
        last = Arc::new(next(&last, round, 1));
        store.write(&[Write::Accepted(last.clone())]).expect("the disk works");
    })
}

/// Updates that come together are one state and one sync.
fn batches() {
    let sizes = [1, 8, 64];
    let mut table = Table::new("updates a second, 1,000 keys, committed state noted", &sizes.map(|_| ""));
    let mut cells = Vec::new();
    for changes in sizes {
        let scratch = Scratch::new("batches");
        let mut store = store(&scratch);
        let mut last = Arc::new(state(160_000));
        let times = timed(ROUNDS * 10, |round| {
            last = Arc::new(next(&last, round, changes));
            store.write(&[Write::Accepted(last.clone())]).expect("the disk works");
            store.write(&[Write::Committed(last.id())]).expect("the disk works");
        });
        let total: Duration = times.iter().sum();
        cells.push(format!("{changes} at once: {:.0}/s", (times.len() * changes) as f64 / total.as_secs_f64()));
    }
    table.add_text("zazen's store", cells);
    table.print();
}

/// What a new file costs, by the room that it has for more.
fn new_generations() {
    let rooms = [("256 KB", 256 << 10), ("1 MB", 1 << 20), ("4 MB", 4 << 20), ("16 MB", 16 << 20)];
    let mut table = Table::new("a new generation of 2 KB, by its room", &rooms.map(|(name, _)| name));
    let scratch = Scratch::new("rooms");
    let mut scheme = Atomic::new(&scratch.0);
    let cells = rooms.map(|(_, room)| Row::of(timed(ROUNDS / 3, |_| scheme.write(&vec![0; 2_000 + room]))));
    table.add("atomic file", cells.into());
    table.print();
}

fn openings() {
    let sizes = [("2 KB", 2_000), ("1 MB", 1_000_000), ("32 MB", 32_000_000)];
    let mut table = Table::new("opening", &sizes.map(|(name, _)| name));
    let cells = sizes.map(|(_, bytes)| {
        let scratch = Scratch::new("opening");
        let id = StateId { term: Term::ZERO.next(), version: Version::ZERO, uuid: Uuid::ZERO };
        let writes = [promise(1), Write::Accepted(Arc::new(state(bytes))), Write::Committed(id)];
        store(&scratch).write(&writes).expect("the disk works");
        Row::of(timed(10, |_| drop(store(&scratch))))
    });
    table.add("zazen's store", cells.into());
    table.print();
}
