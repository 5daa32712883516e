//! Nodes that are not like the others.

use super::cluster::Cluster;

/// How often the master is killed.
const KILLS: usize = 3;

#[test]
fn a_node_that_may_not_be_master_never_is_and_its_voice_elects_nobody() {
    let mut cluster = Cluster::start_with(4, |at, node| {
        if at == 3 {
            node.settings.push("node.master: false".into());
        }
    });
    let all = [0, 1, 2, 3];
    for _ in 0..KILLS {
        let master = cluster.wait_master(&all);
        assert_ne!(master, 3);
        cluster.kill(master);
        assert_ne!(cluster.wait_master(&cluster.others(&[master])), 3);
        cluster.restart(master);
    }
    let master = cluster.wait_master(&all);
    let dead = cluster.others(&[master, 3]);
    for at in &dead {
        cluster.kill(*at);
    }
    cluster.wait_no_master(master);
    cluster.wait_no_master(3);
    cluster.restart(dead[0]);
    assert_ne!(cluster.wait_master(&cluster.others(&[dead[1]])), 3);
}

#[test]
fn a_single_node_leads_at_once() {
    let cluster = Cluster::start_with(1, |_, node| {
        node.settings = vec!["discovery.type: single-node".into()];
    });
    assert_eq!(cluster.wait_master(&[0]), 0);
    let welcome = cluster.nodes[0].get("/").expect("a node answers");
    assert_eq!((welcome.status, &welcome.json()["cluster_name"]), (200, &"tested".into()), "{welcome:?}");
}
