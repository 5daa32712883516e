//! The algorithms of the lab: their textbook examples as stories (`tests/lab`), their message counts against the theory,
//! and what the arena finds about each.
//!
//! With `ZAZEN_BLESS=1` the stories are written as they came out.

use crate::scripts::{self, Played};
use std::fs;
use std::time::Duration;
use zazen::arena::{self, Arrow, Entry, FIELD, Figures, SCENARIOS, Scenario, Story, Trial};
use zazen::lab::roster::ROSTER;
use zazen::lab::zookeeper::{Server, Trust};
use zazen::lab::{BEAT_EVERY, Participant, Rank};
use zazen::settings::EXPERIMENTS;
use zazen::sim::script::Script;
use zazen::sim::{Boot, Fault, Unwatched, World};

const FOLDER: &str = "tests/lab";

#[test]
fn the_algorithms_tell_the_stories_of_their_textbooks() {
    scripts::demand(&scripts::all(FOLDER), "lab", play);
}

fn play(script: &Script) -> Played {
    let mut story = Story::new();
    script.blocks().map(|block| story.play(block).map_err(|trouble| (trouble.line, trouble.what))).collect()
}

#[test]
fn every_algorithm_of_the_lab_has_a_story() {
    let texts = scripts::all(FOLDER).into_iter().map(|file| fs::read_to_string(file).expect("a script can be read"));
    let all: String = texts.collect();
    let told = |name: &str| all.lines().any(|line| line.split(' ').take(2).eq(["algorithm", name]));
    let untold: Vec<&str> = ROSTER.iter().map(|part| part.name).filter(|name| !told(name)).collect();
    assert!(untold.is_empty(), "{FOLDER} has no story of {untold:?}");
}

#[test]
fn real_nodes_can_elect_by_every_algorithm_of_the_lab_and_by_no_other() {
    let names: Vec<&str> = ROSTER.iter().map(|part| part.name).collect();
    assert_eq!(EXPERIMENTS, names, "left: the words of `discovery.type`; right: the roster");
}

/// A bout without chance whose first leader has settled.
fn settled(name: &str, nodes: usize) -> Box<dyn Trial> {
    begun(name, nodes, Duration::ZERO)
}

/// The same with so long a pause before each start.
fn begun(name: &str, nodes: usize, pause: Duration) -> Box<dyn Trial> {
    let mut bout = arena::entry(name).expect("it is in the field").enter_plainly(nodes);
    for node in 0..nodes {
        bout.run_for(pause);
        bout.inject(Fault::Start(node));
    }
    bout.run_for(Duration::from_secs(6));
    bout.keep(true);
    bout
}

/// How many messages were sent since they are kept whose text begins so.
fn sent(bout: &dyn Trial, word: &str) -> usize {
    bout.record().arrows.iter().filter(|arrow| arrow.text.starts_with(word)).count()
}

fn leader(bout: &dyn Trial) -> usize {
    bout.record().settled().expect("somebody leads")
}

#[test]
fn bully_takes_in_the_worst_case_as_many_elections_as_there_are_pairs_below_the_leader() {
    for nodes in [4, 6, 9] {
        let mut bout = settled("bully", nodes);
        bout.inject(Fault::PowerLoss(nodes - 1));
        bout.notice(0);
        bout.run_for(Duration::from_millis(150));
        // The lowest notices: each of the n - 1 that live asks all above it, the dead one included.
        assert_eq!(sent(bout.as_ref(), "election"), nodes * (nodes - 1) / 2, "elections among {nodes}");
        assert_eq!(sent(bout.as_ref(), "answer"), (nodes - 1) * (nodes - 2) / 2, "answers among {nodes}");
        assert_eq!(sent(bout.as_ref(), "victory"), nodes - 1, "victories among {nodes}");
        assert_eq!(leader(bout.as_ref()), nodes - 2);
    }
}

#[test]
fn bully_takes_in_the_best_case_one_message_for_each_other() {
    for nodes in [4, 6, 9] {
        let mut bout = settled("bully", nodes);
        bout.inject(Fault::PowerLoss(nodes - 1));
        bout.notice(nodes - 2);
        bout.run_for(Duration::from_millis(150));
        // The highest that lives notices: it asks the dead one, and announces itself to all.
        assert_eq!((sent(bout.as_ref(), "election"), sent(bout.as_ref(), "victory")), (1, nodes - 1));
    }
}

