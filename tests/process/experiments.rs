//! The lab's algorithms on real sockets: five processes elect by each of them, lose their leader, and elect again.

use super::cluster::Cluster;
use super::http::ask;
use zazen::settings::EXPERIMENTS;

fn start(kind: &str, count: usize) -> Cluster {
    Cluster::start_apart(count, |_, node| {
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

#[test]
fn processes_elect_by_each_algorithm_and_again_when_their_leader_is_killed() {
    for kind in EXPERIMENTS {
        let mut cluster = start(kind, 5);
        let first = wait_leader(&cluster, kind, &[0, 1, 2, 3, 4]);
        let told = cluster.nodes[0].get("/_cat/master").expect("a node answers its users");
        assert!(told.body.contains(&cluster.nodes[first].name), "{kind}: {told:?}");
        cluster.kill(first);
        let rest = cluster.others(&[first]);
        assert_ne!(wait_leader(&cluster, kind, &rest), first);
    }
}

#[test]
fn two_lead_where_theory_says_so() {
    for kind in ["bully", "ring", "invitation", "redis-sentinel"] {
        let cluster = start(kind, 5);
        let first = wait_leader(&cluster, kind, &[0, 1, 2, 3, 4]);
        let others = cluster.others(&[first]);
        cut(&cluster, &[first, others[0]], &others[1..]);
        wait_leader(&cluster, kind, &others[1..]);
        assert_eq!(
            leader_of(&cluster, first).as_ref(),
            Some(&cluster.nodes[first].name),
            "{kind}: both sides have one"
        );
    }
}

#[test]
fn one_leads_where_more_than_half_is_needed() {
    for kind in ["paxos-lease", "fast-leader-election", "bully-majority"] {
        let cluster = start(kind, 5);
        let first = wait_leader(&cluster, kind, &[0, 1, 2, 3, 4]);
        let others = cluster.others(&[first]);
        cut(&cluster, &[first, others[0]], &others[1..]);
        wait_leader(&cluster, kind, &others[1..]);
        cluster.wait(&format!("the smaller side has no leader by {kind}"), || {
            leader_of(&cluster, first).is_none().then_some(())
        });
    }
}
