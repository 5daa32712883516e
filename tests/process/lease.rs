//! `zazen run`: a command on one machine at a time, whatever happens to the machines and to the cluster.

use super::cluster::Cluster;
use super::http;
use super::node::wait_for;
use super::tool::{Running, output, url, zazen};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use zazen::cluster::Uuid;

/// A runner whose command writes its token and its pid into a file, and then waits.
fn runner(cluster: &Cluster, name: &str, ttl: &str) -> (Running, PathBuf) {
    let file = cluster.scratch.path().join(name);
    let script = "echo $ZAZEN_FENCING_TOKEN $$ > \"$0.new\"; mv \"$0.new\" \"$0\"; exec sleep 1000";
    let mut command = zazen(&["run", "--lease=job", "--ttl", ttl, "--grace=100ms"]);
    command.args(cluster.nodes.iter().map(url)).args(["--", "sh", "-c", script]).arg(&file);
    let child = command.stdout(Stdio::null()).spawn().expect("the command can be run");
    (Running(child), file)
}

/// The token and the pid of the command, once it runs.
fn told(file: &Path) -> Option<(u64, u32)> {
    let text = fs::read_to_string(file).ok()?;
    let (token, pid) = text.trim().split_once(' ')?;
    Some((token.parse().ok()?, pid.parse().ok()?))
}

