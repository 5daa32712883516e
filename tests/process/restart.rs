//! Nodes that come back: all at once, with nothing, or somewhere else.

use super::cluster::Cluster;
use super::ports::free_port;
use std::fs;

fn ids(cluster: &Cluster) -> Vec<String> {
    cluster.nodes.iter().map(|node| cluster.wait(&format!("{} lists itself", node.name), || node.id())).collect()
}

#[test]
fn a_cluster_that_was_killed_as_a_whole_comes_back_as_the_same() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let (before, ids_before) = (cluster.view(master), ids(&cluster));
    for at in 0..3 {
        cluster.kill(at);
    }
    for at in 0..3 {
        cluster.restart(at);
    }
    let master = cluster.wait_master(&[0, 1, 2]);
    let after = cluster.view(master);
    assert_eq!(after.uuid, before.uuid);
    assert_eq!(ids(&cluster), ids_before);
    assert!(after.version >= before.version && after.term > before.term, "{after:?} after {before:?}");
}

#[test]
fn a_node_that_lost_its_data_joins_as_another_one() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let (before, ids_before) = (cluster.view(master), ids(&cluster));
    let wiped = cluster.others(&[master])[0];
    cluster.kill(wiped);
    cluster.wait_master(&cluster.others(&[wiped]));
    fs::remove_dir_all(&cluster.nodes[wiped].data).expect("the data of a dead node can be removed");
    cluster.restart(wiped);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), master);
    let ids_after = ids(&cluster);
    assert_ne!(ids_after[wiped], ids_before[wiped]);
    assert_eq!(cluster.view(wiped).uuid, before.uuid);
}

#[test]
fn the_same_data_under_another_address_is_the_same_node() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let ids_before = ids(&cluster);
    let moved = cluster.others(&[master])[0];
    cluster.kill(moved);
    cluster.wait_master(&cluster.others(&[moved]));
    let transport = free_port();
    cluster.nodes[moved].transport = transport;
    cluster.restart(moved);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), master);
    assert_eq!(ids(&cluster), ids_before);
    let state = cluster.nodes[master].state().expect("a master answers");
    let address = format!("127.0.0.1:{transport}");
    assert_eq!(state["nodes"][&ids_before[moved]]["transport_address"], *address, "{state}");
}
