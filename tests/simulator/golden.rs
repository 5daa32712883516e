//! The golden traces: each file of `tests/golden` is played, and what the nodes say is compared with what it expects.
//!
//! With `ZAZEN_BLESS=1` the files are written as they came out. They are also played with a few of their commands changed
//! by chance, which breaks no rule unless a protection is missing.

mod amid_writes;

use crate::scripts::{self, Played};
use amid_writes::Way;
use std::any::Any;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use zazen::sim::script::{Block, Script, ScriptWorld};
use zazen::sim::trace_mutation::Stories;
use zazen::zen::rules::Protection;

const FOLDER: &str = "tests/golden";

/// So many stories are changed.
const SEEDS: u64 = 600;

/// So often a story is changed in search of what breaks without a protection, until something is found.
const SEARCHED: u64 = 2_000;

/// Protections against what comes in one order of many thousands, and the story that holds such an order.
const RARE: [(Protection, &str); 23] = [
    (Protection::VotesTellAccepted, "slow_disk_vote"),
    (Protection::NamedVotes, "vote_for_a_wiped_node"),
    (Protection::FetchedTerm, "fetched_of_a_later_term"),
    (Protection::CopiesAckNothing, "copies_acknowledge_nothing"),
    (Protection::LostMasters, "ignore_non_master_pings"),
    (Protection::EveryBootstrap, "bootstrap_sets_that_differ"),
    (Protection::BlankForms, "two_wiped_beside_a_survivor"),
    (Protection::SettledSets, "inherited_proposal_taken_back"),
    (Protection::OwnTakeBack, "inherited_proposal_taken_back"),
    (Protection::GoneStates, "taken_back_is_not_told_as_committed"),
    (Protection::CandidaciesAge, "late_joins"),
    (Protection::WishesOfTerm, "late_hand_over"),
    (Protection::SureProposals, "loss_before_a_late_answer"),
    (Protection::NewAnswers, "loss_before_a_late_answer"),
    (Protection::Twins, "copied_master_of_one"),
    (Protection::RolesOnDisk, "left_out_by_two"),
    (Protection::UuidChecked, "wrong_cluster"),
    (Protection::OthersTerms, "returning_node"),
    (Protection::RoundTrip, "address_that_nobody_reaches"),
    (Protection::RepeatedJoins, "candidacy_after_its_end"),
    (Protection::FormerMasters, "transient_settings_outlive_a_restart_of_most"),
    (Protection::MetAnew, "removed_and_taken_in_at_once"),
    (Protection::EndingLeases, "leases"),
];

#[test]
fn the_nodes_tell_the_stories_that_are_expected_of_them() {
    scripts::demand(&scripts::all(FOLDER), "golden", play);
}

#[test]
fn every_trace_shows_a_rule_of_the_protocol_and_every_rule_names_traces_that_exist() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/protocol.md");
    let page = fs::read_to_string(page).expect("the protocol is written down");
    let mut named: Vec<&str> = page.split('`').filter_map(|text| text.strip_prefix("tests/golden/")).collect();
    named.sort_unstable();
    named.dedup();
    let files = scripts::all(FOLDER);
    let there: Vec<&str> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    named.retain(|name| !name.is_empty());
    assert_eq!(named, there, "left: named by docs/protocol.md; right: the files of {FOLDER}");
}

#[test]
fn stories_that_are_changed_by_chance_break_no_rule() {
    let stories = stories_of(|_| true);
    for seed in 1..=SEEDS {
        let (name, played) = stories.play(seed);
        assert_eq!(played.broken, None, "around {name}, seed {seed}:\n{}", played.told);
    }
}

#[test]
fn protections_that_random_runs_hardly_ever_miss_are_missed_around_stories() {
    let is_missed = |(protection, story): &(Protection, &str)| {
        let stories = stories_of(|name| name == *story);
        (1..=SEARCHED).any(|seed| stories.play_without(seed, *protection).1.broken.is_some())
    };
    let escaped: Vec<(Protection, &str)> = RARE.into_iter().filter(|rare| !is_missed(rare)).collect();
    assert_eq!(escaped, [], "nobody missed these around {SEARCHED} changes of their stories");
}

#[test]
fn writes_are_answered_at_once_whenever_the_master_goes() {
    for (way, seed) in Way::ALL.into_iter().flat_map(|way| (1..=amid_writes::SEEDS).map(move |seed| (way, seed))) {
        let text = amid_writes::story(way, seed);
        let script = Script::parse(&text).expect("it is well formed");
        let told = play(&script).map(|blocks| blocks.concat());
        let count = |is_meant: fn(&str) -> bool| told.iter().flatten().filter(|line| is_meant(line)).count() as u64;
        let written = count(|line| line.ends_with(", acknowledged"));
        let read = count(|line| line.contains("client  read") && line.contains(", read at "));
        let all = (amid_writes::WRITES, amid_writes::WRITES);
        assert_eq!((written, read), all, "{way:?}, seed {seed}: {told:#?}, in\n{text}");
    }
}

fn stories_of(is_meant: impl Fn(&str) -> bool) -> Stories {
    let files = scripts::all(FOLDER);
    let named = files.iter().map(|file| (file.file_stem().expect("it has a name").to_string_lossy(), file));
    Stories::of(named.filter(|(name, _)| is_meant(name)).map(|(name, file)| {
        let text = fs::read_to_string(file).expect("it can be read");
        (name.into_owned(), Script::parse(&text).expect("it is well formed"))
    }))
}

fn play(script: &Script) -> Played {
    let mut stage = ScriptWorld::new();
    script.blocks().map(|block| play_block(&mut stage, block)).collect()
}

/// Plays a block; a node that breaks its own rules ends the script, with what it said up to then.
fn play_block(stage: &mut ScriptWorld, block: &Block) -> Result<Vec<String>, (usize, String)> {
    let so_far = |stage: &ScriptWorld| stage.printed().iter().map(|line| format!("\n    {line}")).collect::<String>();
    match catch_unwind(AssertUnwindSafe(|| stage.play(block))) {
        Ok(Ok(printed)) => Ok(printed),
        Ok(Err(trouble)) => Err((trouble.line(), format!("{trouble}{}", so_far(stage)))),
        Err(panic) => Err((block.number(), format!("a node panicked: {}{}", message(&*panic), so_far(stage)))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
