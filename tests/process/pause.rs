//! Processes that are stopped for a while, and do not know it.

use super::cluster::Cluster;
use super::http::ask_with;
use super::tool::{output, url};
use std::time::{Duration, Instant};
use zazen::cluster::Uuid;

#[test]
fn a_master_that_was_frozen_is_replaced_and_follows_the_new_one_when_it_thaws() {
    let cluster = Cluster::start(3);
    let old = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(old);
    cluster.nodes[old].pause();
    let new = cluster.wait_master(&cluster.others(&[old]));
    let between = cluster.view(new);
    assert!(between.term > before.term, "{between:?} after {before:?}");
    cluster.nodes[old].resume();
    assert_eq!(cluster.wait_master(&[0, 1, 2]), new, "the thawed node follows");
    let after = cluster.view(old);
    assert_eq!((after.term, &after.uuid), (between.term, &before.uuid), "{after:?} after {between:?}");
}

#[test]
fn a_follower_that_was_frozen_is_removed_and_returns_to_the_same_master() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let follower = cluster.others(&[master])[0];
    cluster.nodes[follower].pause();
    assert_eq!(cluster.wait_master(&cluster.others(&[follower])), master);
    cluster.nodes[follower].resume();
    assert_eq!(cluster.wait_master(&[0, 1, 2]), master);
    assert_eq!(cluster.view(follower).term, before.term);
}

#[test]
fn a_master_that_no_quorum_hears_is_not_ready_as_one() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let ready = |path: &str| cluster.nodes[master].get(path).expect("it answers").status;
    assert_eq!(ready("/readyz?role=master"), 200);
    let others = cluster.others(&[master]);
    others.iter().for_each(|other| cluster.nodes[*other].pause());
    // A process may run for a moment after the signal.
    let before = cluster.wait("it may be replaced already", || {
        let before = ready("/readyz");
        (ready("/readyz?role=master") == 503).then_some(before)
    });
    assert_eq!(before, 200, "it leads still");
    others.iter().for_each(|other| cluster.nodes[*other].resume());
}

/// A cluster remembers the last 256 clients, and every command is a new one.
#[test]
fn a_new_client_is_no_forgotten_one_if_it_says_since_when_it_knows_the_cluster() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let put = |client: u128, query: &str| {
        let name = format!("Idempotency-Key: {}/1\r\n", Uuid::from_u128(client));
        let path = format!("/_zazen/kv/k{query}");
        ask_with(cluster.nodes[master].http, ("PUT", &path), &name, "x").expect("there is a master")
    };
    (1..=300).for_each(|client| assert_eq!(put(client, "").status, 200));
    let known = cluster.view(master).version;
    assert_eq!(put(1_000, "?retry=true").json()["error"]["type"], "request_forgotten_exception");
    assert_eq!(put(1_000, "?retry=true&since=1").json()["error"]["type"], "request_forgotten_exception");
    assert_eq!(put(1, &format!("?retry=true&since={}", known - 299)).status, 409, "it is forgotten indeed");
    assert_eq!(put(1_000, &format!("?retry=true&since={known}")).status, 200);
    assert_eq!(put(1_001, "?retry=true&since=x").status, 400);
    // Whose master stands still, from the first attempt on: one that failed would say that it is a second one.
    let others = cluster.others(&[master]);
    let [one, other] = [others[0], others[1]].map(|at| url(&cluster.nodes[at]));
    cluster.nodes[master].pause();
    output(0, &["kv", "put", &one, &other, "k", "y"]);
    cluster.nodes[master].resume();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a command takes is what is tried")]
fn a_command_passes_a_node_over_that_says_nothing() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let frozen = cluster.others(&[master])[0];
    cluster.nodes[frozen].pause();
    let urls: Vec<String> = [frozen, master].map(|at| url(&cluster.nodes[at])).into();
    let began = Instant::now();
    output(0, &["run", &urls[0], &urls[1], "--ttl=20s", "--lease=l", "--", "/bin/true"]);
    assert!(began.elapsed() < Duration::from_secs(10), "a lease that is free is had at once: {:?}", began.elapsed());
    cluster.nodes[frozen].resume();
}
