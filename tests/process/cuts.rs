//! Links that are cut while both ends live: what is sent is swallowed in silence.
//!
//! The nodes are started with the switch for it and swallow themselves; real networks are cut by `scripts/check-system`.

use super::cluster::Cluster;
use super::http::ask;
use super::tool::{Running, output, url, zazen};
use super::view::View;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// Starts nodes whose links can be cut.
fn start(count: usize) -> Cluster {
    Cluster::start_with(count, |_, node| node.settings.push("zazen.faults.enabled: true".into()))
}

fn set_fault(cluster: &Cluster, at: usize, peer: usize, (to, from): (bool, bool)) {
    let peer = cluster.nodes[peer].transport;
    let body = format!("{{\"peer\":\"127.0.0.1:{peer}\",\"to\":{to},\"from\":{from}}}");
    let done = ask(cluster.nodes[at].http, "POST", "/_zazen/faults", &body).expect("a node answers its users");
    assert_eq!(done.status, 200, "{done:?}");
}

/// Nothing passes from one to the other; the other way is open.
fn cut_one_way(cluster: &Cluster, from: usize, to: usize) {
    set_fault(cluster, from, to, (true, false));
    set_fault(cluster, to, from, (false, true));
}

fn cut(cluster: &Cluster, one: usize, other: usize) {
    set_fault(cluster, one, other, (true, true));
    set_fault(cluster, other, one, (true, true));
}

fn heal(cluster: &Cluster) {
    for node in &cluster.nodes {
        let done = ask(node.http, "DELETE", "/_zazen/faults", "").expect("a node answers its users");
        assert_eq!(done.status, 200, "{done:?}");
    }
}

#[test]
fn a_master_that_is_cut_off_steps_down_and_the_others_elect() {
    let cluster = start(3);
    let old = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(old);
    let majority = cluster.others(&[old]);
    for at in &majority {
        cut(&cluster, old, *at);
    }
    cluster.wait_no_master(old);
    let new = cluster.wait_master(&majority);
    heal(&cluster);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), new, "whoever comes back replaces nobody");
    let after = cluster.view(old);
    assert!(after.term > before.term, "{after:?} after {before:?}");
    assert_eq!(after.uuid, before.uuid);
}

#[test]
fn a_master_may_not_be_stopped_while_the_others_do_not_reach_each_other() {
    let cluster = start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let others = cluster.others(&[master]);
    let may_stop = || cluster.nodes[master].get("/_zazen/safe_to_stop").expect("a node answers its users");
    cluster.wait("all are there", || (may_stop().status == 200).then_some(()));
    cut_one_way(&cluster, others[0], others[1]);
    let refused = cluster.wait("it may not", || Some(may_stop()).filter(|told| told.status == 503));
    assert!(refused.body.contains("reach the rest"), "{refused:?}");
    heal(&cluster);
    cluster.wait("it may go", || (may_stop().status == 200).then_some(()));
}

#[test]
fn a_follower_that_is_cut_off_replaces_nobody_when_it_is_back() {
    let cluster = start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let follower = cluster.others(&[master])[0];
    let majority = cluster.others(&[follower]);
    for at in &majority {
        cut(&cluster, follower, *at);
    }
    cluster.wait_no_master(follower);
    assert_eq!(cluster.wait_master(&majority), master);
    heal(&cluster);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), master);
    assert_eq!(cluster.view(follower).uuid, before.uuid);
}

#[test]
fn a_master_that_is_heard_but_hears_nobody_is_replaced() {
    let cluster = start(3);
    let old = cluster.wait_master(&[0, 1, 2]);
    let majority = cluster.others(&[old]);
    for at in &majority {
        cut_one_way(&cluster, *at, old);
    }
    cluster.wait_no_master(old);
    let new = cluster.wait_master(&majority);
    heal(&cluster);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), new);
}