fn runs(pid: u32) -> bool {
    // One that has ended and was not waited for runs no more.
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

#[test]
fn who_waited_for_a_lease_keeps_it_and_who_is_ended_while_waiting_did_not_do_well() {
    let cluster = Cluster::start(1);
    cluster.wait_master(&[0]);
    let (port, at) = (cluster.nodes[0].http, url(&cluster.nodes[0]));
    // It ends a little more than a second after the runner asked anew, and what is left then is little more than the grace.
    let held = http::ask(port, "POST", "/_zazen/lease/job?holder=me&ttl=2300ms", "").expect("a node answers");
    assert_eq!(held.status, 200, "{held:?}");
    let told = output(0, &["run", "--lease=job", "--ttl=3s", "--grace=1s", &at, "--", "sleep", "2"]);
    assert!(told.contains("under token 2") && !told.contains("lost lease"), "{told}");

    let held = http::ask(port, "POST", "/_zazen/lease/job?holder=me&ttl=1m", "").expect("a node answers");
    assert_eq!(held.status, 200, "{held:?}");
    let mut command = zazen(&["run", "--lease=job", &at, "--", "true"]);
    let mut waiting = Running(command.stderr(Stdio::piped()).spawn().expect("it can be run"));
    let mut told = [0; 16];
    waiting.0.stderr.as_mut().expect("it is a pipe").read_exact(&mut told).expect("it says that it waits");
    kill_process(Pid::from_child(&waiting.0), Signal::TERM).expect("it waits");
    let status = wait_for(|| waiting.0.try_wait().expect("it is a child")).expect("it ends as it is told");
    assert_eq!(status.code(), Some(128 + 15), "its command never ran");
}

#[test]
fn a_command_runs_on_one_machine_and_passes_on_with_a_higher_token() {
    let cluster = Cluster::start(3);
    let (mut first, first_file) = runner(&cluster, "first", "1s");
    let (token, pid) = cluster.wait("the first runs", || told(&first_file));
    let (mut second, second_file) = runner(&cluster, "second", "1s");
    let held = cluster.nodes[0].get("/_zazen/lease/job").expect("a node answers");
    assert_eq!(held.json()["token"], token, "{held:?}");
    first.0.kill().expect("it runs");
    cluster.wait("the command dies with its runner", || (!runs(pid)).then_some(()));
    assert_eq!(told(&second_file), None, "the lease has not run out yet, and one runs at a time");
    let (next, pid) = cluster.wait("the second runs", || told(&second_file));
    assert!(next > token, "{next} after {token}");

    let id = rustix::process::Pid::from_child(&second.0);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it runs");
    let status = wait_for(|| second.0.try_wait().expect("it is a child")).expect("it ends as it is told");
    assert_eq!(status.code(), Some(128 + 15), "its command was ended by SIGTERM");
    assert!(!runs(pid), "its command ended before it");
    let free = cluster.nodes[0].get("/_zazen/lease/job").expect("a node answers");
    assert_eq!(free.status, 404, "the lease was given back: {free:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "nothing is to happen for so long")]
fn a_master_that_stands_still_costs_a_command_no_lease() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let (_runner, file) = runner(&cluster, "only", "3s");
    let (token, pid) = cluster.wait("it runs", || told(&file));
    cluster.nodes[master].pause();
    // What was granted before is over by then.
    thread::sleep(Duration::from_secs(4));
    let other = cluster.others(&[master])[0];
    let held = cluster.nodes[other].get("/_zazen/lease/job").expect("it answers");
    assert_eq!(held.json()["token"], token, "{held:?}");
    assert_eq!(told(&file), Some((token, pid)));
    assert!(runs(pid), "the command was stopped");
    cluster.nodes[master].resume();
}

#[test]
fn a_command_is_stopped_when_the_cluster_does_not_answer() {
    let cluster = Cluster::start(3);
    let (_first, file) = runner(&cluster, "first", "1s");
    let (token, pid) = cluster.wait("it runs", || told(&file));
    // The cluster is there and silent, which is worse than gone.
    cluster.nodes.iter().for_each(|node| node.pause());
    let stopped = wait_for(|| (!runs(pid)).then_some(()));
    cluster.nodes.iter().for_each(|node| node.resume());
    assert_eq!(stopped, Some(()), "the command was stopped without a word from the cluster");
    fs::remove_file(&file).expect("it was written");
    let (next, _) = cluster.wait("it runs again", || told(&file));
    assert!(next > token, "{next} after {token}");
}

#[test]
fn a_runner_ends_as_its_command_does() {
    let cluster = Cluster::start(1);
    let at = url(&cluster.nodes[0]);
    let told = output(7, &["run", "--lease=short", &at, "--", "sh", "-c", "exit 7"]);
    assert!(told.contains("holds lease [short] under token 1"), "{told}");
    let told = output(0, &["run", "--lease=short", &at, "--", "true"]);
    assert!(told.contains("under token 2"), "{told}");
    output(2, &["run", "--lease=short", "--ttl=10ms", &at, "--", "true"]);
}

#[test]
fn a_command_is_ended_in_time_when_its_runner_stands_still() {
    let cluster = Cluster::start(1);
    let (first, file) = runner(&cluster, "first", "2s");
    let (token, pid) = cluster.wait("the first runs", || told(&file));
    let (other, second_file) = runner(&cluster, "second", "2s");
    signal(first.0.id(), Signal::STOP);
    let second = || told(&second_file).map(|(next, _)| (next, runs(pid)));
    let (next, runs_still) = cluster.wait("the second runs", second);
    assert!(next > token && !runs_still, "the command of the frozen one was ended before, {next} after {token}");
    signal(first.0.id(), Signal::CONT);
    fs::remove_file(&file).expect("it was written");
    drop(other);
    let (last, _) = cluster.wait("the first goes on with a new grant", || told(&file));
    assert!(last > next, "{last} after {next}");
}

#[test]
fn a_command_is_ended_though_its_guard_stands_still() {
    let cluster = Cluster::start(1);
    let (mut first, file) = runner(&cluster, "first", "2s");
    let (_, pid) = cluster.wait("it runs", || told(&file));
    let guard = parent(pid);
    signal(guard, Signal::STOP);
    signal(first.0.id(), Signal::TERM);
    wait_for(|| first.0.try_wait().expect("it is a child")).expect("it ends as it is told");
    cluster.wait("the command dies with its guard", || (!runs(pid)).then_some(()));
}

/// The process that started another one.
fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it is told");
    line.trim().parse().expect("it is a number")
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process has an id");
    kill_process(pid, signal).expect("it runs");
}

#[test]
fn a_command_has_the_standard_input_of_its_runner() {
    let cluster = Cluster::start(1);
    let mut command = zazen(&["run", "--lease=fed", &url(&cluster.nodes[0]), "--", "cat"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command can be run");
    let mut child = Running(child);
    child.0.stdin.take().expect("it is piped").write_all(b"fed").expect("it is open");
    let mut told = String::new();
    child.0.stdout.take().expect("it is piped").read_to_string(&mut told).expect("it is text");
    assert_eq!((told.as_str(), child.0.wait().expect("it ends").code()), ("fed", Some(0)));
}

#[test]
fn who_waits_for_a_lease_at_a_node_that_freezes_goes_on_at_another() {
    let cluster = Cluster::start(3);
    // A client asks the master if it knows where that is.
    let frozen = cluster.wait_master(&[0, 1, 2]);
    let other = cluster.others(&[frozen])[0];
    let other_url = url(&cluster.nodes[other]);
    assert_eq!(output(0, &["lease", &other_url, "acquire", "job", "--ttl=1h"]), "1\n");
    let mut command = zazen(&["lease", &url(&cluster.nodes[frozen]), &other_url, "acquire", "job", "--wait=10m"]);
    let mut waiter = Running(command.stdout(Stdio::piped()).spawn().expect("the command can be run"));
    cluster.wait("it waits", || {
        let told = cluster.nodes[frozen].get("/_nodes/stats/http").ok()?.json();
        let open = told["nodes"].as_object()?.values().map(|node| node["http"]["current_open"].as_u64());
        open.max()?.filter(|open| *open > 1).map(drop)
    });
    cluster.nodes[frozen].pause();
    output(0, &["lease", &other_url, "release", "job", "1"]);
    let status = wait_for(|| waiter.0.try_wait().expect("it is a child")).expect("it gets the lease");
    assert_eq!(status.code(), Some(0));
    cluster.nodes[frozen].resume();
}

#[test]
fn a_lease_is_taken_kept_and_given_up_from_a_shell() {
    let cluster = Cluster::start(1);
    let at = url(&cluster.nodes[0]);
    let lease = |code, words: &[&str]| output(code, &[&["lease", &at], words].concat());
    assert_eq!(lease(0, &["list"]), "");
    assert_eq!(lease(0, &["acquire", "job", "--ttl=1h", "--holder=me"]), "1\n");
    let taken = lease(1, &["acquire", "job"]);
    assert_eq!(taken, "error: lease [job] is held by another [me] under token 1\n");
    assert_eq!(lease(0, &["list"]), "job       1  3600000ms  me\n");
    assert_eq!(lease(0, &["get", "job"]), lease(0, &["list"]));
    assert_eq!(lease(0, &["keep-alive", "job", "1"]), "3240000ms\n");
    let stranger = lease(1, &["keep-alive", "job", "2"]);
    assert!(stranger.contains("lease_not_held_exception"), "{stranger}");
    assert_eq!(lease(0, &["release", "job", "1"]), "");
    assert!(lease(1, &["release", "job", "1"]).contains("lease_not_held_exception"));
    assert_eq!(lease(1, &["get", "job"]), "error: nobody holds lease [job]\n");
    assert_eq!(lease(0, &["acquire", "job"]), "2\n");
    assert!(lease(2, &["release", "job", "none"]).contains("allowed: a whole number"));
}

#[test]
fn a_named_wait_at_a_node_that_is_told_to_end_goes_on_elsewhere_under_its_name() {
    let mut cluster = Cluster::start(3);
    cluster.wait_master(&[0, 1, 2]);
    let (ending, other) = (cluster.nodes[0].http, cluster.nodes[1].http);
    let held = http::ask(other, "POST", "/_zazen/lease/l?ttl=1m", "").expect("it is free").json();
    let name = format!("Idempotency-Key: {}/1\r\n", Uuid::from_u128(7));
    let waits = {
        let name = name.clone();
        thread::spawn(move || http::ask_with(ending, ("POST", "/_zazen/lease/l?wait=1m"), &name, ""))
    };
    cluster.wait("it waits", || {
        let tasks = cluster.nodes[0].get("/_tasks?detailed=true").ok()?;
        tasks.body.contains("wait=1m").then_some(())
    });
    assert_eq!(cluster.nodes[0].terminate(), Some(0));
    let cut = waits.join().expect("it asks").expect("it is answered");
    assert_eq!(cut.status, 503, "{cut:?}");
    let goes_on =
        thread::spawn(move || http::ask_with(other, ("POST", "/_zazen/lease/l?wait=1m&retry=true"), &name, ""));
    cluster.wait("it waits elsewhere", || {
        let tasks = cluster.nodes[1].get("/_tasks?detailed=true").ok()?;
        tasks.body.contains("retry=true").then_some(())
    });
    let release = format!("/_zazen/lease/l?token={}", held["token"]);
    assert_eq!(http::ask(other, "DELETE", &release, "").expect("it is answered").status, 200);
    let granted = goes_on.join().expect("it asks").expect("it is answered");
    assert_eq!(granted.status, 200, "{granted:?}");
}
