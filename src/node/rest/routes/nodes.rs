//! The routes about nodes.

use crate::rest::nodes::{self, HOT_THREADS, INFO, STATS, STATS_INDEX_METRICS, STATS_METRICS, TO_NODES, USAGE_METRICS};
use crate::rest::rights::Needs;
use crate::rest::route::{Answers, Route, Takes};

pub(super) static ROUTES: &[Route] = &[
    Route {
        methods: &["GET"],
        paths: &["/_nodes", "/_nodes/{nodeId}", "/_nodes/{nodeId}/{metrics}", "/_nodes/{nodeId}/info/{metrics}"],
        parameters: &[TO_NODES, INFO],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(nodes::info(call)), "@NodesInfo"),
        name: "nodes_info_action",
        doc: "Tells what nodes are: each is asked itself, and one that does not answer is counted and named in \
              `_nodes`.\nWhere the path has one piece, and it names nothing but parts, it is `metrics` of all nodes.\nClients \
              find the other nodes of a cluster by `http.publish_address`.\n`settings` is what a node was told at its \
              start.\nWhat is about Java, thread pools and plugins is there for clients that read it; [what \
              differs](differences.md#rest) tells what it says.",
    },
    Route {
        methods: &["GET"],
        paths: &[
            "/_nodes/stats",
            "/_nodes/{nodeId}/stats",
            "/_nodes/stats/{metric}",
            "/_nodes/{nodeId}/stats/{metric}",
            "/_nodes/stats/{metric}/{index_metric}",
            "/_nodes/{nodeId}/stats/{metric}/{index_metric}",
        ],
        parameters: &[TO_NODES, &[STATS_METRICS, STATS_INDEX_METRICS], STATS],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(nodes::stats(call)), "@NodesStats"),
        name: "nodes_stats_action",
        doc: "Tells what nodes use.\nFigures of the machine, the process, the disk and the network are those of the operating \
              system; `jvm.mem` tells the memory of the process, and what is about indices is zero.",
    },
    Route {
        methods: &["GET"],
        paths: &[
            "/_nodes/usage",
            "/_nodes/{nodeId}/usage",
            "/_nodes/usage/{metric}",
            "/_nodes/{nodeId}/usage/{metric}",
        ],
        parameters: &[TO_NODES, &[USAGE_METRICS]],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(
            |call| Box::pin(nodes::usage(call)),
            "{_nodes:@Counted,cluster_name:string,nodes:{*:{timestamp:integer,since:integer,rest_actions?:{*:integer}}}}",
        ),
        name: "nodes_usage_action",
        doc: "Tells how often which routes of each node were asked since it was started.",
    },
    Route {
        methods: &["GET"],
        paths: &[
            "/_nodes/hot_threads",
            "/_nodes/hotthreads",
            "/_nodes/{nodeId}/hot_threads",
            "/_nodes/{nodeId}/hotthreads",
            "/_cluster/nodes/hot_threads",
            "/_cluster/nodes/hotthreads",
            "/_cluster/nodes/{nodeId}/hot_threads",
            "/_cluster/nodes/{nodeId}/hotthreads",
        ],
        parameters: &[TO_NODES, HOT_THREADS],
        needs: Needs::LOOK,
        takes: Takes::Tree,
        answers: Answers::Reply(|call| Box::pin(nodes::hot_threads(call)), "text"),
        name: "nodes_hot_threads_action",
        doc: "Tells as text which threads of each node are busy, by their names.",
    },
    Route {
        methods: &["POST"],
        paths: &["/_nodes/reload_secure_settings", "/_nodes/{nodeId}/reload_secure_settings"],
        parameters: &[TO_NODES],
        needs: Needs::ADMIN,
        takes: Takes::Tree,
        answers: Answers::Reply(
            |call| Box::pin(nodes::reload(call)),
            "{_nodes:@Counted,cluster_name:string,nodes:{*:{name:string,reload_exception?:{type:string,reason:string}}}}",
        ),
        name: "nodes_reload_action",
        doc: "Names the nodes that answer: there are no secure settings that could be read again.",
    },
];
