//! Calls: each has one outcome, and it tells what happened.

use super::echo::{Echo, Message, Order, echoes, log_of, told};
use std::time::Duration;
use zazen::protocol::Time;
use zazen::sim::{Fault, Mode, Quality, Unwatched, World};

const SECOND: Duration = Duration::from_secs(1);

fn ping(world: &mut World<Echo>, to: usize) -> Vec<String> {
    told(world, 0, Order::Ping(to, SECOND), SECOND * 2)
}

fn pair() -> World<Echo> {
    echoes(1, 2, Unwatched)
}

#[test]
fn a_request_is_replied_to_and_a_node_reaches_itself() {
    let mut world = pair();
    assert_eq!(ping(&mut world, 1), ["call 1: Pong(1)"]);
    world.inject(Fault::Isolate(0, Mode::Hole));
    assert_eq!(ping(&mut world, 0), ["received Ping(2)", "call 2: Pong(2)"]);
}

#[test]
fn an_ended_process_an_unknown_address_and_a_refusing_link_refuse() {
    let mut world = pair();
    assert_eq!(ping(&mut world, 7), ["call 1 refused"]);
    world.inject(Fault::Kill(1));
    assert_eq!(ping(&mut world, 1), ["call 2 refused"]);
    world.inject(Fault::Start(1));
    world.inject(Fault::Link(0, 1, Mode::Refuse));
    assert_eq!(ping(&mut world, 1), ["call 3 refused"]);
    let back = told(&mut world, 1, Order::Ping(0, SECOND), SECOND * 2);
    assert_eq!(back, ["call 1: Pong(1)"], "only the other way is refused");
}

#[test]
fn silence_is_a_timeout_be_it_a_hole_a_power_loss_or_a_pause() {
    let mut world = pair();
    world.inject(Fault::Link(0, 1, Mode::Hole));
    assert_eq!(ping(&mut world, 1), ["call 1 timed out"]);
    world.inject(Fault::Mend);
    world.inject(Fault::Link(1, 0, Mode::Hole));
    assert_eq!(ping(&mut world, 1), ["call 2 timed out"]);
    assert!(log_of(&world, 1).contains(&"received Ping(2)".to_owned()), "only the reply was swallowed");
    world.inject(Fault::Mend);
    world.inject(Fault::Pause(1));
    assert_eq!(ping(&mut world, 1), ["call 3 timed out"]);
    world.inject(Fault::PowerLoss(1));
    assert_eq!(ping(&mut world, 1), ["call 4 timed out"]);
    world.inject(Fault::Start(1));
    assert_eq!(ping(&mut world, 1), ["call 5: Pong(5)"]);
}

#[test]
fn a_hole_for_requests_lets_replies_pass() {
    let mut world = pair();
    world.inject(Fault::Link(1, 0, Mode::RequestHole));
    assert_eq!(ping(&mut world, 1), ["call 1: Pong(1)"]);
    assert_eq!(told(&mut world, 1, Order::Ping(0, SECOND), SECOND * 2), ["call 1 timed out"]);
}

#[test]
fn a_process_that_ends_before_it_replied_resets_the_call() {
    let mut world = pair();
    told(&mut world, 1, Order::Silence, SECOND);
    told(&mut world, 0, Order::Ping(1, SECOND * 9), SECOND);
    world.inject(Fault::Kill(1));
    assert_eq!(told(&mut world, 0, Order::Nothing, SECOND), ["call 1 reset"]);
    told(&mut world, 0, Order::Nothing, SECOND * 20);
    assert_eq!(log_of(&world, 0).iter().filter(|line| line.starts_with("call")).count(), 1, "one outcome");
}

#[test]
fn a_link_that_begins_to_refuse_resets_what_waits() {
    let mut world = pair();
    told(&mut world, 1, Order::Silence, SECOND);
    told(&mut world, 0, Order::Ping(1, SECOND * 9), SECOND);
    world.inject(Fault::Cut(0, 1, Mode::Refuse));
    assert_eq!(told(&mut world, 0, Order::Nothing, SECOND), ["call 1 reset"]);
}

#[test]
fn a_reply_after_the_timeout_is_dropped() {
    let mut world = pair();
    world.inject(Fault::Weather(Quality { delay_min_us: 600_000, delay_max_us: 600_000, ..Quality::default() }));
    assert_eq!(ping(&mut world, 1), ["call 1 timed out"]);
    assert!(log_of(&world, 1).contains(&"received Ping(1)".to_owned()));
}

#[test]
fn what_is_duplicated_is_handled_twice_and_answered_once() {
    let mut world = pair();
    world.inject(Fault::Weather(Quality { duplicate_percent: 100, ..Quality::default() }));
    assert_eq!(ping(&mut world, 1), ["call 1: Pong(1)"]);
    told(&mut world, 0, Order::Tell(1), SECOND);
    assert_eq!(
        log_of(&world, 1)[1..],
        ["received Ping(1)", "received Ping(1)", "received Ping(0)", "received Ping(0)"]
    );
    assert_eq!(world.counters().duplicated, 2);
}

