//! What nodes remember of what became of their cluster.

use super::cluster::Cluster;
use super::tool;
use serde_json::Value;

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
