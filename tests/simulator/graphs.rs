//! Every way in which three nodes can reach each other, and some of the ways of four and five.
//!
//! `zazen sim --graphs 3,4,5` plays all of them.

use crate::parallel;
use zazen::sim::graphs::{Ending, cases};
use zazen::zen::rules::Rules;

/// Plays every `step`th case of so many nodes.
fn demand_all(nodes: usize, step: usize) {
    let cases = cases(nodes, step);
    let played: Vec<_> = cases.iter().zip(parallel::map(&cases, |case| case.play(Rules::default()))).collect();
    let failures: Vec<String> =
        played.iter().filter_map(|(case, ending)| ending.as_ref().err().map(|why| format!("{case}: {why}"))).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases failed; play one as a script with `link`:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
    let masters = played.iter().filter(|(_, ending)| *ending == Ok(Ending::OneMaster)).count();
    assert!(masters > 0 && masters < cases.len(), "some graphs allow a master and some do not");
}

#[test]
fn three_nodes_find_a_master_in_every_graph_that_allows_one() {
    demand_all(3, 1);
}

#[test]
fn four_nodes_find_a_master_in_every_seventh_graph_that_allows_one() {
    // An odd step leaves no arrow broken in all of them.
    demand_all(4, 7);
}

#[test]
fn five_nodes_find_a_master_in_every_hundredth_shape_that_allows_one() {
    demand_all(5, 101);
}
