//! Users that ask for more than a node has: of descriptors, of memory and of time. It refuses, and goes on.

use super::cluster::Cluster;
use super::http::{ask, connect};
use super::node::Node;
use std::fs;
use std::io::Read;
use std::net::TcpStream;
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
