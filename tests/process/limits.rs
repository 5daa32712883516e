//! Users that ask for more than a node has: of descriptors, of memory and of time. It refuses, and goes on.

use super::cluster::Cluster;
use super::http::{ask, connect};
use super::node::Node;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

/// How many files and sockets a node may have open that is short of them.
const FEW_FILES: u64 = 256;

/// More connections than such a node can have descriptors.
const MANY: usize = 300;

fn idle(port: u16) -> TcpStream {
    connect(port).expect("the system takes connections for a node that lives")
}

/// Writes a value of this many bytes.
fn write(node: &Node, key: &str, bytes: usize) -> u16 {
    let answer = ask(node.http, "PUT", &format!("/_zazen/kv/{key}"), &"x".repeat(bytes));
    answer.unwrap_or_else(|error| panic!("{key}: {error}\n{}", node.tail())).status
}

#[test]
fn idle_connections_leave_the_journal_and_an_operator_their_descriptors() {
    let cluster = Cluster::start_with(1, |_, node| node.files = Some((FEW_FILES, FEW_FILES)));
    let node = &cluster.nodes[0];
    let users: Vec<TcpStream> = (0..MANY).map(|_| idle(node.http)).collect();
    let nodes: Vec<TcpStream> = (0..MANY).map(|_| idle(node.transport)).collect();
    // The journal has room for a megabyte: this takes new files.
    for round in 0..6 {
        assert_eq!(write(node, &format!("key-{}", round % 3), 700_000), 200, "{}", node.tail());
    }
    assert_eq!(node.get("/_cluster/health").expect("an operator is answered").status, 200);
    drop((users, nodes));
    assert!(!node.log().contains("disk failed"), "{}", node.tail());
}

