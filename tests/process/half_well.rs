//! Nodes that are half well: they answer, and are set, addressed or copied so that they cannot do what they count for.
//!
//! Disks that hang need root, and are tried by `scripts/check-system.d/half-well`.

use super::cluster::Cluster;
use super::http::{self, Response};
use super::node::Node;
use super::place::Scratch;
use super::ports::free_port;
use super::tool::{output, url};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

const COMMIT_TIMEOUT: &str = "discovery.zen.commit_timeout";

/// What is said of a commit timeout that is too short.
const COMMIT_TIMEOUT_MIN: &str = "500ms";

/// How many times as many keys as nodes are written, so that some commit takes longer than a millisecond.
const WRITES: usize = 50;

fn put(node: &Node, path: &str, body: &str) -> Response {
    http::ask(node.http, "PUT", path, body).expect("a node answers")
}

fn write(node: &Node, key: &str) -> Response {
    put(node, &format!("/_zazen/kv/{key}?timeout=100ms"), "x")
}

fn set(node: &Node, key: &str, value: &str) -> Response {
    put(node, "/_cluster/settings", &format!(r#"{{"persistent":{{"{key}":"{value}"}}}}"#))
}

/// The lines of its log that warn, and hold all of these words.
fn warnings(node: &Node, words: &[&str]) -> Vec<String> {
    let log = node.log();
    let warning = |line: &&str| line.contains("[WARN ]") && words.iter().all(|word| line.contains(word));
    log.lines().filter(warning).map(String::from).collect()
}

fn wait_warning(cluster: &Cluster, at: usize, words: &[&str]) {
    let what = format!("n{at} warns with all of {words:?} in a line");
    cluster.wait(&what, || (!warnings(&cluster.nodes[at], words).is_empty()).then_some(()));
}

/// A host that takes connections and never answers.
fn silent() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).expect("the port is free")
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

/// Lets two of three hosts form a cluster, of which the better candidate pings this long, and the other one that long.
fn assert_one_leads_with(ping_timeouts: [&str; 2]) {
    let third = silent();
    // They draw their ids, and wait for others that there are not.
    let mut cluster = Cluster::start_apart(2, |_, node| {
        node.settings.push("cluster.initial_master_nodes: [absent, away]".into());
    });
    let hosts = [cluster.transports(), vec![port(&third)]].concat();
    let id = |at: usize| {
        let told = cluster.nodes[at].get("/_zazen/explain").ok()?;
        told.json()["node"]["id"].as_str().map(String::from)
    };
    let mut ranked = [0, 1].map(|at| (cluster.wait(&format!("n{at} tells its id"), || id(at)), at));
    ranked.sort();
    for ((_, at), timeout) in ranked.into_iter().zip(ping_timeouts) {
        cluster.kill(at);
        cluster.nodes[at].settings = vec![format!("discovery.zen.ping_timeout: {timeout}")];
        cluster.nodes[at].seeds(&hosts);
    }
    cluster.restart(0);
    cluster.restart(1);
    let master = cluster.wait_master(&[0, 1]);
    assert_eq!(write(&cluster.nodes[master], "served").status, 200);
}

#[test]
fn a_master_is_found_if_a_voter_pings_for_a_shorter_time_than_its_candidate() {
    assert_one_leads_with(["3s", "300ms"]);
}

#[test]
fn a_master_is_found_if_a_voter_pings_for_a_longer_time_than_its_candidate() {
    assert_one_leads_with(["300ms", "3s"]);
}

#[test]
fn a_commit_timeout_below_its_minimum_is_refused_wherever_it_is_given() {
    let scratch = Scratch::new();
    let mut told = Node::new(scratch.path(), "tested", "told", (0, 0));
    told.arguments = vec!["-E".into(), format!("{COMMIT_TIMEOUT}=1ms")];
    let mut written = Node::new(scratch.path(), "tested", "written", (0, 0));
    written.settings.push(format!("{COMMIT_TIMEOUT}: 1ms"));
    for node in [&mut told, &mut written] {
        node.start();
        assert_eq!(node.ended().code(), Some(2), "{}", node.tail());
        let log = node.log();
        assert!([COMMIT_TIMEOUT, "1ms", COMMIT_TIMEOUT_MIN].iter().all(|word| log.contains(word)), "{log}");
    }

    let cluster = Cluster::start(1);
    let refused = set(&cluster.nodes[0], COMMIT_TIMEOUT, "499ms");
    assert_eq!(refused.status, 400, "{refused:?}");
    let body = &refused.body;
    assert!([COMMIT_TIMEOUT, "499ms", COMMIT_TIMEOUT_MIN].iter().all(|word| body.contains(word)), "{body}");
    let taken = set(&cluster.nodes[0], COMMIT_TIMEOUT, COMMIT_TIMEOUT_MIN);
    assert_eq!(taken.status, 200, "{taken:?}");
}

#[test]
fn a_stored_commit_timeout_below_its_minimum_is_not_obeyed() {
    let mut cluster = Cluster::start(1);
    assert_eq!(set(&cluster.nodes[0], COMMIT_TIMEOUT, "5s").status, 200);
    let file = cluster.scratch.path().join("state.json");
    let path = file.display().to_string();
    output(0, &["state", "export", &url(&cluster.nodes[0]), "-o", &path]);
    cluster.kill(0);
    let exported = fs::read_to_string(&file).expect("it was exported");
    let changed = exported.replace(&format!("\"{COMMIT_TIMEOUT}\": \"5s\""), &format!("\"{COMMIT_TIMEOUT}\": \"1ms\""));
    assert_ne!(changed, exported);
    fs::write(&file, changed).expect("the folder of a test can be written to");
    cluster.nodes[0].data = cluster.scratch.path().join("imported");
    output(0, &["state", "import", &path, "--data", &cluster.nodes[0].data.display().to_string()]);
    cluster.restart(0);
    cluster.wait_master(&[0]);
    for name in ["n1", "n2"] {
        let mut joiner = cluster.stranger("tested", name);
        joiner.start();
        cluster.nodes.push(joiner);
    }
    let before = cluster.view(cluster.wait_master(&[0, 1, 2]));
    for at in [0, 1, 2].repeat(WRITES) {
        let told = write(&cluster.nodes[at], "served");
        assert_eq!(told.status, 200, "{told:?}");
    }
    let after = cluster.view(cluster.wait_master(&[0, 1, 2]));
    assert_eq!((after.term, after.master), (before.term, before.master), "no mastership ends by that timeout");
    wait_warning(&cluster, 0, &[COMMIT_TIMEOUT, "1ms"]);
}

#[test]
fn a_commit_timeout_of_the_command_line_goes_over_that_of_the_cluster() {
    let cluster = Cluster::start_with(3, |_, node| {
        // By this nobody finds out that the others are frozen.
        node.settings.push("discovery.zen.fd.ping_timeout: 30m".into());
        node.arguments = vec!["-E".into(), format!("{COMMIT_TIMEOUT}=500ms")];
    });
    let master = cluster.wait_master(&[0, 1, 2]);
    assert_eq!(set(&cluster.nodes[master], COMMIT_TIMEOUT, "1h").status, 200);
    let followers = cluster.others(&[master]);
    followers.iter().for_each(|at| cluster.nodes[*at].pause());
    // The next master would be asked, but there is none as long as its client waits.
    let path = "/_zazen/kv/lost?master_timeout=1s&timeout=0ms";
    let told = http::ask(cluster.nodes[master].http, "PUT", path, "x");
    followers.iter().for_each(|at| cluster.nodes[*at].resume());
    let told = told.expect("it gives up after a second, not after an hour");
    assert_eq!(told.status, 500, "{told:?}");
    assert!(told.body.contains("failed_to_commit_cluster_state_exception"), "{told:?}");
    let new = cluster.wait_master(&[0, 1, 2]);
    assert_eq!(write(&cluster.nodes[new], "served").status, 200);
}

/// Lets the last node publish another address than the one that it listens on.
fn start_misaddressed(count: usize, address: u16) -> Cluster {
    let cluster = Cluster::start_apart(count, |at, node| {
        if at + 1 == count {
            node.settings.push("transport.publish_host: 127.0.0.1".into());
            node.settings.push(format!("transport.publish_port: {address}"));
        }
    });
    let (lost, well) = (count - 1, (0..count - 1).collect::<Vec<usize>>());
    let master = cluster.wait_master(&well);
    // It reaches the others, so it hears why they do not take it in; and they tell it by its name and the address.
    let address = format!("127.0.0.1:{address}");
    wait_warning(&cluster, lost, &["reach", &address]);
    wait_warning(&cluster, master, &["reach", "{n", &address]);
    for at in [master, lost] {
        let told = cluster.nodes[at].get("/_zazen/explain").expect("a node answers");
        assert!(told.body.contains(&address) && told.body.contains("reach"), "{told:?}");
    }
    assert_eq!(cluster.wait_master(&well), master, "it is none of them after all that");
    for at in &well {
        assert_eq!(write(&cluster.nodes[*at], "served").status, 200);
    }
    cluster.wait_no_master(lost);
    cluster
}

#[test]
fn a_node_at_whose_address_nobody_listens_is_no_member_and_is_told_why() {
    let cluster = start_misaddressed(3, free_port());
    assert_eq!(cluster.nodes[0].get("/_cluster/health").expect("a node answers").json()["number_of_nodes"], 2);
}

#[test]
fn a_node_whose_address_is_silent_keeps_nobody_from_replacing_the_master() {
    let silent = silent();
    let mut cluster = start_misaddressed(4, port(&silent));
    let master = cluster.wait_master(&[0, 1, 2]);
    cluster.kill(master);
    let new = cluster.wait_master(&cluster.others(&[master, 3]));
    assert_eq!(write(&cluster.nodes[new], "served").status, 200);
}

/// Whether a node takes itself for the master.
fn leads(node: &Node) -> bool {
    node.get("/_zazen/explain").is_ok_and(|told| told.json()["mode"] == "leading")
}

fn wait_leads(cluster: &Cluster, at: usize) {
    cluster.wait(&format!("{} leads", cluster.nodes[at].name), || leads(&cluster.nodes[at]).then_some(()));
}

/// A master of one, and a node with a copy of its directory. Neither runs, and they know of these hosts.
fn twins(hosts: &[u16]) -> Cluster {
    let mut cluster = Cluster::start(1);
    cluster.kill(0);
    let copy = cluster.stranger("tested", "copy");
    let copied = Command::new("cp").arg("-r").args([&cluster.nodes[0].data, &copy.data]).status();
    assert!(copied.expect("cp can be run").success());
    cluster.nodes.push(copy);
    for node in &mut cluster.nodes {
        node.settings.clear();
        node.seeds(hosts);
    }
    cluster
}

/// Waits until one of two twins warns that there is another one, and checks that they do not both lead.
fn assert_one_leads_at_the_most(cluster: &Cluster) {
    let warns = |at: usize| !warnings(&cluster.nodes[at], &["with this node's id"]).is_empty();
    cluster.wait("one of the two warns of its own id", || (warns(0) || warns(1)).then_some(()));
    let both_lead = || leads(&cluster.nodes[0]) && leads(&cluster.nodes[1]);
    cluster.wait("one of the two at the most leads", || (!both_lead()).then_some(()));
    for node in &cluster.nodes {
        // Whoever takes it up again does so within a ping round, which this outlasts.
        let _ = node.get("/_cluster/health?wait_for_nodes=99&timeout=3s");
    }
    assert!(!both_lead(), "neither of the two takes it up again");
}

#[test]
fn a_copy_of_a_master_that_meets_it_does_not_lead_beside_it() {
    let mut cluster = twins(&[]);
    let met = cluster.transports();
    cluster.restart(0);
    wait_leads(&cluster, 0);
    cluster.nodes[1].settings.clear();
    cluster.nodes[1].seeds(&met[..1]);
    cluster.restart(1);
    assert_one_leads_at_the_most(&cluster);
}

#[test]
fn of_two_copies_of_a_master_one_leads_at_the_most_once_a_third_node_knows_both() {
    let unmet = free_port();
    let mut cluster = twins(&[unmet]);
    // Each is a majority by itself. The copy knows the address of the other from the state, but nobody is there yet.
    for at in [1, 0] {
        cluster.restart(at);
        wait_leads(&cluster, at);
    }
    // It names both among its hosts.
    let mut third = cluster.stranger("tested", "third");
    third.transport = unmet;
    third.start();
    cluster.nodes.push(third);
    assert_one_leads_at_the_most(&cluster);
}
