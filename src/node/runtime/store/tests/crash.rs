//! A crash between any two calls, with every choice of what the disk kept.

use super::super::generation::Room;
use super::double::{Call, Double, Image, Plan};
use super::{Disks, IN_PIECES, PATH_DATA, ROOM, accepted, expect_same, fold, live_with, open_with, promise};
use crate::runtime::store::Store;
use crate::runtime::store::fs::Fs;
use crate::zen::{Memory, Write};
use std::path::Path;

/// The calls of a life that nothing disturbs.
fn calls() -> Vec<Call> {
    calls_with(ROOM)
}

fn calls_with(room: Room) -> Vec<Call> {
    let fs = Double::new(Image::empty(), Plan::default());
    live_with(&fs, room).1.expect("nothing goes wrong");
    fs.calls()
}

/// The first promise that is broken if the machine dies at call `first` or later, and how many disks were tried.
fn crash_from(first: usize, ignore: Option<usize>, room: Room) -> Result<usize, String> {
    let mut disks = Disks::default();
    for crash in first..=calls_with(room).len() {
        let fs = Double::new(Image::empty(), Plan { crash: Some(crash), ignore, ..Plan::default() });
        let (progress, _) = live_with(&fs, room);
        disks.check(&fs, progress).map_err(|broken| format!("a crash before call {crash}: {broken}"))?;
    }
    Ok(disks.len())
}

#[test]
fn every_promise_outlives_a_crash_at_any_call_whatever_the_disk_kept() {
    for room in [ROOM, IN_PIECES] {
        let tried = crash_from(0, None, room).unwrap_or_else(|broken| panic!("{broken}"));
        assert!(tried > 1_500, "only {tried} disks were tried");
    }
}

#[test]
fn a_file_that_is_made_in_pieces_takes_over_before_the_other_is_full_and_holds_all_that_it_does() {
    let fs = Double::new(Image::empty(), Plan::default());
    let room = Room { least: 12 << 10, most: 12 << 10, at_once: 0 };
    let (mut store, _) = open_with(&fs, room).expect("nothing goes wrong");
    let (mut writes, mut is_full) = (Vec::new(), 0);
    for number in 1..160 {
        let before = fs.calls().len();
        let group = if number % 4 == 0 { vec![accepted(number / 4), promise(number)] } else { vec![promise(number)] };
        store.write(&group).expect("nothing goes wrong");
        is_full += fs.calls()[before..].iter().filter(|call| call.name == "rename").count();
        writes.extend(group);
        let crashed = Double::new(fs.synced(), Plan::default());
        let memory: Memory = fold(&writes);
        expect_same(&format!("write {number}"), &crashed, &memory).unwrap_or_else(|broken| panic!("{broken}"));
        while store.prepare().expect("nothing goes wrong") {}
        let crashed = Double::new(fs.synced(), Plan::default());
        expect_same(&format!("piece {number}"), &crashed, &memory).unwrap_or_else(|broken| panic!("{broken}"));
    }
    let renamed = fs.calls().iter().filter(|call| call.name == "rename").count();
    assert!(
        renamed > 3 && is_full == 0,
        "{renamed} files, of which {is_full} had to wait until the other one was full"
    );
    let names = fs.list(&Path::new(PATH_DATA).join("nodes/0/_state")).expect("it is there");
    assert!(names.len() <= 2, "nothing is left of the others: {names:?}");
}

/// Much is deleted before the next file is begun, and much is written while it is made.
#[test]
fn a_file_that_turns_out_to_be_too_small_is_made_anew_with_all_of_it() {
    let fs = Double::new(Image::empty(), Plan::default());
    let room = Room { least: 2_400, most: 1 << 20, at_once: 0 };
    let mut writes = vec![accepted(100)];
    open_with(&fs, room).expect("nothing goes wrong").0.write(&writes).expect("nothing goes wrong");
    let (mut store, _) = open_with(&fs, room).expect("nothing goes wrong");
    let mut write = |store: &mut Store<Double>, write: Write| {
        writes.push(write);
        store.write(&writes[writes.len() - 1..]).expect("nothing goes wrong");
        let crashed = Double::new(fs.synced(), Plan::default());
        expect_same("a write", &crashed, &fold(&writes)).unwrap_or_else(|broken| panic!("{broken}"));
    };
    for version in [1, 100, 1, 100, 1] {
        write(&mut store, accepted(version));
    }
    store.prepare().expect("it is begun");
    for term in 1..3 {
        store.prepare().expect("it gets on");
        write(&mut store, promise(term));
    }
    write(&mut store, accepted(30));
    store.prepare().expect("it is made anew");
    write(&mut store, promise(9));
}

#[test]
fn a_life_fills_several_files_and_makes_every_call() {
    let calls = calls();
    let count = |name| calls.iter().filter(|call| call.name == name).count();
    assert!(count("rename") >= 3, "{calls:#?}");
    for name in ["make_dir", "list", "lock", "create", "write", "sync", "sync_dir", "remove"] {
        assert!(count(name) > 0, "no {name} in {calls:#?}");
    }
}

#[test]
fn without_any_one_sync_a_crash_breaks_a_promise() {
    let calls = calls();
    let syncs = calls.iter().enumerate().filter(|(_, call)| call.name.starts_with("sync"));
    for (number, call) in syncs {
        let broken = crash_from(number + 1, Some(number), ROOM);
        assert!(
            broken.is_err(),
            "call {number}, {call:?}, is not needed: remove it, or make the test find out why it is"
        );
    }
}

#[test]
fn a_group_takes_one_sync_and_a_mark_and_a_lazy_one_neither() {
    let fs = Double::new(Image::empty(), Plan::default());
    let (mut store, _) = super::open(&fs).expect("nothing goes wrong");
    let mut names = |group: &[crate::zen::Write]| -> Vec<&'static str> {
        let before = fs.calls().len();
        store.write(group).expect("nothing goes wrong");
        fs.calls()[before..].iter().map(|call| call.name).collect()
    };
    assert_eq!(
        names(&[super::promise(1), super::accepted(1), super::committed(1)]),
        ["write", "sync", "write", "is_named"]
    );
    assert_eq!(names(&[super::committed(1), super::committed(1)]), ["write"]);
    assert_eq!(names(&[]), [""; 0]);
}
