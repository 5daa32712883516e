//! The store's promises, on a disk that breaks what a disk may break.
//!
//! What is written, and when a memory keeps what was promised of it, stands here; each file beside it breaks something
//! else. A process that is really killed is in `tests/store_kill.rs`.

mod crash;
mod damage;
mod double;
mod drawn;
mod failure;
mod local;
mod many;
mod whole;

use super::generation::Room;
use super::{Store, StoreError};
use crate::cluster::{ClusterState, KeyValue, Term, Uuid, Version};
use crate::protocol::Disk;
use crate::zen::{Memory, Promise, Write};
use double::{Double, Image, Plan};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Little, so that a few writes fill a file.
const ROOM: Room = Room { least: 2_400, most: 2_400, at_once: usize::MAX };

const PATH_DATA: &str = "/var/zazen";

/// The same, with the next file always made in pieces.
const IN_PIECES: Room = Room { at_once: 0, ..ROOM };

fn open(fs: &Double) -> Result<(Store<Double>, Memory), StoreError> {
    open_with(fs, ROOM)
}

fn open_with(fs: &Double, room: Room) -> Result<(Store<Double>, Memory), StoreError> {
    Store::open_on(fs.clone(), Path::new(PATH_DATA), room)
}

fn promise(term: u64) -> Write {
    let (node_id, vote) = (Some("node-a".into()), Some("node-b".into()));
    Write::Promise(Promise {
        node_id,
        term: Term::new(term).expect("it is small"),
        vote,
        left_out: ["10.0.0.9:9300".into()].into(),
    })
}

/// The state of this version: each adds a key, and some of them a long one.
fn state(version: u64) -> Arc<ClusterState> {
    let mut state = ClusterState::initial("store".into());
    for version in 1..=version {
        state.version = Version::new(version).expect("it is small");
        state.uuid = Uuid::from_u128(u128::from(version));
        let value = "§ @".repeat(if version % 3 == 0 { 250 } else { 8 });
        state.metadata.keys.insert(format!("key-{version}").into(), KeyValue::new(value, state.rank()));
    }
    Arc::new(state)
}

fn accepted(version: u64) -> Write {
    Write::Accepted(state(version))
}

fn committed(version: u64) -> Write {
    Write::Committed(state(version).id())
}

/// A life of a node: every kind of write, alone and in groups, and more than one file takes.
fn life() -> Vec<Vec<Write>> {
    vec![
        vec![promise(1)],
        vec![accepted(1), Write::Identity(Uuid::from_u128(9))],
        vec![committed(1)],
        vec![accepted(2)],
        vec![committed(2), promise(2), accepted(3)],
        vec![],
        vec![committed(3)],
        vec![committed(3)],
        vec![promise(3)],
        vec![accepted(4), committed(4), accepted(5), accepted(6)],
        vec![committed(6)],
        vec![promise(4)],
        vec![promise(5), accepted(7)],
        vec![committed(7), accepted(9), promise(6)],
        vec![committed(9)],
        vec![accepted(10)],
    ]
}

/// What is to be remembered after each of its writes, and before the first.
static MEMORIES: LazyLock<Vec<Memory>> = LazyLock::new(|| {
    let (writes, mut memory) = (life().concat(), Memory::default());
    let after = writes.iter().map(|write| {
        memory.apply(write);
        memory.clone()
    });
    std::iter::once(Memory::default()).chain(after).collect()
});

/// How far a life went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Progress {
    /// How many writes were handed to the store.
    tried: usize,
    /// How many of them it said were done.
    acknowledged: usize,
}

/// Lives until the end or the first error.
fn live(fs: &Double) -> (Progress, Result<(), StoreError>) {
    live_with(fs, ROOM)
}

fn live_with(fs: &Double, room: Room) -> (Progress, Result<(), StoreError>) {
    let mut progress = Progress::default();
    let mut store = match open_with(fs, room) {
        Ok((store, _)) => store,
        Err(error) => return (progress, Err(error)),
    };
    for group in life() {
        progress.tried += group.len();
        if let Err(error) = store.write(&group) {
            return (progress, Err(error));
        }
        progress.acknowledged = progress.tried;
        if let Err(error) = store.prepare() {
            return (progress, Err(error));
        }
    }
    (progress, Ok(()))
}

/// The memories that may be found after this much of a life.
fn allowed(progress: Progress) -> &'static [Memory] {
    static IS_LAZY: LazyLock<Vec<bool>> = LazyLock::new(|| life().concat().iter().map(Memory::is_lazy).collect());
    let durable = IS_LAZY[..progress.acknowledged].iter().rposition(|is_lazy| !is_lazy);
    &MEMORIES[durable.map_or(0, |last| last + 1)..=progress.tried]
}

fn fold(writes: &[Write]) -> Memory {
    let mut memory = Memory::default();
    writes.iter().for_each(|write| memory.apply(write));
    memory
}

fn is_same(a: &Memory, b: &Memory) -> bool {
    let parts = |memory: &Memory| (memory.promise.clone(), memory.committed, memory.cluster_uuid);
    parts(a) == parts(b) && a.accepted == b.accepted
}

/// What a machine that died may leave, of which much is the same wherever it died.
#[derive(Default)]
struct Disks(BTreeSet<(Image, Progress)>);

impl Disks {
    /// Checks each that was not found before, and what another process finds if only this one died.
    fn check(&mut self, fs: &Double, progress: Progress) -> Result<(), String> {
        for image in fs.images() {
            if self.0.insert((image.clone(), progress)) {
                check(&Double::new(image, Plan::default()), progress)?;
            }
        }
        check(&fs.survivor(), progress)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Opens a disk again: what it holds must be allowed, must be durable by then, and must be built upon.
fn check(fs: &Double, progress: Progress) -> Result<(), String> {
    let (mut store, memory) = open(fs).map_err(|error| error.to_string())?;
    if !allowed(progress).iter().any(|allowed| is_same(allowed, &memory)) {
        return Err(format!("after {progress:?} it holds {memory:?}"));
    }
    let again = Double::new(fs.synced(), Plan::default());
    expect_same("another crash", &again, &memory)?;
    let more = [promise(77), accepted(8)];
    store.write(&more).map_err(|error| error.to_string())?;
    let mut after = memory;
    more.iter().for_each(|write| after.apply(write));
    expect_same("more writes", &Double::new(fs.synced(), Plan::default()), &after)
}

fn expect_same(when: &str, fs: &Double, expected: &Memory) -> Result<(), String> {
    let (_, memory) = open(fs).map_err(|error| format!("after {when}: {error}"))?;
    if is_same(&memory, expected) { Ok(()) } else { Err(format!("after {when}: {memory:?}, not {expected:?}")) }
}