#[test]
fn a_repaired_bully_asks_all_and_each_pair_that_lives_finds_out_who_of_them_is_better() {
    for (name, nodes) in [("bully-majority", 5), ("bully-majority", 9), ("bully-steady", 5), ("bully-steady", 9)] {
        let mut bout = settled(name, nodes);
        let first = leader(bout.as_ref());
        bout.inject(Fault::PowerLoss(first));
        bout.notice(0);
        bout.run_for(Duration::from_millis(150));
        // The worst notices, so that all that live hold an election; the lesser one of a pair takes part in the other's.
        let living = nodes - 1;
        let pairs = living * (living - 1) / 2;
        let counts = ["election", "answer", "takes part", "victory"].map(|word| sent(bout.as_ref(), word));
        assert_eq!(counts, [living * living, pairs, pairs, living], "{name} among {nodes}");
        assert_ne!(leader(bout.as_ref()), first);
    }
}

#[test]
fn bully_with_a_majority_announces_nobody_without_it() {
    let mut bout = settled("bully-majority", 5);
    // The leader and the next two: what is left is less than half.
    [1, 2, 3].into_iter().for_each(|node| bout.inject(Fault::Kill(node)));
    bout.run_for(Duration::from_secs(3));
    assert!(sent(bout.as_ref(), "election") > 0, "those that are left try");
    assert_eq!((sent(bout.as_ref(), "victory"), bout.record().leaders()), (0, Vec::new()));
}

#[test]
fn a_fail_over_list_takes_one_question_one_answer_and_the_announcement() {
    for nodes in [4, 6, 9] {
        let mut bout = settled("bully-failover", nodes);
        bout.inject(Fault::PowerLoss(nodes - 1));
        bout.notice(0);
        bout.run_for(Duration::from_millis(50));
        let counts = ["take over", "alive", "victory", "election"].map(|word| sent(bout.as_ref(), word));
        assert_eq!(counts, [1, 1, nodes - 1, 0], "among {nodes}");
    }
}

#[test]
fn ordinary_nodes_ask_candidates_only() {
    let mut bout = settled("candidates", 12);
    bout.inject(Fault::PowerLoss(11));
    bout.notice(7);
    bout.run_for(Duration::from_millis(250));
    // Four of the five candidates live; all others are told.
    let counts = ["are you alive", "alive", "the leader"].map(|word| sent(bout.as_ref(), word));
    assert_eq!(counts, [5, 4, 11]);
}

#[test]
fn a_ring_takes_two_messages_for_each_that_lives() {
    for (name, nodes) in [("ring", 5), ("ring", 9), ("ring-highest", 5), ("ring-highest", 9)] {
        let mut bout = settled(name, nodes);
        bout.notice(1);
        bout.run_for(Duration::from_millis(100));
        let counts = ["election", "coordinator", "taken"].map(|word| sent(bout.as_ref(), word));
        assert_eq!(counts, [nodes, nodes, 2 * nodes], "{name} among {nodes}");
    }
}

#[test]
fn the_highest_id_alone_takes_fewer_bytes_around_a_ring_than_all_ids() {
    let bytes = |name: &str| figures(name, "leader-crash", 9).bytes;
    let (all, highest) = (bytes("ring"), bytes("ring-highest"));
    assert!(0 < highest && highest < all, "{highest} bytes with the highest id, {all} with all ids");
}

#[test]
fn a_lease_takes_two_rounds_with_all_acceptors() {
    for nodes in [3, 5, 9] {
        let mut bout = settled("paxos-lease", nodes);
        let before = bout.record().arrows.len();
        assert_eq!(before, 0);
        // One renewal, and no more: they come every half second.
        bout.run_for(Duration::from_millis(500));
        let counts = ["prepare ", "prepared", "propose", "accepted"].map(|word| sent(bout.as_ref(), word));
        assert_eq!(counts, [nodes - 1; 4], "among {nodes}");
    }
}

