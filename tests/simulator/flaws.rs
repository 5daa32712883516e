//! Zen's documented failures: each shows under the rules that its script names, and not under ours.
//!
//! With `ZAZEN_BLESS=1` the scripts and the table of docs/flaws.md are written as they came out.

use crate::diff;
use crate::scripts::{self, Played};
use std::fs;
use std::path::{Path, PathBuf};
use zazen::sim::flaws::{self, FLAWS, Flaw, Oracle, PlayOutcome, Typed};
use zazen::sim::script::{Script, ScriptWorld};
use zazen::zen68::Dialect;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn every_flaw_shows_under_its_rules_and_not_under_ours() {
    let judge = |flaw: &Flaw| {
        let (old, new) = (flaws::play(flaw, Some(flaw.dialect)), flaws::play(flaw, None));
        let is_shown = matches!(old, PlayOutcome::Flawed(_)) && new == PlayOutcome::Clean;
        (!is_shown).then(|| format!("{} {}: under {} {old:?}, under zazen {new:?}", flaw.id, flaw.title, flaw.dialect))
    };
    let wrong: Vec<String> = FLAWS.iter().filter_map(judge).collect();
    assert!(
        wrong.is_empty(),
        "{}\nSee what a script does: zazen sim --scenario tests/flaws/FILE. A flaw that does not show proves nothing, \
         and one of ours is a bug.",
        wrong.join("\n")
    );
}

#[test]
fn every_script_tells_its_story() {
    scripts::demand(&scripts::all("tests/flaws"), "flaws", play);
}

/// Plays the script as it is, so that the rules are those that it names.
fn play(script: &Script) -> Played {
    let mut stage = ScriptWorld::new();
    script.blocks().map(|block| stage.play(block).map_err(|trouble| (trouble.line(), trouble.to_string()))).collect()
}

#[test]
fn every_script_asks_the_oracle_of_its_row_under_the_rules_of_its_row() {
    for flaw in &FLAWS {
        let commands = |verb: &str| -> Vec<&str> {
            let lines = flaw.script.lines().filter_map(|line| line.strip_prefix(verb)?.split_whitespace().next());
            lines.collect()
        };
        assert_eq!(commands("rules "), [flaw.dialect.name()], "{}", flaw.file);
        assert_eq!(commands("oracle "), [flaw.oracle.name()], "{}", flaw.file);
    }
    let files = scripts::all("tests/flaws");
    let there: Vec<&str> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    assert_eq!(there, FLAWS.map(|flaw| flaw.file), "left: the files of tests/flaws; right: those of the table");
}

#[test]
fn the_page_about_flaws_has_the_table_that_the_scripts_make() {
    let page = path("docs/flaws.md");
    let text = fs::read_to_string(&page).expect("the page is there");
    let is_row = |line: &&str| line.starts_with("| [Z");
    let rows: Vec<String> = FLAWS.iter().map(flaws::row).collect();
    let before: Vec<&str> = text.lines().take_while(|line| !is_row(line)).collect();
    let after: Vec<&str> = text.lines().skip(before.len()).skip_while(is_row).collect();
    let rows = rows.iter().map(String::as_str);
    let lines = before.iter().copied().chain(rows).chain(after.iter().copied());
    let told: String = lines.map(|line| format!("{line}\n")).collect();
    if scripts::is_blessing() {
        fs::write(page, told).expect("the page can be written");
    } else {
        assert!(told == text, "docs/flaws.md differs; ZAZEN_BLESS=1 writes it:\n{}", diff::between(&text, &told));
    }
}

/// Seeds of runs in which the witness saw a flaw that was none: it waited for members of a state that were members no more.
const MISJUDGED: [u64; 2] = [12, 29];

#[test]
fn random_runs_find_flaws_of_zen_and_none_of_ours() {
    let seen = |dialect, seeds: &[u64]| -> Vec<Oracle> {
        let kind = flaws::Kind { dialect, typed: Typed::Majority };
        seeds.iter().flat_map(|seed| flaws::witnessed(kind, *seed).into_keys()).collect()
    };
    let seeds = [1, 2, 3, 4, 5, 6];
    assert_eq!(seen(None, &[&seeds[..], &MISJUDGED].concat()), [], "the same witness, the same faults");
    for dialect in Dialect::ALL {
        assert!(!seen(Some(dialect), &seeds).is_empty(), "{dialect}: the search finds nothing");
    }
}
