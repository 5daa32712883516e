//! Which licences dependencies have, where they come from, and which there are, as `deny.toml` allows it: what `cargo deny`
//! would say, for those who have only a toolchain, of the crates that are built here.

use super::{Finding, cargo_tree};

const REMEDY: &str = "do without it, or allow it in deny.toml and say in the commit why that is right";

/// The words of the list `allow` below a heading of `deny.toml`.
fn allowed<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let section = text.split("\n[").find_map(|section| section.strip_prefix(heading)).unwrap_or_default();
    let list = section.split("\nallow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let lines = list.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines
        .flat_map(|line| line.split(','))
        .map(|word| word.trim().trim_matches('"'))
        .filter(|word| !word.is_empty())
        .collect()
}

/// The crates that are denied, each with the reason.
fn denied(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix("{ crate = \""))
        .filter_map(|entry| entry.split_once("\", reason = \""))
        .map(|(name, reason)| (name, reason.trim_end_matches("\" },")))
        .collect()
}

/// Whether one may choose allowed licences only; of those joined by `AND` all must be.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let choice = |part: &str| {
        let part = part.trim().trim_matches(['(', ')']);
        part.split(" OR ").flat_map(|one| one.split('/')).any(|one| allowed.contains(&one.trim()))
    };
    expression.split(" AND ").all(choice)
}

/// What is wrong with a line of `cargo tree`: a crate, its licence, and where the crate comes from behind it.
fn judge(line: &str, allowed: &[&str], denied: &[(&str, &str)]) -> Option<Finding> {
    let (name, licence) = line.trim_end_matches(" (*)").split_once('|')?;
    let finding =
        |found: String, allowed: String| Finding { place: name.to_owned(), found, allowed, remedy: REMEDY.to_owned() };
    if let Some((_, reason)) = denied.iter().find(|(denied, _)| name.split(' ').next() == Some(denied)) {
        return Some(finding("a crate that is denied".into(), format!("none ({reason})")));
    }
    if !is_allowed(licence, allowed) {
        return Some(finding(format!("the licence `{licence}`"), allowed.join(", ")));
    }
    let origin = name.split_once(" (").map(|(_, origin)| origin);
    let is_foreign = origin.is_some_and(|origin| !origin.starts_with('/') && !origin.starts_with("proc-macro"));
    is_foreign.then(|| finding("a crate that is not from crates.io".into(), "crates.io, and this repository".into()))
}

pub(super) fn dependencies() -> Vec<Finding> {
    let text = include_str!("../../deny.toml");
    let (allowed, denied) = (allowed(text, "licenses]"), denied(text));
    assert!(!denied.is_empty(), "no crate is denied, so they are not read as they are written");
    let tree = cargo_tree(&["--workspace", "--all-features", "-e", "build,dev", "--format", "{p}|{l}"]);
    assert!(tree.contains("tokio v"), "the graph is empty, so nothing was checked:\n{tree}");
    tree.lines().filter_map(|line| judge(line, &allowed, &denied)).collect()
}

#[test]
fn a_licence_or_an_origin_that_is_not_allowed_is_found() {
    let allowed = ["MIT", "Apache-2.0", "ISC"];
    let cases = [
        ("a v1.0.0|MIT", None),
        ("a v1.0.0|GPL-3.0/MIT (*)", None),
        ("a v1.0.0 (proc-macro)|(MIT OR GPL-3.0) AND ISC", None),
        ("a v1.0.0 (/here/a)|Apache-2.0 WITH LLVM-exception OR Apache-2.0", None),
        ("a v1.0.0|GPL-3.0", Some("the licence `GPL-3.0`")),
        ("a v1.0.0|MIT AND GPL-3.0", Some("the licence `MIT AND GPL-3.0`")),
        ("a v1.0.0|", Some("the licence ``")),
        ("a v1.0.0 (https://example.com/a#1)|MIT", Some("a crate that is not from crates.io")),
        ("b v1.0.0|MIT", Some("a crate that is denied")),
        ("bb v1.0.0|MIT", None),
    ];
    let denied = denied("    { crate = \"b\", reason = \"do without\" },\n");
    for (line, expected) in cases {
        let found = judge(line, &allowed, &denied).map(|finding| finding.found);
        assert_eq!(found.as_deref(), expected, "{line}");
    }
}

#[test]
fn what_is_allowed_is_read_from_its_section() {
    let text = "[graph]\n\n[bans]\nallow = [\"x\"]\n\n[licenses]\n# Why.\nallow = [\n    \"MIT\",\n    # Data.\n    \"ISC\", \"Zlib\",\n]\nx = 1\n";
    assert_eq!(allowed(text, "licenses]"), ["MIT", "ISC", "Zlib"]);
}
