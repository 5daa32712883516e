//! Keys on real nodes: written anywhere, read anywhere, watched, and there after everything was killed.

use super::cluster::Cluster;
use super::http;
use super::tool::{Running, output, url, zazen};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

/// How many write at once, and how often each.
const WRITERS: usize = 8;
const WRITES: usize = 60;

#[test]
fn keys_of_a_holder_vanish_with_his_lease_and_whoever_was_overtaken_changes_none() {
    let cluster = Cluster::start(3);
    let at = url(&cluster.nodes[1]);
    let acquire = || output(0, &["lease", &at, "acquire", "job", "--ttl", "1m"]).trim().to_owned();
    let lease = format!("job:{}", acquire());
    output(0, &["kv", &at, "put", "owner", "one", "--lease", &lease]);
    output(0, &["kv", &at, "put", "done", "1", "--if-held", &lease]);
    output(0, &["lease", &at, "release", "job", lease.trim_start_matches("job:")]);
    assert!(output(1, &["kv", &at, "get", "owner"]).contains("no such key [owner]"));
    // Another holds it now, so the first one is too late.
    let next = format!("job:{}", acquire());
    for late in [
        ["put", "done", "2", "--if-held", &lease].as_slice(),
        &["delete", "done", "--if-held", &lease],
        &["put", "owner", "one", "--lease", &lease],
    ] {
        let told = output(1, &[&["kv", &at], late].concat());
        assert!(told.contains("lease_not_held_exception"), "{told}");
    }
    assert_eq!(output(0, &["kv", &at, "get", "done"]), "1");
    assert_eq!(output(0, &["kv", &at, "delete", "done", "--if-held", &next]).trim(), "deleted");
    let told = output(2, &["kv", &at, "put", "k", "v", "--if-held", "job"]);
    assert!(told.contains("allowed: the name of a lease and its token, as in nightly:7"), "{told}");
}

#[test]
fn a_key_that_was_written_is_read_everywhere_and_survives_the_death_of_all() {
    let mut cluster = Cluster::start(3);
    for at in [0, 1, 2] {
        let key = format!("config/n{at}");
        output(0, &["kv", &url(&cluster.nodes[at]), "put", &key, "x", "--if-absent"]);
        let told = output(1, &["kv", &url(&cluster.nodes[at]), "put", &key, "y", "--if-absent"]);
        assert!(told.contains("version_conflict_engine_exception"), "{told}");
        for reader in [0, 1, 2] {
            assert_eq!(output(0, &["kv", &url(&cluster.nodes[reader]), "get", &key]), "x");
        }
    }
    // What followed on that state is remembered no longer.
    let mut watch = zazen(&["kv", &url(&cluster.nodes[0]), "watch", "--from=0/1", "config/n1"]);
    let mut watch = Running(watch.stdout(Stdio::piped()).spawn().expect("the command can be run"));
    let lines = BufReader::new(watch.0.stdout.take().expect("it is piped")).lines().take(2);
    let told: Vec<String> = lines.map(|line| line.expect("a line")).collect();
    assert!(told[0].ends_with(" reset, 1 in all") && told[1].ends_with(" state config/n1 = x"), "{told:?}");
    let listed = output(0, &["kv", &url(&cluster.nodes[0]), "list", "config/", "--values"]);
    assert_eq!(listed.lines().filter(|line| line.ends_with("  x")).count(), 3, "{listed}");
    for at in [0, 1, 2] {
        cluster.kill(at);
    }
    for at in [0, 1, 2] {
        cluster.restart(at);
    }
    cluster.wait_master(&[0, 1, 2]);
    assert_eq!(output(0, &["kv", &url(&cluster.nodes[1]), "get", "config/n2"]), "x");
    assert_eq!(output(0, &["kv", &url(&cluster.nodes[1]), "delete", "config/n2"]), "deleted\n");
    output(1, &["kv", &url(&cluster.nodes[2]), "get", "config/n2"]);
}

#[test]
fn watchers_of_every_node_are_told_every_change_of_many_writers() {
    let cluster = Cluster::start(3);
    let master = cluster.nodes[cluster.wait_master(&[0, 1, 2])].http;
    let ask = |port: u16, method: &str, path: &str, body: &str| {
        http::ask(port, method, path, body).expect("it answers").json()
    };
    let newest = || ask(master, "GET", "/_zazen/watch", "")["at"].as_str().expect("a state").to_owned();
    let from = newest();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for value in 1..=WRITES {
                    ask(master, "PUT", &format!("/_zazen/kv/w{writer}?timeout=0ms"), &value.to_string());
                }
            });
        }
    });
    let last = newest();
    for node in &cluster.nodes {
        let (mut at, mut told) = (from.clone(), 0);
        while at != last {
            let step = ask(node.http, "GET", &format!("/_zazen/watch?kinds=keys&from={at}"), "");
            assert_eq!(step["compacted"], false, "{} knows no more what came behind {at}", node.name);
            let steps = step["steps"].as_array().expect("a list").iter();
            told += steps.map(|step| step["changes"].as_array().map_or(0, Vec::len)).sum::<usize>();
            at = step["at"].as_str().expect("a state").to_owned();
        }
        assert_eq!(told, WRITERS * WRITES, "what {} told", node.name);
    }
}

