//! Which indices a request is about: names, patterns, exclusions, and what to do where there are none.
//!
//! Mirrors `IndicesOptions` and `IndexNameExpressionResolver` (6.8), without aliases.

use super::error::{Kind, RestError};
use super::parameters::{Parameter, Parameters, Values, flag};
use super::{date_math, time};
use crate::cluster::ClusterState;
use crate::service::matches;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a request that is about indices understands.
pub(super) const INDICES: &[Parameter] = &[
    Parameter {
        name: "ignore_unavailable",
        values: Values::Flag,
        default: "as the route says",
        doc: "Passes over indices that there are not; otherwise they are an error.",
    },
    Parameter {
        name: "allow_no_indices",
        values: Values::Flag,
        default: "true",
        doc: "Whether a pattern may fit no index at all.",
    },
    Parameter {
        name: "expand_wildcards",
        values: Values::List,
        default: "open",
        doc: "Which indices a pattern may fit: `open`, `closed`, `all` or `none`.",
    },
    Parameter {
        name: "ignore_throttled",
        values: Values::Flag,
        default: "true",
        doc: "Understood; no index is ever throttled.",
    },
];

/// How strict to be about names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Whether names that there are not are passed over.
    pub(super) ignore_unavailable: bool,
    /// Whether a pattern may fit nothing.
    pub(super) allow_no_indices: bool,
    /// Whether patterns fit open indices.
    pub(super) open: bool,
    /// Whether patterns fit closed ones.
    pub(super) closed: bool,
}

impl Options {
    /// Reads them from a request.
    pub(super) fn read(parameters: &Parameters, ignore_unavailable: bool) -> Result<Options, RestError> {
        let given = |name: &str| parameters.text(name).filter(|text| !text.trim().is_empty());
        let lenient = |name: &'static str, default: bool| match given(name).map(flag) {
            None => Ok(default),
            Some(Ok(value)) => Ok(value),
            Some(Err(cause)) => {
                Err(RestError::illegal(format!("Could not convert [{name}] to boolean")).caused_by(cause))
            }
        };
        let ignore_unavailable = lenient("ignore_unavailable", ignore_unavailable)?;
        let allow_no_indices = lenient("allow_no_indices", true)?;
        lenient("ignore_throttled", true)?;
        let mut options = Options { ignore_unavailable, allow_no_indices, open: true, closed: false };
        if let Some(words) = parameters.list("expand_wildcards") {
            (options.open, options.closed) = (false, false);
            words.iter().try_for_each(|word| options.expand(word))?;
        }
        Ok(options)
    }

    fn expand(&mut self, word: &str) -> Result<(), RestError> {
        match word {
            "open" => self.open = true,
            "closed" => self.closed = true,
            "all" => (self.open, self.closed) = (true, true),
            "none" => (self.open, self.closed) = (false, false),
            other => return Err(RestError::illegal(format!("No valid expand wildcard value [{other}]"))),
        }
        Ok(())
    }

    fn fits(&self, index: &Value) -> bool {
        let is_closed = index.get("state").and_then(Value::as_str) == Some("close");
        if is_closed { self.closed } else { self.open }
    }
}

/// The names that are meant; with none given, all of them.
pub(super) fn resolve(state: &ClusterState, names: &[&str], options: Options) -> Result<BTreeSet<String>, RestError> {
    if names.is_empty() || names == ["_all"] || names == ["*"] {
        let found: BTreeSet<String> = fitting(state, "*", options).collect();
        let is_fine = options.allow_no_indices || !found.is_empty();
        return if is_fine { Ok(found) } else { Err(no_index_at_all(names.first().unwrap_or(&"_all"))) };
    }
    let now = i64::try_from(time::since_1970().as_millis()).unwrap_or(i64::MAX);
    let mut found = BTreeSet::new();
    let mut has_pattern = false;
    for name in names {
        let name = &date_math::resolved(name, now)?;
        match name.strip_prefix('-').filter(|_| has_pattern) {
            Some(excluded) if !excluded.contains('*') => {
                named(state, excluded, options)?;
                found.remove(excluded);
            }
            Some(excluded) => found.retain(|name: &String| !matches(excluded, name)),
            None if name.contains('*') => {
                has_pattern = true;
                let before = found.len();
                found.extend(fitting(state, name, options));
                if found.len() == before && !options.allow_no_indices {
                    return Err(RestError::no_index(name));
                }
            }
            None => found.extend(named(state, name, options)?),
        }
    }
    match found.is_empty() && !options.allow_no_indices {
        true => Err(none_of(&names.join(","))),
        false => Ok(found),
    }
}

