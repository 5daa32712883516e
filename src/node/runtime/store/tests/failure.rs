//! Any one call that fails: the store stops for good, and what it promised is there.

use super::double::{Double, Image, Plan};
use super::{Disks, IN_PIECES, ROOM, life, live, live_with, open, promise};
use crate::runtime::store::StoreError;
use crate::runtime::store::generation::{Room, UNFINISHED};
use std::io::ErrorKind;

#[test]
fn a_call_that_fails_is_named_and_whatever_the_disk_kept_the_promises_hold() {
    for room in [ROOM, IN_PIECES] {
        every_call_fails_once(room);
    }
}

fn every_call_fails_once(room: Room) {
    let (reference, mut disks) = (Double::new(Image::empty(), Plan::default()), Disks::default());
    live_with(&reference, room).1.expect("nothing goes wrong");
    for (number, call) in reference.calls().iter().enumerate() {
        for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
            let fs = Double::new(Image::empty(), Plan { fail: Some((number, kind)), ..Plan::default() });
            let (progress, result) = live_with(&fs, room);
            // Where there is no room for a file with much room, one with little may be made.
            let is_made_smaller = kind == ErrorKind::StorageFull && call.path.ends_with(UNFINISHED);
            match result {
                Ok(()) => assert!(is_made_smaller, "{call:?} failed, and nobody was told"),
                Err(StoreError::Io { path, source, .. }) => {
                    assert_eq!(source.kind(), kind, "{call:?}: {source}");
                    assert!(path.ends_with(&call.path), "{call:?}: {source} of {path:?}");
                }
                Err(error) => panic!("{call:?}: {error}"),
            }
            disks.check(&fs, progress).unwrap_or_else(|broken| panic!("{kind:?} at {call:?}: {broken}"));
        }
    }
}

#[test]
fn after_a_failure_nothing_more_is_asked_of_the_disk() {
    let opened = Double::new(Image::empty(), Plan::default());
    open(&opened).expect("nothing goes wrong");
    let first = opened.calls().len();
    let reference = Double::new(Image::empty(), Plan::default());
    live(&reference).1.expect("nothing goes wrong");
    for number in first..reference.calls().len() {
        let fs = Double::new(Image::empty(), Plan { fail: Some((number, ErrorKind::Other)), ..Plan::default() });
        let (mut store, _) = open(&fs).expect("the failure comes later");
        let groups = life();
        let failed = groups.iter().find_map(|group| store.write(group).err()).expect("a call fails");
        let calls = fs.calls().len();
        for group in [vec![promise(9)], vec![super::committed(3)], vec![]] {
            let error = store.write(&group).expect_err("the store gave up");
            assert_eq!(error.to_string().split(": ").skip(1).collect::<Vec<_>>().join(": "), failed.to_string());
        }
        assert_eq!(fs.calls().len(), calls);
    }
}

#[test]
fn directories_above_the_data_may_refuse_to_be_synced() {
    let reference = Double::new(Image::empty(), Plan::default());
    open(&reference).expect("nothing goes wrong");
    let calls = reference.calls();
    let syncs = calls.iter().enumerate().filter(|(_, call)| call.name == "sync_dir");
    for (number, call) in syncs {
        for kind in [ErrorKind::InvalidInput, ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            let fs = Double::new(Image::empty(), Plan { fail: Some((number, kind)), ..Plan::default() });
            let is_ours = call.path.starts_with(super::PATH_DATA);
            assert_eq!(open(&fs).is_err(), is_ours, "{kind:?} at {call:?}");
        }
    }
}
