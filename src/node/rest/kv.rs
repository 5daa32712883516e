//! `/_zazen/kv`: the users' keys, one at a time or those that begin alike.
//!
//! A value is a body, as it is. A read goes by the master unless the request says otherwise; a write may depend on which
//! change was the last one of its key. Elasticsearch has nothing like it.

use super::body::Json;
use super::error::RestError;
use super::parameters::{Parameter, Parameters, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use super::submit::{Done, submit};
use crate::cluster::{Blob, ClusterState, Holding, KeyValue, RequestOutcome, Revision, StateId, Token};
use crate::service::{Answer, Condition, Put, Query, Question, Refusal, Task, Txn, limits};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use bytes::Bytes;
use std::sync::Arc;

/// How many keys a list shows unless the request says otherwise.
const LIMIT: usize = 1_000;

const fn parameter(name: &'static str, values: Values, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values, default, doc }
}

/// Which key is meant.
pub(super) const KEY: Parameter =
    parameter("key", Values::Text, "none", "The key: 1 to 512 bytes, which may have slashes in them.");

/// What a write of a key depends on.
pub(super) const CONDITION: &[Parameter] = &[
    KEY,
    parameter(
        "if_version",
        Values::Text,
        "none",
        "Only if the key was last changed by this change, as an `ETag` names it, `3/17`; or only if there is no such key, \
         `none`.",
    ),
];

/// What a key may be tied to.
pub(super) const TIE: &[Parameter] = &[
    parameter("lease", Values::Text, "none", "The lease that the key vanishes with; it must be held under `token`."),
    parameter("token", Values::Number, "none", "The token of the grant of `lease`."),
];

/// Which keys a list shows.
pub(super) const LIST: &[Parameter] = &[
    parameter("prefix", Values::Text, "all keys", "How the keys begin."),
    parameter("after", Values::Text, "none", "Only keys behind this one, which was the last one of the answer before."),
    parameter("limit", Values::Number, "1000", "How many keys at the most; no more than 10000."),
    parameter("values", Values::Flag, "false", "Shows what the keys hold as well."),
];

/// What a key holds: its bytes or, with `format=json`, all that is known of it.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let key = key(&call.parameters);
    let (at, held) = read(&call, &key).await?;
    let Some(held) = held else {
        return Err(RestError::no_resource(format!("no such key [{key}]")));
    };
    let tag = tag(held.changed);
    if names(&call.headers, &header::IF_MATCH, &tag) == Some(false) {
        return Err(RestError::not_matched(&key, held.changed));
    }
    if names(&call.headers, &header::IF_NONE_MATCH, &tag) == Some(true) {
        return Ok(Reply::text(String::new()).with_status(StatusCode::NOT_MODIFIED).with_header(header::ETAG, tag));
    }
    let reply = match call.parameters.text("format") {
        Some(_) => Reply::tree(entry(&key, &held, true).with("at", at.to_string())),
        None => Reply::bytes(Bytes::copy_from_slice(held.value.as_bytes())),
    };
    Ok(reply.with_header(header::ETAG, tag))
}

async fn read(call: &Call, key: &Arc<str>) -> Result<(StateId, Option<KeyValue>), RestError> {
    if call.parameters.flag("local")?.unwrap_or(false) {
        let state = snapshot::local(&call.handle);
        return Ok((state.id(), state.metadata.keys.get(&**key).cloned()));
    }
    let answer = ask(call, Query::Key { key: key.clone() }).await?;
    let Answer::Value { at, value } = answer else {
        return Err(answer.into());
    };
    Ok((at, value))
}

/// Asks the master itself.
pub(super) async fn ask(call: &Call, query: Query) -> Result<Answer, RestError> {
    let master_timeout = call.parameters.time("master_timeout", MASTER_TIMEOUT)?;
    let master_timeout = snapshot::patience(&call.handle, master_timeout);
    Ok(call.handle.ask(Question::Read { query, master_timeout }).await)
}

