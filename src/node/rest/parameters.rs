//! The parameters of a request: those of its query and those that its path captured, under one roof.
//!
//! What a parameter is called and means stands in the table of routes; a handler reads only what stands there. Mirrors
//! `RestRequest` and `BaseRestHandler.unrecognized` (6.8).

use super::error::RestError;
use super::time;
use crate::settings::edit_distance;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// One parameter, as the table of routes describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    /// Its name in the query or in the path.
    pub(super) name: &'static str,
    /// What a value looks like.
    pub(super) values: Values,
    /// What holds when it is not given.
    pub(super) default: &'static str,
    /// What it means, in a sentence.
    pub(super) doc: &'static str,
}

/// What values look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// `true` or `false`; without a value it is true.
    Flag,
    /// A whole number and a unit.
    Time,
    /// A whole number.
    Number,
    /// Any text.
    Text,
    /// Texts with commas between them.
    List,
}

impl Values {
    /// The word for it in documentation.
    pub(super) fn name(self) -> &'static str {
        match self {
            Values::Flag => "boolean",
            Values::Time => "time",
            Values::Number => "number",
            Values::Text => "text",
            Values::List => "list",
        }
    }
}

/// What Elasticsearch reads only with something else, and does not know without.
const READ_WITH: [(&str, &str); 9] = [
    ("analyze_wildcard", "q"),
    ("analyzer", "q"),
    ("default_operator", "q"),
    ("df", "q"),
    ("lenient", "q"),
    ("source_content_type", "source"),
    ("suggest_mode", "suggest_field"),
    ("suggest_size", "suggest_field"),
    ("suggest_text", "suggest_field"),
];

/// What Elasticsearch looks at only if it is given, so that nobody is told of it: by the name of the route.
const UNSUGGESTED: [(&str, &[&str]); 8] = [
    ("cat_alias_action", &["alias"]),
    ("cat_templates_action", &["name"]),
    ("cluster_health_action", &["wait_for_relocating_shards"]),
    ("cluster_state_action", &["wait_for_metadata_version"]),
    ("indices_shard_stores_action", &["status"]),
    ("indices_stats_action", &["completion_fields", "fielddata_fields", "fields", "groups"]),
    ("nodes_stats_action", &["completion_fields", "fielddata_fields", "fields", "groups", "index_metric", "types"]),
    (
        "search_action",
        &[
            "allow_partial_search_results",
            "explain",
            "max_concurrent_shard_requests",
            "seq_no_primary_term",
            "source",
            "terminate_after",
            "timeout",
            "track_scores",
            "track_total_hits",
            "version",
        ],
    ),
];

/// What a request was given, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    given: BTreeMap<String, String>,
}

impl From<BTreeMap<String, String>> for Parameters {
    fn from(given: BTreeMap<String, String>) -> Self {
        Parameters { given }
    }
}

impl Parameters {
    /// Adds what a path captured; it goes over the query.
    pub(super) fn extend(&mut self, captured: impl IntoIterator<Item = (&'static str, String)>) {
        self.given.extend(captured.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }

    /// The text as it is, if one was given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// Whether something is wanted, if that was said; blanks say nothing.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, RestError> {
        let is_blank = |text: &str| !text.is_empty() && text.trim().is_empty();
        self.text(name).filter(|text| !is_blank(text)).map(flag).transpose()
    }

    /// A time, or what holds when none is given.
    pub(super) fn time(&self, name: &str, default: Duration) -> Result<Duration, RestError> {
        self.text(name).map_or(Ok(default), |text| time::parse(name, text))
    }

    /// The elements of a list; empty ones are passed over.
    pub(super) fn list(&self, name: &str) -> Option<Vec<&str>> {
        Some(self.text(name)?.split(',').filter(|element| !element.is_empty()).collect())
    }

    /// The same without the blanks around them, where Elasticsearch takes a list so.
    pub(super) fn words(&self, name: &str) -> Option<Vec<&str>> {
        let elements = self.text(name)?.split(',').map(str::trim);
        Some(elements.filter(|element| !element.is_empty()).collect())
    }

    /// A whole number that is not negative, if one was given.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, RestError> {
        let parse = |text: &str| {
            let reason = format!("Failed to parse long parameter [{name}] with value [{text}]");
            text.parse().map_err(|_| RestError::illegal(reason).caused_by(RestError::no_number(text)))
        };
        self.text(name).map(parse).transpose()
    }

    /// Whether all that was given passes, and is read with what else was given.
    pub(super) fn are_all(&self, is_known: impl Fn(&str) -> bool) -> bool {
        self.given.keys().all(|name| is_known(name) && self.is_read(name))
    }

    fn is_read(&self, name: &str) -> bool {
        READ_WITH.iter().all(|(other, with)| *other != name || self.given.contains_key(*with))
    }

