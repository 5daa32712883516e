//! The same seed gives the same run, also with faults, and a run can be read.

use super::echo::{Address, Echo, Order, echoes};
use std::time::Duration;
use zazen::protocol::Time;
use zazen::sim::{Detail, Fault, Plan, Unwatched, World};

fn chat(seed: u64) -> World<Echo> {
    let mut world = World::new(seed, Unwatched);
    for node in 0..5 {
        world.add(Address(node), Vec::new(), Echo::chatty(5));
    }
    world
}

/// The hash after each of many events under a plan of faults.
fn hashes(seed: u64) -> Vec<u64> {
    let mut world = chat(seed);
    let mut plan = Plan::draw(seed, 5, Time::ZERO);
    world.start_all();
    plan.standing_faults().into_iter().for_each(|fault| world.inject(fault));
    let mut hashes = Vec::new();
    while world.now() < Time::from_micros(500_000) {
        world.run_until(plan.next_at()).expect("nothing is checked");
        hashes.push(world.trace_hash());
        if let Some(fault) = plan.take() {
            world.inject(fault);
        }
        for _ in 0..20 {
            world.step().expect("nothing is checked");
            hashes.push(world.trace_hash());
        }
    }
    hashes
}

#[test]
fn the_seed_determines_every_event() {
    for seed in 0..20 {
        let (one, two) = (hashes(seed), hashes(seed));
        let differs = one.iter().zip(&two).position(|(one, two)| one != two);
        assert_eq!((differs, one.len()), (None, two.len()), "seed {seed}");
        assert_ne!(one.last(), hashes(seed + 1_000).last(), "seed {seed}");
    }
}

#[test]
fn under_any_faults_each_call_has_one_outcome() {
    for seed in 0..30 {
        let mut world = chat(seed);
        let mut plan = Plan::draw(seed, 5, Time::ZERO);
        world.start_all();
        plan.standing_faults().into_iter().for_each(|fault| world.inject(fault));
        world.run_plan(&mut plan, Time::from_micros(2_000_000)).expect("nothing is checked");
        world.inject(Fault::Heal);
        world.run_for(Duration::from_secs(5)).expect("nothing is checked");
        for (node, echo) in world.participants() {
            assert!(echo.open.len() < 2_500, "seed {seed}: {} calls of n{node} have no outcome", echo.open.len());
            let oldest = echo.open.first().map_or(echo.calls, |call| call.0);
            assert!(echo.calls - oldest < 2_500, "seed {seed}: call {oldest} of n{node} has no outcome");
        }
    }
}

#[test]
fn plans_draw_every_kind_of_fault_and_end_what_they_begin() {
    let mut counted = chat(1);
    for seed in 0..200 {
        let mut plan = Plan::draw(seed, 5, Time::ZERO);
        for _ in 0..50 {
            let at = plan.next_at();
            if let Some(fault) = plan.take() {
                counted.inject(fault);
            }
            assert!(plan.next_at() >= at, "time does not run back");
        }
        assert!(plan.to_string().contains("weather"));
    }
    let kinds: Vec<&str> = counted.counters().faults.keys().copied().collect();
    let expected = "bridge cut disk graph isolate kill link mend partition pause power-loss resume ring seeds start";
    assert_eq!(kinds.join(" "), expected);
}

#[test]
fn healing_brings_everybody_back() {
    let mut world = chat(3);
    for fault in ["kill n0", "power-loss n1", "pause n2", "partition n0 n1,n2 n3,n4 refuse", "weather loss=90", "heal"]
    {
        world.inject(fault.parse().expect("a fault"));
    }
    world.run_for(Duration::from_secs(1)).expect("nothing is checked");
    assert!((0..5).all(|node| world.is_running(node)));
    assert_eq!(world.counters().lost, 0);
}

#[test]
fn the_short_trace_tells_of_notes_faults_and_standing() {
    let mut world = echoes(1, 2, Unwatched);
    world.trace(Detail::Short, 100);
    world.ask(1, Order::Silence);
    world.run_for(Duration::from_millis(1)).expect("nothing is checked");
    world.inject(Fault::Kill(1));
    world.inject(Fault::Start(1));
    let expected = [
        "    0.000001s        1  s        = s term 0 version 0 leader -",
        "    0.001000s        1           ! kill n1",
        "    0.001000s        1  -        = ended",
        "    0.001000s        1           ! start n1",
        "    0.001000s        1  e        = e term 0 version 0 leader -",
        "    0.001000s        1  e        \" boot 1",
    ];
    assert_eq!(world.take_trace(), expected);
}

#[test]
fn the_full_trace_follows_a_request() {
    let mut world = echoes(1, 2, Unwatched);
    world.trace(Detail::Full, 4);
    world.ask(0, Order::Ping(1, Duration::from_secs(1)));
    world.run_for(Duration::from_millis(10)).expect("nothing is checked");
    let texts: Vec<String> = world.trace_lines().map(|line| line[23..].to_owned()).collect();
    assert_eq!(
        texts,
        [
            "e         answered 1: ()",
            " e        < Ping(1)",
            " e        > n0 reply Pong(1)",
            "e         < reply to 1: Pong(1)"
        ]
    );
}
