//! What is printed heals: verdicts of real nodes, and their mends carried out as they stand.
//!
//! A small part of what `scripts/explain-setups` builds and heals.

use super::cluster::Cluster;
use super::node::{Node, wait_for};
use super::place::{Scratch, Turn};
use super::ports::free_ports;
use super::security::private;
use super::tool::{Running, output, url, zazen};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// The verdicts of a node, once there is one of this code.
fn verdicts(cluster: &Cluster, node: &Node, code: &str) -> Vec<Value> {
    cluster.wait(code, || {
        let told = node.get("/_zazen/explain").ok()?.json();
        let verdicts = told["verdicts"].as_array()?.clone();
        verdicts.iter().any(|verdict| verdict["code"] == code).then_some(verdicts)
    })
}

/// Whom they are about, and what to type.
fn mends(verdicts: &[Value], code: &str) -> Vec<(String, String)> {
    let of = verdicts.iter().filter(|verdict| verdict["code"] == code);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    of.map(|verdict| (text(&verdict["node"]), text(&verdict["mend"]["line"]))).collect()
}

fn wait_until_sound(cluster: &Cluster, node: &Node) {
    cluster.wait("nothing is wrong", || {
        let told = node.get("/_zazen/explain").ok()?.json();
        (told["standing"] == "sound").then_some(())
    });
}

fn shell(line: &str) {
    let done = Command::new("sh").args(["-c", line]).stdin(Stdio::null()).status();
    assert!(done.expect("there is a shell").success(), "{line}");
}

/// The line that starts a node by its file.
fn start(node: &Node) -> String {
    format!("{} start -c {}", env!("CARGO_BIN_EXE_zazen"), node.file().display())
}

/// The code and the mend that a node printed that did not start.
fn failure(node: &mut Node) -> (String, String) {
    assert_ne!(node.ended().code(), Some(0), "it does not start");
    let log = node.log();
    let last = log.lines().last().unwrap_or_default();
    let (before, mend) = last.split_once("]; to mend it").expect(last);
    let (_, code) = before.rsplit_once('[').expect(last);
    let (_, line) = mend.split_once(": ").expect(last);
    (code.to_owned(), line.to_owned())
}

#[test]
fn nodes_that_are_stopped_go_on() {
    let cluster = Cluster::start(3);
    cluster.nodes[1].pause();
    cluster.nodes[2].pause();
    let alone = output(2, &["explain", &url(&cluster.nodes[1])]);
    assert!(alone.contains(&format!("to mend it: kill -CONT {}", cluster.nodes[1].pid())), "{alone}");
    let told = cluster.wait("both are found", || {
        let told = verdicts(&cluster, &cluster.nodes[0], "frozen-node");
        Some(mends(&told, "frozen-node")).filter(|mends| mends.len() == 2)
    });
    told.iter().for_each(|(_, line)| shell(line));
    cluster.wait_master(&[0, 1, 2]);
    wait_until_sound(&cluster, &cluster.nodes[0]);
}

#[test]
fn a_voter_that_is_gone_is_started_by_its_file() {
    let mut cluster = Cluster::start(3);
    cluster.wait_master(&[0, 1, 2]);
    cluster.kill(2);
    let told = verdicts(&cluster, &cluster.nodes[0], "voter-down");
    assert_eq!(mends(&told, "voter-down"), [("n2".to_owned(), start(&cluster.nodes[2]))], "{told:?}");
    cluster.restart(2);
    cluster.wait_master(&[0, 1, 2]);
    wait_until_sound(&cluster, &cluster.nodes[0]);
}

#[test]
fn a_node_is_started_with_what_it_was_given_besides_its_file() {
    let given = |at: usize| ["-E".to_owned(), format!("node.attr.rack=r {at}")];
    let mut cluster = Cluster::start_with(3, |at, node| node.arguments = given(at).into());
    cluster.kill(2);
    let told = verdicts(&cluster, &cluster.nodes[0], "voter-down");
    let line = format!("{} -E node.attr.rack='r 2'", start(&cluster.nodes[2]));
    assert_eq!(mends(&told, "voter-down"), [("n2".to_owned(), line)], "{told:?}");
}

#[test]
fn who_has_another_secret_is_told_so_and_takes_that_of_the_others() {
    let share = |node: &mut Node, letter: &str| {
        let file = node.home().join("secret");
        private(&file, &letter.repeat(40));
        node.settings.push(format!("zazen.security.secret: {}", file.display()));
        file
    };
    let cluster = Cluster::start_with(2, |_, node| drop(share(node, "s")));
    let mut newcomer = cluster.stranger(&cluster.nodes[0].cluster, "n2");
    share(&mut newcomer, "t");
    newcomer.start();
    let told = verdicts(&cluster, &newcomer, "secrets-differ");
    let right = |at: usize| format!("zazen.security.secret: {}", cluster.nodes[at].home().join("secret").display());
    let mends = mends(&told, "secrets-differ");
    let [(name, line)] = &mends[..] else { panic!("one node is told: {told:?}") };
    assert!(name == "n2" && [right(0), right(1)].contains(line), "{told:?}");
    assert_eq!(told.len(), 1, "nobody else is accused: {told:?}");
    newcomer.kill();
    newcomer.settings.pop();
    newcomer.settings.push(line.clone());
    newcomer.start();
    cluster.wait("it has joined", || newcomer.view()?.master);
    wait_until_sound(&cluster, &newcomer);
}

