//! Ctrl-C in a search: it ends early, and tells what it found.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;

/// The signals that a process catches have bits in a line of its status; that of SIGINT is the second.
fn catches_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 0b10 != 0)
}

/// What a search prints that is interrupted as soon as it listens, and its exit code.
fn interrupted(arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    let command = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the command that was built with this test can be run");
    while !catches_interrupts(child.id()) {
        thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let mut told = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut told).expect("it is text");
    (told, child.wait().expect("it is a child").code())
}

#[test]
fn a_search_that_is_interrupted_tells_what_it_found_so_far() {
    let (told, code) = interrupted(&["sim", "--runs", "1000000", "--jobs", "1"]);
    assert!(told.contains("of 1,000,000 from seed 1"), "{told}");
    assert!(told.contains("No rule was broken."), "{told}");
    assert_eq!(code, Some(130), "it is not complete");
}

#[test]
fn a_comparison_that_is_interrupted_prints_its_tables() {
    let (told, code) = interrupted(&["lab", "compare", "--jobs", "1", "--seeds", "1000"]);
    assert!(told.contains("algorithm"), "{told}");
    assert!(matches!(code, Some(1 | 130)), "it is not complete, and some algorithms break rules: {code:?}");
}
