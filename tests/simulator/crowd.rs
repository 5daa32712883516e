//! More than 32 hosts: the first ones look for everybody, everybody looks for these, and that costs each node the same
//! however many there are.

use std::time::Duration;
use zazen::cluster::{Address, Roles};
use zazen::sim::cluster_world::{self, NodeSpec};
use zazen::sim::scale::{self, Kind, Size};
use zazen::sim::{Fault, Mode, Quality, RunOptions, Unwatched, World, run};
use zazen::zen::rules::Rules;
use zazen::zen::{Tuning, Zen};

/// How many hosts of a crowd are pinged by all.
const FRONT: usize = 8;

type Crowd = World<Zen, Unwatched>;

fn crowd(nodes: usize, tuning: &Tuning) -> Crowd {
    crowd_of(nodes, |spec| NodeSpec { tuning: tuning.clone(), ..spec })
}

fn crowd_of(nodes: usize, set_up: impl Fn(NodeSpec) -> NodeSpec) -> Crowd {
    let mut world = World::new(1, Unwatched);
    let hosts: Vec<_> = (0..nodes).map(cluster_world::address).collect();
    for (node, address) in hosts.iter().enumerate() {
        cluster_world::add(&mut world, set_up(NodeSpec::new(&format!("n{node:03}"), address.clone(), &hosts)));
    }
    world
}

fn everybody(world: &Crowd) -> Vec<usize> {
    (0..world.len()).collect()
}

fn formed(nodes: usize, tuning: &Tuning) -> Crowd {
    let mut world = crowd(nodes, tuning);
    world.start_all();
    led_by_one(&mut world, &(0..nodes).collect::<Vec<_>>(), Duration::from_millis(500));
    // What those who started together told each other is over.
    world.run_for(Duration::from_secs(5)).expect("nobody looks");
    world
}

/// The nodes whose addresses come first, and all others.
fn sides(world: &Crowd) -> (Vec<usize>, Vec<usize>) {
    let mut nodes = everybody(world);
    nodes.sort_by_key(|node| world.peer(*node).clone());
    let others = nodes.split_off(FRONT);
    (nodes, others)
}

fn follows(world: &Crowd, node: usize) -> Option<Address> {
    world.participant(node).and_then(|zen| zen.open_master()).map(|master| master.address.clone())
}

/// Waits until all these nodes follow one of them, and demands that it takes no longer than this.
fn led_by_one(world: &mut Crowd, nodes: &[usize], limit: Duration) {
    let began = world.now();
    let is_led = |world: &Crowd| {
        let master = follows(world, nodes[0]);
        let is_one_of_them = nodes.iter().any(|node| master.as_ref() == Some(world.peer(*node)));
        is_one_of_them && nodes.iter().all(|node| follows(world, *node) == master)
    };
    while !is_led(world) {
        assert!(world.now() < began + limit, "not all {} follow one of them after {limit:?}", nodes.len());
        world.run_for(Duration::from_millis(1)).expect("nobody looks");
    }
}

/// What a cold start and the loss of a master take, in time and in messages for each node: of losses the one in the middle.
fn costs(nodes: usize) -> [(Duration, u64); 2] {
    let (mut starts, mut losses) = (Vec::new(), Vec::new());
    scale::measure(Size { nodes, eligible: nodes }, 9, None, |phase| {
        let cost = (phase.took, phase.messages / nodes as u64);
        match phase.kind {
            Kind::ColdStart => starts.push(cost),
            Kind::MasterKilled => losses.push(cost),
            Kind::TakenIn => {}
        }
    })
    .unwrap_or_else(|violation| panic!("{nodes} nodes: {violation}"));
    losses.sort_unstable();
    [starts[0], losses[losses.len() / 2]]
}

#[test]
fn a_node_of_a_crowd_pays_the_same_however_large_it_is_and_has_its_master_as_soon() {
    let [(start, few), (loss, _)] = costs(30);
    // To each other one a ping, its answer, and a word for each of three changes: a quorum is seen, a state is held, a
    // master is followed. The rest are joins and three publishes, the last of which makes all of them voters.
    assert!((155..170).contains(&few), "{few} messages for each of 30, who all ping all");
    for (nodes, longer) in [(40, 1), (80, 1), (240, 3)] {
        for ((took, messages), before) in costs(nodes).into_iter().zip([start, loss]) {
            assert!(messages < 150, "{messages} messages for each of {nodes}");
            assert!(took <= before + Duration::from_millis(longer), "{took:?} for {nodes} nodes, {before:?} for 30");
        }
    }
}

#[test]
fn a_crowd_whose_first_hosts_all_die_has_a_master_at_once() {
    let mut world = formed(100, &Tuning::default());
    let (first, others) = sides(&world);
    first.into_iter().for_each(|node| world.inject(Fault::Kill(node)));
    led_by_one(&mut world, &others, Duration::from_millis(30));
}