/// The descriptors that a node has open.
fn descriptors(node: &Node) -> BTreeSet<u64> {
    let names = fs::read_dir(format!("/proc/{}/fd", node.pid())).expect("it runs");
    names.filter_map(|name| name.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Lets a node open nothing more, and tells what it was allowed before.
fn take_descriptors(node: &Node) -> Rlimit {
    let open = descriptors(node);
    let first_free = (0..).find(|number| !open.contains(number)).expect("there are more numbers");
    let pid = Pid::from_raw(node.pid().cast_signed());
    let maximum = getrlimit(Resource::Nofile).maximum;
    prlimit(pid, Resource::Nofile, Rlimit { current: Some(first_free), maximum }).expect("it is a child")
}

/// Writes a value over a connection that stays open, and tells the first line of the answer.
fn write_over(stream: &mut TcpStream, bytes: usize) -> String {
    let head = format!("PUT /_zazen/kv/key HTTP/1.1\r\nhost: x\r\ncontent-length: {bytes}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it is open");
    stream.write_all(&vec![b'x'; bytes]).expect("it is open");
    let mut answer = vec![0; 4_096];
    let length = stream.read(&mut answer).expect("it is answered");
    String::from_utf8_lossy(&answer[..length]).lines().next().unwrap_or_default().into()
}

#[test]
fn a_node_without_a_descriptor_writes_on_and_has_idle_users_make_room() {
    let cluster = Cluster::start(1);
    let node = &cluster.nodes[0];
    let mut user = idle(node.http);
    assert_eq!(write_over(&mut user, 10), "HTTP/1.1 200 OK");
    let before = take_descriptors(node);
    // The journal has room for a megabyte: this takes new files.
    for _ in 0..6 {
        assert_eq!(write_over(&mut user, 700_000), "HTTP/1.1 200 OK", "{}", node.tail());
    }
    assert!(node.log().contains("it is tried again: Too many open files"), "{}", node.tail());
    // What the node closed since then is taken by the first of them.
    let _newcomers: Vec<TcpStream> = (0..4).map(|_| idle(node.http)).collect();
    assert_eq!(node.get("/_cluster/health").expect("the idle user gives way").status, 200);
    let refusals = node.log().matches("cannot accept a connection").count();
    assert!((1..20).contains(&refusals), "it is told, and not again and again: {refusals} lines\n{}", node.tail());
    let pid = Pid::from_raw(node.pid().cast_signed());
    prlimit(pid, Resource::Nofile, before).expect("it is a child");
    assert_eq!(write(node, "key", 10), 200);
}

#[test]
fn a_node_takes_all_the_descriptors_that_it_may_have() {
    let cluster = Cluster::start_with(1, |_, node| node.files = Some((FEW_FILES, 2 * FEW_FILES)));
    let limits = fs::read_to_string(format!("/proc/{}/limits", cluster.nodes[0].pid())).expect("it runs");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("it is told");
    let most = (2 * FEW_FILES).to_string();
    assert_eq!(line.split_whitespace().skip(3).take(2).collect::<Vec<_>>(), [&most, &most], "{line}");
}

#[test]
fn whoever_comes_last_is_served_and_who_waited_longest_gives_way() {
    let cluster = Cluster::start_with(1, |_, node| node.settings.push("zazen.http.max_connections: 16".into()));
    let node = &cluster.nodes[0];
    let mut first = idle(node.http);
    let _others: Vec<TcpStream> = (0..40).map(|_| idle(node.http)).collect();
    assert_eq!(node.get("/_cluster/health").expect("a newcomer is answered").status, 200);
    first.set_read_timeout(Some(Duration::from_secs(5))).expect("it is a time");
    assert_eq!(first.read(&mut [0; 1]).expect("it is closed in order"), 0, "the first gave way");
}

#[test]
fn those_who_wait_shut_nobody_out() {
    let cluster = Cluster::start_with(1, |_, node| node.settings.push("zazen.http.max_connections: 20".into()));
    cluster.wait_master(&[0]);
    let node = &cluster.nodes[0];
    for path in ["/_zazen/watch", "/_cluster/health?wait_for_nodes=9&timeout=60s"] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n");
        let waiting: Vec<TcpStream> = (0..60).map(|_| idle(node.http)).collect();
        for mut stream in &waiting {
            // Who gave way before it asked is gone.
            let _ = stream.write_all(head.as_bytes());
        }
        for _ in 0..3 {
            assert_eq!(node.get("/livez").expect("a newcomer is answered").status, 200, "{path}");
        }
    }
    assert!(node.log().contains("[15] requests wait at this node"), "{}", node.tail());
}

/// A request whose body stops after its first byte.
fn half(port: u16) -> TcpStream {
    let mut stream = idle(port);
    let head = "PUT /_zazen/kv/half HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nx";
    stream.write_all(head.as_bytes()).expect("a connection that was just taken is open");
    stream
}

#[test]
fn half_sent_bodies_lock_nobody_out_and_end_in_time() {
    let settings = ["zazen.http.max_connections: 64", "http.read_timeout: 1s"].map(String::from);
    let cluster = Cluster::start_with(1, |_, node| node.settings.extend(settings.clone()));
    let node = &cluster.nodes[0];
    let halves: Vec<TcpStream> = (0..100).map(|_| half(node.http)).collect();
    assert_eq!(write(node, "whole", 1_000), 200, "a newcomer is answered while they wait");
    let mut last = halves.into_iter().last().expect("there are some");
    let mut answer = String::new();
    last.read_to_string(&mut answer).expect("it is answered and closed");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

/// The most memory that a node has had, in bytes.
fn peak(node: &Node) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", node.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number") << 10
}

