//! Whether the modules of each folder use one another in one direction only.
//!
//! A folder's own file and what stands in the folder are one: only what one entry takes from another entry beside it counts, at
//! each level. Names are read from `use`s and from paths; what is used through a `use` of another module counts where it is defined. Tests of a
//! file may use what they like.

use crate::lexer::{Token, tokens};
use crate::{Finding, PACKAGES, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

/// A re-export leads to another one so often at the most.
const REEXPORTS_MAX: usize = 8;

/// A module: its package, and its path from there.
type Place = Vec<String>;

/// A name that a file takes, from where it stands, as it is written.
struct Taken {
    path: Vec<String>,
    line: usize,
    /// Whether those behind it may take it from here: from a `use`, those who stand in the module as well.
    is_handed_on: bool,
}

/// The modules of all packages, and what each takes.
struct House<'a> {
    modules: BTreeMap<Place, (&'a Source, Vec<Taken>)>,
}

/// One entry of a folder uses another one.
struct Arrow<'a> {
    from: String,
    to: String,
    source: &'a Source,
    line: usize,
    name: String,
}

pub(crate) fn rooms(sources: &[Source]) -> Vec<Finding> {
    let house = House::new(sources);
    let mut findings = Vec::new();
    for (folder, arrows) in house.arrows() {
        let ends = arrows.iter().map(|arrow| (arrow.from.as_str(), arrow.to.as_str())).collect();
        let reached = closure(&ends);
        let comes_back = |arrow: &&Arrow<'_>| reached.contains(&(arrow.to.as_str(), arrow.from.as_str()));
        for arrow in arrows.iter().filter(comes_back) {
            let found =
                format!("`{}` of `{}` takes `{}` from `{}`", arrow.from, folder.join("::"), arrow.name, arrow.to);
            let allowed = format!("no use of `{}`, which uses `{}`, if through others", arrow.to, arrow.from);
            let remedy = "move what both need to where neither needs the other";
            findings.push(arrow.source.finding(arrow.line, found, &allowed, remedy));
        }
    }
    findings
}

impl<'a> House<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let modules = sources.iter().filter_map(|source| Some((place(&source.path)?, source)));
        House { modules: modules.map(|(place, source)| (place, (source, taken(&source.text)))).collect() }
    }

    /// By folder, each pair of its entries of which one uses the other, with one name for which it does.
    fn arrows(&self) -> BTreeMap<Place, Vec<Arrow<'a>>> {
        let mut found: BTreeMap<Place, Vec<Arrow<'a>>> = BTreeMap::new();
        for (from, (source, taken)) in &self.modules {
            for one in taken {
                let Some(to) = self.defines(from, &one.path, REEXPORTS_MAX) else { continue };
                let same = iter::zip(from, &to).take_while(|(one, other)| one == other).count();
                let (Some(own), Some(other)) = (from.get(same), to.get(same)) else { continue };
                let arrows = found.entry(from[..same].to_vec()).or_default();
                // The packages have an order of their own.
                if same > 0 && !arrows.iter().any(|arrow| arrow.from == *own && arrow.to == *other) {
                    let name = one.path.last().cloned().unwrap_or_default();
                    arrows.push(Arrow { from: own.clone(), to: other.clone(), source, line: one.line, name });
                }
            }
        }
        found
    }

    /// The module that defines what a path names, if it is one of ours.
    fn defines(&self, at: &[String], path: &[String], reexports: usize) -> Option<Place> {
        let (mut place, mut rest) = self.begin(at, path)?;
        while let Some((next, behind)) = rest.split_first() {
            let inside: Place = place.iter().chain(iter::once(next)).cloned().collect();
            if !self.modules.contains_key(&inside) {
                break;
            }
            (place, rest) = (inside, behind);
        }
        let (_, taken) = self.modules.get(&place)?;
        let name = rest.first().filter(|_| reexports > 0);
        let handed_on = taken.iter().filter(|one| one.is_handed_on && one.path.last() == name && name.is_some());
        let mut elsewhere = handed_on.filter_map(|one| self.defines(&place, &one.path, reexports - 1));
        elsewhere.find(|other| *other != place).or(Some(place))
    }

    /// Where a path begins, and what of it is left to walk.
    fn begin<'b>(&self, at: &[String], path: &'b [String]) -> Option<(Place, &'b [String])> {
        let first = path.first()?;
        let climbs = path.iter().take_while(|name| *name == "super").count();
        match first.as_str() {
            "crate" => Some((at[..1].to_vec(), &path[1..])),
            "self" => Some((at.to_vec(), &path[1..])),
            "super" => Some((at.get(..at.len().checked_sub(climbs)?)?.to_vec(), &path[climbs..])),
            name => {
                let inside: Place = at.iter().chain(iter::once(first)).cloned().collect();
                let package = name.strip_prefix("zazen_").filter(|package| PACKAGES.contains(package));
                let package = package.map(|package| (vec![package.to_string()], &path[1..]));
                package.or_else(|| self.modules.contains_key(&inside).then(|| (at.to_vec(), path)))
            }
        }
    }
}