#[test]
fn a_crowd_whose_first_hosts_are_cut_off_has_a_master_after_two_rounds_and_is_one_again_when_they_are_back() {
    let mut world = formed(100, &Tuning::default());
    let (first, others) = sides(&world);
    world.inject(Fault::Partition(vec![first, others.clone()], Mode::Hole));
    led_by_one(&mut world, &others, Duration::from_secs(3));
    world.inject(Fault::Heal);
    let all = everybody(&world);
    led_by_one(&mut world, &all, Duration::from_secs(3));
}

#[test]
fn a_crowd_in_bad_weather_replaces_its_master_within_two_seconds() {
    let mut world = formed(100, &Tuning::default());
    let bad = Quality { delay_min_us: 1_000, delay_max_us: 40_000, loss_percent: 5, ..Quality::default() };
    world.inject(Fault::Weather(bad));
    for _ in 0..5 {
        let master = cluster_world::only_master(&world).expect("one leads");
        world.inject(Fault::Kill(master));
        let mut nodes = everybody(&world);
        nodes.retain(|node| *node != master);
        led_by_one(&mut world, &nodes, Duration::from_secs(2));
        world.inject(Fault::Start(master));
        nodes.push(master);
        led_by_one(&mut world, &nodes, Duration::from_secs(5));
    }
}

#[test]
fn a_crowd_counts_the_minimum_that_its_operator_typed() {
    let tuning = Tuning { minimum_master_nodes: Some(70), ..Tuning::default() };
    let mut world = formed(100, &tuning);
    let (first, others) = sides(&world);
    first.into_iter().for_each(|node| world.inject(Fault::Kill(node)));
    led_by_one(&mut world, &others, Duration::from_millis(1_200));
    let dead = others.len() - 69;
    others[..dead].iter().for_each(|node| world.inject(Fault::Kill(*node)));
    world.run_for(Duration::from_secs(20)).expect("nobody looks");
    assert_eq!(cluster_world::only_master(&world), None, "69 of the 70 that are needed are there");
    world.inject(Fault::Start(others[0]));
    led_by_one(&mut world, &[&others[..1], &others[dead..]].concat(), Duration::from_secs(9));
}

#[test]
fn a_crowd_that_starts_one_by_one_forms_when_more_than_half_is_there() {
    let mut world = crowd(100, &Tuning::default());
    for node in (50..100).rev() {
        world.inject(Fault::Start(node));
        world.run_for(Duration::from_millis(150)).expect("nobody looks");
    }
    world.run_for(Duration::from_secs(10)).expect("nobody looks");
    assert_eq!(cluster_world::only_master(&world), None, "half of 100 are there");
    // Those that are not there refuse, which is an answer: nobody rests.
    world.inject(Fault::Start(49));
    led_by_one(&mut world, &(49..100).collect::<Vec<_>>(), Duration::from_millis(500));
}

#[test]
fn first_hosts_that_cannot_be_master_are_passed_over_in_the_next_round() {
    let mut hosts: Vec<_> = (0..100).map(cluster_world::address).collect();
    hosts.sort();
    let is_first = |address: &Address| hosts[..FRONT].contains(address);
    let mut world =
        crowd_of(100, |spec| NodeSpec { roles: Roles { master: !is_first(&spec.address), ..Roles::ALL }, ..spec });
    world.start_all();
    let all = everybody(&world);
    led_by_one(&mut world, &all, Duration::from_millis(1_200));
    world.run_for(Duration::from_secs(5)).expect("nobody looks");
    // Afterwards it is known who they are.
    let master = cluster_world::only_master(&world).expect("one leads");
    world.inject(Fault::Kill(master));
    let others: Vec<usize> = all.into_iter().filter(|node| *node != master).collect();
    led_by_one(&mut world, &others, Duration::from_millis(100));
}

#[test]
fn random_runs_in_which_three_others_are_a_crowd_break_no_rule() {
    for seed in 1..=25 {
        let tuning = Tuning { crowd: 2, ..Tuning::default() };
        let options = RunOptions {
            seed,
            nodes: None,
            updates: 100,
            tuning,
            rules: Rules::default(),
            half_well: false,
            until: None,
            trace: None,
            is_hashed: false,
        };
        let replay = format!("zazen sim --well --seed {seed} --runs 1 --updates 100 --crowd 2");
        run(&options).unwrap_or_else(|failure| panic!("{}\n{}\nsee: {replay}", failure.draw, failure.violation));
    }
}

#[test]
fn a_crowd_that_is_not_answered_pings_seldom_and_has_a_master_soon_once_it_is() {
    const NODES: usize = 80;
    let mut world = crowd(NODES, &Tuning::default());
    let all = everybody(&world);
    all.iter().for_each(|node| world.inject(Fault::Isolate(*node, Mode::Hole)));
    world.start_all();
    world.run_for(Duration::from_secs(60)).expect("nobody looks");
    let rounds = world.counters().requests as f64 / (NODES * (NODES - 1)) as f64;
    // Without a rest it is sixty; rests of 4 s on average leave twelve, and the first ones are shorter.
    assert!((11.0..18.0).contains(&rounds), "{rounds} rounds in a minute");
    world.inject(Fault::Heal);
    led_by_one(&mut world, &all, Duration::from_secs(12));
}
