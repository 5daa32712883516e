//! The routes about indices that a cluster without any answers: nothing, in the shape that clients read.

use crate::rest::empties::{
    self, CACHES, DEFAULTS, FIELD, FLUSH, ID, IGNORED, INDEX, MERGE, NAME, RECOVERY, REPOSITORY, SEGMENTS, SHARDS,
    SNAPSHOT, STATS, STORES, TYPE, TYPES, UPGRADE, VERBOSE,
};
use crate::rest::index;
use crate::rest::indices::INDICES;
use crate::rest::rights::Needs;
use crate::rest::route::{Answers, Route, Takes};
use crate::rest::searches::{self, COPIES, COUNT, QUERY, SEARCH};
use crate::rest::sent::SOURCE;
use crate::rest::snapshot::{LOCAL, MASTER, READ};
use crate::rest::state::FLAT_SETTINGS;

/// A route that answers with nothing.
macro_rules! empty {
    ($methods:expr, $paths:expr, $parameters:expr, $handler:path, $said:literal, $name:literal, $doc:literal) => {
        Route {
            methods: &$methods,
            paths: &$paths,
            parameters: &$parameters,
            needs: Needs::LOOK,
            takes: Takes::Tree,
            answers: Answers::Reply(
                |call| {
                    Box::pin(async {
                        empties::check_kinds(&call, &$parameters)?;
                        $handler(call).await
                    })
                },
                $said,
            ),
            name: $name,
            doc: $doc,
        }
    };
}

