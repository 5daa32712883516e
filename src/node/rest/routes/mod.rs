//! The table of routes: every path that is understood, once.

mod cat;
mod cluster;
mod indices;
mod nodes;
mod own;
mod refused;

use super::cat::DISPLAY;
use super::error::RestError;
use super::parameters::Parameter;
use super::response_format::COMMON;
use super::route::{Answers, Call, Route, Way, capture, find};
use super::sent::SOURCE;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// All of them.
pub(super) fn routes() -> impl Iterator<Item = &'static Route> + Clone {
    let all = [cluster::ROUTES, nodes::ROUTES, cat::ROUTES, own::ROUTES, indices::ROUTES, refused::ROUTES];
    all.into_iter().flatten()
}

/// Routes by those of their paths that capture nothing. Most requests name one of these to the letter, and need not be
/// compared with all patterns.
static LITERAL: LazyLock<BTreeMap<&'static str, Vec<&'static Route>>> = LazyLock::new(|| {
    let mut literal: BTreeMap<&str, Vec<&Route>> = BTreeMap::new();
    for route in routes() {
        for path in route.paths.iter().filter(|path| !path.contains('{')) {
            literal.entry(path).or_default().push(route);
        }
    }
    literal
});

/// What stands for the first piece of a path where that is captured.
const CAPTURED: &str = "{";

/// Routes, each with some of its paths.
type Group = Vec<(&'static Route, Vec<&'static str>)>;

/// Routes by the first piece of their paths, each with those of its paths that begin so. Requests with a name in their path, as
/// those for keys, are compared with a few patterns and not with all of them.
static BY_FIRST: LazyLock<BTreeMap<&'static str, Group>> = LazyLock::new(|| {
    let mut by_first: BTreeMap<&str, Group> = BTreeMap::new();
    for route in routes() {
        let mut paths: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for path in route.paths {
            let first = first_piece(path);
            paths.entry(if capture(first).is_some() { CAPTURED } else { first }).or_default().push(path);
        }
        paths.into_iter().for_each(|(first, paths)| by_first.entry(first).or_default().push((route, paths)));
    }
    by_first
});

fn first_piece(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

/// The way of a request through the table.
pub(super) fn way(method: &str, path: &str) -> Result<Way, RestError> {
    let trimmed = path.trim_end_matches('/');
    let Some(here) = LITERAL.get(if trimmed.is_empty() { "/" } else { trimmed }) else {
        return way_of_captures(method, path);
    };
    Ok(match here.iter().find(|route| route.methods.contains(&method)) {
        Some(route) => Way::Here(route, Vec::new()),
        None => Way::OtherMethods(here.iter().flat_map(|route| route.methods).copied().collect()),
    })
}

/// A literal piece goes before one that captures it, so the latter are looked at only where the former do not fit.
fn way_of_captures(method: &str, path: &str) -> Result<Way, RestError> {
    for first in [first_piece(path), CAPTURED] {
        let routes = BY_FIRST.get(first).into_iter().flatten();
        let way = find(routes.map(|(route, paths)| (*route, paths.as_slice())), method, path)?;
        if !matches!(way, Way::Nowhere) {
            return Ok(way);
        }
    }
    Ok(Way::Nowhere)
}

/// The parameters of tables that are understood even where only their columns are wanted.
const WITH_HELP: [(&str, &str); 4] = [
    ("cat_indices_action", "local"),
    ("cat_indices_action", "health"),
    ("cat_tasks_action", "detailed"),
    ("cat_threadpool_action", "thread_pool_patterns"),
];

/// The parameters that a route understands. Where only its columns are wanted, the route itself is not asked.
fn understood(route: &'static Route, is_help: bool) -> impl Iterator<Item = &'static Parameter> {
    let display = match route.answers {
        Answers::Table(..) => DISPLAY,
        Answers::Reply(..) | Answers::Refused => &[],
    };
    let own = route.parameters.iter().flat_map(|group| group.iter());
    let own = own.filter(move |parameter| !is_help || WITH_HELP.contains(&(route.name, parameter.name)));
    COMMON.iter().chain(display).chain(own)
}

/// Their names.
pub(super) fn known(route: &'static Route, is_help: bool) -> BTreeSet<&'static str> {
    understood(route, is_help).map(|parameter| parameter.name).collect()
}

/// Refuses parameters that the route of a request does not understand.
pub(super) fn check_known(call: &Call, is_help: bool) -> Result<(), RestError> {
    let route = call.route;
    // Nobody looks for a body in the query where one was sent.
    let is_read = |name: &str| call.body.is_empty() || !SOURCE.iter().any(|source| source.name == name);
    let is_known = |name: &str| is_read(name) && understood(route, is_help).any(|parameter| parameter.name == name);
    if call.parameters.are_all(is_known) {
        return Ok(());
    }
    let known = known(route, is_help).into_iter().filter(|name| is_read(name)).collect();
    call.parameters.check_known((&call.path, route.name), &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capture_is_a_parameter_and_no_parameter_is_told_twice() {
        for route in routes() {
            let own: Vec<&str> =
                route.parameters.iter().flat_map(|group| group.iter()).map(|known| known.name).collect();
            let all =
                COMMON.len() + own.len() + if matches!(route.answers, Answers::Table(..)) { DISPLAY.len() } else { 0 };
            assert_eq!(known(route, false).len(), all, "{}: a parameter is told twice", route.paths[0]);
            for piece in route.paths.iter().flat_map(|path| path.split('/')) {
                // What is refused is refused whatever it is given.
                let is_refused = matches!(route.answers, Answers::Refused);
                assert!(
                    is_refused || capture(piece).is_none_or(|name| own.contains(&name)),
                    "{piece} of {} is not told",
                    route.paths[0]
                );
            }
        }
    }

    #[test]
    fn a_path_takes_the_same_way_as_through_all_patterns() {
        let all = || routes().map(|route| (route, route.paths));
        let told = |way: Result<Way, RestError>| match way {
            Ok(Way::Here(route, captured)) => format!("{} {captured:?}", route.name),
            Ok(Way::OtherMethods(methods)) => methods.join(","),
            Ok(Way::Nowhere) => "nowhere".into(),
            Err(error) => error.to_string(),
        };
        let paths = routes().flat_map(|route| route.paths).map(|path| path.to_string());
        let strange =
            ["//", "/_nodes/", "/_nodes//", "*", "/nope", "/_cluster//state", "/{", "/{/a", "/a/{", "/%zz/_alias"];
        for path in paths.chain(strange.map(str::to_owned)) {
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"] {
                assert_eq!(told(way(method, &path)), told(find(all(), method, &path)), "{method} {path}");
            }
        }
    }

    #[test]
    fn all_is_told_in_whole_sentences() {
        for route in routes() {
            let parameters = route.parameters.iter().flat_map(|group| group.iter()).chain(COMMON).chain(DISPLAY);
            for sentence in route.doc.lines().chain(parameters.map(|parameter| parameter.doc)) {
                assert!(sentence.ends_with('.') && !sentence.contains("  "), "{}: {sentence}", route.paths[0]);
            }
        }
    }
}
