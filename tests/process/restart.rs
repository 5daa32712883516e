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

/// The master of all three, whether the state is given back or not.
fn master_of_all(cluster: &Cluster) -> usize {
    cluster.wait("all follow one master", || {
        let views: Option<Vec<_>> = cluster.nodes.iter().map(|node| node.view()).collect();
        let views = views.filter(|views| views.iter().all(|view| view.members.len() == 3))?;
        let master = views.first()?.master.clone()?;
        let is_one = views.iter().all(|view| view.master.as_ref() == Some(&master));
        is_one.then(|| cluster.nodes.iter().position(|node| node.name == master))?
    })
}

#[test]
fn a_state_that_waits_for_nodes_is_given_back_by_a_successor_that_waits_for_fewer() {
    let mut cluster = Cluster::start(3);
    cluster.wait_redundant(&[0, 1, 2]);
    for at in 0..3 {
        cluster.kill(at);
    }
    for at in 0..3 {
        cluster.nodes[at].settings.push("gateway.recover_after_nodes: 5".into());
        cluster.restart(at);
    }
    let master = master_of_all(&cluster);
    assert!(!cluster.view(master).blocks.is_empty(), "it waits for two more");
    // The last one hands over to one that needs the vote of one other only.
    for at in cluster.others(&[master]).into_iter().chain([master]) {
        cluster.nodes[at].settings.pop();
        cluster.nodes[at].settings.push("gateway.recover_after_nodes: 3".into());
        assert_eq!(cluster.nodes[at].terminate(), Some(0));
        cluster.restart(at);
        master_of_all(&cluster);
    }
    cluster.wait("the state is given back", || cluster.view(master).blocks.is_empty().then_some(()));
}