    /// Refuses what is not known, and names what may have been meant.
    pub(super) fn check_known(&self, (path, route): (&str, &str), known: &BTreeSet<&str>) -> Result<(), RestError> {
        let known: &BTreeSet<&str> = &known.iter().copied().filter(|name| self.is_read(name)).collect();
        let unknown: Vec<&str> = self.given.keys().map(String::as_str).filter(|name| !known.contains(name)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let is_hidden = |name: &&str| UNSUGGESTED.iter().any(|(of, hidden)| *of == route && hidden.contains(name));
        let suggested = known.iter().copied().filter(|name| !is_hidden(name)).collect();
        Err(unrecognized(path, "parameter", &unknown, &suggested))
    }

    /// A whole number, if one was given.
    pub(super) fn int(&self, name: &str) -> Result<Option<i32>, RestError> {
        let parse = |text: &str| {
            let reason = format!("Failed to parse int parameter [{name}] with value [{text}]");
            text.parse().map_err(|_| RestError::illegal(reason).caused_by(RestError::no_number(text)))
        };
        self.text(name).map(parse).transpose()
    }
}

/// Names that are not known, with those that may have been meant.
pub(super) fn unrecognized(path: &str, what: &str, unknown: &[&str], known: &BTreeSet<&str>) -> RestError {
    let plural = if unknown.len() == 1 { "" } else { "s" };
    let named: Vec<String> = unknown.iter().map(|name| format!("[{name}]{}", suggestion(name, known))).collect();
    RestError::illegal(format!("request [{path}] contains unrecognized {what}{plural}: {}", named.join(", ")))
}

/// Strictly true or false; nothing is true.
pub(super) fn flag(text: &str) -> Result<bool, RestError> {
    match text {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        other => {
            Err(RestError::illegal(format!("Failed to parse value [{other}] as only [true] or [false] are allowed.")))
        }
    }
}

/// Names no longer than this are compared with what is known, so that no request costs much.
const COMPARED_CHARS_MAX: usize = 100;

/// The known names that are alike in more than half of their letters, the likest first.
fn suggestion(unknown: &str, known: &BTreeSet<&str>) -> String {
    let length = unknown.chars().count();
    if length > COMPARED_CHARS_MAX {
        return String::new();
    }
    let unlike = |name: &str| {
        let (edit_distance, longer) = (edit_distance(unknown, name), length.max(name.chars().count()));
        (edit_distance * 2 < longer).then_some(edit_distance * 1_000_000 / longer)
    };
    let mut near: Vec<(usize, &str)> = known.iter().filter_map(|name| Some((unlike(name)?, *name))).collect();
    near.sort_unstable();
    let names: Vec<&str> = near.into_iter().map(|(_, name)| name).collect();
    match names[..] {
        [] => String::new(),
        [name] => format!(" -> did you mean [{name}]?"),
        _ => format!(" -> did you mean any of [{}]?", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Parameters {
        let pairs = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        pairs.collect::<BTreeMap<_, _>>().into()
    }

    #[test]
    fn booleans_are_strict() {
        let parameters = given(&[("a", ""), ("b", "true"), ("c", "false"), ("d", "1"), ("e", "TRUE")]);
        assert_eq!(
            ["a", "b", "c", "z"].map(|name| parameters.flag(name)),
            [Ok(Some(true)), Ok(Some(true)), Ok(Some(false)), Ok(None)]
        );
        let error = |text: &str| {
            RestError::illegal(format!("Failed to parse value [{text}] as only [true] or [false] are allowed."))
        };
        assert_eq!([parameters.flag("d"), parameters.flag("e")], [Err(error("1")), Err(error("TRUE"))]);
    }

    #[test]
    fn lists_numbers_and_times_are_read_and_the_bad_ones_named() {
        let mut parameters = given(&[("l", "a,,b"), ("n", "x"), ("m", "7"), ("t", "2s")]);
        parameters.extend([("n", "-1".into())]);
        assert_eq!(parameters.list("l"), Some(vec!["a", "b"]));
        assert_eq!(given(&[("w", " a , ,b")]).words("w"), Some(vec!["a", "b"]));
        assert_eq!(parameters.number("m"), Ok(Some(7)));
        let error = parameters.number("n").expect_err("it is negative").to_string();
        assert_eq!(error, "IllegalArgumentException[Failed to parse long parameter [n] with value [-1]]");
        assert_eq!(parameters.time("t", Duration::ZERO), Ok(Duration::from_secs(2)));
        assert_eq!(parameters.time("z", Duration::ZERO), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_not_known_is_named_with_what_may_have_been_meant() {
        let known: BTreeSet<&str> = [
            "error_trace",
            "filter_path",
            "format",
            "human",
            "index",
            "level",
            "local",
            "master_timeout",
            "pretty",
            "timeout",
            "wait_for_active_shards",
            "wait_for_events",
            "wait_for_no_initializing_shards",
            "wait_for_no_relocating_shards",
            "wait_for_nodes",
            "wait_for_status",
        ]
        .into();
        let cases: [(&[&str], &str); 4] = [
            (
                &["wait_for_statu"],
                "[wait_for_statu] -> did you mean any of [wait_for_status, wait_for_events, wait_for_nodes]?",
            ),
            (&["master_timeot"], "[master_timeot] -> did you mean [master_timeout]?"),
            (&["nope"], "[nope]"),
            (&["b", "a"], "s: [a], [b]"),
        ];
        for (names, expected) in cases {
            let pairs: Vec<(&str, &str)> = names.iter().map(|name| (*name, "")).collect();
            let error = given(&pairs).check_known(("/x", "x"), &known).expect_err("it is not known").to_string();
            let expected = expected.strip_prefix('s').map_or(format!(": {expected}"), |rest| format!("s{rest}"));
            assert_eq!(
                error,
                format!("IllegalArgumentException[request [/x] contains unrecognized parameter{expected}]")
            );
        }
        assert_eq!(given(&[("local", "x")]).check_known(("/x", "x"), &known), Ok(()));
        assert!(given(&[(&"x".repeat(4_000), "")]).check_known(("/x", "x"), &known).is_err());
    }
}