#[test]
fn a_master_that_hears_but_is_not_heard_is_replaced() {
    let cluster = start(3);
    let old = cluster.wait_master(&[0, 1, 2]);
    let majority = cluster.others(&[old]);
    for at in &majority {
        cut_one_way(&cluster, old, *at);
    }
    cluster.wait_no_master(old);
    let new = cluster.wait_master(&majority);
    heal(&cluster);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), new);
}

#[test]
fn two_halves_that_share_one_node_have_one_master() {
    let cluster = start(5);
    let all = [0, 1, 2, 3, 4];
    let before = cluster.wait_master(&all);
    let others = cluster.others(&[before]);
    // The master is in one half, and the bridge is none of it.
    let (bridge, halves) = (others[0], ([before, others[1]], [others[2], others[3]]));
    for one in halves.0 {
        for other in halves.1 {
            cut(&cluster, one, other);
        }
    }
    let masters = || {
        let masters: Vec<Option<String>> =
            all.iter().map(|at| cluster.nodes[*at].view().and_then(|v| v.master)).collect();
        let bridged = masters[bridge].clone()?;
        // Whoever cannot reach that master has none: nobody may follow another.
        let is_one = masters.iter().all(|master| master.as_ref().is_none_or(|name| *name == bridged));
        let is_settled = masters.iter().filter(|master| master.is_some()).count() == 3;
        (is_one && is_settled).then_some(bridged)
    };
    cluster.wait("the bridge and one half follow one master, the others none", masters);
    heal(&cluster);
    cluster.wait_master(&all);
}

#[test]
fn users_of_a_node_that_is_cut_off_from_the_master_alone_see_the_cluster_as_the_master_does() {
    let cluster = start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let lonely = cluster.others(&[master])[0];
    cut(&cluster, master, lonely);
    cluster.wait_no_master(lonely);
    let seen = cluster
        .wait("the master goes on without it", || Some(cluster.view(master)).filter(|view| view.members.len() == 2));
    let get = |path: &str| {
        let answer = ask(cluster.nodes[lonely].http, "GET", path, "").expect("a node answers its users");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    };
    // Without an answer of others each of these would be refused after four seconds.
    assert_eq!(get("/_cluster/health?wait_for_nodes=2&timeout=4s")["number_of_nodes"], 2);
    let state = View::of(&get("/_cluster/state?master_timeout=4s"));
    assert_eq!((&state.master, &state.members), (&seen.master, &seen.members));
    assert_eq!(get("/_cat/master?master_timeout=4s&format=json")[0]["node"], seen.master.as_deref().unwrap_or("none"));
    let late = ask(cluster.nodes[lonely].http, "GET", "/_cluster/health?wait_for_nodes=3&timeout=1s", "");
    let late = late.expect("a node answers its users");
    assert_eq!((late.status, late.json()["number_of_nodes"].as_u64()), (408, Some(2)), "{late:?}");
}

#[test]
fn watchers_at_a_node_that_is_cut_off_from_the_master_alone_are_told_every_change_once() {
    let cluster = start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let lonely = cluster.others(&[master])[0];
    let put = |at: usize, value: usize| {
        let done = ask(cluster.nodes[at].http, "PUT", "/_zazen/kv/k", &value.to_string());
        assert_eq!(done.expect("a node answers its users").status, 200);
    };
    put(master, 0);
    // Who asks often and waits for less than a change takes to get there is told as well.
    let watch = |from: &str| {
        let path = format!("/_zazen/watch?prefix=k&wait_for=20ms{from}");
        let answer = ask(cluster.nodes[lonely].http, "GET", &path, "").expect("a node answers its users");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    };
    let mut known = watch("");
    cut(&cluster, master, lonely);
    cluster.wait_no_master(lonely);
    let mut seen = Vec::new();
    let mut hear_until = |last: usize| {
        cluster.wait("it is told everything", || {
            known = watch(&format!("&from={}", known["at"].as_str().expect("it says where to go on")));
            assert_eq!(known["compacted"], false, "what led to it is known to others: {known}");
            for step in known["steps"].as_array().expect("steps are a list") {
                let value = step["changes"][0]["entry"]["value"].as_str().expect("a key was put");
                seen.push(value.parse::<usize>().expect("it is a number"));
            }
            (seen.last() == Some(&last)).then_some(())
        });
    };
    for value in 1..=20 {
        put(if value % 2 == 0 { lonely } else { master }, value);
    }
    hear_until(20);
    heal(&cluster);
    cluster.wait_master(&[0, 1, 2]);
    put(master, 21);
    hear_until(21);
    assert_eq!(seen, (1..=21).collect::<Vec<_>>());
}

