//! Settings that are changed while nodes run, and take effect on them.

use super::cluster::Cluster;
use super::http;
use super::tool::{output, url};

fn put(cluster: &Cluster, at: usize, body: &str) -> http::Response {
    let answer = http::ask(cluster.nodes[at].http, "PUT", "/_cluster/settings", body);
    answer.expect("a node answers")
}

fn change(cluster: &Cluster, at: usize, body: &str) {
    let told = put(cluster, at, body);
    assert_eq!((told.status, &told.json()["acknowledged"]), (200, &true.into()), "{told:?}");
}

#[test]
fn fault_detectors_are_tuned_while_they_run() {
    let cluster = Cluster::start_with(3, |_, node| {
        // By these a frozen node would be found out after an hour.
        node.settings.push("discovery.zen.fd.ping_timeout: 30m".into());
        node.settings.push("discovery.zen.fd.ping_retries: 2".into());
    });
    let master = cluster.wait_master(&[0, 1, 2]);
    let [asked, frozen] = cluster.others(&[master])[..] else { panic!("three nodes have two followers") };
    let body = r#"{"transient":{"discovery.zen.fd":{"ping_interval":"50ms","ping_timeout":"100ms"}},
                   "persistent":{"discovery.zen.fd.ping_retries":1}}"#;
    change(&cluster, asked, body);
    cluster.nodes[frozen].pause();
    assert_eq!(cluster.wait_master(&[asked.min(master), asked.max(master)]), master);
    cluster.nodes[frozen].resume();
    cluster.wait_master(&[0, 1, 2]);
}

#[test]
fn a_minimum_of_master_nodes_counts_as_soon_as_it_is_set_and_cannot_be_too_high() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let [asked, killed] = cluster.others(&[master])[..] else { panic!("three nodes have two followers") };
    let key = "discovery.zen.minimum_master_nodes";
    let slip = output(1, &["settings", &url(&cluster.nodes[asked]), "set", "discovery.zen.minimum_master_node=2"]);
    assert!(slip.contains(&format!("did you mean [{key}]?")), "{slip}");
    let refused = put(&cluster, asked, &format!(r#"{{"persistent":{{"{key}":4,"cluster.metadata.a":"1"}}}}"#));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(refused.json()["error"]["reason"], format!("illegal value can't update [{key}] from [-1] to [4]"));
    change(&cluster, asked, &format!(r#"{{"persistent":{{"{key}":3}}}}"#));
    cluster.kill(killed);
    cluster.wait_no_master(master);
    cluster.wait_no_master(asked);
    cluster.restart(killed);
    cluster.wait_master(&[0, 1, 2]);
    change(&cluster, killed, &format!(r#"{{"persistent":{{"{key}":null}}}}"#));
    let held = cluster.nodes[asked].get("/_cluster/settings?flat_settings=true").expect("a node answers");
    assert_eq!(held.body, r#"{"persistent":{},"transient":{}}"#, "nothing of what was refused is there");
    let master = cluster.wait_master(&[0, 1, 2]);
    let other = cluster.others(&[master])[0];
    cluster.kill(other);
    cluster.wait_master(&cluster.others(&[other]));
}

#[test]
fn loggers_are_turned_up_while_they_run() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let quiet = cluster.others(&[master])[0];
    assert!(!cluster.nodes[quiet].log().contains("DEBUG"), "{}", cluster.nodes[quiet].log());
    change(&cluster, quiet, r#"{"transient":{"logger.org.elasticsearch.discovery":"DEBUG"}}"#);
    cluster.kill(master);
    cluster.wait("a line of that level is logged", || cluster.nodes[quiet].log().contains("DEBUG").then_some(()));
}