/// Sends a body without a stated length until all is sent or refused, and tells the status.
fn flood(port: u16, path: &str, bytes: usize) -> Option<u16> {
    let mut stream = idle(port);
    let head = format!(
        "PUT {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    let chunk = format!("10000\r\n{}\r\n", "[1,1,1,1".repeat(0x2000));
    for _ in 0..bytes / 0x10000 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).ok()?;
    std::str::from_utf8(&answer[9..]).ok()?.parse().ok()
}

#[test]
fn large_bodies_take_no_more_memory_than_they_may() {
    // A quarter of the 700 MB that the node may have.
    let limit = "network.breaker.inflight_requests.limit: 175mb".to_owned();
    let cluster = Cluster::start_with(1, |_, node| node.settings.push(limit.clone()));
    let node = &cluster.nodes[0];
    let port = node.http;
    let paths = ["/_zazen/kv/large", "/_cluster/settings", "/_zazen/kv/large"].repeat(2);
    let floods: Vec<_> = paths.into_iter().map(|path| thread::spawn(move || flood(port, path, 95 << 20))).collect();
    for flood in floods {
        let status = flood.join().expect("it ends");
        // Whoever is refused while it sends may find the connection reset.
        assert!(matches!(status, None | Some(413 | 429)), "{status:?}");
    }
    assert_eq!(write(node, "small", 1_000), 200);
    let megabytes = peak(node) >> 20;
    assert!(megabytes < 700, "it took {megabytes} MB");
}

#[test]
fn answers_that_nobody_takes_cost_what_they_may_and_are_given_up_in_time() {
    let settings = ["network.breaker.inflight_requests.limit: 32mb", "zazen.http.write_timeout: 5s"].map(String::from);
    let cluster = Cluster::start_with(1, |_, node| node.settings.extend(settings.clone()));
    let node = &cluster.nodes[0];
    // A byte takes six in the answer, which is then longer than what the system takes in for somebody who does not read.
    let value = "\u{1}".repeat(1 << 20);
    for key in ["a", "b", "c"] {
        let written = ask(node.http, "PUT", &format!("/_zazen/kv/{key}"), &value).expect("a node answers");
        assert_eq!(written.status, 200, "{written:?}");
    }
    let mut untaken = idle(node.http);
    let request = "GET /_zazen/kv?values=true HTTP/1.1\r\nhost: x\r\n\r\n";
    untaken.write_all(request.as_bytes()).expect("a connection that was just taken is open");
    let mut head = [0; 12];
    cluster.wait("it is being answered", || (untaken.peek(&mut head).ok()? == head.len()).then_some(()));
    assert_eq!(&head, b"HTTP/1.1 200");
    let refused = || node.get("/_zazen/kv?values=true").ok().filter(|answer| answer.status == 429);
    let answer = cluster.wait("there is no memory for one more", refused);
    assert_eq!(answer.json()["error"]["type"], "circuit_breaking_exception", "{answer:?}");
    assert_eq!(node.get("/_cluster/health").expect("what is small is answered").status, 200);
    // Looked at from outside, for such answers take much of the processor, which other tests need.
    let held = descriptors(node).len();
    cluster.wait("whoever takes nothing is given up", || (descriptors(node).len() < held).then_some(()));
    let again = || node.get("/_zazen/kv?values=true").ok().filter(|answer| answer.status == 200);
    cluster.wait("there is memory again", again);
    let megabytes = peak(node) >> 20;
    assert!(megabytes < 400, "it took {megabytes} MB");
}

#[test]
fn a_node_whose_file_is_removed_ends_before_it_promises_anything() {
    let mut cluster = Cluster::start(1);
    let node = &mut cluster.nodes[0];
    let state = node.data.join("nodes/0/_state");
    let files: Vec<_> =
        fs::read_dir(&state).expect("it is there").map(|file| file.expect("it is there").path()).collect();
    files.iter().for_each(|file| fs::remove_file(file).expect("it is there"));
    assert_eq!(node.ended().code(), Some(1), "nobody asked it anything");
    assert!(node.log().contains("was removed or replaced while it was written to"), "{}", node.tail());
}

#[test]
fn who_waits_with_a_large_body_holds_up_nobody_who_writes() {
    let cluster = Cluster::start(1);
    let node = &cluster.nodes[0];
    cluster.wait_master(&[0]);
    let mut waits = idle(node.http);
    let (path, blanks) = ("/_cluster/health?wait_for_nodes=99&timeout=2m", " ".repeat(1 << 20));
    let head = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n";
    waits.write_all(format!("GET {path} HTTP/1.1\r\n{head}{blanks}").as_bytes()).expect("it is taken in");
    for round in 0..3 {
        assert_eq!(write(node, &format!("key-{round}"), 20_000), 200, "{}", node.tail());
    }
    waits.set_read_timeout(Some(Duration::from_millis(1))).expect("it is a time");
    let error = waits.read(&mut [0; 1]).expect_err("it still waits");
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
}

#[test]
fn a_value_that_is_said_to_be_too_large_is_refused_before_it_comes() {
    let cluster = Cluster::start(1);
    let node = &cluster.nodes[0];
    let mut stream = idle(node.http);
    let head = "PUT /_zazen/kv/large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("a head is taken in");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a time");
    let mut told = [0; 600];
    let length = stream.read(&mut told).expect("it is answered");
    let told = String::from_utf8_lossy(&told[..length]);
    assert!(told.starts_with("HTTP/1.1 413 "), "{told}");
    assert!(told.contains("would have [99000000] bytes, allowed are [1048576]"), "{told}");
    // What is not much too large may come first: many clients read no answer before they have sent all.
    let refused = ask(node.http, "PUT", "/_zazen/kv/large", &"x".repeat(9_000_000)).expect("it is answered");
    assert_eq!(refused.status, 413);
    assert!(refused.body.contains("would have [9000000] bytes, allowed are [1048576]"), "{}", refused.body);
    let written = ask(node.http, "PUT", "/_zazen/kv/large", &"x".repeat(1 << 20)).expect("it is answered");
    assert_eq!(written.status, 200);
}

