//! `zazen lab`: what it lists, prints and measures, and the page that it wrote.

use super::ends_with;
use zazen::arena::{FIELD, SCENARIOS};

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

#[test]
fn what_goes_wrong_with_each_is_what_the_tables_of_the_page_say() {
    let (faults, tables) = PAGE.split_once("\n## Measured").expect("the tables come after the faults");
    let (_, faults) = faults.split_once("\n## What goes wrong").expect("the faults have a heading");
    let rows: Vec<Vec<&str>> =
        faults.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").collect()).collect();
    assert_eq!(rows.len(), FIELD.len());
    let mut checked = 0;
    for row in rows {
        let name = row[0].trim_matches(['|', ' ', '`']);
        let line = |section: &'static str| section.lines().find(|line| line.starts_with(&format!("| {name} |")));
        let measured: Vec<_> = sections(tables).filter_map(|(heading, text)| Some((heading, line(text)?))).collect();
        for (figure, scenario) in row[1..5].iter().filter_map(|cell| cell.split_once(" in ")) {
            let number = figure.trim_end_matches(" ms");
            let line = measured.iter().find(|(heading, _)| format!("`{heading}`") == scenario).map(|(_, line)| *line);
            assert!(line.is_some_and(|line| line.contains(number)), "{name}: {figure} in {scenario}, but {line:?}");
            checked += 1;
        }
        let broken = measured.iter().filter(|(_, line)| !line.ends_with("3 of 3 |"));
        let broken: Vec<String> = broken.map(|(heading, _)| format!("`{heading}`")).collect();
        let told = row[5].trim_end_matches(" |");
        assert_eq!(told, if broken.is_empty() { "–".to_owned() } else { broken.join(", ") }, "{name}");
    }
    assert!(checked > FIELD.len(), "only {checked} figures were found");
}
