//! Walks through every order of a few nodes.

use zazen::sim::explore::{Bounds, explore};
use zazen::zen::rules::{Protection, Rules};

fn bounds(rules: Rules) -> Bounds {
    Bounds {
        nodes: 3,
        is_formed: false,
        depth: 9,
        drops: 1,
        crashes: 1,
        deadlines: 1,
        updates: 1,
        all_orders: false,
        states: 12_000,
        rules,
    }
}

#[test]
fn a_small_walk_breaks_no_rule_and_is_the_same_each_time() {
    let walks = [(); 2].map(|()| explore(bounds(Rules::default()), |_| true).expect("no rule is broken"));
    assert!(walks[0].states > 1_000 && walks[0].folded > 0, "{:?}", walks[0]);
    assert_eq!((walks[0].states, walks[0].steps), (walks[1].states, walks[1].steps));
}

#[test]
fn a_walk_from_a_formed_cluster_begins_with_a_committed_state() {
    let bounds = Bounds { is_formed: true, depth: 3, ..bounds(Rules::default()) };
    let walk = explore(bounds, |_| true).expect("no rule is broken");
    assert_eq!(walk.committed, walk.states as u64);
}

#[test]
fn a_walk_finds_what_is_broken_and_tells_the_way() {
    let rules = Rules::default().without(Protection::DurableVote);
    let broken = explore(bounds(rules), |_| true).expect_err("a vote is forgotten");
    assert_eq!(broken.violation.checker, "S6 a restart forgets no promise");
    assert!(broken.path.iter().any(|step| step.contains("ends")), "{:?}", broken.path);
}
