//! The module table of `src/lib.rs`, who may use whom by it, and what modules of pure packages must not name.

use crate::lexer::{Token, tokens};
use crate::{Finding, PURE_PACKAGES, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

/// Crates that touch the outside world, or the entropy in it.
const OUTSIDE_CRATES: [&str; 9] =
    ["tokio", "axum", "reqwest", "hyper", "tracing", "clap", "indicatif", "rand", "getrandom"];

/// Parts of the standard library that do.
const OUTSIDE_STD: [&str; 5] = ["thread", "fs", "net", "process", "env"];

/// Names that bring in a clock, entropy or an order that differs from run to run, and what to use in their place.
const OUTSIDE_NAMES: [(&str, &str); 10] = [
    ("Instant", "take `protocol::Time` as an argument"),
    ("SystemTime", "take `protocol::Time` as an argument"),
    ("HashMap", "use a `BTreeMap`, whose order is the same in every run"),
    ("HashSet", "use a `BTreeSet`, whose order is the same in every run"),
    ("RandomState", "use an ordered collection"),
    ("OsRng", "draw from the `protocol::Rng` handed in"),
    ("thread_rng", "draw from the `protocol::Rng` handed in"),
    ("new_v4", "make identities from the `protocol::Rng` handed in"),
    ("now_v6", "make identities from the `protocol::Rng` handed in"),
    ("now_v7", "make identities from the `protocol::Rng` handed in"),
];

/// Which top-level module may use which, and which are pure.
pub(crate) struct Table {
    /// In the order of the table, lowest first.
    rows: Vec<String>,
    may_use: BTreeMap<String, BTreeSet<String>>,
    pub(crate) pure: BTreeSet<String>,
}

fn backticked(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split('`').skip(1).step_by(2).map(String::from)
}

/// Reads the table in the header of `src/lib.rs`, and the modules that it and the other packages' roots declare.
pub(crate) fn table(roots: &[&Source]) -> (Table, Vec<Finding>) {
    let lib = roots.iter().find(|root| root.path == "src/lib.rs").expect("the library has a root");
    let remedy = "write rows as in //! | `zen` | `cluster`, `protocol` |, lowest module first";
    let cells = lib.text.lines().enumerate().filter_map(|(at, line)| {
        let (module, used) = line.strip_prefix("//! | `")?.strip_suffix('|')?.split_once("` |")?;
        Some((at + 1, module.to_string(), used.trim()))
    });
    let cells: Vec<_> = cells.collect();
    let rows: Vec<String> = cells.iter().map(|(_, module, _)| module.clone()).collect();
    let mut findings = Vec::new();
    let mut may_use = BTreeMap::new();
    for (at, (line, module, used)) in cells.iter().enumerate() {
        let named: BTreeSet<String> = backticked(used).collect();
        let below: BTreeSet<String> = rows[..at].iter().cloned().collect();
        if !used.starts_with("all") && *used != "–" && named.is_empty() {
            let found = format!("`{used}` as what `{module}` may use");
            findings.push(lib.finding(*line, found, "modules in backticks, `–`, `all`, or `all but` some", remedy));
        }
        let uses = if used.starts_with("all") { below.difference(&named).cloned().collect() } else { named };
        for above in uses.difference(&below) {
            let found = format!("`{module}` may use `{above}`, which is not a row above it");
            findings.push(lib.finding(*line, found, "only rows above, so that there are no circles", remedy));
        }
        may_use.insert(module.clone(), uses);
    }
    let declared: BTreeMap<String, bool> =
        roots.iter().flat_map(|root| declared_modules(root)).map(|(module, _, is_pure)| (module, is_pure)).collect();
    for root in roots {
        for (module, line, _) in declared_modules(root).into_iter().filter(|(module, ..)| !rows.contains(module)) {
            findings.push(root.finding(line, format!("`mod {module}` without a row"), "modules of the table", remedy));
        }
    }
    for (line, module, _) in cells.iter().filter(|(_, module, _)| !declared.contains_key(module)) {
        findings.push(lib.finding(*line, format!("a row for `{module}`, no such module"), "declared modules", remedy));
    }
    let pure = declared.into_iter().filter(|(_, is_pure)| *is_pure).map(|(module, _)| module).collect();
    (Table { rows, may_use, pure }, findings)
}

/// The modules that the root of a package declares, with their lines, and whether the package is pure.
fn declared_modules(root: &Source) -> Vec<(String, usize, bool)> {
    let is_pure = root.path.split('/').nth(1).is_some_and(|package| PURE_PACKAGES.contains(&package));
    let tokens = tokens(&root.text);
    let modules = tokens.windows(3).filter(|window| window[0].text == "mod" && window[2].text == ";");
    modules.map(|window| (window[1].text.to_string(), window[0].line, is_pure)).collect()
}

/// Whether no path leads to the name at `at`; a `::` in front of all, as in `::std::fs`, is no path.
fn starts_a_path(tokens: &[Token<'_>], at: usize) -> bool {
    let before: Vec<&str> = tokens[..at].iter().rev().take(2).map(|token| token.text).collect();
    match before[..] {
        ["::", before] => before == "use" || !before.starts_with(|c: char| c.is_alphanumeric() || c == '_'),
        ["." | "mod", ..] => false,
        _ => true,
    }
}

/// The first names behind a root and its `::` at `at`: one, or those of a group.
fn heads<'a>(tokens: &'a [Token<'a>], at: usize) -> Vec<&'a Token<'a>> {
    let Some(first) = tokens.get(at) else { return Vec::new() };
    if first.text != "{" {
        return vec![first];
    }
    let mut depth = 0;
    let mut found = Vec::new();
    for pair in tokens[at..].windows(2) {
        match pair[0].text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(pair[0].text, "{" | ",") && pair[1].text != "}" {
            found.push(&pair[1]);
        }
    }
    found
}

/// Every name that the file takes from the root of this crate, however it climbs there.
fn names_from_the_root<'a>(source: &Source, tokens: &'a [Token<'a>]) -> Vec<&'a Token<'a>> {
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'_>| token.text);
    let mut open: Vec<bool> = Vec::new();
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let starts_a_path = starts_a_path(tokens, at);
        match text(at) {
            "{" => open.push(at > 1 && text(at - 2) == "mod"),
            "}" => drop(open.pop()),
            "crate" | "zazen" | "zazen_core" | "zazen_elections" | "zazen_node" | "zazen_operation"
            | "zazen_simulator"
                if starts_a_path && text(at + 1) == "::" =>
            {
                found.extend(heads(tokens, at + 2))
            }
            "use" if text(at + 1) == "crate" && text(at + 2) == "as" => found.push(&tokens[at + 1]),
            "super" if starts_a_path => {
                let climbs =
                    iter::successors(Some(at), |at| Some(at + 2)).take_while(|at| text(*at) == "super").count();
                let depth = source.depth() + open.iter().filter(|is_module| **is_module).count();
                if climbs >= depth && text(at + 2 * climbs - 1) == "::" {
                    found.extend(heads(tokens, at + 2 * climbs));
                }
            }
            _ => {}
        }
    }
    found
}

pub(crate) fn layers(source: &Source, table: &Table) -> Vec<Finding> {
    let Some(module) = source.module() else {
        return Vec::new();
    };
    let Some(may_use) = table.may_use.get(module) else {
        let allowed = format!("`{}`", table.rows.join("`, `"));
        let remedy = "give the module a row in the table of src/lib.rs, or move the file into one that has";
        return vec![source.finding(1, format!("a file of `{module}`, which is not in the table"), &allowed, remedy)];
    };
    let names: Vec<String> = may_use.iter().map(|name| format!("`{name}`")).collect();
    let allowed = if names.is_empty() { "nothing else of ours".into() } else { names.join(", ") };
    let remedy = format!("move what `{module}` needs down into one of these, or hand it in as data");
    let tokens = tokens(&source.text);
    let named = names_from_the_root(source, &tokens);
    let forbidden = named.into_iter().filter(|name| name.text != module && !may_use.contains(name.text));
    forbidden
        .map(|name| source.finding(name.line, format!("`{}` used by `{module}`", name.text), &allowed, &remedy))
        .collect()
}

pub(crate) fn purity(source: &Source, table: &Table) -> Vec<Finding> {
    let Some(module) = source.module().filter(|module| table.pure.contains(*module)) else {
        return Vec::new();
    };
    let tokens = tokens(&source.text);
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'_>| token.text);
    let mut findings = Vec::new();
    let mut refuse = |line: usize, name: &str, remedy: &str| {
        let allowed = format!("no clock, entropy, file, socket or thread in `{module}`, which is pure");
        findings.push(source.finding(line, format!("`{name}`"), &allowed, remedy));
    };
    for (at, token) in tokens.iter().enumerate() {
        let starts_a_path = starts_a_path(&tokens, at);
        let is_path = text(at + 1) == "::" || at > 0 && matches!(text(at - 1), "use" | "crate");
        if let Some((name, instead)) = OUTSIDE_NAMES.iter().find(|(name, _)| *name == token.text) {
            refuse(token.line, name, instead);
        } else if OUTSIDE_CRATES.contains(&token.text) && starts_a_path && is_path {
            refuse(
                token.line,
                token.text,
                "leave it to the driver: ask with an `Effect`, learn the outcome as an `Input`",
            );
        } else if matches!(token.text, "std" | "core") && starts_a_path && text(at + 1) == "::" {
            for part in heads(&tokens, at + 2).iter().filter(|part| OUTSIDE_STD.contains(&part.text)) {
                let name = format!("{}::{}", token.text, part.text);
                refuse(
                    part.line,
                    &name,
                    "leave it to the driver: ask with an `Effect`, learn the outcome as an `Input`",
                );
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{demand_none, places, sample};

    fn sample_table() -> Table {
        let lib = sample("src/lib.rs", "//! | `a` | – |\n//! | `b` | `a` |\n//! | `c` | all but `b` |\npub mod c;\n");
        let core = sample("src/core/lib.rs", "pub mod a;\nmod b;\n");
        let (table, findings) = table(&[&lib, &core]);
        demand_none(&findings);
        table
    }

    #[test]
    fn the_table_is_read_and_its_mistakes_are_found() {
        let good = sample_table();
        assert_eq!(good.rows, ["a", "b", "c"]);
        assert!(good.may_use["b"].contains("a") && !good.may_use["c"].contains("b"));
        assert_eq!(good.pure.iter().collect::<Vec<_>>(), ["a", "b"]);
        let bad = "//! | `a` | `b` |\n//! | `b` | what it likes |\n//! | `gone` | – |\nmod a;\nmod b;\nmod extra;\n";
        let (_, findings) = table(&[&sample("src/lib.rs", bad)]);
        assert_eq!(places(&findings), ["src/lib.rs:1", "src/lib.rs:2", "src/lib.rs:6", "src/lib.rs:3"]);
    }

    #[test]
    fn every_way_to_use_a_forbidden_module_is_found() {
        let table = sample_table();
        let cases = [
            ("src/a/x.rs", "use crate::b;", 1),
            ("src/a.rs", "use crate::{\n    a::{b, c},\n    b::{Z},\n    c,\n};", 2),
            ("src/a/mod.rs", "fn f() { zazen::b::g(); super::b::g() }", 2),
            ("src/a/x.rs", "use super::super::{b, a};", 1),
            ("src/a/mod.rs", "mod tests { use super::b; use super::super::c; }", 1),
            ("src/a/mod.rs", "pub(super) fn f() {} pub(crate) mod x;", 0),
            ("src/b/x.rs", "use crate::a::b; use super::c; // crate::c", 0),
            ("src/b/x.rs", "const WHERE: &str = \"crate::c\"; pub(in crate::b) struct X<'c>(&'c str);", 0),
            ("src/a/x.rs", "use crate::*; use crate as all;", 2),
            ("src/d.rs", "", 1),
            ("src/core/a/mod.rs", "use super::b; use zazen_core::c;", 2),
            ("tests/d.rs", "use zazen::c;", 0),
        ];
        for (path, text, expected) in cases {
            let found = layers(&sample(path, text), &table);
            assert_eq!(found.len(), expected, "in {path}: {text}\n{:?}", places(&found));
        }
        let message = layers(&sample("src/a/x.rs", "\nuse crate::b;"), &table)[0].to_string();
        assert!(
            message.starts_with("src/a/x.rs:2: found `b` used by `a`\n    allowed: nothing else of ours\n    do: move")
        );
    }

    #[test]
    fn every_way_to_touch_the_outside_world_is_found() {
        let table = sample_table();
        let cases = [
            ("use std::time::Instant;\nuse std::time::{Duration, SystemTime};", 2),
            ("use std::{collections::{BTreeMap, HashMap}, fmt, fs, thread};", 3),
            ("fn f() { std::thread::sleep(d); ::core::net::x(); tokio::spawn(g); Uuid::new_v4(); }", 4),
            ("use tracing as t; extern crate rand;", 2),
            ("// HashMap, Instant and `std::fs`\nfn f(rand: u64) -> &'static str { \"HashSet std::net\" }", 0),
            ("use crate::a::rand; use std::time::Duration; const C: char = '\"'; /* /* std::fs */ std::net */", 0),
        ];
        for (text, expected) in cases {
            let found = purity(&sample("src/a/x.rs", text), &table);
            assert_eq!(found.len(), expected, "in {text}\n{:?}", places(&found));
            assert!(purity(&sample("src/c/x.rs", text), &table).is_empty(), "c may touch it: {text}");
        }
    }
}
