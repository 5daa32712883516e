//! On a disk that works: what is written comes back, and what cannot come back is not written.

use super::double::{Double, Image, Plan};
use super::{is_same, open, promise, state};
use crate::cluster::ClusterState;
use crate::protocol::{Disk, Rng};
use crate::runtime::store::StoreError;
use crate::zen::{Memory, Write};
use serde_json::{Value, json};
use std::sync::Arc;

/// States that share nothing, states that follow each other and the same one again, in any order.
fn random_write(rng: &mut Rng, memory: &Memory) -> Write {
    let last = memory.accepted.as_ref().map_or(1, |state| state.version.get());
    match rng.below(6) {
        0 => promise(rng.below(1 << 53)),
        1 => Write::Identity(crate::cluster::Uuid::from_u128(rng.next_u128())),
        2 => Write::Committed(state(rng.below(20)).id()),
        3 => Write::Accepted(state(rng.below(20))),
        4 => Write::Accepted(state(last)),
        _ => Write::Accepted(state(last % 30 + 1)),
    }
}

#[test]
fn any_writes_come_back_after_any_number_of_restarts() {
    let mut rng = Rng::new(5);
    for _ in 0..20 {
        let fs = Double::new(Image::empty(), Plan::default());
        let mut memory = Memory::default();
        for _ in 0..rng.between(1, 8) {
            let (mut store, found) = open(&fs).expect("nothing goes wrong");
            assert!(is_same(&found, &memory), "{found:?} is not {memory:?}");
            for _ in 0..rng.below(12) {
                let group: Vec<Write> = (0..rng.below(4)).map(|_| random_write(&mut rng, &memory)).collect();
                store.write(&group).expect("nothing goes wrong");
                group.iter().for_each(|write| memory.apply(write));
            }
        }
    }
}

fn nested(levels: usize) -> Arc<ClusterState> {
    let mut state = ClusterState::initial("deep".into());
    let value = (0..levels).fold(json!("]}\\\"[{"), |value, _| Value::Array(vec![value]));
    state.metadata.indices.insert("deep".into(), Arc::new(value));
    Arc::new(state)
}

#[test]
fn a_state_that_nests_too_deep_to_be_read_is_not_written() {
    let mut deepest = 0;
    for levels in 100..140 {
        let fs = Double::new(Image::empty(), Plan::default());
        let (mut store, _) = open(&fs).expect("nothing goes wrong");
        match store.write(&[Write::Accepted(nested(levels))]) {
            Ok(()) => {
                let (_, memory) = open(&fs).expect("what was written is read");
                assert_eq!(memory.accepted, Some(nested(levels)));
                deepest = levels;
            }
            Err(StoreError::Unwritable { what }) => {
                assert!(what.contains("levels deep, at most 127 are read"), "{what}");
                assert!(is_same(&open(&fs).expect("it was not written").1, &Memory::default()));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!((110..130).contains(&deepest), "{deepest} levels are written");
}
