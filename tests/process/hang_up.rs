//! SIGHUP: a node reads its file again, and runs by what is dynamic in it.

use super::cluster::Cluster;
use super::node::Node;
use serde_json::Value;

fn says(cluster: &Cluster, what: &str) {
    cluster.wait(what, || cluster.nodes[0].log().contains(what).then_some(()));
}

fn explained(node: &Node) -> Option<Value> {
    Some(node.get("/_zazen/explain").ok()?.json())
}

#[test]
fn a_file_is_read_again_on_sighup_and_what_is_dynamic_takes_effect() {
    let mut cluster = Cluster::start(1);
    cluster.wait_master(&[0]);
    let own = ["logger.discovery: debug", "discovery.zen.minimum_master_nodes: 2", "node.attr.rack: r1"];
    cluster.nodes[0].settings.extend(own.map(String::from));
    cluster.nodes[0].read_again();
    says(
        &cluster,
        "in effect at once: [discovery.zen.minimum_master_nodes: default -> 2, logger.discovery: default -> debug]",
    );
    says(&cluster, "with the next start: [node.attr.rack: default -> r1]");
    says(&cluster, "[DEBUG]");
    let verdict = cluster.wait("two are asked for", || {
        let told = explained(&cluster.nodes[0])?;
        told["verdicts"].as_array()?.first().cloned()
    });
    assert_eq!(verdict["code"], "minimum-master-nodes-too-high", "{verdict}");

    cluster.nodes[0].settings.push("discovery.zen.ping_timout: 3s".into());
    cluster.nodes[0].read_again();
    says(&cluster, "SIGHUP: the configuration is refused, and nothing of it is used");
    cluster.nodes[0].settings.retain(|line| line == "node.attr.rack: r1");
    cluster.nodes[0].read_again();
    says(&cluster, "discovery.zen.minimum_master_nodes: 2 -> default");
    cluster.wait_master(&[0]);
    assert!(cluster.nodes[0].is_alive(), "no hang-up ends a node without a terminal");
}

#[test]
fn what_the_cluster_was_told_goes_over_a_file_that_is_read_again() {
    let mut cluster = Cluster::start(1);
    cluster.wait_master(&[0]);
    let body = r#"{"persistent":{"discovery.zen.commit_timeout":"7s"}}"#;
    let set = super::http::ask(cluster.nodes[0].http, "PUT", "/_cluster/settings", body).expect("it answers");
    assert_eq!(set.status, 200, "{set:?}");
    cluster.nodes[0].settings.push("discovery.zen.commit_timeout: 9s".into());
    cluster.nodes[0].read_again();
    says(&cluster, "[discovery.zen.commit_timeout] is [7s] in the cluster's settings, which go over the file");
}

#[test]
fn what_is_no_file_is_refused_on_sighup_and_the_node_goes_on() {
    let cluster = Cluster::start(1);
    cluster.wait_master(&[0]);
    let node = &cluster.nodes[0];
    let file = node.file();
    let told = || node.log().matches("SIGHUP: the configuration is refused").count();
    let made = |program: &str, arguments: &[&str]| {
        let _ = std::fs::remove_file(&file);
        let status = std::process::Command::new(program).args(arguments).arg(&file).status();
        assert!(status.is_ok_and(|status| status.success()), "{program} {arguments:?}");
    };
    for (at, (program, arguments, why)) in [
        ("mkfifo", &[][..], "it is no regular file"),
        ("ln", &["-s", "/dev/zero"], "it is no regular file"),
        ("truncate", &["-s", "1T"], "has more than 1048576 bytes"),
        ("mkdir", &[], "there is neither a zazen.yml nor an elasticsearch.yml"),
    ]
    .into_iter()
    .enumerate()
    {
        made(program, arguments);
        node.hang_up();
        cluster.wait(&format!("{program} is refused"), || (told() == at + 1).then_some(()));
        let log = node.log();
        let line = log.lines().rfind(|line| line.contains("SIGHUP: ")).unwrap_or_default();
        assert!(line.contains(why), "{line}");
        assert!(node.get("/").is_ok(), "users are answered");
    }
}