/// The keys that begin alike.
pub(super) async fn list(call: Call) -> Result<Reply, RestError> {
    let prefix = call.parameters.text("prefix").unwrap_or_default().to_owned();
    let after = call.parameters.text("after").map(str::to_owned);
    let limit = call.parameters.number("limit")?.map_or(LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let limit = limit.clamp(1, limits::RANGE_MAX);
    let has_values = call.parameters.flag("values")?.unwrap_or(false);
    // The master vouches for the newest state and is not asked for what is in it: many keys at once would hold it up.
    let state = snapshot::wanted(&call, None).await?;
    let (keys, more) = range(&state, &prefix, after.as_deref(), limit);
    let keys = keys.iter().map(|(key, held)| entry(key, held, has_values)).collect();
    let json = Json::object([("at", state.id().to_string().into()), ("keys", keys), ("more", more.into())]);
    Ok(Reply::tree(json))
}

/// The keys of a state that begin so, and whether there are more.
fn range(state: &ClusterState, prefix: &str, after: Option<&str>, limit: usize) -> (Vec<(Arc<str>, KeyValue)>, bool) {
    let first = after.filter(|after| *after > prefix).unwrap_or(prefix);
    let fits = state.metadata.keys.range_from(first).take_while(|(key, _)| key.starts_with(prefix));
    let mut bytes = 0;
    let mut keys: Vec<(Arc<str>, KeyValue)> = Vec::new();
    for (key, held) in fits.filter(|(key, _)| after.is_none_or(|after| &***key > after)) {
        bytes += key.len() + held.value.len();
        if keys.len() >= limit || bytes > limits::RANGE_BYTES_MAX && !keys.is_empty() {
            return (keys, true);
        }
        keys.push((key.clone(), held.clone()));
    }
    (keys, false)
}

/// Writes a key.
pub(super) async fn put(call: Call) -> Result<Reply, RestError> {
    let key = key(&call.parameters);
    let condition = condition(&call, &key)?;
    let lease = tie(&call.parameters)?;
    if call.body.len() > limits::VALUE_BYTES_MAX {
        // The master would refuse it as well, once it had been sent there.
        return Err(too_large(&key, call.body.len()).into());
    }
    let put = Put { key, value: Blob::from(&call.body[..]), lease };
    let txn = Txn { puts: vec![put], ..Txn::default() };
    let done = change(&call, txn, condition).await?;
    Ok(Reply::tree(written(&done)).with_header(header::ETAG, tag(revision(&done))))
}

fn too_large(key: &str, bytes: usize) -> Refusal {
    let most = limits::VALUE_BYTES_MAX;
    Refusal::TooLarge(format!("the value of key [{key}] has {bytes} bytes, allowed are {most}"))
}

/// Deletes a key; one that is not there is as good as deleted.
pub(super) async fn delete(call: Call) -> Result<Reply, RestError> {
    let key = key(&call.parameters);
    let condition = condition(&call, &key)?;
    let done = change(&call, Txn::delete(key), condition).await?;
    Ok(Reply::tree(written(&done).with("deleted", deleted(&done) > 0)))
}

/// What a write depends on, and the status of its refusal.
struct Demand {
    condition: Condition,
    status: StatusCode,
}

async fn change(call: &Call, txn: Txn, demand: Option<Demand>) -> Result<Done, RestError> {
    let status = demand.as_ref().map(|demand| demand.status);
    let txn = txn.only_if(demand.map(|demand| demand.condition));
    submit(call, Task::Txn(txn)).await.map_err(|error| match status {
        Some(status) if error.is_conflict() => error.with_status(status),
        Some(_) | None => error,
    })
}

/// What every write is answered with.
pub(super) fn written(done: &Done) -> Json {
    let revision = revision(done);
    Json::object([
        ("acknowledged", done.acknowledged.into()),
        ("term", done.at.term.get().into()),
        ("version", done.at.version.get().into()),
        ("revision", revision.to_string().into()),
    ])
}

fn revision(done: &Done) -> Revision {
    let part = match done.outcome {
        RequestOutcome::Written { part, .. } => part,
        RequestOutcome::Applied | RequestOutcome::Granted { .. } | RequestOutcome::Refused(_) => 0,
    };
    Revision { term: done.at.term, version: done.at.version, part }
}

/// How many of the keys to delete were there.
pub(super) fn deleted(done: &Done) -> u64 {
    match done.outcome {
        RequestOutcome::Written { deleted, .. } => deleted.into(),
        RequestOutcome::Applied | RequestOutcome::Granted { .. } | RequestOutcome::Refused(_) => 0,
    }
}

fn key(parameters: &Parameters) -> Arc<str> {
    parameters.text("key").unwrap_or_default().into()
}

/// The lease that a key is tied to, if it is.
fn tie(parameters: &Parameters) -> Result<Option<Holding>, RestError> {
    match (parameters.text("lease"), token(parameters)?) {
        (None, None) => Ok(None),
        (Some(name), Some(token)) => Ok(Some(Holding { name: name.into(), token })),
        (Some(_), None) | (None, Some(_)) => {
            Err(RestError::illegal("[lease] and [token] belong together, and one of them is missing"))
        }
    }
}

/// The fencing token that a request was given.
pub(super) fn token(parameters: &Parameters) -> Result<Option<Token>, RestError> {
    let Some(number) = parameters.number("token")? else {
        return Ok(None);
    };
    let max = Token::MAX;
    let refuse = || RestError::illegal(format!("token: [{number}] is above the maximum [{max}]"));
    Token::new(number).map(Some).ok_or_else(refuse)
}

/// What the request demands of its key: one thing at the most.
fn condition(call: &Call, key: &Arc<str>) -> Result<Option<Demand>, RestError> {
    let text = |name: HeaderName| header(&call.headers, &name);
    let demands = [
        text(header::IF_MATCH).map(|tag| if_match(tag, key)),
        text(header::IF_NONE_MATCH).map(|tag| if_none_match(tag, key)),
        call.parameters.text("if_version").map(|text| if_version(text, key)),
    ];
    let mut demands = demands.into_iter().flatten();
    let first = demands.next().transpose()?;
    match demands.next() {
        Some(_) => Err(RestError::illegal(
            "[If-Match], [If-None-Match] and [if_version] exclude each other, and two were given",
        )),
        None => Ok(first),
    }
}

fn if_match(tag: &str, key: &Arc<str>) -> Result<Demand, RestError> {
    let status = StatusCode::PRECONDITION_FAILED;
    if tag == "*" {
        return Ok(Demand { condition: Condition::Present { key: key.clone() }, status });
    }
    let revision = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).and_then(|tag| tag.parse().ok());
    let refuse = || RestError::illegal(format!("If-Match: [{tag}] is no `ETag` of a key; allowed: \"3/17\" and *"));
    let by = revision.ok_or_else(refuse)?;
    Ok(Demand { condition: Condition::Changed { key: key.clone(), by }, status })
}

