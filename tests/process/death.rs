//! Processes that are killed.

use super::cluster::Cluster;

/// The id of the block that a node sets while it has no master, as in Elasticsearch.
const NO_MASTER_BLOCK: &str = "2";

/// How often a follower comes and goes.
const FLAPS: usize = 5;

#[test]
fn a_killed_master_is_replaced_and_comes_back_as_a_follower() {
    let mut cluster = Cluster::start(3);
    let old = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(old);
    cluster.kill(old);
    let survivors = cluster.others(&[old]);
    let new = cluster.wait_master(&survivors);
    let between = cluster.view(new);
    assert!(between.term > before.term, "{between:?} after {before:?}");
    assert_eq!(between.uuid, before.uuid);
    cluster.restart(old);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), new, "whoever comes back replaces nobody");
    assert_eq!(cluster.view(old).term, between.term);
}

#[test]
fn a_killed_follower_is_removed_and_the_master_stays() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let follower = cluster.others(&[master])[0];
    cluster.kill(follower);
    assert_eq!(cluster.wait_master(&cluster.others(&[follower])), master);
    cluster.restart(follower);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), master);
    assert_eq!(cluster.view(master).term, before.term);
}

#[test]
fn a_node_without_a_quorum_has_no_master_says_so_and_recovers_when_one_returns() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let followers = cluster.others(&[master]);
    for follower in &followers {
        cluster.kill(*follower);
    }
    let alone = cluster.wait_no_master(master);
    assert!(alone.blocks.contains(NO_MASTER_BLOCK), "{alone:?}");
    assert_eq!(alone.uuid, before.uuid);
    says_that_it_has_no_master(&cluster, master);
    cluster.restart(followers[0]);
    cluster.wait_master(&[master, followers[0]]);
    let after = cluster.view(master);
    assert!(after.term > before.term && after.version > before.version, "{after:?} after {before:?}");
    assert_eq!(after.uuid, before.uuid);
}

fn says_that_it_has_no_master(cluster: &Cluster, at: usize) {
    let node = &cluster.nodes[at];
    let refused = node.get("/_cluster/state?master_timeout=100ms").expect("a node without a master answers");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.json()["error"]["type"], "master_not_discovered_exception", "{refused:?}");
    let welcome = node.get("/").expect("a node without a master answers");
    assert_eq!(welcome.status, 503, "{welcome:?}");
    assert_eq!(welcome.json()["name"], *node.name, "{welcome:?}");
}

#[test]
fn a_survivor_of_a_dead_majority_elects_nobody_until_one_returns() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let survivor = cluster.others(&[master])[0];
    let dead = cluster.others(&[survivor]);
    for at in &dead {
        cluster.kill(*at);
    }
    let alone = cluster.wait_no_master(survivor);
    assert!(alone.blocks.contains(NO_MASTER_BLOCK), "{alone:?}");
    cluster.restart(master);
    cluster.wait_master(&[survivor, master]);
    let after = cluster.view(survivor);
    assert!(after.term > before.term, "{after:?} after {before:?}");
    assert_eq!(after.uuid, before.uuid);
}

#[test]
fn a_follower_that_comes_and_goes_moves_neither_the_master_nor_the_term() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let follower = cluster.others(&[master])[1];
    let rest = cluster.others(&[follower]);
    for _ in 0..FLAPS {
        cluster.kill(follower);
        assert_eq!(cluster.wait_master(&rest), master);
        cluster.restart(follower);
        assert_eq!(cluster.wait_master(&[0, 1, 2]), master);
    }
    let after = cluster.view(master);
    assert_eq!((after.term, &after.uuid), (before.term, &before.uuid), "{after:?} after {before:?}");
}
