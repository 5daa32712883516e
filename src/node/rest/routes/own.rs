//! The routes that Elasticsearch does not have: keys, leases, watches, members.

use super::routes;
use crate::rest::rights::{Needs, Touches};
use crate::rest::route::{Answers, Route, Takes};
use crate::rest::snapshot::{MASTER, READ};
use crate::rest::submit::WRITE;
use crate::rest::{
    dashboard, explain, faults, history, kv, lease, members, metrics, openapi, overview, probes, safety, state, txn,
    watch,
};
use crate::runtime::secure::Role;

pub(super) static ROUTES: &[Route] = &[
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/_zazen/kv/{key*}"],
        parameters: &[READ, &[kv::KEY]],
        needs: Needs::of(Role::Read, Touches::Key),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(kv::show(call)), "200,304 bytes or @KeyAt"),
        name: "zazen_kv_one_get_action",
        doc: "Answers with what a key holds, byte by byte; `ETag` names its last change.\nWith `format=json` all that is \
              known of the key is told: `value` is a text, or `{\"base64\": …}` if the bytes are none.",
    },
    Route {
        methods: &["PUT"],
        paths: &["/_zazen/kv/{key*}"],
        parameters: &[WRITE, kv::CONDITION, kv::TIE],
        needs: Needs::of(Role::Operate, Touches::Key),
        takes: Takes::Value,
        answers: Answers::Reply(|call| Box::pin(kv::put(call)), "@Written"),
        name: "zazen_kv_one_put_action",
        doc: "Stores the body under a key.\n`If-Match: \"3/17\"` demands that the key was last changed by this change, \
              `If-Match: *` that it is there, and `If-None-Match: *` that it is not; else the answer is 412, and with \
              `if_version` 409.\nA value has 1 MiB at the most, and all keys and values together 16 MiB: they are made for \
              configuration and coordination, and every node holds all of them; [keys](keys.md) tells what to rely on.",
    },
    Route {
        methods: &["DELETE"],
        paths: &["/_zazen/kv/{key*}"],
        parameters: &[WRITE, kv::CONDITION],
        needs: Needs::of(Role::Operate, Touches::Key),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(kv::delete(call)), "@Deleted"),
        name: "zazen_kv_one_delete_action",
        doc: "Deletes a key, under the same conditions as it is written under.\nThe answer tells whether it was there.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/kv"],
        parameters: &[READ, kv::LIST],
        needs: Needs::of(Role::Read, Touches::Prefix),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(kv::list(call)), "{at:string,keys:[@Key],more:boolean}"),
        name: "zazen_kv_get_action",
        doc: "Lists keys in their order.\nWhere `more` is true, the next ones are behind the last key of the answer.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_zazen/txn"],
        parameters: &[WRITE],
        needs: Needs::of(Role::Operate, Touches::Body),
        takes: Takes::Body(
            "{conditions?:[{}],puts?:[{key:string,value:any,lease?:{name:string,token:integer}}],deletes?:[string]}",
        ),
        answers: Answers::Reply(|call| Box::pin(txn::change(call)), "@Deleted"),
        name: "zazen_txn_post_action",
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
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::list(call)), "{at:string,leases:[@Lease]}"),
        name: "zazen_lease_get_action",
        doc: "Lists the leases that are held.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[READ, &[lease::NAME]],
        needs: Needs::of(Role::Read, Touches::Lease),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::show(call)), "@LeaseAt"),
        name: "zazen_lease_one_get_action",
        doc: "Tells who holds a lease; it is 404 if nobody does.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[WRITE, &[lease::NAME], lease::GRANT],
        needs: Needs::of(Role::Operate, Touches::Lease),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::acquire(call)), "@Grant"),
        name: "zazen_lease_one_post_action",
        doc: "Grants a lease that nobody holds, under a fencing `token` that is greater than every one before.\nThe holder \
              may count on it for `holder_ttl_millis` from the moment at which it sent the request, and must keep it alive \
              before that ends; [leases](leases.md) tells what a lease is and what it is not.\nIt is 409 \
              `lease_held_exception` if another grant has not ended.",
    },
    Route {
        methods: &["PUT"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[&[MASTER, lease::NAME, lease::TOKEN]],
        needs: Needs::of(Role::Operate, Touches::Lease),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::keep_alive(call)), "@Grant"),
        name: "zazen_lease_one_put_action",
        doc: "Keeps a lease alive: it runs anew from the moment at which the master got this.\nIt is 409 \
              `lease_not_held_exception` if the grant has ended.",
    },
    Route {
        methods: &["DELETE"],
        paths: &["/_zazen/lease/{name}"],
        parameters: &[WRITE, &[lease::NAME, lease::TOKEN]],
        needs: Needs::of(Role::Operate, Touches::Lease),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(lease::release(call)), "@Written"),
        name: "zazen_lease_one_delete_action",
        doc: "Ends a grant, and deletes the keys that vanish with it.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/watch"],
        parameters: &[watch::PARAMETERS],
        needs: Needs::of(Role::Read, Touches::Prefix),
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(watch::watch(call)), "@Changes or events"),
        name: "zazen_watch_get_action",
        doc: "Tells every committed change behind a state, in order, each once: as soon as there is one, or after `wait_for` \
              that there is none.\nThe next question is asked with `from` set to the `at` of the answer.\nWhere the changes \
              are remembered no longer, or no `from` is given, `compacted` is true and `state` holds what there \
              is.\nWith `Accept: text/event-stream` the answer goes on as long as the user listens: events `change`, \
              `state`, and `bookmark`, which tells how far all is told; `Last-Event-ID` goes on where a connection broke \
              off.\nWho falls behind what the node remembers is told the event `cut_off`, the last one, and asks \
              again; who takes nothing for `zazen.http.write_timeout` is cut off without it.\nA follower that had to be sent a \
              whole state, as after its master was cut off, does not know the steps to it: its users are told `cut_off` or \
              `compacted` then, however few these were.\nWhat several requests do to one key in one committed state is one change.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/members"],
        parameters: &[READ],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(members::show(call)), "{at:string,members:[@Member]}"),
        name: "zazen_members_get_action",
        doc: "Lists the nodes of the cluster, and those that count in elections and commits without being there.",
    },
    Route {
        methods: &["DELETE"],
        paths: &["/_zazen/members/{id}"],
        parameters: &[WRITE, &[members::ID]],
        needs: Needs::ADMIN,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(members::remove(call)), "@Written"),
        name: "zazen_members_one_delete_action",
        doc: "Takes a node that is gone for good out of the voting set, so that nobody waits for its vote.\nA node that is \
              in the cluster is refused. One that went and has no vote is not missed any more by `zazen explain`.\nThe set is then made of the nodes that live, as in a new cluster: with two of \
              them that is the master alone, until a third one joins.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_zazen/handover"],
        parameters: &[&[MASTER, members::TO]],
        needs: Needs::OPERATE,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(members::hand_over(call)), "{acknowledged:boolean,to:string}"),
        name: "zazen_handover_post_action",
        doc: "Moves the mastership to another node.\nThe answer names the node that was asked to lead and agreed; the state \
              tells when it does.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/state"],
        parameters: &[READ],
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(state::show_whole(call)), "@WholeState"),
        name: "zazen_state_get_action",
        doc: "Answers with the whole state as it is stored, settings and keys included, which `zazen state export` keeps.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/explain"],
        parameters: &[explain::PARAMETERS],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(explain::show(call)), "@Explanation"),
        name: "zazen_explain_get_action",
        doc: "Tells why there is a master or none, what is wrong, and what to type: `verdicts`, each with a `code` \
              ([troubleshooting](troubleshooting.md)), who said what, and a `mend` of one line.\nThe node asks all others that \
              answer, for 4.5 seconds at most; [Why is there no master?](explain.md) tells what the fields mean.\nIt is \
              answered with a master and without.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/history"],
        parameters: &[history::PARAMETERS],
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: Answers::Reply(
            |call| Box::pin(history::show(call)),
            "{cluster_name:string,node:{id:string,name:string},total:integer,last:integer,entries:[@Event]}",
        ),
        name: "zazen_history_get_action",
        doc: "Lists what became of the cluster, as this node saw it: elections, joins and leaves, changed settings, slow \
              publishes, each as data, the oldest first.\nThe last 1,000 are kept on disk, over restarts.\nThe next \
              question is asked with `since` set to the `last` of the answer; [the history](history.md) tells what the kinds \
              mean.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/overview"],
        parameters: &[overview::PARAMETERS],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(
            |call| Box::pin(overview::show(call)),
            "{at_millis:integer,release:string,asked:string,cluster_name:string,state:{*:any},members:[{*:any}],gone:[{id:string,name:string,address:string}]}",
        ),
        name: "zazen_overview_get_action",
        doc: "Tells what every member sees, each asked itself: its explanation, its figures, what it was told at its start and \
              where, and which members answer it.\n`members` are those of the state of the node that is asked, itself, and \
              those that its pings found; each has `sight`, or `silence` if it did not answer: `not_connected`, `timed_out` \
              or `strange`.\n`reaches` tells for each other member whether it `answered` when it was last tried, at the most \
              once in 0.9 s and only while somebody asks for this.\n`gone` names those who count in elections and are no \
              members, as far as the history knows them.\nIt needs no master, and is what \
              [the dashboard](dashboard.md) shows.",
    },
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/_dashboard", "/_dashboard/{file}"],
        parameters: &[dashboard::PARAMETERS],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(dashboard::show(call)), "html"),
        name: "zazen_dashboard_get_action",
        doc: "A page to watch the cluster on, whole from every node; [the dashboard](dashboard.md) tells what it shows.\nIt \
              loads nothing but its own scripts and its style, and asks this node only.",
    },
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/_prometheus/metrics", "/metrics"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(metrics::show(call)), "text"),
        name: "zazen_metrics_get_action",
        doc: "Answers with what the node counts and measures of itself, as [Prometheus](metrics.md) reads it.\nIt is answered \
              at once, with a master and without.",
    },
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/livez"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(probes::livez(call)), "200,503 text"),
        name: "zazen_livez_get_action",
        doc: "Is 200 as long as the process lives and its node runs, with a master and without, and 503 otherwise.\nWhoever \
              restarts processes asks this and nothing that depends on other nodes.",
    },
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/readyz"],
        parameters: &[&[probes::ROLE]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(probes::readyz(call)), "200,503 text"),
        name: "zazen_readyz_get_action",
        doc: "Is 200 while the node follows a master or is one, and is not drained; else 503 with a line that says why.\nLoad \
              balancers ask this.",
    },
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/startupz"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(probes::startupz(call)), "200,503 text"),
        name: "zazen_startupz_get_action",
        doc: "Is 200 once the node has read its disk and listens; before that nobody answers.\nIt waits for no other node: \
              those may be waiting for this one.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/safe_to_stop"],
        parameters: &[&[MASTER]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(
            |call| Box::pin(safety::show(call)),
            "200,503 {safe:boolean,safe_to_kill:boolean,reason:string|null}",
        ),
        name: "zazen_safe_to_stop_get_action",
        doc: "Tells whether the cluster goes on without this node: 200 if it may be stopped, 503 if not, with `reason`.\nEvery \
              other master-eligible member is asked whether it follows the master and can write; with those that do a \
              majority of the voting set must be left, and as many as `discovery.zen.minimum_master_nodes` asks for. Without \
              a master it is 503 once `master_timeout` is over.\n`safe` is about SIGTERM, with \
              which a node says good-bye; `safe_to_kill` about SIGKILL and a plug that is pulled.\nOf several nodes that are \
              asked at once each may be told yes: stop one at a time.",
    },
    Route {
        methods: &["GET", "POST", "DELETE"],
        paths: &["/_zazen/drain"],
        parameters: &[&[MASTER]],
        needs: Needs::OPERATE,
        takes: Takes::Tree,
        answers: Answers::Reply(
            |call| Box::pin(safety::drain(call)),
            "{drained:boolean,was_master?:boolean,is_master?:boolean,safe_to_stop?:{safe:boolean,safe_to_kill:boolean,reason:string|null}}",
        ),
        name: "zazen_drain_post_action",
        doc: "Gets this node ready to be stopped: `POST` hands the mastership over, if it has it, and lets `/readyz` say no, \
              so that load balancers send users elsewhere; `DELETE` takes that back, and `GET` tells whether it is so.\nA drained node is a member and \
              answers as before; if it is elected all the same, because nobody else was there, it hands over \
              again, each time after a longer pause.\nAnswers with what `/_zazen/safe_to_stop` says then.",
    },
    Route {
        methods: &["GET", "POST", "DELETE"],
        paths: &["/_zazen/faults"],
        parameters: &[],
        needs: Needs::ADMIN,
        takes: Takes::Body("{peer:string,to?:boolean,from?:boolean}"),
        answers: Answers::Reply(
            |call| Box::pin(faults::show(call)),
            "{faults:[{peer:string,to:boolean,from:boolean}]}",
        ),
        name: "zazen_faults_get_action",
        doc: "Cuts links between nodes, for trying out what happens: `POST` cuts the link from this node to a peer, \
              `DELETE` mends all links, `GET` changes nothing; each answers with the links that are cut.\nThe body of \
              `POST` is `{\"peer\": \"127.0.0.1:9301\", \"to\": true, \"from\": true}`: the transport address of the peer, \
              whether what goes to it is swallowed, and whether what comes from it is; what is not given is true.\nBoth \
              ends take a cut link for a silent network: requests over it time out.\nA node that was not started with \
              `zazen.faults.enabled: true` refuses all three.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_zazen/openapi.json"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(
            |_| Box::pin(async { openapi::show(routes()) }),
            "{openapi:string,info:{},paths:{},components:{}}",
        ),
        name: "zazen_openapi_get_action",
        doc: "Describes the whole API in OpenAPI 3.1, made from the table that requests are dispatched by.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_docs"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(openapi::page(call)), "html"),
        name: "zazen_docs_get_action",
        doc: "Shows that description to people, as a page that loads nothing from elsewhere.",
    },
];
