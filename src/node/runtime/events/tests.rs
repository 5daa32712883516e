//! Entries on a real disk.

use super::*;
use crate::runtime::events::keep::Keeper;
use std::fs;

fn entry(reason: &str) -> Entry {
    Entry {
        sequence: 0,
        timestamp_millis: 1,
        kind: Kind::MasterLeft,
        term: 2,
        version: 3,
        node: None,
        reason: reason.into(),
        details: Map::new(),
    }
}

fn directory(name: &str) -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("zazen-events-{name}-{}", std::process::id()));
    fs::create_dir_all(dir.join("nodes").join("0")).expect("a directory can be made");
    dir
}

fn bytes_in(dir: &Path) -> u64 {
    let files = fs::read_dir(dir.join("nodes").join("0").join("_history")).expect("it is there");
    files.map(|file| file.expect("it is listed").metadata().expect("it is a file").len()).sum()
}

#[test]
fn the_last_thousand_are_kept_over_restarts_within_a_bound() {
    let dir = directory("bound");
    let long = "x".repeat(300);
    let mut keeper = Keeper::open(&dir, Events::default());
    for _ in 0..5_000 {
        keeper.keep(entry(&long));
    }
    drop(keeper);
    let events = Events::default();
    let mut keeper = Keeper::open(&dir, events.clone());
    assert_eq!(events.extent(), (ENTRIES_MAX, 5_000));
    keeper.keep(entry("again"));
    assert_eq!(events.extent(), (ENTRIES_MAX, 5_001));
    let newest = events.since(Some(4_999), 10);
    assert_eq!(newest.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [5_000, 5_001]);
    assert_eq!(events.since(None, 1)[0].reason, "again");
    assert!(bytes_in(&dir) < 2 << 20, "{} bytes", bytes_in(&dir));
    fs::remove_dir_all(&dir).expect("it can be removed");
}

#[test]
fn a_torn_line_costs_that_line() {
    let dir = directory("torn");
    let mut keeper = Keeper::open(&dir, Events::default());
    keeper.keep(entry("one"));
    drop(keeper);
    let path = dir.join("nodes").join("0").join("_history").join("new.jsonl");
    let whole = fs::read_to_string(&path).expect("it is text");
    fs::write(&path, format!("{whole}{}\n", &whole[..whole.len() / 2])).expect("it can be written");
    let events = Events::default();
    Keeper::open(&dir, events.clone()).keep(entry("two"));
    let reasons: Vec<String> = events.since(None, 10).into_iter().map(|entry| entry.reason).collect();
    assert_eq!(reasons, ["one", "two"]);
    fs::remove_dir_all(&dir).expect("it can be removed");
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_waited_for_by_nobody() {
    let dir = directory("pipe");
    let history = dir.join("nodes").join("0").join("_history");
    fs::create_dir_all(&history).expect("it can be made");
    for name in ["old.jsonl", "new.jsonl"] {
        let made = std::process::Command::new("mkfifo").arg(history.join(name)).status().expect("it can be run");
        assert!(made.success());
    }
    let events = Events::default();
    Keeper::open(&dir, events.clone()).keep(entry("kept in memory"));
    assert_eq!(events.since(None, 10)[0].reason, "kept in memory");
    fs::remove_dir_all(&dir).expect("it can be removed");
}

#[test]
fn who_asked_for_a_change_is_told_with_it() {
    let dir = directory("author");
    let events = Events::default();
    let mut keeper = Keeper::open(&dir, events.clone());
    events.expect_change(["a".to_owned()], "somebody".into());
    let details = |key: &str| Map::from_iter([(key.to_owned(), Value::Null)]);
    keeper.keep(Entry { kind: Kind::SettingsChanged, details: details("b"), ..entry("other") });
    keeper.keep(Entry { kind: Kind::SettingsChanged, details: details("a"), ..entry("other") });
    keeper.keep(Entry { kind: Kind::SettingsChanged, details: details("a"), ..entry("other") });
    let reasons: Vec<String> = events.since(None, 10).into_iter().map(|entry| entry.reason).collect();
    assert_eq!(reasons, ["other", "asked for by somebody", "other"]);
    fs::remove_dir_all(&dir).expect("it can be removed");
}
