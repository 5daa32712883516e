//! What a user wants to see of an answer: `filter_path`.
//!
//! A filter is a path of names between dots. `*` stands for any part of one name, `**` for one name or more, `\.` is a dot
//! within a name, and a leading `-` takes away instead of keeping. What is taken away goes first. Lists are no step of a
//! path. A part that a path leads into and of which nothing is left is left out itself. Mirrors `FilterPath` and
//! `FilterPathBasedFilter` (6.8), whose answers the tests repeat.

use super::Json;
use crate::service::matches;

/// How many steps all paths together may have, so that no answer costs more than its size times this.
const STEPS_MAX: usize = 1_000;

/// Names that a path leads through.
type Path = Vec<String>;

/// What to keep and what to take away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::rest) struct Filter {
    keep: Vec<Path>,
    take: Vec<Path>,
}

impl Filter {
    /// Reads the value of `filter_path`.
    pub(in crate::rest) fn parse(text: &str) -> Result<Filter, String> {
        let mut filter = Filter::default();
        for path in text.split(',').map(str::trim).filter(|path| !path.is_empty()) {
            match path.strip_prefix('-') {
                Some("") => return Err("filters cannot be null or empty".into()),
                Some(path) => filter.take.push(steps(path)),
                None => filter.keep.push(steps(path)),
            }
        }
        let count: usize = filter.keep.iter().chain(&filter.take).map(Vec::len).sum();
        if count > STEPS_MAX {
            return Err(format!("filter_path has {count} steps, allowed are {STEPS_MAX}"));
        }
        Ok(filter)
    }

    /// What the filter leaves of a value; nothing if that is nothing.
    pub(in crate::rest) fn apply(&self, json: Json) -> Option<Json> {
        let take: Vec<&[String]> = self.take.iter().map(Vec::as_slice).collect();
        let keep: Vec<&[String]> = self.keep.iter().map(Vec::as_slice).collect();
        let left = if take.is_empty() { Some(json) } else { without(json, &take) };
        if keep.is_empty() { left } else { left.and_then(|json| only(json, &keep)) }
    }
}

/// The names of a path; a dot behind a backslash is part of a name.
fn steps(path: &str) -> Path {
    let mut steps = vec![String::new()];
    let mut letters = path.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = steps.last_mut().expect("there is a first step from the beginning");
        match letter {
            '\\' if letters.peek() == Some(&'.') => last.extend(letters.next()),
            '.' => steps.push(String::new()),
            letter => last.push(letter),
        }
    }
    steps
}

/// Where paths lead by a name.
enum Next<'a> {
    /// One ends there.
    Whole,
    /// These go on; none of them if the list is empty.
    On(Vec<&'a [String]>),
}

fn next<'a>(paths: &[&'a [String]], name: &str) -> Next<'a> {
    let mut on: Vec<&'a [String]> = Vec::new();
    for path in paths {
        let Some((step, rest)) = path.split_first().filter(|(step, _)| matches(step, name)) else {
            continue;
        };
        if rest.is_empty() {
            return Next::Whole;
        }
        let stays = (step == "**").then_some(*path);
        for path in [rest].into_iter().chain(stays) {
            // Each is kept once, or paths with many `**` would multiply with every level.
            if !on.contains(&path) {
                on.push(path);
            }
        }
    }
    Next::On(on)
}