#[test]
fn a_sentinel_asks_each_other_for_one_vote() {
    let mut bout = settled("redis-sentinel", 5);
    bout.inject(Fault::Kill(0));
    bout.run_for(Duration::from_millis(1_100));
    // Three others live besides the dead one, which is not asked.
    let counts = ["1 is down, vote for", "voted for", "replicaof no one"].map(|word| sent(bout.as_ref(), word));
    assert_eq!(counts, [3, 3, 1]);
    assert_ne!(leader(bout.as_ref()), 0);
}

#[test]
fn fewer_than_more_than_half_of_the_sentinels_promote_nobody() {
    let mut bout = settled("redis-sentinel", 5);
    (0..3).for_each(|node| bout.inject(Fault::Kill(node)));
    bout.run_for(Duration::from_secs(3));
    assert!(sent(bout.as_ref(), "down") > 0, "the two that are left agree");
    assert_eq!((sent(bout.as_ref(), "replicaof no one"), bout.record().leaders()), (0, Vec::new()));
}

#[test]
fn one_broker_creates_the_controller_and_all_others_find_that_it_exists() {
    let mut bout = settled("kafka-controller", 6);
    let first = leader(bout.as_ref());
    bout.inject(Fault::Kill(first));
    bout.run_for(Duration::from_secs(2));
    assert_eq!((sent(bout.as_ref(), "created"), sent(bout.as_ref(), "/controller deleted")), (1, 4));
}

/// A bout without chance in which nobody runs yet, and everything is kept.
fn fresh(name: &str, nodes: usize) -> Box<dyn Trial> {
    let mut bout = arena::entry(name).expect("it is in the field").enter_plainly(nodes);
    bout.keep(true);
    bout
}

#[test]
fn groups_merge_by_one_invitation_less_than_there_are_processes() {
    for nodes in [4, 8] {
        let mut bout = fresh("invitation", nodes);
        (0..nodes).for_each(|node| bout.inject(Fault::Start(node)));
        bout.run_for(Duration::from_secs(6));
        let merges = sent(bout.as_ref(), "joins with") + sent(bout.as_ref(), "takes the inviter's group in");
        assert_eq!(merges, nodes - 1, "among {nodes}");
    }
}

#[test]
fn servers_that_poll_ask_each_other_in_every_round() {
    for nodes in [3, 5, 9] {
        let mut bout = fresh("leader-election", nodes);
        (0..nodes).for_each(|node| bout.inject(Fault::Start(node)));
        bout.run_for(Duration::from_millis(20));
        let counts = ["poll", "votes"].map(|word| sent(bout.as_ref(), word));
        assert_eq!(counts, [nodes * (nodes - 1); 2], "one round among {nodes}");
    }
}

#[test]
fn a_server_that_comes_to_a_leader_takes_one_notification_and_one_answer_for_each_other() {
    for nodes in [3, 5, 9] {
        let mut bout = settled("fast-leader-election", nodes);
        // The highest opens the connections to all; it finds that the next one took its place.
        let newcomer = nodes - 1;
        bout.inject(Fault::Kill(newcomer));
        bout.run_for(Duration::from_secs(2));
        assert_eq!(leader(bout.as_ref()), nodes - 2, "the highest of those with the same data");
        let before = bout.record().arrows.len();
        bout.inject(Fault::Start(newcomer));
        bout.run_for(Duration::from_millis(50));
        let arrows = &bout.record().arrows[before..];
        let count = |is_meant: &dyn Fn(&str, usize) -> bool| {
            arrows.iter().filter(|arrow| is_meant(&arrow.text, arrow.from)).count()
        };
        let asked = count(&|text, from| text.starts_with("Looking") && from == newcomer);
        let told = count(&|text, _| text.starts_with("Following") || text.starts_with("Leading"));
        assert_eq!((asked, told), (nodes - 1, nodes - 1), "among {nodes}");
        assert_eq!(count(&|text, _| text.starts_with("joins")), 1);
    }
}

/// What is sent once the last of so many nodes is started, when all others have a leader.
fn of_a_newcomer(name: &str, nodes: usize) -> Vec<Arrow> {
    let mut bout = fresh(name, nodes);
    (0..nodes - 1).for_each(|node| bout.inject(Fault::Start(node)));
    bout.run_for(Duration::from_secs(3));
    let before = bout.record().arrows.len();
    bout.inject(Fault::Start(nodes - 1));
    bout.run_for(Duration::from_millis(50));
    bout.record().arrows[before..].to_vec()
}

