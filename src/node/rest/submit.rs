//! Changes of the cluster state: a task goes to the master by way of the node, and its fate becomes an answer.
//!
//! Mirrors `TransportMasterNodeAction` and `AcknowledgedRequest` (6.8).

use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::route::Call;
use super::snapshot::{MASTER, MASTER_TIMEOUT, patience};
use super::time::human_time;
use crate::cluster::{ClusterState, Recall, RequestId, RequestOutcome, StateId, Version};
use crate::runtime::spans::SpanContext;
use crate::service::{Answer, Question, Task};
use axum::http::HeaderName;
use std::time::Duration;

/// Names a request, so that it is carried out once however often it is sent.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Says in which trace the client asks.
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// How long to wait until all nodes have applied a change unless the request says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What every change understands.
pub(super) const WRITE: &[Parameter] = &[
    MASTER,
    Parameter {
        name: "timeout",
        values: Values::Time,
        default: "30s",
        doc: "How long to wait at most, once the change is committed, until every node has applied it; then the answer \
              says `\"acknowledged\": false`. For one that does not answer the wait is over after \
              `discovery.zen.fd.ping_timeout`, and one that does not follow the master yet, as the former one after a hand-over, is \
              not waited for.",
    },
    Parameter {
        name: "since",
        values: Values::Number,
        default: "none",
        doc: "With `retry`, the version of a state that the client knew before it sent the request first: whoever asked the \
              cluster later than all clients that it has forgotten is no one of them.",
    },
    Parameter {
        name: "retry",
        values: Values::Flag,
        default: "false",
        doc: "Says that the request of this `Idempotency-Key` may have been sent before.",
    },
];

/// A change that is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// The state that holds it.
    pub(super) at: StateId,
    /// Whether every node had applied it in time.
    pub(super) acknowledged: bool,
    /// What it came to.
    pub(super) outcome: RequestOutcome,
}

/// Has a change carried out, once if the request has a name.
pub(super) async fn submit(call: &Call, task: Task) -> Result<Done, RestError> {
    let answer = attempt(call, task).await?;
    let Answer::Done { at, acknowledged, outcome } = answer else {
        return Err(refused(call, answer)?);
    };
    Ok(Done { at, acknowledged, outcome })
}

/// The same, as the node answers.
pub(super) async fn attempt(call: &Call, task: Task) -> Result<Answer, RestError> {
    let timeout = call.parameters.time("timeout", TIMEOUT)?;
    let master_timeout = patience(&call.handle, call.parameters.time("master_timeout", MASTER_TIMEOUT)?);
    let retry = call.parameters.flag("retry")?.unwrap_or(false);
    let task = match request_id(call)? {
        Some(request) => {
            let (since, digest) = (since(call)?, digest(&task));
            Task::Once { request, retry, since, digest, task: Box::new(task) }
        }
        None if retry => {
            let why = format!(
                "retry: [true] is said of a request without a name; allowed: with the header [{IDEMPOTENCY_KEY}]"
            );
            return Err(RestError::illegal(why));
        }
        None => task,
    };
    let (handle, spans) = (&call.handle, call.handle.spans());
    let since = spans.now();
    let answer = handle.ask(Question::Submit { task, timeout, master_timeout }).await;
    if let Answer::Done { at, acknowledged, .. } = &answer
        && spans.are_wanted()
    {
        let asker = call.headers.get(TRACE_PARENT).and_then(|value| SpanContext::of_header(value.to_str().ok()?));
        spans.asked((call.route.name, asker), since, (*at, *acknowledged));
    }
    Ok(answer)
}

/// What an answer that is not the wanted one means to a user.
pub(super) fn refused(call: &Call, answer: Answer) -> Result<RestError, RestError> {
    let Answer::TimedOut { source } = answer else {
        return Ok(answer.into());
    };
    let master_timeout = human_time(call.parameters.time("master_timeout", MASTER_TIMEOUT)?);
    let reason = format!("failed to process cluster event ({source}) within {master_timeout}");
    Ok(RestError::new(Kind::ProcessClusterEventTimeout, reason))
}

/// Whether the request has a name, under which it is carried out once.
pub(super) fn has_name(call: &Call) -> bool {
    call.headers.contains_key(IDEMPOTENCY_KEY)
}

/// Whether the request has a name under which a state remembers what became of it.
pub(super) fn is_remembered(call: &Call, state: &ClusterState) -> Result<bool, RestError> {
    let is_done = |id| matches!(state.metadata.requests.recall(id, true, None, None), Recall::Done(_));
    Ok(request_id(call)?.is_some_and(is_done))
}

/// What tells a task from others under the same name.
fn digest(task: &Task) -> Option<u32> {
    serde_json::to_vec(task).ok().map(|written| crc32fast::hash(&written))
}

fn since(call: &Call) -> Result<Option<Version>, RestError> {
    let Some(text) = call.parameters.text("since") else {
        return Ok(None);
    };
    let version = text.parse().ok().and_then(Version::new);
    let refuse = || {
        RestError::illegal(format!(
            "since: [{text}] is no version of a state; allowed: a number as `version` of an answer has it"
        ))
    };
    version.map(Some).ok_or_else(refuse)
}

fn request_id(call: &Call) -> Result<Option<RequestId>, RestError> {
    let Some(value) = call.headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let refuse = |why| RestError::illegal(format!("Idempotency-Key: [{text}]: {why}"));
    text.parse().map(Some).map_err(refuse)
}
