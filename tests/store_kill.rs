//! A process that writes to its store is killed at any moment, again and again: what it was told is done is there.
//!
//! The process is this test itself, started again with a directory in its environment. What a dying machine loses is
//! tried beside the store, on a disk that forgets.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::Arc;
use zazen::cluster::{ClusterState, KeyValue, Term, Version};
use zazen::protocol::Rng;
use zazen::runtime::store::Store;
use zazen::zen::{Memory, Promise, Write};

const NAME: &str = "nothing_acknowledged_is_lost_when_a_process_is_killed";
const DIRECTORY: &str = "ZAZEN_TEST_STORE";
const KILLS: usize = 30;
/// A process is killed after at most so many acknowledgements: enough to fill some files.
const ACKNOWLEDGED_MAX: u64 = 100;
/// The keys of the states, and how long their values are.
const KEYS: u64 = 20;
const VALUE: usize = 20_000;

#[test]
fn nothing_acknowledged_is_lost_when_a_process_is_killed() {
    if let Some(dir) = env::var_os(DIRECTORY) {
        write_until_killed(Path::new(&dir));
        return;
    }
    let scratch = Scratch::new();
    let mut rng = Rng::new(11);
    let mut last = 0;
    for _ in 0..KILLS {
        let acknowledged = kill_after(&scratch.0, rng.between(0, ACKNOWLEDGED_MAX)).unwrap_or(last);
        assert!(acknowledged >= last, "a process went on at {acknowledged}, after {last} was found");
        let (_, memory) = Store::open(&scratch.0).unwrap_or_else(|error| panic!("{error}"));
        last = number_in(&memory);
        assert!((acknowledged..=acknowledged + 1).contains(&last), "{acknowledged} was the last, found is {last}");
    }
    assert!(last > ACKNOWLEDGED_MAX, "only {last} numbers were written");
}

/// Starts a process, kills it when it has said that so many numbers are written, and tells the last that it said.
fn kill_after(dir: &Path, count: u64) -> Option<u64> {
    let mut child = Writer::start(dir);
    let output = child.0.stdout.take().expect("its output is piped");
    let lines = BufReader::new(output).lines().map(|line| line.expect("it prints text"));
    let mut numbers = lines.filter_map(|line| line.strip_prefix("written ").map(|number| number.parse().expect(&line)));
    let mut last = (0..count).map_while(|_| numbers.next()).last();
    assert!(count == 0 || last.is_some(), "the process wrote nothing; run {NAME} with {DIRECTORY} set to see why");
    child.0.kill().expect("it lives until it is killed");
    last = numbers.last().or(last);
    child.0.wait().expect("it was killed");
    last
}

/// A process that writes, ended at the latest when the test is.
struct Writer(Child);

impl Writer {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(env::current_exe().expect("this test is a file"));
        command.args(["--exact", NAME, "--nocapture"]).env(DIRECTORY, dir).stdout(Stdio::piped());
        Writer(command.spawn().expect("this test can be started again"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory for this test, gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("store_kill-{}", process::id()));
        let _ = fs::remove_dir_all(&dir);
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Says each number when it is durable: as a term, and as the version of a state that has it in a key.
fn write_until_killed(dir: &Path) {
    let (mut store, memory) = Store::open(dir).unwrap_or_else(|error| panic!("{error}"));
    let mut number = number_in(&memory);
    let mut state = memory.accepted.unwrap_or_else(|| Arc::new(ClusterState::initial("killed".into())));
    let mut out = io::stdout().lock();
    loop {
        number += 1;
        state = Arc::new(next(&state, number));
        let term = Term::new(number).expect("it is small");
        let promise =
            Promise { node_id: Some("node".into()), term, vote: Some("node".into()), left_out: Default::default() };
        let group = [Write::Promise(promise), Write::Accepted(state.clone())];
        // Both orders, so that a kill between the two shows in both.
        let result = if number.is_multiple_of(2) {
            store.write(&group)
        } else {
            group.iter().rev().try_for_each(|write| store.write(std::slice::from_ref(write)))
        };
        result.and_then(|()| store.write(&[Write::Committed(state.id())])).unwrap_or_else(|error| panic!("{error}"));
        if writeln!(out, "written {number}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn next(state: &ClusterState, number: u64) -> ClusterState {
    let mut next = state.clone();
    next.version = Version::new(number).expect("it is small");
    let value = KeyValue::new(format!("{number:0>VALUE$}"), next.rank());
    next.metadata.keys.insert(format!("key-{}", number % KEYS).into(), value);
    next
}

/// The last number of which anything is there; the parts must fit together.
fn number_in(memory: &Memory) -> u64 {
    let Some(state) = &memory.accepted else {
        assert!(memory.committed.is_none(), "{memory:?}");
        return memory.promise.term.get();
    };
    let (term, version) = (memory.promise.term.get(), state.version.get());
    assert!(term.abs_diff(version) <= 1, "term {term} and version {version} were written together");
    let key = format!("key-{}", version % KEYS);
    let text = state.metadata.keys.get(key.as_str()).and_then(|kept| kept.value.as_str());
    let value = text.map(|text| text.trim_start_matches('0').to_string());
    assert_eq!(value, Some(version.to_string()), "{key} of version {version}");
    assert!(memory.committed.is_none_or(|id| (version - 1..=version).contains(&id.version.get())), "{memory:?}");
    term.max(version)
}
