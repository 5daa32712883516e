//! Nodes and directories that do not belong where they are: they are refused, stay out, and harm nobody.

use super::cluster::Cluster;
use super::node::{Node, wait_for};

/// Waits until a node says in its log, in these words, that it met another cluster.
fn wait_says(node: &Node, words: &str) {
    let said = wait_for(|| node.log().contains(words).then_some(()));
    assert!(said.is_some(), "it does not say `{words}`\n{}", node.tail());
}

#[test]
fn a_data_directory_that_is_in_use_is_refused_by_its_name() {
    let cluster = Cluster::start(1);
    let before = cluster.view(0);
    let mut second = cluster.stranger("tested", "second");
    second.data = cluster.nodes[0].data.clone();
    second.start();
    let status = second.ended();
    assert_eq!(status.code(), Some(1), "{}", second.tail());
    let lock = format!("failed to obtain node lock on [{}", second.data.display());
    assert!(second.log().contains(&lock), "{}", second.tail());
    assert_eq!(cluster.view(0), before);
}

#[test]
fn a_data_directory_of_another_cluster_name_is_refused() {
    let mut cluster = Cluster::start(1);
    let before = cluster.view(0);
    cluster.kill(0);
    cluster.nodes[0].cluster = "renamed".into();
    cluster.restart(0);
    let status = cluster.nodes[0].ended();
    assert_eq!(status.code(), Some(1), "{}", cluster.nodes[0].tail());
    let log = cluster.nodes[0].log();
    assert!(log.contains("holds the state of cluster [tested], but cluster.name is [renamed]"), "{log}");
    cluster.nodes[0].cluster = "tested".into();
    cluster.restart(0);
    cluster.wait_master(&[0]);
    assert_eq!(cluster.view(0).uuid, before.uuid, "it is refused without being changed");
}

#[test]
fn a_node_with_another_cluster_name_stays_out() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let mut stranger = cluster.stranger("other", "stranger");
    stranger.start();
    wait_says(&stranger, "are of cluster [tested], not of [other]");
    assert_eq!(stranger.view().and_then(|view| view.master), None, "{}", stranger.tail());
    assert_eq!(cluster.view(master), before);
}

#[test]
fn a_node_with_data_of_another_cluster_of_the_same_name_stays_out() {
    let cluster = Cluster::start(3);
    let mut others = Cluster::start(3);
    let before = cluster.view(cluster.wait_master(&[0, 1, 2]));
    let own = others.view(others.wait_master(&[0, 1, 2]));
    assert_ne!(own.uuid, before.uuid);
    for at in 0..3 {
        others.kill(at);
    }
    // Alone of its cluster it can lead nobody, so it goes on looking, and finds nobody but the nodes of the other one.
    others.nodes[0].settings.clear();
    others.nodes[0].seeds(&cluster.transports());
    others.restart(0);
    wait_says(&others.nodes[0], "of another cluster of this name");
    assert_ne!(others.wait_no_master(0).uuid, before.uuid);
    for at in 0..3 {
        assert_eq!(cluster.view(at), before, "{}", cluster.nodes[at].tail());
    }
    // With those of its own cluster it leads on what it had.
    others.restart(1);
    others.restart(2);
    assert_eq!(others.view(others.wait_master(&[0, 1, 2])).uuid, own.uuid);
}
