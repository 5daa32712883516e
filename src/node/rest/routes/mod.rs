//! The table of routes: every path that is understood, once.

mod cat;
mod cluster;
mod indices;
mod nodes;
mod own;
mod refused;

use super::cat::DISPLAY;
use super::route::{Answers, Route};
use super::wish::COMMON;
use std::collections::BTreeSet;

/// All of them.
pub(super) fn routes() -> impl Iterator<Item = &'static Route> + Clone {
    let all = [cluster::ROUTES, nodes::ROUTES, cat::ROUTES, own::ROUTES, indices::ROUTES, refused::ROUTES];
    all.into_iter().flatten()
}

/// The parameters that a route understands. Where only its columns are wanted, the route itself is not asked.
pub(super) fn known(route: &Route, is_help: bool) -> BTreeSet<&'static str> {
    let display = match route.answers {
        Answers::Table(..) => DISPLAY,
        Answers::Reply(..) | Answers::Refused => &[],
    };
    let own = route.parameters.iter().filter(|_| !is_help).flat_map(|group| group.iter());
    COMMON.iter().chain(display).chain(own).map(|parameter| parameter.name).collect()
}

#[cfg(test)]
mod tests {
    use super::super::route::capture;
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
    fn all_is_told_in_whole_sentences() {
        for route in routes() {
            let parameters = route.parameters.iter().flat_map(|group| group.iter()).chain(COMMON).chain(DISPLAY);
            for sentence in route.doc.lines().chain(parameters.map(|parameter| parameter.doc)) {
                assert!(sentence.ends_with('.') && !sentence.contains("  "), "{}: {sentence}", route.paths[0]);
            }
        }
    }
}