#[test]
fn servers_that_challenge_ask_each_stranger_for_one_proof_in_either_direction() {
    for nodes in [3, 5, 9] {
        let arrows = of_a_newcomer("auth-fast-leader-election", nodes);
        let counts = ["Looking", "challenge", "proof", "joins"];
        let counts = counts.map(|word| arrows.iter().filter(|arrow| arrow.text.starts_with(word)).count());
        let others = nodes - 1;
        assert_eq!(counts, [others, 2 * others, 2 * others, 1], "among {nodes}");
    }
}

#[test]
fn observers_follow_and_neither_vote_nor_count() {
    let all = [1, 2, 3].map(Rank);
    let mut world: World<Participant<Server>, Unwatched> = World::new(1, Unwatched);
    for me in all {
        world.add(me, Vec::new(), move |boot: Boot<'_, Participant<Server>>| {
            Participant::new(me, &all, boot.rng, Server::new(me, boot.disk.0, Trust::Open, &[Rank(3)]))
        });
    }
    let mut leaders_after = |faults: &[Fault]| {
        faults.iter().for_each(|fault| world.inject(fault.clone()));
        world.run_for(Duration::from_secs(3)).expect("nobody watches");
        [0, 1, 2].map(|node| world.participant(node).and_then(Participant::leader))
    };
    assert_eq!(leaders_after(&[0, 1, 2].map(Fault::Start)), [Some(Rank(2)); 3], "3 has the highest id, and observes");
    let [_, voter, observer] = leaders_after(&[Fault::Kill(0)]);
    assert_eq!((voter, observer), (None, None), "one of two voters is not more than half");
}

#[test]
fn a_replica_asks_each_master_that_lives_and_tells_everybody() {
    let mut bout = settled("redis-cluster", 5);
    bout.inject(Fault::Kill(0));
    bout.run_for(Duration::from_millis(1_500));
    let words = ["failover auth request", "failover auth ack"].map(|word| sent(bout.as_ref(), word));
    assert_eq!(words, [2, 2], "two masters are left");
    let told = bout.record().arrows.iter().filter(|arrow| arrow.text.contains("owns the slots")).count();
    assert_eq!(told, 4);
}

#[test]
fn a_member_joins_with_two_messages_for_each_other_and_none_for_an_election() {
    for nodes in [3, 5, 9] {
        let arrows = of_a_newcomer("emergent-leader", nodes);
        let arrows = arrows.iter().filter(|arrow| !arrow.is_watch);
        // One to join and one that answers, an update and its acknowledgement for each member but the coordinator.
        assert_eq!(arrows.count(), 2 + 2 * (nodes - 2), "among {nodes}");
    }
}

#[test]
fn the_next_oldest_takes_over_with_one_update_and_one_acknowledgement_for_each_other_and_leads_only_enough_of_them() {
    for (name, gone, leads) in [
        ("emergent-leader", 1, true),
        ("emergent-leader", 2, true),
        ("emergent-leader-minimum", 1, true),
        ("emergent-leader-minimum", 2, false),
    ] {
        // Heartbeats are not all sent at the same time, or one could cross an update, which is sent again then.
        let mut bout = begun(name, 4, Duration::from_millis(110));
        (0..gone).for_each(|node| bout.inject(Fault::Kill(node)));
        bout.run_for(Duration::from_secs(2));
        let told = 4 - gone - 1;
        let counts = ["update", "ack"].map(|word| sent(bout.as_ref(), word));
        assert_eq!(counts, [told; 2], "{name} without {gone}");
        assert_eq!(bout.record().leaders().len(), usize::from(leads), "{name} without {gone}");
    }
}

