//! The real file system: whose the files are, who may open them, and that what was written is there.

use super::{accepted, fold, is_same, promise};
use crate::runtime::store::{Store, StoreError};
use crate::zen::{Memory, Write};
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;

/// A directory of one test, gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let dir = env::temp_dir().join(format!("zazen-store-{test}-{}", process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).expect("the directory for temporary files can be written to");
        Scratch(dir)
    }

    fn path_data(&self) -> PathBuf {
        self.0.join("some").join("data")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> (Store, Memory) {
    Store::open(path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_was_written_is_there_after_a_restart() {
    let scratch = Scratch::new("restart");
    let writes = [promise(1), accepted(3), accepted(4), promise(2)];
    open(&scratch.path_data()).0.write(&writes).expect("the disk works");
    for _ in 0..3 {
        let (_, memory) = open(&scratch.path_data());
        assert!(is_same(&memory, &fold(&writes)), "{memory:?}");
    }
}

#[test]
fn only_the_owner_may_read_what_is_made() {
    let scratch = Scratch::new("modes");
    let (_store, _) = open(&scratch.path_data());
    let mode = |path: &Path| fs::metadata(path).expect("it was made").permissions().mode() & 0o777;
    let node = scratch.path_data().join("nodes/0");
    for dir in [scratch.0.join("some"), scratch.path_data(), scratch.path_data().join("nodes"), node.join("_state")] {
        assert_eq!(mode(&dir), 0o700, "{}", dir.display());
    }
    for file in ["node.lock", "_state/zen-1.st"] {
        assert_eq!(mode(&node.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_directory_in_use_is_refused_and_free_again_afterwards() {
    let scratch = Scratch::new("lock");
    let (mut first, _) = open(&scratch.path_data());
    let error = Store::open(&scratch.path_data()).err().expect("it is in use");
    let (node, pid) = (scratch.path_data().join("nodes/0"), process::id());
    let expected = format!("failed to obtain node lock on [{}]: process {pid} holds it; ", node.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    first.write(&[promise(1)]).expect("the refusal did no harm");
    drop(first);
    assert!(is_same(&open(&scratch.path_data()).1, &fold(&[promise(1)])));
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let scratch = Scratch::new("file");
    let path = scratch.0.join("data");
    fs::write(&path, "").expect("the directory can be written to");
    let error = Store::open(&path).err().expect("a file is in the way");
    assert!(matches!(&error, StoreError::Io { path: found, .. } if found.starts_with(&path)), "{error}");
}

#[test]
fn other_files_are_left_alone_and_old_ones_are_removed() {
    let scratch = Scratch::new("others");
    drop(open(&scratch.path_data()));
    let state = scratch.path_data().join("nodes/0/_state");
    for name in ["global-5.st", "zen-01.st", "zen-18446744073709551615.st", "zen.st.tmp"] {
        fs::write(state.join(name), "x").expect("the directory can be written to");
    }
    drop(open(&scratch.path_data()));
    let names = fs::read_dir(&state).expect("it is there").map(|entry| entry.expect("it is there").file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().expect("the names are plain")).collect();
    names.sort();
    assert_eq!(names, ["global-5.st", "zen-01.st", "zen-18446744073709551615.st", "zen-2.st"]);
}

#[test]
fn one_changed_key_of_a_large_state_takes_a_short_record() {
    let scratch = Scratch::new("large");
    let (mut store, _) = open(&scratch.path_data());
    let mut state = super::state(3).as_ref().clone();
    for key in 0..5_000 {
        let value = crate::cluster::KeyValue::new("x".repeat(1_000), state.rank());
        state.metadata.keys.insert(format!("large-{key}").into(), value);
    }
    store.write(&[Write::Accepted(state.clone().into())]).expect("the disk works");
    let path = scratch.path_data().join("nodes/0/_state/zen-2.st");
    let used = || fs::read(&path).expect("it is there").iter().rposition(|byte| *byte != 0).expect("it is not empty");
    let before = used();
    assert!(before > 5_000_000);
    state.version = state.version.next();
    state.metadata.keys.remove("large-7");
    store.write(&[Write::Accepted(state.clone().into())]).expect("the disk works");
    assert!((1..1_000).contains(&(used() - before)));
    drop(store);
    assert_eq!(open(&scratch.path_data()).1.accepted, Some(state.into()));
}

#[test]
fn a_file_that_was_removed_or_replaced_is_written_to_no_more() {
    for replace in [false, true] {
        let scratch = Scratch::new(if replace { "replaced" } else { "removed" });
        let (mut store, _) = open(&scratch.path_data());
        store.write(&[promise(1)]).expect("the disk works");
        store.look().expect("it is there");
        let path = scratch.path_data().join("nodes/0/_state/zen-1.st");
        let copy = fs::read(&path).expect("it is there");
        fs::remove_file(&path).expect("it is there");
        if replace {
            fs::write(&path, copy).expect("the directory can be written to");
        }
        let error = store.write(&[promise(2)]).expect_err("it would be lost");
        assert!(matches!(&error, StoreError::Replaced { file } if *file == path), "{error}");
        assert!(matches!(store.write(&[promise(3)]), Err(StoreError::GaveUp { .. })));
    }
}
