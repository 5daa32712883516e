//! Random runs: the same seed gives the same run, event by event, and no run breaks a rule.

use std::time::Duration;
use zazen::sim::cluster_world::{self, NodeSpec};
use zazen::sim::scale::{self, Size};
use zazen::sim::{Fault, Mode, Report, RunOptions, Unwatched, World, run};
use zazen::zen::Tuning;
use zazen::zen::rules::Rules;

/// Seeds that broke a rule once, and what they found. A seed shows the same again only with the generator of its day;
/// with a later one it is a random run like any other.
const REGRESSIONS: [(u64, &str); 1] =
    [(7599, "a vote told an older accepted state than the one that its voter had acknowledged")];

fn options(seed: u64) -> RunOptions {
    RunOptions {
        seed,
        nodes: None,
        updates: 100,
        tuning: Tuning::default(),
        rules: Rules::default(),
        until: None,
        trace: None,
    }
}

fn played(options: &RunOptions) -> Report {
    let replay = format!("zazen sim --seed {} --runs 1 --updates {}", options.seed, options.updates);
    run(options).unwrap_or_else(|failure| panic!("{}\n{}\nsee: {replay}", failure.draw, failure.violation))
}

/// The hash of all events of a run up to this one.
fn hash_after(seed: u64, event: u64) -> u64 {
    played(&RunOptions { until: Some(event), ..options(seed) }).hash
}

/// The first event after which two sequences of running hashes differ, if they do after the last one.
///
/// The hash of an event is taken over all events before it: where two are equal, everything before was.
fn first_difference(events: u64, one: impl Fn(u64) -> u64, other: impl Fn(u64) -> u64) -> Option<u64> {
    let (mut same, mut different) = (0, events);
    if one(events) == other(events) {
        return None;
    }
    while different - same > 1 {
        let middle = same + (different - same) / 2;
        if one(middle) == other(middle) { same = middle } else { different = middle }
    }
    Some(different)
}

#[test]
fn the_same_seed_gives_the_same_run_event_by_event() {
    for seed in 1..=5 {
        let (first, second) = (played(&options(seed)), played(&options(seed)));
        if first.hash != second.hash {
            let events = first.counters.events.min(second.counters.events);
            let event = first_difference(events, |event| hash_after(seed, event), |event| hash_after(seed, event));
            panic!(
                "seed {seed}: two runs differ from event {event:?} of {events} on; look there for what is not drawn \
                    from the seed: zazen sim --seed {seed} --runs 1 --updates 100 --trace full --until {event:?}"
            );
        }
        assert_eq!(first.counters, second.counters, "seed {seed}");
    }
}

#[test]
fn a_run_that_is_ended_early_is_the_beginning_of_the_whole_run() {
    let whole = played(&options(3));
    let events = whole.counters.events;
    for event in [1, 2, 1_000, events / 2, events - 1] {
        let begun = played(&RunOptions { until: Some(event), ..options(3) });
        assert_eq!(begun.counters.events, event);
        assert_eq!(begun.hash, hash_after(3, event), "event {event}");
        assert_ne!(begun.hash, whole.hash, "event {event}");
    }
}

#[test]
fn the_first_different_event_is_found() {
    for place in 1..=64 {
        let found = first_difference(64, |_| 0, |event| u64::from(event >= place));
        assert_eq!(found, Some(place));
    }
    assert_eq!(first_difference(64, |_| 0, |_| 0), None);
}

#[test]
fn different_seeds_give_different_runs() {
    let mut hashes: Vec<u64> = (1..=5).map(|seed| hash_after(seed, 500)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn random_runs_break_no_rule() {
    let reports: Vec<Report> = (1..=40).map(|seed| played(&options(seed))).collect();
    let telling = reports.iter().filter(|report| report.vacuous().is_none()).count();
    assert!(
        telling >= 20,
        "only {telling} of 40 runs prove anything: look at what `Report::vacuous` says of the others"
    );
}

#[test]
fn seeds_that_failed_once_break_no_rule() {
    for (seed, found) in REGRESSIONS {
        let result = run(&RunOptions { updates: 200, ..options(seed) });
        assert!(result.is_ok(), "seed {seed}, which found that {found}: {:?}", result.map_err(|it| it.violation));
    }
}

/// A cold start of so many nodes: how long it took, and how many messages there were for each ordered pair of nodes.
fn cold_start(nodes: usize) -> (Duration, f64) {
    let mut start = None;
    scale::measure(Size { nodes, eligible: nodes }, 0, None, |phase| start = Some(phase.clone()))
        .unwrap_or_else(|violation| panic!("{nodes} nodes: {violation}"));
    let start = start.expect("it was told");
    (start.took, start.messages as f64 / (nodes * (nodes - 1)) as f64)
}

#[test]
fn a_crowd_is_told_only_what_nobody_else_tells_it_and_has_its_master_as_soon() {
    let ((soon, few), (as_soon, many)) = (cold_start(60), cold_start(80));
    // A ping, its answer, and a word for each of three changes: a quorum is seen, a state is held, a master is followed.
    assert!((4.9..5.2).contains(&few), "{few} messages for each pair of 60");
    // That a state is held is not told at all, and that a master is followed only to those who are not in its state yet.
    assert!((3.2..3.6).contains(&many), "{many} messages for each pair of 80");
    assert!(as_soon <= soon + Duration::from_millis(1), "{soon:?} for 60 nodes, {as_soon:?} for 80");
}

#[test]
fn a_crowd_that_is_not_answered_pings_seldom_and_has_a_master_soon_once_it_is() {
    const NODES: usize = 80;
    let mut world = World::new(1, Unwatched);
    let hosts: Vec<_> = (0..NODES).map(cluster_world::address).collect();
    for (node, address) in hosts.iter().enumerate() {
        cluster_world::add(&mut world, NodeSpec::new(&format!("n{node:02}"), address.clone(), &hosts));
        world.inject(Fault::Isolate(node, Mode::Hole));
    }
    world.start_all();
    world.run_for(Duration::from_secs(60)).expect("nobody looks");
    let rounds = world.counters().requests as f64 / (NODES * (NODES - 1)) as f64;
    // Without a rest it is sixty; rests of 4 s on average leave twelve, and the first ones are shorter.
    assert!((11.0..18.0).contains(&rounds), "{rounds} rounds in a minute");
    world.inject(Fault::Heal);
    let end = world.now() + Duration::from_secs(12);
    let is_led = world.run_while(end, |world| cluster_world::only_master(world).is_none()).expect("nobody looks");
    assert!(is_led, "nobody leads 12 s after the links were mended");
}