#[test]
fn large_buffers_of_a_node_are_given_back_when_they_end() {
    let cluster = Cluster::start(1);
    let node = &cluster.nodes[0];
    cluster.wait_master(&[0]);
    // The allocator reads its bound when a process begins: the node has one that nobody gave to it.
    let given = fs::read(format!("/proc/{}/environ", node.pid())).expect("it runs");
    let is_bounded = String::from_utf8_lossy(&given).contains("MALLOC_MMAP_THRESHOLD_=262144");
    assert_eq!(is_bounded, cfg!(target_env = "gnu"));
    let before = resident(node);
    for turn in 0..40 {
        let done = ask(node.http, "POST", "/_zazen/txn", &large(turn)).expect("it is answered");
        assert_eq!(done.status, 200, "{}", done.body);
    }
    let after = resident(node);
    assert!(after < before + 40, "{before} MiB before 40 values of 900 kB, {after} after");
}

fn large(turn: usize) -> String {
    format!(r#"{{"puts":[{{"key":"large/{}","value":"{}"}}]}}"#, turn % 4, "x".repeat(900_000))
}

/// What a node holds in memory, in MiB.
fn resident(node: &Node) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", node.pid())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("Linux tells it");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("it is a number") >> 10
}

#[test]
fn listeners_that_take_nothing_hold_little_and_hold_up_nobody() {
    const KEYS: usize = 6_000;
    let cluster = Cluster::start(1);
    let node = &cluster.nodes[0];
    cluster.wait_master(&[0]);
    for first in (0..KEYS).step_by(500) {
        let put = |number: usize| format!(r#"{{"key":"k{number}","value":"{}"}}"#, "x".repeat(1_000));
        let puts = (first..first + 500).map(put).collect::<Vec<_>>().join(",");
        let done = ask(node.http, "POST", "/_zazen/txn", &format!(r#"{{"puts":[{puts}]}}"#)).expect("it is answered");
        assert_eq!(done.status, 200, "{}", done.body);
    }
    let before = resident(node);
    let listen = |_| {
        let mut stream = connect(node.http).expect("there is a place");
        let head = "GET /_zazen/watch HTTP/1.1\r\nHost: n\r\nAccept: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("it is sent");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("it is answered");
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    };
    let listeners: Vec<TcpStream> = (0..100).map(listen).collect();
    assert_eq!(write(node, "small", 1), 200, "{}", node.tail());
    let grown = resident(node).saturating_sub(before);
    // Each of them is told six megabytes.
    assert!(grown < 150, "{} listeners hold {grown} MiB", listeners.len());
}
