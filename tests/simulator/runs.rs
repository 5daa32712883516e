//! Random runs: the same seed gives the same run, event by event, and no run breaks a rule.

use crate::parallel;
use std::sync::OnceLock;
use zazen::sim::{PACE, Recoveries, Report, RunOptions, run};
use zazen::zen::Tuning;
use zazen::zen::rules::Rules;

/// Seeds that broke a rule once, and what they found. A seed shows the same again only with the generator of its day;
/// with a later one it is a random run like any other.
const REGRESSIONS: [(u64, &str); 11] = [
    (7_599, "a vote told an older accepted state than the one that its voter had acknowledged"),
    (7_007_093, "a voting set counted on who answered early, upon the answer of one who answered late"),
    (12_016_843, "a master waited for ever for an answer that a later one had overtaken"),
    (32_014_699, "a node that was removed and taken in by one state was taken for dead as long as it was a member"),
    (47_359, "a data node waited for a candidate as one waits for a master, because it had been one"),
    (21_024_259, "a master waited for an answer that it did not need, and a voting set counted on the others"),
    (701_127, "watchers were told of a proposal that was taken back, and the next state sent as a change of it"),
    (
        500_010,
        "a request was answered later than its timeouts say, behind a state of which nobody knew that it was lost",
    ),
    (500_333, "members that had voted for each other gave no vote to the master that they joined again"),
    (500_508, "two candidates that did not reach each other each kept a voter that the other needed for four seconds"),
    (50_673, "a vote given again told a state that was accepted and not on disk yet"),
];

/// The same of runs in which nodes are half well.
const HALF_WELL_REGRESSIONS: [(u64, &str); 45] = [
    (77_960, "a master made voters of nodes that had just become sick, before anybody could know that"),
    (99_308, "a master made voters of nodes that had just been cut off, before anybody could know that"),
    (100_038_966, "two candidates stood back for the same time, each just when the other stood again"),
    (
        39_161,
        "a node was left out of reach for good that had the votes of its own voters already, and led a moment later",
    ),
    (65_801, "an answer waited behind a write of a disk that hung and was not healed"),
    (2_263, "a node whose disk stayed sick was slow to reach as well for ever, and nobody had said so"),
    (
        2_935,
        "three of five got sick while only three voted: the master made voters of all five before it could know, and two could not go on",
    ),
    (60_018_331, "the judge let nodes stand still for less than their ping timeouts can tell from silence"),
    (60_013_234, "a change that waited for a master while its node said good-bye was taken for a late copy"),
    (44_008_402, "the judge took the first writes of eighty processes of one node for a storm"),
    (44_004_039, "a candidate that stood again and again went by what it had seen in the round that it stood in first"),
    (520, "a node that nobody reaches became a member, and a voter, by its vote for the next master"),
    (841_653, "the judge took the order in which the changes of a batch are told for the one in which they apply"),
    (837_416, "a publish waited for a state on its way for longer than its timeout and the longest transfer"),
    (872_255, "a request was answered later than that, too"),
    (895_049, "a request of a node that leaves was answered later than that, too"),
    (883_972, "a late copy of what a process had sent was carried out after its good-bye"),
    (872_350, "a joiner that was rejected doubled its pause, and was out for long after the cause had gone"),
    (875_759, "a joiner that was rejected stayed out for so long that there was no stable master"),
    (871_740, "a master that cannot be reached was followed and lost again with each state that it sent"),
    (862_957, "a master that cannot be reached was followed and lost again in a large cluster"),
    (917_114, "a master without another node never tried again to reach who asked to be taken in"),
    (886_094, "the first master was elected with votes of nodes that it did not reach"),
    (914_023, "it was, while the disk of another voter hung"),
    (907_591, "two candidates that did not hear of each other each kept a voter that the other needed"),
    (883_621, "voters that seldom ping waited for a candidate that had given up"),
    (1_200_500, "a publish whose answers came too late was not asked for before the master stepped down"),
    (1_203_335, "a master with seldom beats forgot between two of them who asked to be taken in"),
    (4_001_090, "after a standstill of all, members were removed for what they had said before it"),
    (
        9_018_560,
        "a master whose disk hung stayed: the state that it had accepted last never left it, and it waited for one who holds that",
    ),
    (
        9_014_292,
        "a write waited for a member that stored each state in time, and was sent the next one before it applied it",
    ),
    (
        31_001_127,
        "a master whose own vote is all that is needed took a higher term, and waited for a follower to say so",
    ),
    (
        41_002_216,
        "nodes with disks that crawl got votes, and those who were well needed one of them after the next loss",
    ),
    (41_003_355, "the judge did not wait for a state that was sent over a slow link before that was mended"),
    (31_000_552, "the judge demanded that a candidate that sees few does without the vote of a disk that crawls"),
    (42_000_617, "what a node asked for after its good-bye was taken for a late copy of what it had asked for before"),
    (43_000_529, "the good-bye of a process was taken for one of the next process of its node, which was removed"),
    (44_001_389, "a node whose disk hung said that it remembers who leaves it out, which it did not after a restart"),
    (42_003_001, "a call to an address that nobody has waited for a refusal that was late by minutes"),
    (
        42_003_952,
        "the judge let the only host of all stay out of reach, at which those who had never met were to find each other",
    ),
    (9_007_640, "the judge let a node that was voted for stay out of reach, which then led those who had reached it"),
    (54_167, "the judge did not wait for an answer that was on its way over a slow link, and stalled"),
    (53_323, "it did not, either, at a node whose clock went slowly"),
    (64_276, "the judge cut links as a voter was asked for whom those that it left together did not reach any more"),
    (
        7_259,
        "an order to hand over was on its way for 22 s, and the judge took what it did for the work of a standstill",
    ),
];

