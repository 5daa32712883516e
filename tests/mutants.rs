//! The checkers see what is broken: some protections, each switched off alone, are caught within a few random runs, and
//! rare ones around the stories that show them.
//!
//! `zazen sim --mutants` hunts all of them.

use std::fs;
use std::path::Path;
use zazen::sim::around::Stories;
use zazen::sim::script::Script;
use zazen::sim::{RunOptions, run};
use zazen::zen::Tuning;
use zazen::zen::rules::{Protection, Rules};

/// Protections against what comes in one order of many thousands.
const RARE: [Protection; 17] = [
    Protection::VotesTellAccepted,
    Protection::NamedVotes,
    Protection::FetchedTerm,
    Protection::CopiesAckNothing,
    Protection::BlindYielding,
    Protection::LostMasters,
    Protection::EveryBootstrap,
    Protection::BlankForms,
    Protection::SettledSets,
    Protection::OwnTakeBack,
    Protection::SureProposals,
    Protection::NewAnswers,
    Protection::UuidChecked,
    Protection::OthersTerms,
    Protection::RoundTrip,
    Protection::RepeatedJoins,
    Protection::EndingLeases,
];

/// So many seeds are tried; each of these protections is missed much earlier.
const SEEDS: u64 = 40;

/// Runs without a protection until a rule is broken, and demands that it is this one.
fn is_caught(protection: Protection, checkers: &[&str]) {
    let rules = Rules::default().without(protection);
    let options = |seed| RunOptions {
        seed,
        nodes: None,
        updates: 100,
        tuning: Tuning::default(),
        rules,
        until: None,
        trace: None,
    };
    let caught = (1..=SEEDS).find_map(|seed| run(&options(seed)).err());
    let Some(failure) = caught else {
        panic!("nobody missed {protection} in {SEEDS} runs; see `zazen sim --mutants --without {protection}`");
    };
    let checker = failure.violation.checker;
    assert!(checkers.iter().any(|known| checker.starts_with(known)), "{protection}: {}", failure.violation);
}

#[test]
fn a_vote_that_is_forgotten_is_missed() {
    is_caught(Protection::DurableVote, &["S6", "assertion"]);
}

#[test]
fn an_acknowledgement_before_the_store_is_missed() {
    is_caught(Protection::StoredAcks, &["S2", "S5", "S6"]);
}

#[test]
fn a_commit_that_is_one_short_is_missed() {
    is_caught(Protection::WholeCommits, &["S2"]);
}

#[test]
fn a_state_that_is_applied_before_its_commit_is_missed() {
    is_caught(Protection::CommittedApplies, &["S4"]);
}

#[test]
fn an_end_of_a_reign_that_is_not_told_is_missed() {
    is_caught(Protection::ToldAtEnd, &["S7"]);
}

#[test]
fn an_unknown_update_that_is_carried_out_again_is_missed() {
    is_caught(Protection::UnknownStays, &["S5"]);
}

/// The golden traces.
fn stories() -> Stories {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = fs::read_dir(folder).expect("the golden traces are there");
    let mut files: Vec<_> = files.map(|file| file.expect("it can be listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    Stories::of(files.iter().map(|file| {
        let script = Script::parse(&fs::read_to_string(file).expect("it can be read")).expect("it is well formed");
        (file.file_stem().expect("it has a name").to_string_lossy().into_owned(), script)
    }))
}

#[test]
fn stories_that_are_changed_by_chance_break_no_rule() {
    let stories = stories();
    for seed in 1..=1_000 {
        let (name, played) = stories.play(seed).expect("there are stories");
        assert_eq!(played.broken, None, "around {name}, seed {seed}:\n{}", played.told);
    }
}

#[test]
fn protections_that_random_runs_hardly_ever_miss_are_missed_around_stories() {
    let stories = stories();
    let is_missed = |seed: u64, protection| {
        let (_, played) = stories.play_without(seed, protection).expect("there are stories");
        played.broken.is_some()
    };
    let mut escaped = RARE.to_vec();
    escaped.retain(|protection| !(1..=1_000).any(|seed| is_missed(seed, *protection)));
    assert_eq!(escaped, [], "nobody missed these around 1,000 stories");
}

#[test]
fn every_protection_has_a_name_of_its_own() {
    let mut names: Vec<&str> = Protection::ALL.iter().map(|protection| protection.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Protection::ALL.len());
    assert!(Protection::ALL.len() <= u128::BITS as usize, "each has a bit");
}
