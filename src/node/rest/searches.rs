//! Searches in a cluster without documents: what is asked for is looked at, and nothing is found.
//!
//! Tools ask this to see whether somebody is there. Mirrors `RestSearchAction` and
//! `RestCountAction` (6.8).

use super::body::Json;
use super::empties::{check_names, idle, idle_as};
use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::search_body::{check_count, check_search};

/// What documents are looked for with.
pub(super) const QUERY: &[Parameter] = &[
    idle("q"),
    idle("df"),
    idle("analyzer"),
    idle_as("analyze_wildcard", Values::Flag),
    idle("default_operator"),
    idle_as("lenient", Values::Flag),
];

/// Which copies of documents are looked through.
pub(super) const COPIES: &[Parameter] = &[idle("preference"), idle("routing")];

/// What documents are counted with besides.
pub(super) const COUNT: &[Parameter] = &[idle("min_score"), idle_as("terminate_after", Values::Number)];

/// What documents are shown with besides.
pub(super) const SEARCH: &[Parameter] = &[
    idle_as("from", Values::Number),
    idle_as("size", Values::Number),
    idle("sort"),
    idle("_source"),
    idle("_source_include"),
    idle("_source_includes"),
    idle("_source_exclude"),
    idle("_source_excludes"),
    idle("stored_fields"),
    idle("docvalue_fields"),
    idle_as("explain", Values::Flag),
    idle_as("version", Values::Flag),
    idle_as("seq_no_primary_term", Values::Flag),
    idle_as("timeout", Values::Time),
    idle_as("terminate_after", Values::Number),
    idle("search_type"),
    idle_as("scroll", Values::Time),
    idle("stats"),
    idle_as("request_cache", Values::Flag),
    idle_as("batched_reduce_size", Values::Number),
    idle_as("max_concurrent_shard_requests", Values::Number),
    idle_as("pre_filter_shard_size", Values::Number),
    idle_as("allow_partial_search_results", Values::Flag),
    idle_as("track_scores", Values::Flag),
    idle_as("track_total_hits", Values::Flag),
    idle("rest_total_hits_as_int"),
    idle("typed_keys"),
    idle("suggest_field"),
    idle("suggest_mode"),
    idle("suggest_size"),
    idle("suggest_text"),
];

/// The old names of two parameters, with the new ones.
const RENAMED: [(&str, &str); 2] = [("_source_include", "_source_includes"), ("_source_exclude", "_source_excludes")];

/// The least values of numbers, and what is said of lower ones; they are looked at in this order.
const LEAST: [(&str, i32, &str); 4] = [
    ("batched_reduce_size", 2, "batchedReduceSize must be >= 2"),
    ("pre_filter_shard_size", 1, "preFilterShardSize must be >= 1"),
    ("max_concurrent_shard_requests", 1, "maxConcurrentShardRequests must be >= 1"),
    // -1 stands for none.
    ("from", -1, "[from] parameter cannot be negative"),
];

/// How many shards took part; a search may pass over some.
fn none_searched() -> Json {
    Json::object(["total", "successful", "skipped", "failed"].map(|name| (name, 0_u64.into())))
}

/// Documents that fit, and how many there are: none.
pub(super) async fn search(call: Call) -> Result<Reply, RestError> {
    let more = check_search(&call)?;
    check(&call)?;
    check_names(&call)?;
    let hits = [("total", 0_u64.into()), ("max_score", 0.0.into()), ("hits", Json::List(Vec::new()))];
    let reply = Reply::tree(Json::object([
        ("took", 0_u64.into()),
        ("timed_out", false.into()),
        ("_shards", none_searched()),
        ("hits", Json::object(hits)),
    ]));
    let warnings = more.map(str::to_owned).into_iter().chain(warnings(&call));
    Ok(warnings.fold(reply, |reply, text| reply.with_warning(&text)))
}

fn check(call: &Call) -> Result<(), RestError> {
    for (name, least, reason) in LEAST {
        if call.parameters.int(name)?.is_some_and(|number| number < least) {
            return Err(RestError::illegal(reason));
        }
    }
    // -1 stands for none.
    if let Some(size @ ..=-2) = call.parameters.int("size")? {
        return Err(RestError::illegal(format!("[size] parameter cannot be negative, found [{size}]")));
    }
    if call.parameters.int("terminate_after")?.is_some_and(|number| number < 0) {
        return Err(RestError::illegal("terminateAfter must be > 0"));
    }
    match call.parameters.text("search_type") {
        None | Some("dfs_query_then_fetch" | "query_then_fetch" | "query_and_fetch" | "dfs_query_and_fetch") => Ok(()),
        Some(other) => Err(RestError::illegal(format!("No search type for [{other}]"))),
    }?;
    if call.parameters.text("suggest_field").is_some_and(str::is_empty) {
        return Err(RestError::illegal("suggestion field name is empty"));
    }
    check_operator(call)
}

fn check_operator(call: &Call) -> Result<(), RestError> {
    let operator = call.parameters.text("default_operator").map(str::to_ascii_uppercase);
    match operator {
        Some(word) if word != "AND" && word != "OR" => {
            Err(RestError::illegal(format!("No enum constant org.elasticsearch.index.query.Operator.{word}")))
        }
        Some(_) | None => Ok(()),
    }
}

fn warnings(call: &Call) -> Vec<String> {
    let renamed = RENAMED.iter().filter(|(old, _)| call.parameters.text(old).is_some());
    renamed.map(|(old, new)| format!("Deprecated parameter [{old}] used, expected [{new}] instead")).collect()
}

/// Java lets a letter behind a number say how it is kept.
fn check_float(name: &str, text: &str) -> Result<(), RestError> {
    let told = text.trim();
    let number = told.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(told);
    if number.parse::<f32>().is_ok() {
        return Ok(());
    }
    let cause =
        if told.is_empty() { RestError::new(Kind::NumberFormat, "empty String") } else { RestError::no_number(told) };
    let reason = format!("Failed to parse float parameter [{name}] with value [{text}]");
    Err(RestError::illegal(reason).caused_by(cause))
}

/// How many documents fit: none.
pub(super) async fn count(call: Call) -> Result<Reply, RestError> {
    check_count(&call)?;
    if let Some(text) = call.parameters.text("min_score") {
        check_float("min_score", text)?;
    }
    if call.parameters.int("terminate_after")?.is_some_and(|number| number < 0) {
        return Err(RestError::illegal("terminateAfter must be > 0"));
    }
    check_operator(&call)?;
    check_names(&call)?;
    // Whether it ended early is told of a count that may, though nobody knows.
    let early = call.parameters.text("terminate_after").filter(|limit| *limit != "0").map(|_| Json::Null);
    let body = Json::object([("count", 0_u64.into())]).with_some("terminated_early", early);
    Ok(Reply::tree(body.with("_shards", none_searched())))
}