/// None of the indices that were named, though it is fine that some are not there.
fn none_of(names: &str) -> RestError {
    RestError::new(Kind::IndexNotFound, "no such index")
        .about("resource.type", "index_expression")
        .about("resource.id", names)
        .about("index_uuid", "_na_")
        .about("index", names)
}

/// No index where one was wanted, whichever.
fn no_index_at_all(all: &str) -> RestError {
    RestError::new(Kind::IndexNotFound, "no such index")
        .about("resource.type", "index_expression")
        .about("resource.id", all)
}

fn fitting<'a>(state: &'a ClusterState, pattern: &'a str, options: Options) -> impl Iterator<Item = String> + 'a {
    let indices = state.metadata.indices.iter();
    let fits = move |(name, index): &(&'a std::sync::Arc<str>, &'a std::sync::Arc<Value>)| {
        matches(pattern, name) && options.fits(index)
    };
    indices.filter(fits).map(|(name, _)| name.to_string())
}

fn named(state: &ClusterState, name: &str, options: Options) -> Result<Option<String>, RestError> {
    if state.metadata.indices.contains_key(name) {
        return Ok(Some(name.to_owned()));
    }
    if name.starts_with('_') {
        return Err(bad_name(name));
    }
    if options.ignore_unavailable { Ok(None) } else { Err(RestError::no_index(name)) }
}

/// Names that begin so are Elasticsearch's own, and most of them a path that was not spelt right.
pub(super) fn bad_name(name: &str) -> RestError {
    RestError::new(Kind::InvalidIndexName, format!("Invalid index name [{name}], must not start with '_'."))
        .about("index_uuid", "_na_")
        .about("index", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn state() -> ClusterState {
        let mut state = ClusterState::initial("one".into());
        for (name, is_open) in [("logs-1", true), ("logs-2", true), ("old", false)] {
            let index = json!({ "state": if is_open { "open" } else { "close" } });
            state.metadata.indices.insert(name.into(), Arc::new(index));
        }
        state
    }

    const STRICT: Options = Options { ignore_unavailable: false, allow_no_indices: false, open: true, closed: false };
    const LENIENT: Options = Options { ignore_unavailable: true, allow_no_indices: true, open: true, closed: true };

    fn resolved(names: &str, options: Options) -> Result<String, String> {
        let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
        let found = resolve(&state(), &names, options).map_err(|error| error.to_string())?;
        Ok(found.into_iter().collect::<Vec<_>>().join(","))
    }

    #[test]
    fn names_and_patterns_find_what_there_is() {
        let cases = [
            ("", STRICT, "logs-1,logs-2"),
            ("_all", LENIENT, "logs-1,logs-2,old"),
            ("old", STRICT, "old"),
            ("logs-*,-*2", STRICT, "logs-1"),
            ("nope,old", LENIENT, "old"),
            ("nope*", LENIENT, ""),
        ];
        for (names, options, expected) in cases {
            assert_eq!(resolved(names, options), Ok(expected.into()), "{names}");
        }
    }

    #[test]
    fn what_there_is_not_is_an_error_if_the_request_is_strict() {
        let no_index = || Err("IndexNotFoundException[no such index]".into());
        assert_eq!(resolved("nope", STRICT), no_index());
        assert_eq!(resolved("nope*", STRICT), no_index());
        assert_eq!(resolved("-nope", STRICT), no_index());
        let bad = "InvalidIndexNameException[Invalid index name [_nope], must not start with '_'.]";
        assert_eq!(resolved("_nope", LENIENT), Err(bad.into()));
    }

    #[test]
    fn options_are_read_and_bad_ones_named() {
        let read = |name: &str, value: &str| {
            let given = [(name.to_owned(), value.to_owned())].into_iter().collect::<std::collections::BTreeMap<_, _>>();
            Options::read(&given.into(), true)
        };
        let closed = read("expand_wildcards", "closed").map(|options| (options.open, options.closed));
        assert_eq!(closed, Ok((false, true)));
        let error = |name, value| read(name, value).map(drop).map_err(|error| error.to_string());
        assert_eq!(
            error("expand_wildcards", "foo"),
            Err("IllegalArgumentException[No valid expand wildcard value [foo]]".into())
        );
        let words = "IllegalArgumentException[Could not convert [ignore_throttled] to boolean]";
        assert_eq!(error("ignore_throttled", "foo"), Err(words.into()));
    }
}