#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    empty!(["GET"], ["/_stats", "/_stats/{metric}", "/{index}/_stats", "/{index}/_stats/{metric}"],
        [STATS, &[INDEX], INDICES], empties::stats, "{_shards:@Shards,_all:{primaries:{},total:{}},indices?:{}}", "indices_stats_action",
        "Tells statistics of indices: of none."),
    empty!(["GET"], ["/_segments", "/{index}/_segments"],
        [SEGMENTS, &[INDEX], INDICES], empties::segments, "{_shards:@Shards,indices:{}}", "indices_segments_action",
        "Tells of the segments of shards: of none."),
    empty!(["GET"], ["/_shard_stores", "/{index}/_shard_stores"],
        [STORES, &[INDEX], INDICES], empties::shard_stores, "{indices:{}}", "indices_shard_stores_action",
        "Tells where copies of shards lie: there are none."),
    empty!(["GET"], ["/_recovery", "/{index}/_recovery"],
        [RECOVERY, &[INDEX], INDICES], empties::recoveries, "{*:any}", "recovery_action",
        "Tells how shards came to their nodes: there are none."),
    empty!(["GET"], ["/_upgrade", "/{index}/_upgrade"],
        [&[INDEX], INDICES], empties::upgrade, "{size_in_bytes:integer,size_to_upgrade_in_bytes:integer,size_to_upgrade_ancient_in_bytes:integer,indices:{}}", "upgrade_status_action",
        "Tells how much of indices has to be written anew for a newer release: nothing."),
    empty!(["GET", "POST"], ["/_refresh", "/{index}/_refresh"],
        [&[INDEX], INDICES], empties::broadcast, "{_shards:@Shards}", "refresh_action",
        "Has all shards show what was written: there are none."),
    empty!(["GET", "POST"], ["/_flush", "/{index}/_flush"],
        [FLUSH, &[INDEX], INDICES], empties::broadcast, "{_shards:@Shards}", "flush_action",
        "Has all shards write to their disks: there are none."),
    empty!(["GET", "POST"], ["/_cache/clear", "/{index}/_cache/clear"],
        [CACHES, &[INDEX], INDICES], empties::broadcast_unless_blocked, "{_shards:@Shards}", "clear_indices_cache_action",
        "Has all shards clear their caches: there are none."),
    empty!(["POST"], ["/_forcemerge", "/{index}/_forcemerge"],
        [MERGE, &[INDEX], INDICES], empties::broadcast_unless_blocked, "{_shards:@Shards}", "force_merge_action",
        "Has all shards merge their segments: there are none."),
    empty!(["POST"], ["/_upgrade", "/{index}/_upgrade"],
        [UPGRADE, &[INDEX], INDICES], empties::upgraded, "{_shards:@Shards,upgraded_indices:{}}", "upgrade_action",
        "Has all shards write their segments anew: there are none."),
    empty!(["GET"], ["/_alias"],
        [&[LOCAL], INDICES], empties::aliases, "{*:any}", "get_aliases_action",
        "Tells the aliases of indices: there are none, and one that is named is missing."),
    empty!(["GET", "HEAD"], ["/_alias/{name}", "/{index}/_alias", "/{index}/_alias/{name}"],
        [&[LOCAL, INDEX, NAME], INDICES], empties::aliases, "{*:any}", "get_aliases_action",
        "Tells the aliases of indices: there are none, and one that is named is missing."),
    empty!(["GET"], ["/_aliases"],
        [&[LOCAL], INDICES], empties::by_index, "{*:any}", "get_all_aliases_action",
        "Tells the aliases of all indices: there are none."),
    empty!(["GET"], ["/_template"],
        [READ, &[NAME, TYPES, FLAT_SETTINGS]], empties::templates, "200,404 {*:any}", "get_index_template_action",
        "Tells templates of indices: there are none, and one that is named is missing."),
    empty!(["GET", "HEAD"], ["/_template/{name}"],
        [READ, &[NAME, TYPES, FLAT_SETTINGS]], empties::templates, "200,404 {*:any}", "get_index_template_action",
        "Tells templates of indices: there are none, and one that is named is missing."),
    empty!(["GET"],
        ["/_mapping", "/_mapping/{type}", "/{index}/_mapping", "/{index}/_mappings", "/_mappings",
         "/{index}/{type}/_mapping", "/{index}/_mappings/{type}"],
        [READ, &[INDEX, TYPE, TYPES], INDICES], empties::mappings, "{*:any}", "get_mapping_action",
        "Tells what documents of indices look like: there are none."),
    empty!(["GET", "HEAD"], ["/{index}/_mapping/{type}"],
        [READ, &[INDEX, TYPE, TYPES], INDICES], empties::mappings, "{*:any}", "get_mapping_action",
        "Tells what documents of indices look like: there are none."),
    empty!(["GET"],
        ["/_mapping/field/{fields}", "/{index}/_mapping/field/{fields}", "/_mapping/{type}/field/{fields}",
         "/{index}/_mapping/{type}/field/{fields}", "/{index}/{type}/_mapping/field/{fields}"],
        [&[FIELD, TYPES, INDEX, TYPE, DEFAULTS, LOCAL], INDICES], empties::fields, "200,404 {*:any}", "get_field_mapping_action",
        "Tells what fields of documents look like: none is found."),
    empty!(["GET"], ["/_settings", "/_settings/{name}", "/{index}/_settings", "/{index}/_settings/{name}", "/{index}/_setting/{name}"],
        [READ, &[INDEX, NAME, DEFAULTS, FLAT_SETTINGS], INDICES], empties::settings, "{*:any}", "get_settings_action",
        "Tells the settings of indices: there are none."),
    empty!(["GET", "POST"], ["/_search", "/{index}/_search", "/{index}/{type}/_search"],
        [QUERY, COPIES, SEARCH, SOURCE, &[INDEX, TYPE], INDICES], searches::search, "{took:integer,timed_out:boolean,_shards:@Searched,hits:{total:integer,max_score:number|null,hits:[any]}}", "search_action",
        "Finds documents: none.\nTools ask this to see whether somebody is there; of a body names and kinds are looked at, as far as the queries inside queries."),
    empty!(["GET", "POST"], ["/_count", "/{index}/_count", "/{index}/{type}/_count"],
        [QUERY, COPIES, COUNT, SOURCE, &[INDEX, TYPE], INDICES], searches::count, "{count:integer,terminated_early?:null,_shards:@Searched}", "count_action",
        "Counts documents: none."),
    empty!(["GET", "POST"], ["/_search_shards", "/{index}/_search_shards"],
        [SHARDS, &[LOCAL, INDEX], INDICES], empties::search_shards, "{nodes:{},indices:{},shards:[any]}", "cluster_search_shards_action",
        "Tells the shards that a search would go to: none."),
    empty!(["GET"], ["/_snapshot/{repository}/{snapshot}"],
        [&[MASTER, REPOSITORY, SNAPSHOT, IGNORED, VERBOSE]], empties::snapshots, "{*:any}", "get_snapshots_action",
        "Tells snapshots of a repository: it is missing."),
    empty!(["GET"], ["/_snapshot", "/_snapshot/{repository}"],
        [READ, &[REPOSITORY, FLAT_SETTINGS]], empties::repositories, "{*:any}", "get_repositories_action",
        "Tells the places for snapshots: there are none, and one that is named is missing."),
    empty!(["GET"], ["/_snapshot/{repository}/{snapshot}/_status"],
        [&[MASTER, REPOSITORY, SNAPSHOT, IGNORED]], empties::snapshots, "{*:any}", "snapshot_status_action",
        "Tells how snapshots of a repository are: it is missing."),
    empty!(["GET"], ["/_snapshot/_status", "/_snapshot/{repository}/_status"],
        [&[MASTER, REPOSITORY, IGNORED]], empties::snapshot_status, "{snapshots:[any]}", "snapshot_status_action",
        "Tells which snapshots are being taken: none."),
    empty!(["GET"], ["/_ingest/pipeline", "/_ingest/pipeline/{id}"],
        [&[MASTER, ID]], empties::pipelines, "200,404 {*:any}", "ingest_get_pipeline_action",
        "Tells the pipelines of documents: none is found."),
    empty!(["GET"], ["/_scripts/{id}"],
        [&[MASTER, ID]], empties::script, "200,404 {_id:string,found:boolean}", "get_stored_scripts_action",
        "Tells a script: it is not found."),
    empty!(["GET", "HEAD"], ["/{index}"],
        [READ, index::PARAMETERS, INDICES], index::show, "{*:any}", "get_indices_action",
        "Answers with the metadata of indices.\nAny path of one piece that nothing else understands comes here."),
];
