//! `zazen lab`: what it lists, prints and measures, and the page that it wrote.

use super::ends_with;
use zazen::sim::arena::{FIELD, SCENARIOS};

const PAGE: &str = include_str!("../../docs/elections.md");

#[test]
fn all_that_can_be_compared_is_listed() {
    let (out, _) = ends_with(0, "lab list");
    let names = FIELD.iter().map(|entry| entry.name).chain(SCENARIOS.iter().map(|scenario| scenario.name));
    let listed: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert_eq!(listed, names.collect::<Vec<_>>());
}

#[test]
fn one_run_prints_what_happened_and_its_figures() {
    let run = "lab run --algorithm ring --nodes 7 --scenario leader-crash --trace full";
    let (out, _) = ends_with(0, run);
    assert!(out.contains("coordinator"), "a ring tells who leads by this:\n{out}");
    let last = out.lines().last().unwrap_or_default();
    assert!(last.trim_start().starts_with("ring ") && last.ends_with("1 of 1"), "{last}");
    assert_eq!(ends_with(0, run).0, out, "the same seed gives the same run");
    let (err, said) = (ends_with(2, "lab run --algorithm rings --scenario leader-crash").1, "`rings` is no algorithm");
    assert!(err.contains(said), "{err}");
}

/// The part of a text from one heading of the third level to the next heading.
fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n### ").skip(1).map(|section| {
        let section = section.split("\n## ").next().unwrap_or(section);
        section.split_once('\n').unwrap_or((section, ""))
    })
}

#[test]
fn the_page_about_elections_has_what_is_measured() {
    let what_to_do = "write it with: zazen lab compare --seeds 3 --format markdown > docs/elections.md";
    // Two of the scenarios, since all of them take minutes.
    let (out, _) = ends_with(0, "lab compare --seeds 3 --scenario leader-crash,split-2-3 --format markdown");
    let beginning = |text: &str| text.split("\n## What goes wrong").next().map(str::to_owned);
    assert_eq!(beginning(&out), beginning(PAGE), "{what_to_do}");
    let mut measured = 0;
    for (heading, section) in sections(&out) {
        let written = sections(PAGE).find(|(known, _)| *known == heading);
        assert_eq!(written.map(|(_, text)| text.trim()), Some(section.trim()), "{heading}: {what_to_do}");
        measured += 1;
    }
    assert_eq!(measured, 2 + FIELD.len(), "the tables, and a trace of each");
}
