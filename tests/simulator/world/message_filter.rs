//! The gate, and what a world goes back to when it is healed.

use super::echo::{Echo, Order, echoes, log_of, told};
use std::time::Duration;
use zazen::sim::{Baseline, Fault, Passage, Quality, Unwatched, World};

const SECOND: Duration = Duration::from_secs(1);

fn gated(passage: Passage) -> World<Echo> {
    let mut world = echoes(1, 3, Unwatched);
    world.set_gate(Some(Box::new(move |_, to, _| if to == 1 { passage } else { Passage::Deliver })));
    world
}

#[test]
fn what_is_dropped_never_arrives_and_what_is_not_meant_passes() {
    let mut world = gated(Passage::Drop);
    assert_eq!(told(&mut world, 0, Order::Ping(1, SECOND), SECOND * 2), ["call 1 timed out"]);
    assert_eq!(told(&mut world, 0, Order::Ping(2, SECOND), SECOND * 2), ["call 2: Pong(2)"]);
    assert_eq!((world.counters().lost, world.release(|_, _, _| true)), (1, 0));
    world.set_gate(None);
    assert_eq!(told(&mut world, 0, Order::Ping(1, SECOND), SECOND * 2), ["call 3: Pong(3)"]);
}

#[test]
fn what_is_held_arrives_in_order_when_it_is_released() {
    let mut world = gated(Passage::Hold);
    for _ in 0..2 {
        told(&mut world, 0, Order::Ping(1, SECOND * 9), SECOND);
    }
    assert_eq!(log_of(&world, 1).len(), 1, "nothing but the start");
    assert_eq!(world.release(|from, _, _| from == 2), 0, "node 2 sent nothing");
    world.inject(Fault::Weather(Quality { delay_max_us: 100, ..Quality::default() }));
    assert_eq!(world.release(|from, to, _| (from, to) == (0, 1)), 2);
    assert_eq!(told(&mut world, 0, Order::Nothing, SECOND), ["call 1: Pong(1)", "call 2: Pong(2)"]);
    assert_eq!(log_of(&world, 1)[1..], ["received Ping(1)", "received Ping(2)"]);
}

#[test]
fn a_healed_world_is_as_it_was_called_normal() {
    let slow = Quality { delay_min_us: 7_000, delay_max_us: 7_000, ..Quality::default() };
    let normal = Baseline { quality: slow, disk_us: (3_000, 3_000), loses_unsynced: true, ..Baseline::default() };
    let mut world = echoes(1, 2, Unwatched);
    world.set_normal(normal);
    world.inject(Fault::Weather(Quality::default()));
    world.inject(Fault::Disk(0, 1, 1));
    world.inject(Fault::Heal);
    assert_eq!(world.quality(), slow);
    let before = log_of(&world, 0).len();
    world.ask(0, Order::Store { lazy: false });
    world.run_for(Duration::from_micros(2_900)).expect("nothing is checked");
    assert_eq!(log_of(&world, 0).len(), before + 1, "it was asked, the write is not done");
    world.inject(Fault::Kill(0));
    world.inject(Fault::Start(0));
    assert!(world.disk(0).0.is_empty(), "what was not synced is lost");
}
