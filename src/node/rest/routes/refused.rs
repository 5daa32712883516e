//! The routes of Elasticsearch that store, search or change documents and indices: all of them are refused alike.

use crate::rest::rights::Needs;
use crate::rest::route::{Answers, Route, Takes};

const fn refused(methods: &'static [&'static str], paths: &'static [&'static str]) -> Route {
    let doc = "Refuses: there are no documents and no indices, and nothing to search in. Of an index that cannot be, as its \
               name begins with `_`, it says what Elasticsearch says.";
    Route {
        methods,
        paths,
        parameters: &[],
        needs: Needs::LOOK,
        takes: Takes::Bytes,
        answers: Answers::Refused,
        name: "refused_action",
        doc,
    }
}

#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    refused(&["POST"], &[
        "/{index}/{type}", "/_aliases", "/_reindex", "/_reindex/{id}/_rethrottle", "/_update_by_query/{id}/_rethrottle",
        "/_delete_by_query/{id}/_rethrottle", "/{index}/_update_by_query", "/{index}/_delete_by_query",
        "/{index}/{type}/_update_by_query", "/{index}/{type}/_delete_by_query", "/{index}/_open", "/{index}/_close",
        "/_open", "/_close", "/{index}/_rollover", "/{index}/_rollover/{name}", "/{index}/{type}/{id}/_update",
        "/_snapshot/{repository}/_verify", "/_snapshot/{repository}/{snapshot}/_restore",
    ]),
    refused(&["PUT", "DELETE"], &["/{index}", "/_ingest/pipeline/{id}"]),
    refused(&["DELETE"], &["/"]),
    refused(&["PUT"], &["/_settings", "/{index}/_settings"]),
    refused(&["PUT", "POST"], &[
        "/_bulk", "/{index}/_bulk", "/{index}/{type}/_bulk", "/{index}/{type}/{id}/_create", "/{index}/_mapping",
        "/{index}/_mapping/{type}", "/{index}/{type}/_mapping", "/_mapping/{type}", "/{index}/_shrink/{name}",
        "/{index}/_split/{name}", "/_scripts/{id}/{name}",
    ]),
    refused(&["PUT", "POST", "DELETE"], &[
        "/_template/{name}", "/_scripts/{id}", "/_snapshot/{repository}", "/_snapshot/{repository}/{snapshot}",
        "/{index}/_alias/{name}", "/{index}/_aliases/{name}",
    ]),
    refused(&["PUT", "POST"], &[
        "/_alias/{name}", "/_aliases/{name}", "/_mappings/{type}", "/{index}/_mappings", "/{index}/_mappings/{type}",
        "/{index}/{type}/_mappings",
    ]),
    refused(&["PUT"], &["/_alias", "/{index}/_alias", "/{index}/_aliases"]),
    refused(&["GET", "POST"], &[
        "/_mget", "/{index}/_mget", "/{index}/{type}/_mget", "/_mtermvectors", "/{index}/_mtermvectors",
        "/{index}/{type}/_mtermvectors", "/{index}/{type}/_termvectors", "/{index}/{type}/{id}/_termvectors",
        "/{index}/{type}/_termvector", "/{index}/{type}/{id}/_termvector",
        "/{index}/{type}/{id}/_explain", "/_msearch", "/{index}/_msearch", "/{index}/{type}/_msearch",
        "/_msearch/template", "/{index}/_msearch/template", "/{index}/{type}/_msearch/template", "/_search/template",
        "/{index}/_search/template", "/{index}/{type}/_search/template", "/_render/template", "/_render/template/{id}",
        "/_field_caps", "/{index}/_field_caps", "/_validate/query",
        "/{index}/_validate/query", "/{index}/{type}/_validate/query", "/_analyze", "/{index}/_analyze", "/_rank_eval",
        "/{index}/_rank_eval", "/_flush/synced", "/{index}/_flush/synced", "/_ingest/pipeline/_simulate",
        "/_ingest/pipeline/{id}/_simulate", "/_scripts/painless/_execute",
    ]),
    refused(&["GET", "POST", "DELETE"], &["/_search/scroll", "/_search/scroll/{id}"]),
    refused(&["GET", "HEAD", "PUT", "POST", "DELETE"], &["/{index}/{type}/{id}"]),
    refused(&["GET", "HEAD"], &["/{index}/{type}/{id}/_source"]),
];