fn if_none_match(tag: &str, key: &Arc<str>) -> Result<Demand, RestError> {
    if tag != "*" {
        return Err(RestError::illegal(format!("If-None-Match: [{tag}] makes no sense for a write; allowed: *")));
    }
    Ok(Demand { condition: Condition::Absent { key: key.clone() }, status: StatusCode::PRECONDITION_FAILED })
}

fn if_version(text: &str, key: &Arc<str>) -> Result<Demand, RestError> {
    let status = StatusCode::CONFLICT;
    if text == "none" {
        return Ok(Demand { condition: Condition::Absent { key: key.clone() }, status });
    }
    let by = text.parse().map_err(|error| RestError::illegal(format!("if_version: [{text}]: {error}, or `none`")))?;
    Ok(Demand { condition: Condition::Changed { key: key.clone(), by }, status })
}

/// Whether one of the tags of a header is this one, or any is meant; none if there is no such header.
fn names(headers: &HeaderMap, name: &HeaderName, tag: &str) -> Option<bool> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim).peekable();
    tags.peek()?;
    Some(tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag))
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn tag(revision: Revision) -> String {
    format!("\"{revision}\"")
}

/// What is known of a key.
pub(super) fn entry(key: &str, held: &KeyValue, has_value: bool) -> Json {
    let lease = held
        .lease
        .as_ref()
        .map(|Holding { name, token }| Json::object([("name", (&**name).into()), ("token", token.get().into())]));
    Json::object([
        ("key", key.into()),
        ("term", held.changed.term.get().into()),
        ("version", held.changed.version.get().into()),
        ("revision", held.changed.to_string().into()),
        ("bytes", held.value.len().into()),
    ])
    .with_some("lease", lease)
    .with_some("value", has_value.then(|| blob(&held.value)))
}

/// Bytes as a text, if they are one; else what stands for them in base64.
pub(super) fn blob(value: &Blob) -> Json {
    match value.as_str() {
        Some(text) => text.into(),
        None => Json::object([("base64", value.to_base64().into())]),
    }
}
