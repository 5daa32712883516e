//! Clusters that lost their quorum for good, and those that begin with what another one kept.

use super::cluster::Cluster;
use super::tool::{output, url};
use std::fs;

fn data(cluster: &Cluster, at: usize) -> String {
    cluster.nodes[at].data.display().to_string()
}

fn put(cluster: &Cluster, at: usize, key: &str, value: &str) {
    output(0, &["kv", &url(&cluster.nodes[at]), "put", key, value]);
}

fn get(cluster: &Cluster, at: usize, key: &str) -> String {
    output(0, &["kv", &url(&cluster.nodes[at]), "get", key])
}

#[test]
fn a_survivor_starts_a_new_incarnation_that_the_dead_take_no_part_in() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    put(&cluster, master, "kept", "yes");
    let before = cluster.view(master);
    let [dead, survivor] = cluster.others(&[master])[..] else { panic!("three nodes have two followers") };
    // All of them have it, or the survivor might not.
    cluster.wait("the survivor has the key", || (get(&cluster, survivor, "kept") == "yes").then_some(()));
    for at in [0, 1, 2] {
        cluster.kill(at);
    }
    let directory = data(&cluster, survivor);
    let both = [directory.as_str(), &data(&cluster, dead)];
    let told = output(1, &["recover", both[0], both[1]]);
    assert!(told.contains("these directories hold a quorum, so nothing is lost"), "{told}");
    let told = output(2, &["recover", &directory]);
    assert!(told.contains("What may be lost: every change after ") && told.contains("allowed: --yes"), "{told}");
    let told = output(0, &["recover", &directory, "--yes"]);
    assert!(told.contains(&format!("{directory}: written")), "{told}");

    cluster.restart(survivor);
    cluster.wait_master(&[survivor]);
    let after = cluster.view(survivor);
    assert!(after.uuid != before.uuid && after.term > before.term, "{after:?} after {before:?}");
    assert_eq!(get(&cluster, survivor, "kept"), "yes");

    // One that was believed dead comes back: with what it holds it is a stranger, and with nothing it is welcome.
    cluster.restart(dead);
    cluster.wait_no_master(dead);
    put(&cluster, survivor, "after", "yes");
    assert_eq!(cluster.view(survivor).members.len(), 1);
    cluster.kill(dead);
    fs::remove_dir_all(data(&cluster, dead)).expect("the directory of a node that ended can be removed");
    cluster.restart(dead);
    cluster.wait_master(&[dead.min(survivor), dead.max(survivor)]);
    assert_eq!(get(&cluster, dead, "after"), "yes");
}

/// The fencing token under which a lease is granted.
fn grant(cluster: &Cluster, at: usize, lease: &str) -> u64 {
    let path = format!("/_zazen/lease/{lease}?ttl=1d&holder=h&timeout=0ms");
    let told = super::http::ask(cluster.nodes[at].http, "POST", &path, "").expect("a node answers");
    assert_eq!(told.status, 200, "{told:?}");
    told.json()["token"].as_u64().expect("a grant has a token")
}

#[test]
fn fencing_tokens_rise_though_the_survivor_does_not_know_of_the_last_ones() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let [survivor, dead] = cluster.others(&[master])[..] else { panic!("three nodes have two followers") };
    let known = grant(&cluster, master, "known");
    cluster.wait("the survivor knows of the grant", || {
        cluster.nodes[survivor].get("/_zazen/lease/known?local=true").ok().filter(|told| told.status == 200)
    });
    cluster.kill(survivor);
    let unknown = grant(&cluster, master, "unknown");
    assert!(unknown > known);
    cluster.kill(master);
    cluster.kill(dead);
    output(0, &["recover", &data(&cluster, survivor), "--yes"]);
    cluster.restart(survivor);
    cluster.wait_master(&[survivor]);
    let after = grant(&cluster, survivor, "after");
    assert!(after > unknown, "{after} after {unknown}");
    let path = format!("/_zazen/lease/known?token={known}");
    let told = super::http::ask(cluster.nodes[survivor].http, "PUT", &path, "").expect("a node answers");
    assert!(told.status == 409 && told.body.contains("lease_not_held_exception"), "{told:?}");
}

#[test]
fn a_stored_setting_that_keeps_a_cluster_from_forming_is_mended() {
    let mut cluster = Cluster::start(3);
    let key = "discovery.zen.minimum_master_nodes";
    let body = format!(r#"{{"persistent":{{"{key}":3}}}}"#);
    let told = super::http::ask(cluster.nodes[0].http, "PUT", "/_cluster/settings", &body).expect("a node answers");
    assert_eq!(told.status, 200, "{told:?}");
    for at in [0, 1, 2] {
        cluster.kill(at);
    }
    let directories = [data(&cluster, 0), data(&cluster, 1)];
    let mend = format!("--set={key}=");
    let told = output(0, &["recover", &directories[0], &directories[1], &mend, "--yes"]);
    assert!(told.contains("written"), "{told}");
    let told = output(2, &["recover", &directories[0], "--set=discovery.zen.fd.ping_retries=0", "--yes"]);
    assert!(told.contains("must be >= 1"), "{told}");
    cluster.restart(0);
    cluster.restart(1);
    cluster.wait_master(&[0, 1]);
}

#[test]
fn what_was_exported_is_there_in_a_new_cluster() {
    let mut cluster = Cluster::start(1);
    put(&cluster, 0, "a/b", "kept");
    let before = cluster.view(0);
    let file = cluster.scratch.path().join("state.json").display().to_string();
    output(0, &["state", "export", &url(&cluster.nodes[0]), "-o", &file]);
    cluster.kill(0);
    let told = output(2, &["state", "import", &file, "--data", &data(&cluster, 0)]);
    assert!(told.contains("belongs to a node already"), "{told}");
    let old = data(&cluster, 0);
    cluster.nodes[0].data = cluster.scratch.path().join("new");
    let told = output(0, &["state", "import", &file, "--data", &data(&cluster, 0)]);
    assert!(told.contains("holds a cluster of one node"), "{told}");
    cluster.restart(0);
    cluster.wait_master(&[0]);
    assert_eq!(get(&cluster, 0, "a/b"), "kept");
    assert_ne!(cluster.view(0).uuid, before.uuid);
    let exported = output(0, &["state", "export", "--data", &old]);
    assert!(exported.contains("\"a/b\""), "{exported}");
}
