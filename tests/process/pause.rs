//! Processes that are stopped for a while, and do not know it.

use super::cluster::Cluster;

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
    assert_eq!(
        (ready("/readyz"), ready("/readyz?role=master")),
        (200, 503),
        "it leads still, and may be replaced already"
    );
    others.iter().for_each(|other| cluster.nodes[*other].resume());
}
