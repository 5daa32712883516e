//! The table of routes: every path that is understood, once.

use super::cat::{self, DISPLAY};
use super::explain;
use super::faults;
use super::health_wait;
use super::index;
use super::indices::INDICES;
use super::parameters::{Parameter, Values};
use super::route::{Answers, Route};
use super::snapshot::READ;
use super::wish::COMMON;
use super::{health, state, welcome};
use std::collections::BTreeSet;

const FULL_ID: Parameter = Parameter {
    name: "full_id",
    values: Values::Flag,
    default: "false",
    doc: "Shows whole ids instead of their first four characters.",
};

/// All of them. Tables stand in the order in which `/_cat` lists them.
pub(super) static ROUTES: &[Route] = &[
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/"],
        parameters: &[],
        answers: Answers::Reply(|call| Box::pin(welcome::show(call))),
        doc: "Tells who this is, in the node's own words.\nThe status is 503 while no master is known or the state of the \
              cluster is not back yet; the body is the same.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/health", "/_cluster/health/{index}"],
        parameters: &[READ, health_wait::PARAMETERS],
        answers: Answers::Reply(|call| Box::pin(health::show(call))),
        doc: "Tells how the cluster is, and waits until it is as wanted.\nThe status is `red` while no master is known or \
              the state of the cluster is not back yet, else `green`: Zazen places no shards.\nThe time that is given as \
              `timeout` is that of `master_timeout` too, unless that is given.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/state", "/_cluster/state/{metric}", "/_cluster/state/{metric}/{indices}"],
        parameters: &[READ, state::PARAMETERS, INDICES],
        answers: Answers::Reply(|call| Box::pin(state::show(call))),
        doc: "Answers with the state of the cluster, or the parts of it that are asked for.\nBesides what Elasticsearch \
              6.8 shows there is `term` beside `version`, and `cluster_coordination` in the metadata, which holds the \
              voting sets as in Elasticsearch 7.\nWith `local=true` it never waits; without a master `master_node` is \
              null then.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat"],
        parameters: &[],
        answers: Answers::Reply(cat::list),
        doc: "Lists the tables that there are.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/master"],
        parameters: &[READ],
        answers: cat::MASTER,
        doc: "Shows the master; with `local=true` and without a master, a row of dashes.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/nodes"],
        parameters: &[READ, &[FULL_ID]],
        answers: cat::NODES,
        doc: "Shows the nodes and what they use.\nEach node is asked for its figures; the cells of one that does not answer \
              within a second are empty.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/health"],
        parameters: &[],
        answers: cat::HEALTH,
        doc: "Shows the health of the cluster as the master sees it.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/explain"],
        parameters: &[],
        answers: Answers::Reply(|call| Box::pin(explain::show(call))),
        doc: "Tells why there is a master or none, as far as this node knows.\n[Why is there no master?](explain.md) tells \
              what the fields mean.\nIt is answered at once, with a master and without.",
    },
    Route {
        methods: &["GET", "POST", "DELETE"],
        paths: &["/_zazen/faults"],
        parameters: &[],
        answers: Answers::Reply(|call| Box::pin(faults::show(call))),
        doc: "Cuts links between nodes, for trying out what happens: `POST` cuts the link from this node to a peer, \
              `DELETE` mends all links, `GET` changes nothing; each answers with the links that are cut.\nThe body of \
              `POST` is `{\"peer\": \"127.0.0.1:9301\", \"to\": true, \"from\": true}`: the transport address of the peer, \
              whether what goes to it is swallowed, and whether what comes from it is; what is not given is true.\nBoth \
              ends take a cut link for a silent network: requests over it time out.\nA node that was not started with \
              `zazen.faults.enabled: true` refuses all three.",
    },
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/{index}"],
        parameters: &[READ, index::PARAMETERS, INDICES],
        answers: Answers::Reply(|call| Box::pin(index::show(call))),
        doc: "Answers with the metadata of indices.\nAny path of one piece that nothing else understands comes here.",
    },
    Route {
        methods: &["POST"],
        paths: &["/{index}/{type}"],
        parameters: &[index::DOCUMENT],
        answers: Answers::Reply(index::refuse),
        doc: "Refuses every document.\nAny path of two pieces that nothing else understands comes here, so other methods \
              than `POST` get a 405 as from Elasticsearch.",
    },
];

/// The parameters that a route understands. Where only its columns are wanted, the route itself is not asked.
pub(super) fn known(route: &Route, is_help: bool) -> BTreeSet<&'static str> {
    let display = match route.answers {
        Answers::Table(..) => DISPLAY,
        Answers::Reply(_) => &[],
    };
    let own = route.parameters.iter().filter(|_| !is_help).flat_map(|group| group.iter());
    COMMON.iter().chain(display).chain(own).map(|parameter| parameter.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capture_is_a_parameter_and_no_parameter_is_told_twice() {
        for route in ROUTES {
            let own: Vec<&str> =
                route.parameters.iter().flat_map(|group| group.iter()).map(|known| known.name).collect();
            let all =
                COMMON.len() + own.len() + if matches!(route.answers, Answers::Table(..)) { DISPLAY.len() } else { 0 };
            assert_eq!(known(route, false).len(), all, "{}: a parameter is told twice", route.paths[0]);
            for piece in route.paths.iter().flat_map(|path| path.split('/')) {
                let capture = piece.strip_prefix('{').and_then(|piece| piece.strip_suffix('}'));
                assert!(capture.is_none_or(|name| own.contains(&name)), "{piece} of {} is not told", route.paths[0]);
            }
        }
    }

    #[test]
    fn all_is_told_in_whole_sentences() {
        for route in ROUTES {
            let parameters = route.parameters.iter().flat_map(|group| group.iter()).chain(COMMON).chain(DISPLAY);
            for sentence in route.doc.lines().chain(parameters.map(|parameter| parameter.doc)) {
                assert!(sentence.ends_with('.') && !sentence.contains("  "), "{}: {sentence}", route.paths[0]);
            }
        }
    }
}
