//! Nodes that are asked to end: they leave in good order.

use super::cluster::Cluster;
use super::http::{ask, get};
use super::place::Scratch;
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

fn assert_ports_are_free(cluster: &Cluster, at: usize) {
    let node = &cluster.nodes[at];
    for port in [node.http, node.transport] {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        assert!(bound.is_ok(), "port {port} of a node that ended: {bound:?}");
    }
}

#[test]
fn a_follower_that_is_asked_to_end_leaves_at_once() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let follower = cluster.others(&[master])[0];
    assert_eq!(cluster.nodes[follower].terminate(), Some(0), "{}", cluster.nodes[follower].tail());
    assert_ports_are_free(&cluster, follower);
    assert_eq!(cluster.wait_master(&cluster.others(&[follower])), master);
    assert_eq!(cluster.view(master).term, before.term);
    let log = cluster.nodes[master].log();
    let name = format!("{{n{follower}}}");
    assert!(
        !log.lines().any(|line| line.contains("node_failed") && line.contains(&name)),
        "it left, and did not fail\n{log}"
    );
}

#[test]
fn a_master_that_is_asked_to_end_hands_over() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    assert_eq!(cluster.nodes[master].terminate(), Some(0), "{}", cluster.nodes[master].tail());
    assert_ports_are_free(&cluster, master);
    let survivors = cluster.others(&[master]);
    let new = cluster.wait_master(&survivors);
    let after = cluster.view(new);
    assert!(after.term > before.term, "{after:?} after {before:?}");
    assert_eq!(after.uuid, before.uuid);
    let log = cluster.nodes[master].log();
    assert!(log.contains("hands over to"), "{log}");
}

#[test]
fn a_cluster_that_is_asked_to_end_one_by_one_comes_back() {
    let mut cluster = Cluster::start(3);
    let before = cluster.view(0);
    for at in 0..3 {
        assert_eq!(cluster.nodes[at].terminate(), Some(0), "{}", cluster.nodes[at].tail());
    }
    for at in 0..3 {
        cluster.restart(at);
    }
    cluster.wait_master(&[0, 1, 2]);
    assert_eq!(cluster.view(0).uuid, before.uuid);
}

#[test]
fn whoever_waits_for_what_may_never_come_is_sent_elsewhere_when_the_node_is_asked_to_end() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let (leaver, other) = (cluster.others(&[master])[0], cluster.others(&[master])[1]);
    let held = ask(cluster.nodes[other].http, "POST", "/_zazen/lease/l?ttl=1m&holder=h", "").expect("it answers");
    assert_eq!(held.status, 200, "{held:?}");
    let state = cluster.nodes[leaver].get("/_zazen/watch?prefix=none").expect("it answers").json();
    let at = state["at"].as_str().expect("it names the state").to_owned();
    let waits = [
        ("GET", format!("/_zazen/watch?prefix=none&from={at}&wait_for=30s"), 200),
        ("GET", "/_cluster/health?wait_for_nodes=9&timeout=30s".to_owned(), 503),
        ("GET", "/_cluster/state?wait_for_metadata_version=999999&wait_for_timeout=30s".to_owned(), 503),
        ("POST", "/_zazen/lease/l?ttl=1m&holder=another&wait=30s".to_owned(), 503),
    ];
    let port = cluster.nodes[leaver].http;
    thread::scope(|scope| {
        let asking = |(method, path, _): &(&'static str, String, u16)| {
            let (method, path) = (*method, path.clone());
            scope.spawn(move || ask(port, method, &path, ""))
        };
        let asked: Vec<_> = waits.iter().map(asking).collect();
        cluster.wait("all of them to wait", || {
            let tasks = get(port, "/_tasks?nodes=_local").ok()?.json();
            let nodes = tasks["nodes"].as_object()?;
            let count: usize =
                nodes.values().map(|node| node["tasks"].as_object().map_or(0, |tasks| tasks.len())).sum();
            // The request that lists them is one, and has a part.
            (count >= waits.len() + 2).then_some(())
        });
        assert_eq!(cluster.nodes[leaver].terminate(), Some(0), "{}", cluster.nodes[leaver].tail());
        for (thread, (_, path, status)) in asked.into_iter().zip(&waits) {
            let response = thread.join().expect("it does not panic").unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(response.status, *status, "{path}: {response:?}");
        }
    });
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest_name() {
    let scratch = Scratch::new();
    let mut node = super::node::Node::new(scratch.path(), "tested", "n0", (0, 0));
    node.settings.push("discovery.zen.ping_timout: 1s".into());
    node.start();
    let status = node.ended();
    assert_eq!(status.code(), Some(2), "{}", node.tail());
    let log = node.log();
    let expected = "unknown setting [discovery.zen.ping_timout] did you mean [discovery.zen.ping_timeout]?";
    assert!(log.contains(expected) && log.contains("zazen.yml:6"), "{log}");
}
