//! Who the nodes of a simulated cluster are.

use std::time::Duration;
use zazen::sim::cluster_world::{NodeSpec, add, address, only_master};
use zazen::sim::{Fault, Unwatched, World};
use zazen::zen::Zen;

fn ids(world: &World<Zen, Unwatched>) -> (String, String) {
    let local = world.participant(0).expect("it runs").local();
    (local.id.to_string(), local.ephemeral_id.to_string())
}

#[test]
fn the_disk_decides_who_a_node_is_and_every_process_is_another() {
    let mut world: World<Zen, _> = World::new(1, Unwatched);
    let hosts = [address(0)];
    add(&mut world, NodeSpec::new("a", address(0), &hosts));
    let mut seen = Vec::new();
    for fault in [Fault::Start(0), Fault::Kill(0), Fault::Wipe(0), Fault::Kill(0)] {
        world.inject(fault);
        world.inject(Fault::Start(0));
        world.run_for(Duration::from_secs(1)).expect("nothing is checked");
        seen.push(ids(&world));
    }
    let expected = [("a", "a-1"), ("a", "a-2"), ("a~3", "a-3"), ("a~3", "a-4")];
    assert_eq!(seen, expected.map(|(id, process)| (id.to_owned(), process.to_owned())));
    assert_eq!(only_master(&world), Some(0), "it is alone and leads");
}

#[test]
fn addresses_of_many_nodes_differ() {
    assert_eq!(
        [address(0), address(249), address(250)].map(|address| address.to_string()),
        ["10.0.0.1:9300", "10.0.0.250:9300", "10.0.1.1:9300"]
    );
}
