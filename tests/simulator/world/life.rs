//! Processes, disks and clocks.

use super::echo::{Echo, Order, echoes, log_of, told};
use std::collections::BTreeSet;
use std::time::Duration;
use zazen::protocol::{Protocol, Ticket, Time};
use zazen::sim::{Fault, Unwatched, Violation, Watch};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_paused_node_takes_everything_in_order_when_it_goes_on() {
    let mut world = echoes(1, 2, Unwatched);
    told(&mut world, 1, Order::Sleep(SECOND), Duration::from_millis(10));
    world.inject(Fault::Pause(1));
    world.ask(0, Order::Tell(1));
    world.run_for(SECOND * 2).expect("nothing is checked");
    world.ask(1, Order::Store { lazy: false });
    world.run_for(SECOND).expect("nothing is checked");
    assert_eq!(log_of(&world, 1).len(), 2, "nothing was handled");
    world.inject(Fault::Resume(1));
    world.run_for(SECOND).expect("nothing is checked");
    assert_eq!(log_of(&world, 1)[2..], ["received Ping(0)", "woke", "asked Store { lazy: false }", "stored 1"]);
}

#[test]
fn effects_wait_for_the_write_before_them_and_other_batches_do_not() {
    let mut world = echoes(1, 2, Unwatched);
    world.inject(Fault::Disk(0, 500_000, 500_000));
    world.ask(0, Order::StoreThenPing(1));
    world.ask(0, Order::Ping(1, SECOND));
    world.run_for(SECOND).expect("nothing is checked");
    assert_eq!(log_of(&world, 1)[1..], ["received Ping(2)", "received Ping(1)"]);
    assert_eq!(log_of(&world, 0)[3..], ["call 2: Pong(2)", "stored 1", "call 1: Pong(1)"]);
}

/// The writes that are left of five, the third of them synced, after a crash in the middle of the fifth.
fn left_after_crash(seed: u64, lazy: [bool; 5]) -> Vec<u64> {
    let mut world = echoes(seed, 1, Unwatched);
    for lazy in &lazy[..4] {
        told(&mut world, 0, Order::Store { lazy: *lazy }, SECOND);
    }
    world.inject(Fault::Disk(0, 900_000, 900_000));
    told(&mut world, 0, Order::Store { lazy: lazy[4] }, Duration::from_millis(1));
    world.inject(Fault::PowerLoss(0));
    world.inject(Fault::Start(0));
    world.disk(0).0.clone()
}

#[test]
fn a_crash_keeps_what_was_synced_and_a_prefix_of_the_rest() {
    let lazy = [true, true, false, true, false];
    let left: BTreeSet<Vec<u64>> = (0..50).map(|seed| left_after_crash(seed, lazy)).collect();
    let prefixes = [vec![1, 2, 3], vec![1, 2, 3, 4], vec![1, 2, 3, 4, 5]];
    assert_eq!(left, BTreeSet::from(prefixes));
}

#[test]
fn a_disk_that_hangs_finishes_nothing_until_it_is_mended() {
    let mut world = echoes(1, 2, Unwatched);
    world.inject(Fault::Disk(0, 500_000, 500_000));
    told(&mut world, 0, Order::Store { lazy: false }, SECOND / 4);
    world.inject(Fault::DiskHangs(0));
    told(&mut world, 0, Order::StoreThenPing(1), SECOND * 600);
    assert_eq!((world.disk(0).0.len(), log_of(&world, 1).len()), (0, 1), "not even what was under way is written");
    world.inject(Fault::Disk(0, 100, 100));
    assert_eq!(told(&mut world, 0, Order::Nothing, SECOND), ["stored 1", "stored 2", "call 1: Pong(1)"]);
    world.inject(Fault::DiskHangs(0));
    told(&mut world, 0, Order::Store { lazy: true }, SECOND);
    world.inject(Fault::Heal);
    assert_eq!(told(&mut world, 0, Order::Nothing, SECOND), ["stored 3"]);
}