fn options(seed: u64) -> RunOptions {
    RunOptions {
        seed,
        nodes: None,
        updates: 100,
        tuning: Tuning::default(),
        rules: Rules::default(),
        half_well: false,
        until: None,
        trace: None,
        is_hashed: false,
    }
}

/// A run that is compared with others.
fn hashed(seed: u64) -> RunOptions {
    RunOptions { is_hashed: true, ..options(seed) }
}

fn played(options: &RunOptions) -> Report {
    let replay = format!("zazen sim --well --seed {} --runs 1 --updates {}", options.seed, options.updates);
    run(options).unwrap_or_else(|failure| panic!("{}\n{}\nsee: {replay}", failure.draw, failure.violation))
}

/// The hash of all events of a run up to this one.
fn hash_after(seed: u64, event: u64) -> u64 {
    played(&RunOptions { until: Some(event), ..hashed(seed) }).hash.expect("one was wanted")
}

/// The first event after which two sequences of running hashes differ, if they do after the last one.
///
/// The hash of an event is taken over all events before it: where two are equal, everything before was.
fn first_difference(events: u64, one: impl Fn(u64) -> u64, other: impl Fn(u64) -> u64) -> Option<u64> {
    let (mut same, mut different) = (0, events);
    if one(events) == other(events) {
        return None;
    }
    while different - same > 1 {
        let middle = same + (different - same) / 2;
        if one(middle) == other(middle) { same = middle } else { different = middle }
    }
    Some(different)
}

#[test]
fn the_same_seed_gives_the_same_run_event_by_event() {
    for seed in 1..=5 {
        let (first, second) = (played(&hashed(seed)), played(&hashed(seed)));
        if first.hash != second.hash {
            let events = first.counters.events.min(second.counters.events);
            let event = first_difference(events, |event| hash_after(seed, event), |event| hash_after(seed, event));
            panic!(
                "seed {seed}: two runs differ from event {event:?} of {events} on; look there for what is not drawn \
                    from the seed: zazen sim --well --seed {seed} --runs 1 --updates 100 --trace full --until {event:?}"
            );
        }
        assert_eq!(first.counters, second.counters, "seed {seed}");
    }
}

