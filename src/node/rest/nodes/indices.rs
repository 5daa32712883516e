//! Figures about indices, of which a node holds none: all of them are zero.
//!
//! Mirrors `NodeIndicesStats` and `CommonStats` (6.8).

use crate::rest::body::Json;
use crate::rest::section::Section;

/// What a time says that never was.
const NEVER: i64 = i64::MIN;

/// By what each part is asked for, what it is called, and its figures.
const PARTS: [(&str, &str, &str); 16] = [
    ("docs", "docs", "count deleted"),
    ("store", "store", "size:b"),
    (
        "indexing",
        "indexing",
        "index_total index_time:t index_current index_failed delete_total delete_time:t delete_current noop_update_total \
         is_throttled:f throttle_time:t",
    ),
    ("get", "get", "total getTime=time:t exists_total exists_time:t missing_total missing_time:t current"),
    (
        "search",
        "search",
        "open_contexts query_total query_time:t query_current fetch_total fetch_time:t fetch_current scroll_total \
         scroll_time:t scroll_current suggest_total suggest_time:t suggest_current",
    ),
    (
        "merge",
        "merges",
        "current current_docs current_size:b total total_time:t total_docs total_size:b total_stopped_time:t \
         total_throttled_time:t total_auto_throttle:b",
    ),
    ("refresh", "refresh", "total total_time:t listeners"),
    ("flush", "flush", "total periodic total_time:t"),
    ("warmer", "warmer", "current total total_time:t"),
    ("query_cache", "query_cache", "memory_size:b total_count hit_count miss_count cache_size cache_count evictions"),
    ("fielddata", "fielddata", "memory_size:b evictions"),
    ("completion", "completion", "size:b"),
    (
        "segments",
        "segments",
        "count memory:b terms_memory:b stored_fields_memory:b term_vectors_memory:b norms_memory:b points_memory:b \
         doc_values_memory:b index_writer_memory:b version_map_memory:b fixed_bit_set=fixed_bit_set_memory:b",
    ),
    ("translog", "translog", "operations size:b uncommitted_operations uncommitted_size:b earliest_last_modified_age"),
    ("request_cache", "request_cache", "memory_size:b evictions hit_count miss_count"),
    ("recovery", "recovery", "current_as_source current_as_target throttle_time:t"),
];

/// By what parts can be asked for. Suggestions are counted as searches.
pub(super) const METRICS: [&str; 17] = [
    "store",
    "indexing",
    "get",
    "search",
    "merge",
    "flush",
    "refresh",
    "query_cache",
    "fielddata",
    "docs",
    "warmer",
    "completion",
    "segments",
    "translog",
    "suggest",
    "request_cache",
    "recovery",
];

/// The parts that are wanted, by what they are asked for.
pub(super) fn parts(is_wanted: impl Fn(&str) -> bool, is_human: bool) -> Section {
    let wanted = PARTS.iter().filter(|(metric, ..)| is_wanted(metric));
    wanted.fold(Section::new(is_human), |parts, (metric, name, words)| {
        let part = Section::new(is_human).idle(words);
        let part = if *metric == "segments" {
            part.with("max_unsafe_auto_id_timestamp", NEVER).with("file_sizes", Json::object([]))
        } else {
            part
        };
        parts.with(*name, part)
    })
}

/// The parts of these names, of all nodes together.
pub(in crate::rest) fn all(names: &[&str], is_human: bool) -> Vec<(&'static str, Json)> {
    let part = |name: &&str| {
        let (metric, name, _) = PARTS.iter().find(|(metric, ..)| metric == name)?;
        let Json::Object(mut fields) = parts(|wanted| wanted == *metric, is_human).json() else { return None };
        Some((*name, fields.pop()?.1))
    };
    names.iter().filter_map(part).collect()
}
