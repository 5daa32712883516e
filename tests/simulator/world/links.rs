//! Held links: both ends learn of the end, unless something keeps the news back.

use super::echo::{Address, Echo, Order, echoes, log_of, told};
use std::time::Duration;
use zazen::sim::{Fault, Mode, Unwatched, World};

const SECOND: Duration = Duration::from_secs(1);

/// Two nodes, and 0 holds a link to 1.
fn linked() -> World<Echo> {
    let mut world = echoes(1, 2, Unwatched);
    assert_eq!(told(&mut world, 0, Order::Link(1), SECOND), Vec::<String>::new());
    world
}

fn meanwhile(world: &mut World<Echo>, node: usize, span: Duration) -> Vec<String> {
    told(world, node, Order::Nothing, span)
}

#[test]
fn the_end_of_either_process_reaches_the_other_in_one_delay() {
    let mut world = linked();
    world.inject(Fault::Kill(1));
    assert_eq!(meanwhile(&mut world, 0, Duration::from_millis(1)), ["link with host1 closed"]);
    let mut world = linked();
    world.inject(Fault::Kill(0));
    assert_eq!(meanwhile(&mut world, 1, Duration::from_millis(1)), ["link with host0 closed"]);
}

#[test]
fn either_end_can_let_go_and_the_other_is_told() {
    let mut world = linked();
    assert_eq!(told(&mut world, 0, Order::Unlink(1), SECOND), Vec::<String>::new());
    assert_eq!(log_of(&world, 1).last().map(String::as_str), Some("link with host0 closed"));
    let mut world = linked();
    assert_eq!(told(&mut world, 1, Order::Unlink(0), SECOND), Vec::<String>::new());
    assert_eq!(log_of(&world, 0).last().map(String::as_str), Some("link with host1 closed"));
}

#[test]
fn a_link_to_nobody_is_closed_at_once_and_into_a_hole_after_three_seconds() {
    let mut world = echoes(1, 2, Unwatched);
    assert_eq!(told(&mut world, 0, Order::Link(7), SECOND), ["link with host7 closed"]);
    world.inject(Fault::Kill(1));
    assert_eq!(told(&mut world, 0, Order::Link(1), SECOND), ["link with host1 closed"]);
    world.inject(Fault::Start(1));
    world.inject(Fault::Link(0, 1, Mode::Hole));
    assert_eq!(told(&mut world, 0, Order::Link(1), SECOND * 2), Vec::<String>::new());
    assert_eq!(meanwhile(&mut world, 0, SECOND * 2), ["link with host1 closed"]);
}

#[test]
fn a_link_is_made_once_the_hole_is_gone() {
    let mut world = echoes(1, 2, Unwatched);
    world.inject(Fault::Cut(0, 1, Mode::Hole));
    told(&mut world, 0, Order::Link(1), SECOND);
    world.inject(Fault::Mend);
    told(&mut world, 0, Order::Link(1), SECOND * 5);
    world.inject(Fault::Kill(0));
    assert_eq!(meanwhile(&mut world, 1, SECOND), ["link with host0 closed"]);
}

#[test]
fn a_hole_keeps_the_news_back_until_it_is_gone() {
    let mut world = linked();
    world.inject(Fault::Cut(0, 1, Mode::Hole));
    world.inject(Fault::Kill(1));
    assert_eq!(meanwhile(&mut world, 0, SECOND * 9), Vec::<String>::new());
    world.inject(Fault::Mend);
    assert_eq!(meanwhile(&mut world, 0, SECOND * 2), ["link with host1 closed"]);
}

#[test]
fn a_power_loss_gives_no_notice_until_the_machine_is_back() {
    let mut world = linked();
    world.inject(Fault::PowerLoss(1));
    assert_eq!(meanwhile(&mut world, 0, SECOND * 9), Vec::<String>::new());
    world.inject(Fault::Start(1));
    assert_eq!(meanwhile(&mut world, 0, SECOND), ["link with host1 closed"]);
}

#[test]
fn a_link_that_begins_to_refuse_closes_at_both_ends() {
    let mut world = linked();
    world.inject(Fault::Link(0, 1, Mode::Refuse));
    assert_eq!(meanwhile(&mut world, 0, SECOND), ["link with host1 closed"]);
    assert_eq!(log_of(&world, 1).last().map(String::as_str), Some("link with host0 closed"));
}

#[test]
fn a_node_that_moved_is_found_at_its_new_address_only() {
    let mut world = linked();
    told(&mut world, 1, Order::Link(0), SECOND);
    world.inject(Fault::Kill(1));
    world.move_to(1, Address(9));
    world.inject(Fault::Start(1));
    let closed = meanwhile(&mut world, 0, SECOND);
    assert_eq!(closed, ["link with host1 closed", "link with host1 closed"], "its links were with its old address");
    assert_eq!(told(&mut world, 0, Order::Ping(1, SECOND), SECOND), ["call 1 refused"]);
    assert_eq!(told(&mut world, 0, Order::Ping(9, SECOND), SECOND), ["call 2: Pong(2)"]);
}
