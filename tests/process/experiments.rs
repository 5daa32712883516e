//! The lab's algorithms on real sockets: five processes elect by each of them, lose their leader, and elect again.
//!
//! The one that elects through a ZooKeeper needs one, and is tried by `scripts/check-system`.

use super::cluster::Cluster;
use super::http::ask;
use std::thread;
use zazen::settings::{EXPERIMENTS, KAFKA};

const ALL: [usize; 5] = [0, 1, 2, 3, 4];

fn start(kind: &str) -> Cluster {
    Cluster::start_apart(ALL.len(), |_, node| {
        node.settings.push(format!("discovery.type: {kind}"));
        node.settings.push("zazen.faults.enabled: true".into());
    })
}

/// Whom a node takes for the leader, by its name.
fn leader_of(cluster: &Cluster, at: usize) -> Option<String> {
    cluster.nodes[at].view()?.master
}

/// Waits until these follow one of themselves; tells which.
fn wait_leader(cluster: &Cluster, kind: &str, among: &[usize]) -> usize {
    cluster.wait(&format!("{among:?} follow one of themselves by {kind}"), || {
        let leaders: Option<Vec<String>> = among.iter().map(|at| leader_of(cluster, *at)).collect();
        let leaders = leaders?;
        let is_one = leaders.windows(2).all(|pair| pair[0] == pair[1]);
        among.iter().copied().find(|at| is_one && cluster.nodes[*at].name == leaders[0])
    })
}

/// Nothing passes between these and those.
fn cut(cluster: &Cluster, these: &[usize], those: &[usize]) {
    for (one, other) in these.iter().flat_map(|one| those.iter().map(move |other| (*one, *other))) {
        for (at, peer) in [(one, other), (other, one)] {
            let body = format!("{{\"peer\":\"127.0.0.1:{}\"}}", cluster.nodes[peer].transport);
            let done = ask(cluster.nodes[at].http, "POST", "/_zazen/faults", &body).expect("a node answers its users");
            assert_eq!(done.status, 200, "{done:?}");
        }
    }
}

/// Leaves one of the others with the leader: gives both sides.
fn split(cluster: &Cluster, leader: usize) -> (Vec<usize>, Vec<usize>) {
    let mut larger = cluster.others(&[leader]);
    // The highest: to the others belong the two seeds, the two lowest candidates and most masters.
    let smaller = vec![leader, larger.remove(larger.len() - 1)];
    cut(cluster, &smaller, &larger);
    (smaller, larger)
}

fn elects_anew(kind: &str) {
    let mut cluster = start(kind);
    wait_leader(&cluster, kind, &ALL);
    // A busy machine may have another one lead in between.
    cluster.wait(&format!("users are told the leader by {kind}"), || {
        let told = cluster.nodes[0].get("/_cat/master").expect("a node answers its users");
        told.body.contains(&leader_of(&cluster, 0)?).then_some(())
    });
    let state = cluster.nodes[0].state().expect("a node answers its users");
    let nodes = state["nodes"].as_object().expect("nodes are an object");
    let marks: Vec<&str> = nodes.values().filter_map(|node| node["attributes"]["experimental"].as_str()).collect();
    assert_eq!(marks, [kind; ALL.len()], "users see what these nodes are");
    let first = wait_leader(&cluster, kind, &ALL);
    cluster.kill(first);
    let rest = cluster.others(&[first]);
    assert_ne!(wait_leader(&cluster, kind, &rest), first);
}

#[test]
fn processes_elect_by_each_algorithm_and_again_when_their_leader_is_killed() {
    let peers: Vec<&str> = EXPERIMENTS.iter().copied().filter(|kind| *kind != KAFKA).collect();
    // As many at a time as clusters may run.
    thread::scope(|scope| {
        for kinds in peers.chunks(peers.len().div_ceil(3)) {
            scope.spawn(|| kinds.iter().for_each(|kind| elects_anew(kind)));
        }
    });
}

#[test]
fn two_lead_where_nobody_counts_those_that_agree() {
    for kind in ["bully", "ring", "invitation"] {
        let cluster = start(kind);
        let first = wait_leader(&cluster, kind, &ALL);
        let (smaller, larger) = split(&cluster, first);
        let other = wait_leader(&cluster, kind, &larger);
        // The smaller side may elect anew as well.
        assert_ne!(wait_leader(&cluster, kind, &smaller), other, "{kind}: both sides have one");
    }
}

#[test]
fn one_leads_where_more_than_half_is_needed() {
    for kind in ["paxos-lease", "fast-leader-election", "bully-majority"] {
        let cluster = start(kind);
        let first = wait_leader(&cluster, kind, &ALL);
        let (smaller, larger) = split(&cluster, first);
        wait_leader(&cluster, kind, &larger);
        cluster.wait(&format!("the smaller side has no leader by {kind}"), || {
            smaller.iter().all(|at| leader_of(&cluster, *at).is_none()).then_some(())
        });
    }
}
