//! The routes about the whole cluster.

use crate::rest::indices::INDICES;
use crate::rest::nodes::TO_NODES;
use crate::rest::rights::Needs;
use crate::rest::route::{Answers, Route, Takes};
use crate::rest::sent::SOURCE;
use crate::rest::snapshot::{MASTER, READ};
use crate::rest::submit::WRITE;
use crate::rest::{allocation, cluster_stats, health_wait, pending, remote, reroute, settings, state, tasks, welcome};

pub(super) static ROUTES: &[Route] = &[
    Route {
        methods: &["GET", "HEAD"],
        paths: &["/"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(welcome::show(call)), "200,503 @Welcome"),
        name: "main_action",
        doc: "Tells who this is, in the node's own words.\nThe status is 503 while no master is known or the state of the \
              cluster is not back yet; the body is the same.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/health", "/_cluster/health/{index}"],
        parameters: &[READ, health_wait::PARAMETERS],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(health_wait::show(call)), "200,408 @Health"),
        name: "cluster_health_action",
        doc: "Tells how the cluster is, and waits until it is as wanted.\nThe status is `red` while no master is known or \
              the state of the cluster is not back yet, `yellow` while a node whose vote counts is not there, or \
              the vote of a new one is yet to count (unless `zazen.health.green_without_redundancy`), else `green`: Zazen places no shards.\nThe time that is given as \
              `timeout` is that of `master_timeout` too, unless that is given.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/state", "/_cluster/state/{metric}", "/_cluster/state/{metric}/{indices}"],
        parameters: &[READ, state::PARAMETERS, INDICES],
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(state::show(call)), "@State"),
        name: "cluster_state_action",
        doc: "Answers with the state of the cluster, or the parts of it that are asked for.\nBesides what Elasticsearch \
              6.8 shows there is `term` beside `version`, and `cluster_coordination` in the metadata, which holds the \
              voting sets as in Elasticsearch 7.\nWith `local=true` it never waits; without a master `master_node` is \
              null then.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/settings"],
        parameters: &[READ, &[settings::FLAT, settings::DEFAULTS]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(settings::show(call)), "{persistent:{},transient:{},defaults?:{}}"),
        name: "cluster_get_settings_action",
        doc: "Shows the settings of the cluster: those that survive a full restart, and the transient ones that go over \
              them.",
    },
    Route {
        methods: &["PUT"],
        paths: &["/_cluster/settings"],
        parameters: &[WRITE, &[settings::FLAT], settings::SOURCE],
        needs: Needs::OPERATE,
        takes: Takes::Body("{persistent?:{},transient?:{}}"),
        answers: Answers::Reply(
            |call| Box::pin(settings::change(call)),
            "{acknowledged:boolean,persistent:{},transient:{}}",
        ),
        name: "cluster_update_settings_action",
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
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(pending::show(call)), "{tasks:[@PendingTask]}"),
        name: "pending_cluster_tasks_action",
        doc: "Shows the tasks that wait for the master, those that it is carrying out first.\nWith `local=true` a node \
              that does not lead has none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cluster/stats", "/_cluster/stats/nodes/{nodeId}"],
        parameters: &[TO_NODES],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(cluster_stats::show(call)), "@ClusterStats"),
        name: "cluster_stats_action",
        doc: "Tells what all nodes are and use together.\n`status` is there where the master is among the nodes that \
              answered.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_cluster/reroute"],
        parameters: &[&[MASTER, state::FLAT_SETTINGS], reroute::PARAMETERS],
        needs: Needs::OPERATE,
        takes: Takes::Body("{commands?:[{}]}"),
        answers: Answers::Reply(
            |call| Box::pin(reroute::reroute(call)),
            "{acknowledged:boolean,state:@Routed,explanations?:[any]}",
        ),
        name: "cluster_reroute_action",
        doc: "Answers with the state as it is: there are no shards to be moved, and a command that names one is refused.",
    },
    Route {
        methods: &["GET", "POST"],
        paths: &["/_cluster/allocation/explain"],
        parameters: &[allocation::PARAMETERS, SOURCE],
        needs: Needs::LOOK,
        takes: Takes::Body("{index?:string,shard?:integer,primary?:boolean,current_node?:string}"),
        answers: Answers::Reply(|call| Box::pin(allocation::explain(call)), "{}"),
        name: "cluster_allocation_explain_action",
        doc: "Refuses, as in every cluster whose shards all have their nodes: there is none to be explained.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_remote/info"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(remote::info, "{*:any}"),
        name: "remote_cluster_info_action",
        doc: "Tells of other clusters that this one is connected with: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_tasks"],
        parameters: tasks::LISTING,
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(tasks::list(call)), "@Tasks"),
        name: "list_tasks_action",
        doc: "Lists the requests that nodes are answering, of each node the 256 that began first.\nThose that wait, for \
              health, for a state or for changes, can be ended.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_tasks/{task_id}"],
        parameters: tasks::ONE,
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(tasks::show(call)), "{completed:boolean,task:@Task}"),
        name: "get_task_action",
        doc: "Tells of one request that a node is answering; it is 404 once that has ended.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_tasks/_cancel", "/_tasks/{task_id}/_cancel"],
        parameters: tasks::CANCELLING,
        needs: Needs::ADMIN,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(tasks::cancel(call)), "@Tasks"),
        name: "cancel_tasks_action",
        doc: "Ends requests that wait, and tells which they were; who waited is answered with 400 \
              `task_cancelled_exception`.\nWithout a task, `nodes`, `actions` or `parent_task_id` it ends every request that \
              waits, of each node the 256 that began first.",
    },
];