#[test]
fn a_watcher_misses_nothing_when_the_master_dies() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let others = cluster.others(&[master]);
    let mut command = zazen(&["kv", &url(&cluster.nodes[master])]);
    command.args(others.iter().map(|at| url(&cluster.nodes[*at]))).args(["watch", "w/"]).stdout(Stdio::piped());
    let mut watcher = Running(command.spawn().expect("the command can be run"));
    let lines = BufReader::new(watcher.0.stdout.take().expect("it is piped")).lines();
    let mut put = 0;
    let mut seen = lines.map(|line| line.expect("a line of text"));
    let mut write = |cluster: &Cluster, at: usize| {
        put += 1;
        output(0, &["kv", &url(&cluster.nodes[at]), "put", "w/key", &put.to_string()]);
        put
    };
    for at in [others[0], others[1], master] {
        let value = write(&cluster, at);
        let line = seen.next().expect("the watcher goes on");
        assert!(line.ends_with(&format!("w/key = {value}")), "{line}, not {value}");
    }
    cluster.kill(master);
    cluster.wait_master(&others);
    for at in others {
        let value = write(&cluster, at);
        let line = seen.next().expect("the watcher goes on");
        assert!(line.ends_with(&format!(" put w/key = {value}")), "{line}, not {value}");
    }
}

#[test]
fn the_mastership_is_moved_by_request() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let [asked, wanted] = cluster.others(&[master])[..] else { panic!("three nodes have two followers") };
    let name = cluster.nodes[wanted].name.clone();
    output(0, &["member", &url(&cluster.nodes[asked]), "handover", &name]);
    cluster.wait("the wanted node leads", || (cluster.wait_master(&[0, 1, 2]) == wanted).then_some(()));
    let listed = output(0, &["member", &url(&cluster.nodes[asked]), "list"]);
    let line = listed.lines().find(|line| line.starts_with(&name)).expect("it is a member");
    assert!(line.ends_with("master, counts"), "{listed}");
}

#[test]
fn a_member_that_died_for_good_is_removed_and_counts_no_more() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let [dead, other] = cluster.others(&[master])[..] else { panic!("three nodes have two followers") };
    let id = cluster.nodes[dead].id().expect("it is in its own state");
    let at = url(&cluster.nodes[master]);
    let refused = output(1, &["member", &at, "remove", &id]);
    assert!(refused.contains("is in the cluster: end it before it is removed"), "{refused}");
    cluster.kill(dead);
    cluster.wait_master(&[master.min(other), master.max(other)]);
    let listed = output(0, &["member", &at, "list"]);
    let line = listed.lines().find(|line| line.contains(&id)).expect("it counts");
    assert!(line.starts_with(&cluster.nodes[dead].name) && line.ends_with("counts, but is gone"), "{listed}");
    output(0, &["member", &url(&cluster.nodes[other]), "remove", &cluster.nodes[dead].name]);
    let listed = output(0, &["member", &at, "list"]);
    assert!(!listed.contains(&id), "{listed}");
    // With the dead one in the set, the master could not go on without the other one.
    cluster.kill(other);
    cluster.wait_master(&[master]);
    output(0, &["kv", &at, "put", "alone", "x"]);
}

#[test]
fn one_that_died_without_a_vote_is_removed_and_not_missed() {
    let mut cluster = Cluster::start(4);
    let all = [0, 1, 2, 3];
    let master = cluster.wait_master(&all);
    let [dead, asked, ..] = cluster.others(&[master])[..] else { panic!("four nodes have three followers") };
    let (name, id) = (cluster.nodes[dead].name.clone(), cluster.nodes[dead].id().expect("it is in its own state"));
    cluster.kill(dead);
    cluster.wait_master(&cluster.others(&[dead]));
    let at = url(&cluster.nodes[asked]);
    cluster.wait("its vote counts no more", || {
        let listed = output(0, &["member", &at, "list"]);
        (!listed.contains(&id)).then_some(())
    });
    let is_missed = || {
        let told = cluster.nodes[master].get("/_zazen/explain").expect("it answers").json();
        told["verdicts"].as_array().is_some_and(|verdicts| verdicts.iter().any(|verdict| verdict["node"] == *name))
    };
    assert!(is_missed());
    output(0, &["member", &at, "remove", &name]);
    cluster.wait("nobody misses it", || (!is_missed()).then_some(()));
    // The command asks the master.
    let history = cluster.nodes[master].get("/_zazen/history").expect("it answers").json();
    let entries = history["entries"].as_array().expect("it is a list");
    assert!(entries.iter().any(|entry| entry["kind"] == "node-removed" && entry["node"]["id"] == *id), "{history}");
    let refused = output(1, &["member", &at, "remove", "nobody"]);
    assert!(refused.contains("does not count in elections and commits"), "{refused}");
}
