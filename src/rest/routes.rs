//! The table of routes: every path that is understood, once.

use super::cat::{self, DISPLAY};
use super::explain;
use super::faults;
use super::health_wait;
use super::index;
use super::indices::INDICES;
use super::parameters::{Parameter, Values};
use super::route::{Answers, Route, Takes};
use super::snapshot::{MASTER, READ};
use super::submit::WRITE;
use super::wish::COMMON;
use super::{health, kv, lease, members, pending, settings, state, txn, watch, welcome};
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
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(welcome::show(call))),
        doc: "Tells who this is, in the node's own words.\nThe status is 503 while no master is known or the state of the \
              cluster is not back yet; the body is the same.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/health", "/_cluster/health/{index}"],
        parameters: &[READ, health_wait::PARAMETERS],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(health::show(call))),
        doc: "Tells how the cluster is, and waits until it is as wanted.\nThe status is `red` while no master is known or \
              the state of the cluster is not back yet, else `green`: Zazen places no shards.\nThe time that is given as \
              `timeout` is that of `master_timeout` too, unless that is given.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/state", "/_cluster/state/{metric}", "/_cluster/state/{metric}/{indices}"],
        parameters: &[READ, state::PARAMETERS, INDICES],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(state::show(call))),
        doc: "Answers with the state of the cluster, or the parts of it that are asked for.\nBesides what Elasticsearch \
              6.8 shows there is `term` beside `version`, and `cluster_coordination` in the metadata, which holds the \
              voting sets as in Elasticsearch 7.\nWith `local=true` it never waits; without a master `master_node` is \
              null then.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/settings"],
        parameters: &[READ, &[settings::FLAT, settings::DEFAULTS]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(settings::show(call))),
        doc: "Shows the settings of the cluster: those that survive a full restart, and the transient ones that go over \
              them.",
    },
    Route {
        methods: &["PUT"],
        paths: &["/_cluster/settings"],
        parameters: &[WRITE, &[settings::FLAT]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(settings::change(call))),
        doc: "Changes settings of the cluster, all that is asked for or nothing.\nThe body is \
              `{\"persistent\": {…}, \"transient\": {…}}`, nested, with dots, or both; `null` takes a setting away, and a key \
              with `*` in it, which takes nothing but `null`, all that fit it; with \
              `Content-Type: application/yaml` it is YAML.\nThe answer repeats what was set.\nWhat takes \
              effect while a node runs is marked as dynamic in [the settings](settings.md); all else is refused, and so is \
              what is no setting, except below `cluster.metadata.`, where users keep what they like.\nA number of \
              `discovery.zen.minimum_master_nodes` below 1 or above that of the master-eligible nodes is refused.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/pending_tasks"],
        parameters: &[READ],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(pending::show(call))),
        doc: "Shows the tasks that wait for the master, those that it is carrying out first.\nWith `local=true` a node \
              that does not lead has none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat"],
        parameters: &[],
        takes: Takes::Tree,
        answers: Answers::Reply(cat::list),
        doc: "Lists the tables that there are.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/master"],
        parameters: &[READ],
        takes: Takes::Tree,
        answers: cat::MASTER,
        doc: "Shows the master; with `local=true` and without a master, a row of dashes.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/nodes"],
        parameters: &[READ, &[FULL_ID]],
        takes: Takes::Tree,
        answers: cat::NODES,
        doc: "Shows the nodes and what they use.\nEach node is asked for its figures; the cells of one that does not answer \
              within a second are empty.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/health"],
        parameters: &[],
        takes: Takes::Tree,
        answers: cat::HEALTH,
        doc: "Shows the health of the cluster as the master sees it.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/pending_tasks"],
        parameters: &[READ],
        takes: Takes::Tree,
        answers: cat::PENDING_TASKS,
        doc: "Shows the tasks that wait for the master, those that it is carrying out first.",
    },
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/_zazen/kv/{key*}"],
        parameters: &[READ, &[kv::KEY]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(kv::show(call))),
        doc: "Answers with what a key holds, byte by byte; `ETag` names its last change.\nWith `format=json` all that is \
              known of the key is told: `value` is a text, or `{\"base64\": …}` if the bytes are none.",
    },
    Route {
        methods: &["PUT"],
        paths: &["/_zazen/kv/{key*}"],
        parameters: &[WRITE, kv::CONDITION, kv::TIE],
        takes: Takes::Bytes,
        answers: Answers::Reply(|call| Box::pin(kv::put(call))),
        doc: "Stores the body under a key.\n`If-Match: \"3/17\"` demands that the key was last changed by this change, \
              `If-Match: *` that it is there, and `If-None-Match: *` that it is not; else the answer is 412, and with \
              `if_version` 409.\nA value has 1 MiB at the most, and all keys and values together 16 MiB: they are made for \
              configuration and coordination, and every node holds all of them; [keys](keys.md) tells what to rely on.",
    },
    Route {
        methods: &["DELETE"],
        paths: &["/_zazen/kv/{key*}"],
        parameters: &[WRITE, kv::CONDITION],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(kv::delete(call))),
        doc: "Deletes a key, under the same conditions as it is written under.\nThe answer tells whether it was there.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/kv"],
        parameters: &[READ, kv::LIST],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(kv::list(call))),
        doc: "Lists keys in their order.\nWhere `more` is true, the next ones are behind the last key of the answer.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_zazen/txn"],
        parameters: &[WRITE],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(txn::change(call))),
        doc: "Writes and deletes several keys in one change if all conditions hold, or does nothing and answers 409.\nThe \
              body is `{\"conditions\": […], \"puts\": [{\"key\": \"a\", \"value\": \"x\"}], \"deletes\": [\"b\"]}`; a value is a \
              text or `{\"base64\": …}`, and a put may have a `\"lease\": {\"name\": \"l\", \"token\": 7}` to vanish with.\nA \
              condition is `{\"changed\": {\"key\": \"a\", \"by\": [3, 17]}}`, `{\"absent\": {\"key\": \"a\"}}`, \
              `{\"present\": {\"key\": \"a\"}}` or `{\"held\": {\"name\": \"l\", \"token\": 7}}`.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/lease"],
        parameters: &[READ],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::list(call))),
        doc: "Lists the leases that are held.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[READ, &[lease::NAME]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::show(call))),
        doc: "Tells who holds a lease; it is 404 if nobody does.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[WRITE, &[lease::NAME], lease::GRANT],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::acquire(call))),
        doc: "Grants a lease that nobody holds, under a fencing `token` that is greater than every one before.\nThe holder \
              may count on it for `holder_ttl_millis` from the moment at which it sent the request, and must keep it alive \
              before that ends; [leases](leases.md) tells what a lease is and what it is not.\nIt is 409 \
              `lease_held_exception` if another grant has not ended.",
    },
    Route {
        methods: &["PUT"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[&[MASTER, lease::NAME, lease::TOKEN]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::keep_alive(call))),
        doc: "Keeps a lease alive: it runs anew from the moment at which the master got this.\nIt is 409 \
              `lease_not_held_exception` if the grant has ended.",
    },
    Route {
        methods: &["DELETE"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[WRITE, &[lease::NAME, lease::TOKEN]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::release(call))),
        doc: "Ends a grant, and deletes the keys that vanish with it.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/watch"],
        parameters: &[watch::PARAMETERS],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(watch::watch(call))),
        doc: "Tells every committed change behind a state, in order, each once: as soon as there is one, or after `wait_for` \
              that there is none.\nThe next question is asked with `from` set to the `at` of the answer.\nWhere the changes \
              are remembered no longer, or no `from` is given, `compacted` is true and `state` holds what there \
              is.\nWith `Accept: text/event-stream` the answer goes on as long as the user listens: events `change`, \
              `state`, and `bookmark`, which tells how far all is told; `Last-Event-ID` goes on where a connection broke \
              off.\nWho takes nothing for 10 s, or falls behind what the node remembers, is cut off.\nWhat several requests \
              do to one key in one committed state is one change.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/members"],
        parameters: &[READ],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(members::show(call))),
        doc: "Lists the nodes of the cluster, and those that count in elections and commits without being there.",
    },
    Route {
        methods: &["DELETE"],
        paths: &["/_zazen/members/{id}"],
        parameters: &[WRITE, &[members::ID]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(members::remove(call))),
        doc: "Takes a node that is gone for good out of the voting set, so that nobody waits for its vote.\nA node that is \
              in the cluster is refused.\nThe set is then made of the nodes that live, as in a new cluster: with two of \
              them that is the master alone, until a third one joins.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_zazen/handover"],
        parameters: &[&[MASTER, members::TO]],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(members::hand_over(call))),
        doc: "Moves the mastership to another node.\nThe answer names the node that was asked to lead and agreed; the state \
              tells when it does.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/state"],
        parameters: &[READ],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(state::show_whole(call))),
        doc: "Answers with the whole state as it is stored, settings and keys included, which `zazen state export` keeps.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/explain"],
        parameters: &[],
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(explain::show(call))),
        doc: "Tells why there is a master or none, as far as this node knows.\n[Why is there no master?](explain.md) tells \
              what the fields mean.\nIt is answered at once, with a master and without.",
    },
    Route {
        methods: &["GET", "POST", "DELETE"],
        paths: &["/_zazen/faults"],
        parameters: &[],
        takes: Takes::Tree,
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
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(index::show(call))),
        doc: "Answers with the metadata of indices.\nAny path of one piece that nothing else understands comes here.",
    },
    Route {
        methods: &["POST"],
        paths: &["/{index}/{type}"],
        parameters: &[index::DOCUMENT],
        takes: Takes::Tree,
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
    use super::super::route::capture;
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
                assert!(
                    capture(piece).is_none_or(|name| own.contains(&name)),
                    "{piece} of {} is not told",
                    route.paths[0]
                );
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