/// The module of a file, unless it holds nothing but tests or is a program.
fn place(path: &str) -> Option<Place> {
    let inside = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let mut parts: Place = inside.split('/').map(String::from).collect();
    if !PACKAGES.contains(&parts[0].as_str()) {
        parts.insert(0, "zazen".into());
    }
    let last = parts.last()?.clone();
    if matches!(last.as_str(), "mod" | "lib") {
        parts.pop();
    }
    let is_of_tests = parts.iter().any(|part| part == "tests");
    (!is_of_tests && last != "main").then_some(parts)
}

/// Everything that a file takes from elsewhere.
fn taken(text: &str) -> Vec<Taken> {
    let tokens = without_tests(tokens(text));
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'_>| token.text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_begun = at > 0 && matches!(text(at - 1), "::" | ".");
        if text(at) == "use" && text(at + 1) != "<" {
            let line = tokens[at].line;
            let mut paths = Vec::new();
            at = branches(&tokens, at + 1, &[], &mut paths);
            found.extend(paths.into_iter().map(|path| Taken { path, line, is_handed_on: true }));
        } else if text(at + 1) == "::" && !is_begun && is_name(text(at)) {
            let names = (at..).step_by(2).take_while(|at| *at == 0 || is_name(text(*at)));
            let path: Vec<String> = iter::once(text(at).to_string())
                .chain(names.skip(1).take_while(|at| text(at - 1) == "::").map(|at| text(at).to_string()))
                .collect();
            found.push(Taken { line: tokens[at].line, path, is_handed_on: false });
        }
        at += 1;
    }
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reads a tree of names from `at` on, and tells where it ends.
fn branches(tokens: &[Token<'_>], mut at: usize, stem: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = stem.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.text {
            "::" => {}
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| !matches!(token.text, "}" | ";")) {
                    at = branches(tokens, at, &path, found);
                    at += usize::from(tokens.get(at).is_some_and(|token| token.text == ","));
                }
                return at + 1;
            }
            "as" => at += 1,
            "," | "}" | ";" => break,
            "self" if path.len() > stem.len() || !stem.is_empty() => {}
            name => path.push(name.to_string()),
        }
        at += 1;
    }
    found.push(path);
    at
}

/// What is left without modules of tests.
fn without_tests(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'_>| token.text);
    let starts = |at: usize| {
        ["#", "[", "cfg", "(", "test", ")", "]", "mod"].iter().zip(at..).all(|(sign, at)| text(at) == *sign)
    };
    let Some(start) = (0..tokens.len()).find(|at| starts(*at)) else { return tokens };
    tokens.into_iter().take(start).collect()
}

/// Who reaches whom along arrows.
fn closure<'a>(arrows: &BTreeSet<(&'a str, &'a str)>) -> BTreeSet<(&'a str, &'a str)> {
    let starts: BTreeSet<&str> = arrows.iter().map(|(from, _)| *from).collect();
    let mut reached = BTreeSet::new();
    for start in starts {
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let next = arrows.iter().filter(|(from, _)| *from == at);
            open.extend(next.map(|(_, to)| *to).filter(|to| reached.insert((start, *to))));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{places, sample};

    #[test]
    fn circles_in_a_folder_are_found_however_their_names_are_written() {
        let both: &[&str] = &["src/core/x/a.rs:1", "src/core/x/b/mod.rs:1"];
        let cases: [(&str, &str, &[&str]); 10] = [
            ("use super::b::B;", "use super::a::A;", both),
            ("use super::b::B;", "fn f() { super::a::g() }", both),
            ("use crate::x::{Shared, b::{self}};", "use crate::x::a as other;", both),
            // Handed on by the folder's own file.
            ("use super::b::B;", "use super::A;", both),
            ("use super::b::B;", "use super::Own;", both),
            ("use crate::y::Y;", "", &["src/core/x/a.rs:1", "src/core/y.rs:1"]),
            ("use super::B;", "use std::fmt; // super::a", &[]),
            ("use super::b::B;", "#[cfg(test)]\nmod tests { use super::super::a::A; }", &[]),
            ("use super::b::B;", "fn f() -> impl Fn() + use<> { g }", &[]),
            // What stands in the folder's own file is common to all of it.
            ("use super::Shared;", "use super::Shared;", &[]),
        ];
        for (a, b, expected) in cases {
            let sources = [
                sample(
                    "src/core/x/mod.rs",
                    "mod a; mod b; pub use a::A; pub(crate) use self::b::B; use a::Own; struct Shared;",
                ),
                sample("src/core/x/a.rs", a),
                sample("src/core/x/b/mod.rs", b),
                sample("src/core/x/b/inner.rs", "use super::B;"),
                sample("src/core/y.rs", "use crate::x::a::A;"),
            ];
            assert_eq!(places(&rooms(&sources)), expected, "{a} and {b}");
        }
    }
}