#[test]
fn a_restarted_sender_hears_nothing_of_its_earlier_calls() {
    let mut world = pair();
    world.ask(0, Order::Ping(1, SECOND));
    world.run_for(Duration::from_micros(50)).expect("nothing is checked");
    world.inject(Fault::Kill(0));
    world.inject(Fault::Start(0));
    assert_eq!(told(&mut world, 0, Order::Nothing, SECOND * 2), Vec::<String>::new());
    assert_eq!(log_of(&world, 1)[1..], ["received Ping(1)"]);
}

#[test]
fn shapes_leave_the_arrows_that_they_name() {
    let mut world = echoes(1, 4, Unwatched);
    let arrows = |world: &World<Echo>| {
        let pairs = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
        pairs.filter(|&(from, to)| from != to && world.link(from, to) == Mode::Up).collect::<Vec<_>>()
    };
    world.inject("partition n0,n1 n2,n3".parse().expect("a fault"));
    assert_eq!(arrows(&world), [(0, 1), (1, 0), (2, 3), (3, 2)]);
    world.inject("bridge n0 n1 n2,n3".parse().expect("a fault"));
    assert_eq!(arrows(&world), [(0, 1), (1, 0), (1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)]);
    world.inject("ring n0,n1,n2,n3".parse().expect("a fault"));
    assert_eq!(arrows(&world), [(0, 1), (0, 3), (1, 0), (1, 2), (2, 1), (2, 3), (3, 0), (3, 2)]);
    world.inject("graph 2049".parse().expect("a fault"));
    assert_eq!(arrows(&world), [(0, 1), (3, 2)], "the lowest and the highest bit");
    world.inject(Fault::HealOnly(vec![1, 2]));
    assert_eq!(arrows(&world), [(0, 1), (1, 2), (2, 1), (3, 2)]);
    world.inject(Fault::Heal);
    assert_eq!(arrows(&world).len(), 12);
}

#[test]
fn seeds_are_told_unless_their_look_up_is_down() {
    let mut world = pair();
    assert_eq!(told(&mut world, 0, Order::Resolve, SECOND), ["seeds 1"]);
    world.inject(Fault::Seeds(0, false));
    assert_eq!(told(&mut world, 0, Order::Resolve, SECOND), Vec::<String>::new());
}

#[test]
fn a_link_with_a_rate_takes_longer_for_what_is_larger_and_lets_the_large_wait_for_each_other() {
    let mut world = pair();
    world.weigh_messages(|message| if matches!(message, Message::Ping(_)) { 10_000 } else { 10 });
    let slow = Quality { delay_min_us: 1_000, delay_max_us: 1_000, bytes_per_s: 100_000, ..Quality::default() };
    world.inject(Fault::LinkWeather(0, 1, slow));
    for _ in 0..3 {
        world.ask(0, Order::Ping(1, SECOND));
    }
    world.run_for(SECOND).expect("nothing is checked");
    let received = world.participant(1).expect("it runs").log.iter().filter(|(_, line)| line.starts_with("received"));
    let times: Vec<u128> = received.map(|(at, _)| at.since(Time::ZERO).as_millis()).collect();
    assert_eq!(times, [101, 201, 301]);
}

#[test]
fn an_address_that_nobody_reaches_swallows_or_refuses_what_needs_a_connection() {
    let mut world = pair();
    world.inject(Fault::Unreachable(1, Mode::Hole));
    assert_eq!(ping(&mut world, 1), ["call 1 timed out"]);
    world.inject(Fault::Unreachable(1, Mode::Refuse));
    assert_eq!(ping(&mut world, 1), ["call 2 refused"]);
    let back = told(&mut world, 1, Order::Ping(0, SECOND), SECOND * 2);
    assert_eq!(back, ["call 1: Pong(1)"], "it reaches others itself, and the reply passes");
    let own = told(&mut world, 1, Order::Ping(1, SECOND), SECOND * 2);
    assert_eq!(own.last().map(String::as_str), Some("call 2: Pong(2)"), "and itself");
    assert_eq!(told(&mut world, 0, Order::Link(1), SECOND), ["link with host1 closed"]);
    world.inject(Fault::Reachable(1));
    assert_eq!(ping(&mut world, 1), ["call 3: Pong(3)"]);
}

#[test]
fn what_may_goes_over_a_link_that_an_unreachable_node_opened_itself() {
    let mut world = pair();
    world.inject(Fault::Unreachable(1, Mode::Hole));
    told(&mut world, 1, Order::Link(0), SECOND);
    assert_eq!(ping(&mut world, 1), ["call 1 timed out"], "nothing goes over links unless it is said");
    world.send_over_links(|message| matches!(message, Message::Ping(_)));
    assert_eq!(ping(&mut world, 1), ["call 2: Pong(2)"]);
    told(&mut world, 1, Order::Unlink(0), SECOND);
    assert_eq!(ping(&mut world, 1), ["call 3 timed out"], "the link is gone");
}
