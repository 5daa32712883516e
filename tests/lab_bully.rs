//! The Bully algorithm in the simulated world: the worked examples of its descriptions, and its known faults.

use std::time::Duration;
use zazen::lab::Rank;
use zazen::lab::bully::{Bully, Note, Question};
use zazen::protocol::Time;
use zazen::sim::{Fault, Mode, Violation, Watch, World};

/// Writes down who was eliminated, and by whom.
#[derive(Default)]
struct Eliminations(Vec<(usize, u32)>);

impl Watch<Bully> for Eliminations {
    fn noted(&mut self, _: Time, node: usize, note: &Note) -> Result<(), Violation> {
        if let Note::Eliminated { by } = note {
            self.0.push((node + 1, by.0));
        }
        Ok(())
    }
}

type Processes = World<Bully, Eliminations>;

/// Processes 1 to `count` (at the indices below), after their first election.
fn processes(count: u32) -> Processes {
    let all: Vec<Rank> = (1..=count).map(Rank).collect();
    let mut world = World::new(7, Eliminations::default());
    for &rank in &all {
        let all = all.clone();
        world.add(rank, Vec::new(), move |_| Bully::new(rank, &all));
    }
    world.start_all();
    pass(&mut world, 2_000);
    assert_eq!(leaders(&world), vec![Some(count); count as usize], "the highest leads");
    world.watch.0.clear();
    world
}

fn pass(world: &mut Processes, millis: u64) {
    world.run_for(Duration::from_millis(millis)).expect("nothing is checked");
}

/// Whom each process takes for the leader; none where none runs.
fn leaders(world: &Processes) -> Vec<Option<u32>> {
    let running = |node: usize| world.participant(node).filter(|_| world.is_running(node));
    (0..world.len()).map(|node| running(node)?.leader().map(|leader| leader.0)).collect()
}

fn eliminations(world: &mut Processes) -> Vec<(usize, u32)> {
    let mut all = std::mem::take(&mut world.watch.0);
    all.sort_unstable();
    all
}

#[test]
fn example_a_two_notice_then_one_and_the_second_highest_leads() {
    let mut world = processes(5);
    world.inject(Fault::PowerLoss(4));
    world.ask(1, Question::HoldElection);
    world.ask(2, Question::HoldElection);
    pass(&mut world, 5);
    assert_eq!(eliminations(&mut world), [(2, 3), (2, 4), (3, 4)]);
    world.ask(0, Question::HoldElection);
    pass(&mut world, 5);
    assert_eq!(eliminations(&mut world), [(1, 2), (1, 3), (1, 4)]);
    assert_eq!(leaders(&world), [None; 5], "4 still waits for 5");
    pass(&mut world, 100);
    assert_eq!(leaders(&world), [Some(4), Some(4), Some(4), Some(4), None]);
}

#[test]
fn example_b_four_and_five_answer_and_five_leads() {
    let mut world = processes(6);
    world.inject(Fault::PowerLoss(5));
    world.ask(2, Question::HoldElection);
    pass(&mut world, 5);
    assert_eq!(eliminations(&mut world), [(3, 4), (3, 5), (4, 5)]);
    pass(&mut world, 150);
    assert_eq!(leaders(&world), [Some(5), Some(5), Some(5), Some(5), Some(5), None]);
}

#[test]
fn a_leader_whose_process_ended_is_replaced_by_the_next_beat() {
    let mut world = processes(3);
    world.inject(Fault::Kill(2));
    pass(&mut world, 210);
    assert_eq!(leaders(&world), [Some(2), Some(2), None]);
}

#[test]
fn a_recovered_process_bullies_a_healthy_leader_away() {
    let mut world = processes(3);
    world.inject(Fault::Kill(2));
    pass(&mut world, 1_000);
    world.inject(Fault::Start(2));
    pass(&mut world, 5);
    assert_eq!(leaders(&world), [Some(3); 3]);
}

#[test]
fn known_fault_each_side_of_a_partition_elects() {
    let mut world = processes(5);
    world.inject(Fault::Partition(vec![vec![0, 1, 2], vec![3, 4]], Mode::Hole));
    pass(&mut world, 2_000);
    assert_eq!(leaders(&world), [Some(3), Some(3), Some(3), Some(5), Some(5)]);
    world.inject(Fault::Mend);
    pass(&mut world, 10_000);
    assert_eq!(leaders(&world), [Some(3), Some(3), Some(3), Some(5), Some(5)], "and nobody notices that it is over");
}

#[test]
fn known_fault_an_unstable_highest_takes_over_again_and_again() {
    let mut world = processes(5);
    for _ in 0..10 {
        world.inject(Fault::Pause(4));
        pass(&mut world, 2_000);
        assert_eq!(leaders(&world), [Some(4), Some(4), Some(4), Some(4), None], "it hangs and is replaced");
        world.inject(Fault::Resume(4));
        pass(&mut world, 2_000);
        assert_eq!(leaders(&world), [Some(5); 5], "it returns and takes over");
    }
}
