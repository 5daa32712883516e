//! The tables, in the order in which `/_cat` lists them.

use super::routes;
use crate::rest::cat;
use crate::rest::indices::INDICES;
use crate::rest::parameters::{Parameter, Values};
use crate::rest::rights::Needs;
use crate::rest::route::{Answers, Route, Takes};
use crate::rest::searches::{COUNT, QUERY};
use crate::rest::sent::SOURCE;
use crate::rest::snapshot::{LOCAL, MASTER, READ};

const FULL_ID: Parameter = Parameter {
    name: "full_id",
    values: Values::Flag,
    default: "false",
    doc: "Shows whole ids instead of their first four characters.",
};

const fn parameter(name: &'static str, values: Values, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values, default, doc }
}

const NODES: Parameter = parameter("nodes", Values::List, "data:true", "The nodes that are shown, as under `/_nodes`.");
const INDEX: Parameter = parameter("index", Values::List, "all", "The names of indices, or patterns of names.");
const HEALTH: Parameter = parameter("health", Values::Text, "any", "Only those that are `green`, `yellow` or `red`.");
const DETAILED: Parameter = parameter("detailed", Values::Flag, "false", "Understood, and without a meaning.");
const ACTIVE: Parameter = parameter("active_only", Values::Flag, "false", "Only those that are not over.");
const ALIAS: Parameter = parameter("alias", Values::List, "all", "The names of aliases.");
const POOLS: Parameter =
    parameter("thread_pool_patterns", Values::List, "all", "The names of pools, or patterns of names.");
const FIELDS: Parameter = parameter("fields", Values::List, "all", "The names of fields.");
const REPOSITORY: Parameter = parameter("repository", Values::Text, "none", "The repository.");
const UNAVAILABLE: Parameter =
    parameter("ignore_unavailable", Values::Flag, "false", "Passes over snapshots that cannot be read.");
const TEMPLATE: Parameter = parameter("name", Values::List, "all", "The names of templates, or patterns of names.");

pub(super) static ROUTES: &[Route] = &[
    Route {
        methods: &["GET"],
        paths: &["/_cat"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|_| Box::pin(async { Ok(cat::list(routes())) }), "text"),
        name: "cat_action",
        doc: "Lists the tables that there are.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/allocation", "/_cat/allocation/{nodes}"],
        parameters: &[READ, &[NODES]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::ALLOCATION,
        name: "cat_allocation_action",
        doc: "Shows the disks of the nodes that hold data, of which shards take nothing.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/shards", "/_cat/shards/{index}"],
        parameters: &[READ, &[INDEX]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::SHARDS,
        name: "cat_shards_action",
        doc: "Shows the shards of indices: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/master"],
        parameters: &[READ],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::MASTER,
        name: "cat_master_action",
        doc: "Shows the master; with `local=true` and without a master, a row of dashes.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/nodes"],
        parameters: &[READ, &[FULL_ID]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::NODES,
        name: "cat_nodes_action",
        doc: "Shows the nodes and what they use.\nEach node is asked for its figures; the cells of one that does not answer \
              within a second are empty.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/tasks"],
        parameters: &[&[DETAILED]],
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: cat::TASKS,
        name: "cat_tasks_action",
        doc: "Shows the requests that nodes are answering.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/indices", "/_cat/indices/{index}"],
        parameters: &[READ, &[INDEX, HEALTH]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::INDICES,
        name: "cat_indices_action",
        doc: "Shows the indices: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/segments", "/_cat/segments/{index}"],
        parameters: &[READ, &[INDEX]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::SEGMENTS,
        name: "cat_segments_action",
        doc: "Shows the segments of shards: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/count", "/_cat/count/{index}"],
        parameters: &[&[INDEX], QUERY, COUNT, SOURCE],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::COUNT,
        name: "cat_count_action",
        doc: "Counts the documents: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/recovery", "/_cat/recovery/{index}"],
        parameters: &[&[INDEX, ACTIVE, DETAILED], INDICES],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::RECOVERY,
        name: "cat_recovery_action",
        doc: "Shows how shards came to their nodes: there are none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/health"],
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::HEALTH,
        name: "cat_health_action",
        doc: "Shows the health of the cluster as the master sees it.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/pending_tasks"],
        parameters: &[READ],
        needs: Needs::LOOK_AT_ALL,
        takes: Takes::Tree,
        answers: cat::PENDING_TASKS,
        name: "cat_pending_cluster_tasks_action",
        doc: "Shows the tasks that wait for the master, those that it is carrying out first.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/aliases", "/_cat/aliases/{alias}"],
        parameters: &[&[LOCAL, ALIAS]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::ALIASES,
        name: "cat_alias_action",
        doc: "Shows the aliases of indices: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/thread_pool", "/_cat/thread_pool/{thread_pool_patterns}"],
        parameters: &[READ, &[POOLS]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::THREAD_POOL,
        name: "cat_threadpool_action",
        doc: "Shows pools of threads by the names that Elasticsearch gives them.\nThere are none here: `generic` stands for all threads of a node.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/plugins"],
        parameters: &[READ],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::PLUGINS,
        name: "cat_plugins_action",
        doc: "Shows the plugins of nodes: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/fielddata", "/_cat/fielddata/{fields}"],
        parameters: &[&[FIELDS]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::FIELDDATA,
        name: "cat_fielddata_action",
        doc: "Shows the memory that fields take: there are none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/nodeattrs"],
        parameters: &[READ],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::NODEATTRS,
        name: "cat_node_attrs_action",
        doc: "Shows the attributes of nodes.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/repositories"],
        parameters: &[READ],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::REPOSITORIES,
        name: "cat_repositories_action",
        doc: "Shows the places for snapshots: none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/snapshots", "/_cat/snapshots/{repository}"],
        parameters: &[&[MASTER, REPOSITORY, UNAVAILABLE]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::SNAPSHOTS,
        name: "cat_snapshot_action",
        doc: "Shows the snapshots of a repository; it is 404, as there is none.",
    },
    Route {
        methods: &["GET"],
        paths: &["/_cat/templates", "/_cat/templates/{name}"],
        parameters: &[READ, &[TEMPLATE]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: cat::TEMPLATES,
        name: "cat_templates_action",
        doc: "Shows the templates of indices: none.",
    },
];