#[test]
fn heartbeats_along_a_ring_grow_with_the_members_and_those_to_all_with_their_square() {
    let beats = |name: &str, nodes: usize| {
        let mut bout = settled(name, nodes);
        bout.run_for(Duration::from_secs(2));
        sent(bout.as_ref(), "heartbeat")
    };
    for nodes in [4, 8] {
        let each = (Duration::from_secs(2).as_millis() / BEAT_EVERY.as_millis()) as usize;
        assert_eq!(beats("emergent-leader", nodes), each * nodes * (nodes - 1), "to {nodes} less one");
        assert_eq!(beats("emergent-leader-ring", nodes), each * nodes * 2, "to two neighbours, of {nodes}");
    }
}

/// One run of a scenario.
fn seeded(name: &str, scenario: &str, seed: u64) -> Figures {
    let entry = arena::entry(name).expect("it is in the field");
    let scenario = arena::scenario(scenario).expect("there is such a scenario");
    arena::run(entry, scenario, scenario.nodes, seed, None).figures
}

/// The same with seed 1 and so many nodes.
fn figures(name: &str, scenario: &str, nodes: usize) -> Figures {
    let entry = arena::entry(name).expect("it is in the field");
    let scenario = arena::scenario(scenario).expect("there is such a scenario");
    let outcome = arena::run(entry, scenario, nodes, 1, None);
    assert_eq!(outcome.violation, None, "{name} in {}", scenario.name);
    outcome.figures
}

#[test]
fn all_elect_a_leader_when_nothing_is_wrong() {
    for entry in FIELD {
        let figures = figures(entry.name, "cold-start", 5);
        assert!(figures.recovered, "{}: {figures:?}", entry.name);
    }
}

/// How many nodes are played in a scenario: a hundred take too long for tests.
fn size(scenario: &Scenario) -> usize {
    scenario.nodes.min(20)
}

#[test]
fn each_algorithm_has_two_that_would_act_as_leader_in_some_scenario() {
    let of = |entry: &Entry| SCENARIOS.iter().map(|scenario| figures(entry.name, scenario.name, size(scenario)));
    let one_only = FIELD.iter().filter(|entry| of(entry).all(|figures| figures.two_ms == 0));
    assert_eq!(one_only.map(|entry| entry.name).collect::<Vec<_>>(), Vec::<&str>::new(), "no scenario shows two");
    // A master of Zen that hung takes itself for one when it goes on, until the others tell it otherwise; it has a quorum
    // for nothing meanwhile. What it answers all the same, the scripts of tests/flaws show.
    for name in ["zen14", "zen68"] {
        let entry = arena::entry(name).expect("it is in the field");
        assert!(of(entry).all(|figures| figures.two_acknowledge_ms == 0), "{name}: two acknowledge at once");
    }
}

#[test]
fn zen_with_its_default_quorum_loses_what_both_sides_of_a_split_acknowledged_and_with_a_typed_one_does_not() {
    let lost = |name| (1..=3).map(|seed| seeded(name, "split-2-3", seed)).map(|run| run.lost_writes).sum::<u64>();
    assert!(lost("zen68-default") > 0, "both sides took writes, and one side has to give in");
    assert_eq!(lost("zen68"), 0);
}

#[test]
fn zazen_never_has_two_nodes_that_would_acknowledge_a_write_and_recovers_always() {
    let entry = arena::entry("zazen").expect("it is in the field");
    let mut two_ms = 0;
    for scenario in SCENARIOS {
        for seed in 1..=5 {
            let outcome = arena::run(entry, scenario, size(scenario), seed, None);
            assert_eq!(outcome.violation, None, "{} with seed {seed}", scenario.name);
            assert_eq!(outcome.figures.two_acknowledge_ms, 0, "{} with seed {seed}", scenario.name);
            assert!(outcome.figures.recovered, "{} with seed {seed}: {:?}", scenario.name, outcome.figures);
            two_ms += outcome.figures.two_ms;
        }
    }
    assert!(two_ms > 0, "there were never two that could have been asked");
}

#[test]
fn a_run_is_determined_by_its_seed() {
    let scenario = arena::scenario("loss-30").expect("there is such a scenario");
    for entry in FIELD {
        let run = |seed| arena::run(entry, scenario, 5, seed, None).figures;
        assert_eq!(run(3), run(3), "{}", entry.name);
        assert!((4..=9).any(|seed| run(seed) != run(3)), "{}: chance decides nothing", entry.name);
    }
}