#[test]
fn watchers_at_a_node_that_is_cut_off_from_all_are_sent_elsewhere() {
    let cluster = start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let [lonely, other] = cluster.others(&[master])[..] else { panic!("three nodes have two followers") };
    let ask = |path: &str| ask(cluster.nodes[lonely].http, "GET", path, "").expect("a node answers its users");
    let at = ask("/_zazen/watch").json()["at"].as_str().expect("it says where to go on").to_owned();
    let mut command = zazen(&["kv", &url(&cluster.nodes[lonely]), &url(&cluster.nodes[other]), "watch", "k"]);
    let mut watcher = Running(command.stdout(Stdio::piped()).spawn().expect("the command can be run"));
    let mut lines = BufReader::new(watcher.0.stdout.take().expect("it is piped")).lines();
    output(0, &["kv", &url(&cluster.nodes[master]), "put", "k", "1"]);
    assert!(lines.next().expect("it is told").expect("a line").ends_with("k = 1"));
    cut(&cluster, lonely, master);
    cut(&cluster, lonely, other);
    cluster.wait_no_master(lonely);
    output(0, &["kv", &url(&cluster.nodes[master]), "put", "k", "2"]);
    cluster.wait("it says that it knows of none", || {
        let told = ask(&format!("/_zazen/watch?prefix=none&wait_for=200ms&from={at}"));
        (told.status == 503).then_some(())
    });
    assert_eq!(ask("/_zazen/watch").status, 503, "nor is an old state told as the newest");
    assert!(lines.next().expect("it goes elsewhere").expect("a line").ends_with("k = 2"));
}

#[expect(clippy::disallowed_methods, reason = "how long a link is cut is what is tried here")]
fn pass(time: Duration) {
    thread::sleep(time);
}

/// A connection loses nothing without closing, however short the cut.
fn is_answered_after_a_cut_of(millis: u64, is_one_way: bool) {
    let cluster = start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let asked = cluster.others(&[master])[0];
    if is_one_way {
        set_fault(&cluster, master, asked, (false, true));
    } else {
        set_fault(&cluster, master, asked, (true, true));
    }
    let port = cluster.nodes[asked].http;
    let requests = [("PUT", "/_zazen/kv/k", "x"), ("GET", "/_zazen/kv/other", ""), ("GET", "/_cluster/health", "")];
    let answers = requests.map(|(method, path, body)| thread::spawn(move || ask(port, method, path, body)));
    pass(Duration::from_millis(millis));
    heal(&cluster);
    let statuses = answers.map(|answer| {
        let answer = answer.join().expect("no client panics").expect("it is answered within the patience of clients");
        answer.status
    });
    assert_eq!(statuses, [200, 404, 200], "after {millis} ms");
}

#[test]
fn what_is_under_way_when_a_link_is_cut_for_a_moment_is_answered() {
    for millis in [50, 300] {
        is_answered_after_a_cut_of(millis, false);
    }
}

#[test]
fn what_is_under_way_when_a_link_is_cut_one_way_is_answered() {
    for millis in [300, 2_000] {
        is_answered_after_a_cut_of(millis, true);
    }
}