#[test]
fn a_newcomer_with_a_mistyped_cluster_name_changes_its_own() {
    let cluster = Cluster::start(2);
    let mut newcomer = cluster.stranger("tset", "n2");
    newcomer.start();
    let told = verdicts(&cluster, &newcomer, "wrong-cluster-name");
    let line = format!("cluster.name: {}", cluster.nodes[0].cluster);
    assert_eq!(mends(&told, "wrong-cluster-name"), [("n2".to_owned(), line)], "{told:?}");
    newcomer.kill();
    newcomer.cluster.clone_from(&cluster.nodes[0].cluster);
    newcomer.start();
    cluster.wait("it has joined", || newcomer.view()?.master);
    wait_until_sound(&cluster, &newcomer);
}

#[test]
fn a_start_whose_arguments_make_no_sense_is_told_of_by_those_that_run() {
    let cluster = Cluster::start(1);
    let mut newcomer = cluster.stranger(&cluster.nodes[0].cluster, "n1");
    newcomer.arguments = vec!["-E".into(), "node.nmae=n1".into()];
    newcomer.start();
    let (code, line) = failure(&mut newcomer);
    assert!(code == "bad-settings" && line.ends_with("-E node.name=n1"), "{code}: {line}");
    let told = verdicts(&cluster, &cluster.nodes[0], "bad-settings");
    assert_eq!(mends(&told, "bad-settings"), [("n1".to_owned(), line)], "{told:?}");
}

#[test]
fn nodes_of_one_file_that_each_have_a_directory_are_not_told_to_take_that_of_another() {
    let (_turn, scratch) = (Turn::wait(), Scratch::new());
    let (http, transport) = (free_ports(3), free_ports(3));
    let file = scratch.path().join("shared.yml");
    let text = format!(
        "cluster.name: shared\npath.data: data\nhttp.port: {http}-{}\ntransport.tcp.port: {transport}-{}\n\
         discovery.zen.ping.unicast.hosts: \"127.0.0.1:{transport}-{}\"\n",
        http + 2,
        transport + 2,
        transport + 2
    );
    fs::write(&file, text).expect("it can be written");
    let start = |at: usize| {
        let home = scratch.path().join(format!("home-{at}"));
        fs::create_dir(&home).expect("it can be made");
        let mut command = zazen(&["start", "-c", &file.display().to_string()]);
        command.current_dir(home).stdout(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().expect("the command can be run"))
    };
    let _nodes: Vec<Running> = (0..3).map(start).collect();
    let urls = (0..3).map(|at| format!("--url=127.0.0.1:{}", http + at));
    for url in urls {
        // All three are there, and one more loss does no harm.
        let is_sound = || {
            let told = zazen(&["explain", &url]).output().expect("the command can be run");
            String::from_utf8_lossy(&told.stdout).contains("the loss of 1 more").then_some(())
        };
        assert!(wait_for(is_sound).is_some(), "{url}");
        output(0, &["explain", &url]);
    }
}

#[test]
fn a_node_that_may_open_too_few_files_does_not_start_and_says_so() {
    let cluster = Cluster::start(1);
    let mut node = cluster.stranger(&cluster.nodes[0].cluster, "n1");
    node.files = Some((24, 24));
    node.start();
    let (code, line) = failure(&mut node);
    assert_eq!(code, "too-many-files");
    assert!(line.starts_with("ulimit -n 65536"), "{line}");
    verdicts(&cluster, &cluster.nodes[0], "too-many-files");
    node.files = None;
    node.start();
    cluster.wait("it has joined", || node.view()?.master);
    wait_until_sound(&cluster, &cluster.nodes[0]);
}

#[test]
fn a_node_whose_port_is_taken_gets_the_next_one() {
    let cluster = Cluster::start(1);
    let mut node = cluster.stranger(&cluster.nodes[0].cluster, "n1");
    // The next one is no other test's.
    node.http = free_ports(4);
    let taken = TcpListener::bind(("127.0.0.1", node.http)).expect("it is free");
    node.start();
    let (code, line) = failure(&mut node);
    assert_eq!(code, "port-in-use");
    let port = line.strip_prefix("http.port: ").and_then(|port| port.parse().ok()).expect("a port");
    assert!(port > node.http, "{line}");
    // It told its seed hosts why it is not there.
    let told = verdicts(&cluster, &cluster.nodes[0], "port-in-use");
    assert_eq!(mends(&told, "port-in-use").first().map(|(node, _)| node.as_str()), Some("n1"), "{told:?}");
    node.http = port;
    node.start();
    cluster.wait("it has joined", || node.view()?.master);
    wait_until_sound(&cluster, &cluster.nodes[0]);
    drop(taken);
}

#[test]
fn slips_of_a_file_become_what_was_meant() {
    let cluster = Cluster::start(1);
    let mut node = cluster.stranger(&cluster.nodes[0].cluster, "n1");
    let slips = ["discovery.zen.ping_timout: 1s", "discovery.zen.fd.ping_interval: 300", "node.master: perhaps"];
    node.settings.extend(slips.map(String::from));
    node.start();
    let (code, line) = failure(&mut node);
    assert_eq!(code, "bad-settings");
    let (mend, start_line) = line.split_once(" && ").expect("it starts the node as well");
    assert_eq!(start_line, start(&node));
    shell(mend);
    let file = node.file().display().to_string();
    let child = zazen(&["start", "-c", &file]).stdout(Stdio::null()).spawn().expect("the command can be run");
    let _running = Running(child);
    cluster.wait("it has joined", || node.view()?.master);
}