#[test]
fn a_process_that_starts_on_a_disk_that_hangs_reads_it_and_writes_nothing() {
    let mut world = echoes(1, 1, Unwatched);
    told(&mut world, 0, Order::Store { lazy: false }, SECOND);
    world.inject(Fault::DiskHangs(0));
    world.inject(Fault::Kill(0));
    world.inject(Fault::Start(0));
    told(&mut world, 0, Order::Store { lazy: false }, SECOND);
    assert_eq!(world.disk(0).0, [1]);
    world.inject(Fault::Disk(0, 100, 100));
    told(&mut world, 0, Order::Nothing, SECOND);
    assert_eq!(world.disk(0).0, [1, 2]);
}

#[test]
fn a_wiped_disk_is_empty() {
    let mut world = echoes(1, 1, Unwatched);
    told(&mut world, 0, Order::Store { lazy: false }, SECOND);
    world.inject(Fault::Wipe(0));
    world.inject(Fault::Start(0));
    assert_eq!(world.disk(0).0, Vec::<u64>::new());
}

#[test]
fn a_clock_runs_at_its_rate_and_begins_again_with_the_process() {
    let mut world = echoes(1, 2, Unwatched);
    world.inject(Fault::Clock(0, 2_000_000));
    world.ask(0, Order::Sleep(SECOND * 2));
    world.ask(1, Order::Sleep(SECOND * 2));
    world.run_until(Time::ZERO + Duration::from_millis(1_100)).expect("nothing is checked");
    assert_eq!(log_of(&world, 0).last().map(String::as_str), Some("woke"), "after one second of the world");
    assert_ne!(log_of(&world, 1).last().map(String::as_str), Some("woke"));
    assert_eq!(world.local_time(0), Time::from_micros(2_200_000));
    world.inject(Fault::Kill(0));
    world.inject(Fault::Start(0));
    world.run_for(SECOND).expect("nothing is checked");
    assert_eq!(world.local_time(0), Time::from_micros(2_000_000));
}

#[test]
fn a_changed_rate_moves_a_deadline_that_is_set() {
    let mut world = echoes(1, 1, Unwatched);
    world.ask(0, Order::Sleep(SECOND * 10));
    world.run_for(SECOND).expect("nothing is checked");
    world.inject(Fault::Clock(0, 10_000_000));
    world.run_for(SECOND).expect("nothing is checked");
    let woke = &world.participant(0).expect("it runs").log[2];
    assert_eq!((woke.1.as_str(), woke.0.as_micros() / 1_000), ("woke", 10_000));
}

/// Writes down what became of questions, and objects to a second process.
#[derive(Default)]
struct Clerk {
    answered: Vec<u64>,
    lost: Vec<u64>,
}

impl Watch<Echo> for Clerk {
    fn answered(&mut self, _: Time, _: usize, ticket: Ticket, (): &()) -> Result<(), Violation> {
        self.answered.push(ticket.0);
        Ok(())
    }

    fn lost(&mut self, _: Time, _: usize, ticket: Ticket) -> Result<(), Violation> {
        self.lost.push(ticket.0);
        Ok(())
    }

    fn handled(&mut self, at: Time, node: usize, participant: &Echo) -> Result<(), Violation> {
        if participant.standing().mode == 's' {
            return Err(Violation { checker: "clerk", what: format!("n{node} is silent at {at}") });
        }
        Ok(())
    }
}

#[test]
fn a_watch_hears_of_answers_and_of_questions_that_nobody_will_answer() {
    let mut world = echoes(1, 1, Clerk::default());
    world.inject(Fault::Pause(0));
    world.ask(0, Order::Nothing);
    world.inject(Fault::Kill(0));
    world.ask(0, Order::Nothing);
    world.inject(Fault::Start(0));
    world.ask(0, Order::Nothing);
    world.run_for(SECOND).expect("nobody is silent");
    assert_eq!((&world.watch.answered[..], &world.watch.lost[..]), (&[3][..], &[1, 2][..]));
}

#[test]
fn a_watch_stops_the_run_with_what_it_saw() {
    let mut world = echoes(1, 2, (Clerk::default(), Unwatched));
    world.ask(1, Order::Silence);
    let stopped = world.run_for(SECOND).expect_err("the clerk objects");
    assert_eq!(stopped.to_string(), "clerk: n1 is silent at 0.000001s");
    assert_eq!(world.run_for(SECOND), Err(stopped), "and it stays stopped");
}