/// How a run ends, whatever it shows: the hash of all its events, or what it broke and when.
fn end(seed: u64) -> Result<Option<u64>, String> {
    let half_well = RunOptions { half_well: true, ..hashed(seed) };
    let ended = run(&half_well).map(|report| report.hash);
    ended.map_err(|failure| format!("{} after {} events at {}", failure.violation, failure.event, failure.at))
}

#[test]
fn runs_with_nodes_that_are_half_well_are_the_same_each_time_and_others_than_without() {
    // In the run of seed 5 what is drawn takes no effect.
    let seeds = [1, 2, 3, 4, 6, 7];
    let ends = seeds.map(end);
    assert_eq!(ends, seeds.map(end));
    let well = seeds.map(|seed| Ok(played(&hashed(seed)).hash));
    assert!(ends.iter().zip(&well).all(|(one, other)| one != other), "every seed makes some node half well");
}

#[test]
fn a_run_that_is_ended_early_is_the_beginning_of_the_whole_run() {
    let whole = played(&hashed(3));
    let events = whole.counters.events;
    // The very last ones may reach nobody, and then leave the hash as it is.
    for event in [1, 2, 1_000, events / 2, events - 100] {
        let begun = played(&RunOptions { until: Some(event), ..hashed(3) });
        assert_eq!(begun.counters.events, event);
        assert_eq!(begun.hash, Some(hash_after(3, event)), "event {event}");
        assert_ne!(begun.hash, whole.hash, "event {event}");
    }
}

#[test]
fn the_first_different_event_is_found() {
    for place in 1..=64 {
        let found = first_difference(64, |_| 0, |event| u64::from(event >= place));
        assert_eq!(found, Some(place));
    }
    assert_eq!(first_difference(64, |_| 0, |_| 0), None);
}

#[test]
fn different_seeds_give_different_runs() {
    let mut hashes: Vec<u64> = (1..=5).map(|seed| hash_after(seed, 500)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 5);
}

/// How many runs the batch has.
const BATCH: u64 = 72;

/// A batch of runs, none of which breaks a rule.
fn batch() -> &'static [Report] {
    static REPORTS: OnceLock<Vec<Report>> = OnceLock::new();
    REPORTS.get_or_init(|| parallel::map(&Vec::from_iter(1..=BATCH), |seed| played(&options(*seed))))
}

#[test]
fn a_batch_of_runs_recovers_at_the_pace() {
    let mut recoveries = Recoveries::default();
    (1..).zip(batch()).for_each(|(seed, report)| recoveries.add(seed, &report.recoveries));
    let verdict = recoveries.judge(PACE).map_err(|violation| violation.to_string());
    assert_eq!(verdict, Ok(()), "elections became slower, or PACE in src/simulator/sim/recoveries.rs is too tight");
    assert!(recoveries.len() >= 200, "only {} recoveries, fewer are not judged: play more runs", recoveries.len());
}

#[test]
fn a_calm_cluster_is_asked_often_enough_to_tell_how_it_answers() {
    let asked: u64 = batch().iter().map(|report| report.service.calm.ended).sum();
    let sick: u64 = batch().iter().map(|report| report.service.one_sick.ended).sum();
    assert!(asked >= 3 * BATCH && sick >= 3 * BATCH, "{asked} requests in calm and {sick} writes with a sick member");
}

#[test]
fn random_runs_break_no_rule() {
    let reports = batch();
    let telling = reports.iter().filter(|report| report.vacuous().is_none()).count();
    assert!(
        telling >= 30,
        "only {telling} of {BATCH} runs prove anything: look at what `Report::vacuous` says of the others"
    );
}

#[test]
fn seeds_that_failed_once_break_no_rule() {
    let well = REGRESSIONS.iter().map(|found| (found, false));
    let half_well = HALF_WELL_REGRESSIONS.iter().map(|found| (found, true));
    parallel::map(&Vec::from_iter(well.chain(half_well)), |((seed, found), half_well)| {
        let result = run(&RunOptions { updates: 200, half_well: *half_well, ..options(*seed) });
        assert!(result.is_ok(), "seed {seed}, which found that {found}: {:?}", result.map_err(|it| it.violation));
    });
}
