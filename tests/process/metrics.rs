//! What nodes tell Prometheus: all that the page of metrics promises, of what really happened.

use super::cluster::Cluster;
use super::http::ask;
use super::node::Node;
use super::security::private;
use std::collections::BTreeSet;
use zazen::runtime::secure::{Authority, Made, Purpose};

const PAGE: &str = include_str!("../../docs/metrics.md");

fn scrape(node: &Node, path: &str) -> String {
    let answer = node.get(path).unwrap_or_else(|error| panic!("{path}: {error}\n{}", node.tail()));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// The value of the only sample that begins so.
fn value(page: &str, sample: &str) -> f64 {
    let found: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')).collect();
    assert_eq!(found.len(), 1, "{sample}: {found:?}\n{page}");
    found[0].parse().expect("a sample is a number")
}

/// The names that the page promises.
fn promised() -> BTreeSet<&'static str> {
    PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

/// The names that a scrape has.
fn named(page: &str) -> BTreeSet<&str> {
    page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
}

/// Gives a node a certificate of an authority's.
fn certify(node: &mut Node, (authority, own): &(Authority, Made)) {
    let made = authority.vouch(Purpose::Node, &["127.0.0.1".into()], 100).expect("there is entropy");
    let files = [("node.crt", &made.certificate), ("node.key", &made.key), ("ca.crt", &own.certificate)];
    for ((name, text), key) in files.into_iter().zip(["certificate", "key", "authorities"]) {
        private(&node.home().join(name), text);
        node.settings.push(format!("zazen.security.{key}: {name}"));
    }
}

#[test]
fn all_that_is_promised_is_told_of_what_happened() {
    let authority = Authority::make("tested".into()).expect("there is entropy");
    // Hooks and certificates are told of only where there are any.
    let mut cluster = Cluster::start_with(3, |_, node| {
        node.settings.push("hooks.on_reduced: [\"/bin/true\"]".into());
        certify(node, &authority);
    });
    let master = cluster.wait_master(&[0, 1, 2]);
    let (others, leader) = (cluster.others(&[master]), &cluster.nodes[master]);
    let put = ask(leader.http, "PUT", "/_zazen/kv/metrics", "x").expect("there is a master");
    assert_eq!(put.status, 200);
    let lease = ask(leader.http, "POST", "/_zazen/lease/l?holder=h&ttl=1s", "").expect("there is a master");
    assert_eq!(lease.status, 200, "{}", lease.body);
    cluster.wait("the lease is lost", || {
        (value(&scrape(&cluster.nodes[master], "/metrics"), "zazen_leases_lost_total") == 1.0).then_some(())
    });
    let page = scrape(&cluster.nodes[master], "/_prometheus/metrics");
    assert_eq!(named(&page), promised(), "the master tells all that there is");
    for (sample, expected) in [
        ("zazen_is_master", 1.0),
        ("zazen_has_master", 1.0),
        ("zazen_mode{mode=\"leading\"}", 1.0),
        ("zazen_elections_total{cause=\"best candidate\",outcome=\"won\"}", 1.0),
        ("zazen_masterless_seconds_count", 1.0),
        ("zazen_masterless_now_seconds", 0.0),
        ("zazen_nodes{role=\"all\"}", 3.0),
        ("zazen_voting_nodes_present", 3.0),
        ("zazen_links{side=\"accepted\"}", 2.0),
        ("zazen_keys", 1.0),
        ("zazen_leases", 0.0),
        ("zazen_leases_granted_total", 1.0),
        ("zazen_leases_ended_total", 1.0),
        ("zazen_http_requests_total{route=\"zazen_kv_one_put_action\",status=\"200\"}", 1.0),
    ] {
        assert_eq!(value(&page, sample), expected, "{sample}");
    }
    for sample in ["commit", "whole"].map(|phase| format!("zazen_publish_seconds_count{{phase=\"{phase}\"}}")) {
        assert!(value(&page, &sample) >= 3.0, "{sample}");
    }
    for sample in
        ["zazen_journal_sync_seconds_count", "zazen_core_step_seconds_count", "process_open_fds", "zazen_term"]
    {
        assert!(value(&page, sample) > 0.0, "{sample}");
    }
    let peer =
        format!("zazen_peer_round_trip_seconds_count{{peer=\"127.0.0.1:{}\"}}", cluster.nodes[others[0]].transport);
    assert!(value(&page, &peer) > 0.0);

    cluster.kill(master);
    let next = cluster.wait_master(&others);
    let page = scrape(&cluster.nodes[next], "/metrics");
    assert_eq!(value(&page, "zazen_masters_lost_total"), 1.0);
    assert_eq!(value(&page, "zazen_master_changes_total"), 2.0);
    assert!(value(&page, "zazen_masterless_seconds_count") >= 2.0);
}

#[test]
fn a_node_without_a_master_is_scraped_all_the_same() {
    let cluster = Cluster::start_apart(1, |_, node| {
        node.settings.push("cluster.initial_master_nodes: [n0, n1]".into());
    });
    let node = &cluster.nodes[0];
    let page = scrape(node, "/metrics");
    assert_eq!((value(&page, "zazen_has_master"), value(&page, "zazen_is_master")), (0.0, 0.0));
    assert!(value(&page, "zazen_masterless_now_seconds") > 0.0);
}

#[test]
fn changes_that_are_published_without_a_pause_are_all_counted() {
    const CLIENTS: usize = 8;
    const CHANGES: usize = 25;
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let leader = &cluster.nodes[master];
    let counted = || value(&scrape(leader, "/metrics"), "zazen_task_seconds_count");
    let before = counted();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                for number in 0..CHANGES {
                    let put = ask(leader.http, "PUT", &format!("/_zazen/kv/c{client}"), &number.to_string());
                    assert_eq!(put.expect("there is a master").status, 200);
                }
            });
        }
    });
    cluster.wait("all of them are counted", || (counted() - before >= (CLIENTS * CHANGES) as f64).then_some(()));
}
