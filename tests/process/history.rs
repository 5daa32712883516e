//! What nodes remember of what became of their cluster.

use super::cluster::Cluster;
use super::tool;
use serde_json::Value;
use std::fs::{self, File};

fn entries(cluster: &Cluster, at: usize) -> Vec<Value> {
    let history = cluster.wait("the history", || cluster.nodes[at].get("/_zazen/history").ok());
    history.json()["entries"].as_array().cloned().expect("there are entries")
}

#[test]
fn an_election_is_remembered_with_its_cause_and_its_votes_over_a_restart() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    cluster.kill(master);
    let new = cluster.wait_master(&cluster.others(&[master]));
    let won = cluster.wait("the election is told", || {
        entries(&cluster, new).into_iter().rev().find(|entry| entry["kind"] == "election-won")
    });
    assert!(won["reason"].as_str().is_some_and(|reason| reason.starts_with("master_left: ")), "{won}");
    assert_eq!(won["details"]["vote_count"], 2, "{won}");
    assert_eq!(won["details"]["candidates"].as_array().map(Vec::len), Some(2), "{won}");
    assert!(won["details"]["duration_millis"].is_u64() && won["timestamp_millis"].is_u64(), "{won}");
    let told = tool::output(0, &["events", &tool::url(&cluster.nodes[new])]);
    assert!(told.lines().any(|line| line.contains("node-left") && line.contains(&format!("n{master} "))), "{told}");
    cluster.kill(new);
    cluster.restart(new);
    cluster.restart(master);
    cluster.wait_master(&[0, 1, 2]);
    assert!(entries(&cluster, new).contains(&won), "it is on disk");
    assert_eq!(entries(&cluster, new).iter().filter(|entry| entry["kind"] == "started").count(), 2);
}

#[test]
fn who_follows_is_told_what_a_node_remembers_whose_history_was_removed() {
    let mut cluster = Cluster::start(1);
    // What it has told is more than what it will have told anew.
    for _ in 0..4 {
        cluster.kill(0);
        cluster.restart(0);
        cluster.wait_master(&[0]);
    }
    let told = cluster.scratch.path().join("told");
    let out = File::create(&told).expect("files of tests can be written");
    let follower = tool::zazen(&["events", "--follow", &tool::url(&cluster.nodes[0])]).stdout(out).spawn();
    let _follower = tool::Running(follower.expect("the command can be run"));
    let starts = |number: u32| {
        let text = fs::read_to_string(&told).unwrap_or_default();
        text.lines().any(|line| line.contains(" started ") && line.contains(&format!("[pid {number},"))).then_some(())
    };
    let before = cluster.nodes[0].pid();
    cluster.wait("what was before is told", || starts(before));
    cluster.nodes[0].terminate();
    fs::remove_dir_all(cluster.nodes[0].data.join("nodes/0/_history")).expect("it is there");
    cluster.restart(0);
    let after = cluster.nodes[0].pid();
    cluster.wait("what is remembered anew is told from its start", || starts(after));
}
