//! The checkers see what is broken: some protections, each switched off alone, are caught within a few random runs.
//!
//! Those that random runs hardly ever miss are caught in `tests/simulator/golden.rs`. `zazen sim --mutants` hunts all of them.

use zazen::sim::{RunOptions, run};
use zazen::zen::Tuning;
use zazen::zen::rules::{Protection, Rules};

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
        half_well: false,
        until: None,
        trace: None,
        is_hashed: false,
    };
    let caught = (1..=SEEDS).find_map(|seed| run(&options(seed)).err());
    let Some(failure) = caught else {
        panic!("nobody missed {protection} in {SEEDS} runs; see `zazen sim --mutants --without {protection}`");
    };
    let checker = failure.violation.checker;
    assert!(checkers.iter().any(|known| checker.starts_with(known)), "{protection}: {}", failure.violation);
}

#[test]
fn the_page_of_the_proof_has_every_protection_by_the_name_that_switches_it_off() {
    let page = include_str!("../../docs/proof.md");
    let named = |name: &str| {
        page.lines().any(|line| line.strip_prefix("| ").is_some_and(|row| row.split(' ').next() == Some(name)))
    };
    let missing: Vec<String> = Protection::ALL.iter().map(ToString::to_string).filter(|name| !named(name)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_vote_that_is_forgotten_is_caught() {
    is_caught(Protection::DurableVote, &["S6", "assertion"]);
}

#[test]
fn an_acknowledgement_before_the_store_is_caught() {
    is_caught(Protection::StoredAcks, &["S2", "S5", "S6"]);
}

#[test]
fn a_commit_that_is_one_short_is_caught() {
    is_caught(Protection::WholeCommits, &["S2"]);
}

#[test]
fn a_state_that_is_applied_before_its_commit_is_caught() {
    is_caught(Protection::CommittedApplies, &["S4"]);
}

#[test]
fn an_end_of_a_reign_that_is_not_told_is_caught() {
    is_caught(Protection::ToldAtEnd, &["S7", "L3"]);
}

#[test]
fn an_unknown_update_that_is_carried_out_again_is_caught() {
    is_caught(Protection::UnknownStays, &["S5", "L3", "linearizable"]);
}

#[test]
fn every_protection_has_a_name_of_its_own() {
    let mut names: Vec<&str> = Protection::ALL.iter().map(|protection| protection.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Protection::ALL.len());
    assert!(Protection::ALL.len() <= u128::BITS as usize, "each has a bit");
}