/// The value without what the paths lead to; nothing if nothing is left of it.
fn without(json: Json, paths: &[&[String]]) -> Option<Json> {
    match json {
        Json::Object(fields) => {
            let left = fields.into_iter().filter_map(|(name, value)| match next(paths, &name) {
                Next::Whole => None,
                Next::On(on) if on.is_empty() => Some((name, value)),
                Next::On(on) => Some((name, without(value, &on)?)),
            });
            Some(left.collect::<Vec<_>>()).filter(|left| !left.is_empty()).map(Json::Object)
        }
        Json::List(values) => {
            let left: Vec<Json> = values.into_iter().filter_map(|value| without(value, paths)).collect();
            Some(left).filter(|left| !left.is_empty()).map(Json::List)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => Some(json),
    }
}

/// Only what the paths lead to; nothing if they lead to nothing.
fn only(json: Json, paths: &[&[String]]) -> Option<Json> {
    match json {
        Json::Object(fields) => {
            let left = fields.into_iter().filter_map(|(name, value)| match next(paths, &name) {
                Next::Whole => Some((name, value)),
                Next::On(on) if on.is_empty() => None,
                Next::On(on) => Some((name, only(value, &on)?)),
            });
            Some(left.collect::<Vec<_>>()).filter(|left| !left.is_empty()).map(Json::Object)
        }
        Json::List(values) => {
            let left: Vec<Json> = values.into_iter().filter_map(|value| only(value, paths)).collect();
            Some(left).filter(|left| !left.is_empty()).map(Json::List)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::body::compact;
    use serde_json::Value;

    const STATE: &str = r#"{"blocks":{},"nodes":{"a":{"name":"n1","attributes":{"t":"x"}},"b":{"name":"n0"}},
        "metadata":{"graveyard":{"tombstones":[]},"x.y":1},"list":[{"id":1,"n":2},{"n":3},4],"version":2}"#;

    fn filtered(paths: &str) -> String {
        let json = Json::from(&serde_json::from_str::<Value>(STATE).expect("the sample is JSON"));
        let filter = Filter::parse(paths).unwrap_or_else(|error| panic!("{paths}: {error}"));
        filter.apply(json).map_or_else(String::new, |json| compact(&json))
    }

    #[test]
    fn only_what_is_asked_for_is_kept() {
        let cases = [
            ("version", r#"{"version":2}"#),
            (" version ,zzz,", r#"{"version":2}"#),
            ("nodes.*.name", r#"{"nodes":{"a":{"name":"n1"},"b":{"name":"n0"}}}"#),
            ("n*s.*.n*,v*", r#"{"nodes":{"a":{"name":"n1"},"b":{"name":"n0"}},"version":2}"#),
            ("**.t", r#"{"nodes":{"a":{"attributes":{"t":"x"}}}}"#),
            ("nodes.**.t", r#"{"nodes":{"a":{"attributes":{"t":"x"}}}}"#),
            ("nodes.**.name", r#"{"nodes":{"a":{"name":"n1"},"b":{"name":"n0"}}}"#),
            ("**.version", ""),
            ("metadata.graveyard.*", r#"{"metadata":{"graveyard":{"tombstones":[]}}}"#),
            ("metadata.graveyard.tombstones.x", ""),
            (r"metadata.x\.y", r#"{"metadata":{"x.y":1}}"#),
            ("metadata.x.y", ""),
            ("list.n", r#"{"list":[{"n":2},{"n":3}]}"#),
            ("blocks", r#"{"blocks":{}}"#),
            ("blocks.*", ""),
            ("version.x", ""),
            ("nodes.", ""),
            (".nodes", ""),
            ("nodes.b,nodes.b.name", r#"{"nodes":{"b":{"name":"n0"}}}"#),
        ];
        for (paths, expected) in cases {
            assert_eq!(filtered(paths), expected, "{paths}");
        }
        assert_eq!(filtered("*"), filtered(""));
        assert_eq!(filtered("**"), filtered(","));
    }

    #[test]
    fn what_is_not_wanted_is_taken_away_first() {
        let cases = [
            ("-nodes,-metadata,-list", r#"{"blocks":{},"version":2}"#),
            ("nodes,-nodes.*.name", r#"{"nodes":{"a":{"attributes":{"t":"x"}}}}"#),
            ("-**.t,nodes.a", r#"{"nodes":{"a":{"name":"n1"}}}"#),
            ("-blocks.x,blocks,version", r#"{"version":2}"#),
            ("-x.y,blocks,version", r#"{"blocks":{},"version":2}"#),
            ("-list.n,list", r#"{"list":[{"id":1},4]}"#),
            ("-**", ""),
        ];
        for (paths, expected) in cases {
            assert_eq!(filtered(paths), expected, "{paths}");
        }
    }

    #[test]
    fn filters_that_make_no_sense_or_no_end_are_refused() {
        assert_eq!(Filter::parse("a,-"), Err("filters cannot be null or empty".into()));
        let long = vec!["a"; STEPS_MAX + 1].join(".");
        assert_eq!(Filter::parse(&long), Err("filter_path has 1001 steps, allowed are 1000".into()));
    }
}
