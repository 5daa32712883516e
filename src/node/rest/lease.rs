//! `/_zazen/lease`: what one holder at a time has.
//!
//! What a holder may rely on is told in `docs/leases.md`.

use super::body::Json;
use super::error::RestError;
use super::kv::{ask, token, written};
use super::parameters::{Parameter, Parameters, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, wait_long};
use super::submit::{attempt, has_name, is_remembered, refused, submit};
use crate::cluster::{ClusterState, Holding, Lease, RequestOutcome, Token};
use crate::service::{Answer, Query, Refusal, Task, limits};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a lease is unless the request says otherwise.
const TTL: Duration = Duration::from_secs(10);

/// The pause before a lease that may be free is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(5);

const fn parameter(name: &'static str, values: Values, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values, default, doc }
}

/// Which lease is meant.
pub(super) const NAME: Parameter = parameter("name", Values::Text, "none", "The name of the lease: 1 to 512 bytes.");

/// Under which token it is held.
pub(super) const TOKEN: Parameter = parameter("token", Values::Number, "none", "The token that came with the grant.");

/// What a lease is granted with.
pub(super) const GRANT: &[Parameter] = &[
    parameter("ttl", Values::Time, "10s", "For how long it is held from each sign of life on: `100ms` to `1d`."),
    parameter("holder", Values::Text, "unnamed", "What the holder calls himself."),
    parameter("wait", Values::Time, "0s", "How long to wait for the holder to release it; then the answer is 409."),
];

/// Grants the lease, if nobody holds it, or as soon as nobody does.
pub(super) async fn acquire(call: Call) -> Result<Reply, RestError> {
    let name = name(&call.parameters);
    let ttl = call.parameters.time("ttl", TTL)?;
    let holder: Arc<str> = call.parameters.text("holder").unwrap_or("unnamed").into();
    let deadline = Instant::now() + call.parameters.time("wait", Duration::ZERO)?;
    loop {
        wait_until_free(&call, &name, deadline).await?;
        let task = Task::GrantLease { name: name.clone(), holder: holder.clone(), ttl };
        let answer = attempt(&call, task).await?;
        if let Answer::Done { at, outcome: RequestOutcome::Granted { token }, .. } = answer {
            let lease = Json::object([("name", (&*name).into())]);
            return Ok(Reply::tree(terms(lease, &holder, token, ttl).with("at", at.to_string())));
        }
        // Another was faster. What became of a request that has a name is remembered, so that it cannot be asked again.
        let is_held = matches!(answer, Answer::Refused(Refusal::Held { .. }));
        if !is_held || has_name(&call) || Instant::now() >= deadline {
            return Err(refused(&call, answer)?);
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// Waits until nobody holds the lease, or the time is over.
async fn wait_until_free(call: &Call, name: &Arc<str>, deadline: Instant) -> Result<(), RestError> {
    // Whoever asks again for what was granted waits for nobody.
    while Instant::now() < deadline && !is_told(call)? {
        let answer = ask(call, Query::Lease { name: name.clone() }).await?;
        let Answer::Lease { lease, .. } = answer else {
            return Err(answer.into());
        };
        let Some(held) = lease else {
            return Ok(());
        };
        let is_free = |lease: Option<&Lease>| lease.is_none_or(|lease| lease.token != held.token);
        let is_known = |state: &ClusterState| is_remembered(call, state).unwrap_or(false);
        wait_long(&call.handle, deadline, |state| is_free(state.metadata.leases.get(&**name)) || is_known(state))
            .await?;
        // A node that is behind knows neither of the grant nor of its end.
        tokio::time::sleep(ASK_AGAIN).await;
    }
    Ok(())
}

/// Whether the newest state here remembers what became of the request.
fn is_told(call: &Call) -> Result<bool, RestError> {
    is_remembered(call, &snapshot::local(&call.handle))
}

/// What a holder must know of a lease.
fn terms(json: Json, holder: &str, token: Token, ttl: Duration) -> Json {
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    json.with("holder", holder)
        .with("token", token.get())
        .with("ttl_millis", millis(ttl))
        .with("holder_ttl_millis", millis(limits::holders_ttl(ttl)))
}

/// Lets the lease go on.
pub(super) async fn keep_alive(call: Call) -> Result<Reply, RestError> {
    let holding = holding(&call.parameters)?;
    let answer = ask(&call, Query::KeepAlive(holding)).await?;
    let Answer::Lease { at, lease: Some(lease) } = answer else {
        return Err(answer.into());
    };
    let json = Json::object([("name", (&*name(&call.parameters)).into())]);
    Ok(Reply::tree(terms(json, &lease.holder, lease.token, lease.ttl).with("at", at.to_string())))
}

/// Ends the grant.
pub(super) async fn release(call: Call) -> Result<Reply, RestError> {
    let done = submit(&call, Task::ReleaseLease(holding(&call.parameters)?)).await?;
    Ok(Reply::tree(written(&done)))
}

/// Who holds it.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let name = name(&call.parameters);
    let (at, lease) = if call.parameters.flag("local")?.unwrap_or(false) {
        let state = snapshot::local(&call.handle);
        (state.id(), state.metadata.leases.get(&*name).cloned())
    } else {
        let answer = ask(&call, Query::Lease { name: name.clone() }).await?;
        let Answer::Lease { at, lease } = answer else {
            return Err(answer.into());
        };
        (at, lease)
    };
    let Some(lease) = lease else {
        return Err(RestError::no_resource(format!("nobody holds lease [{name}]")));
    };
    Ok(Reply::tree(shown(&name, &lease).with("at", at.to_string())))
}

/// A lease as others see it.
pub(super) fn shown(name: &str, lease: &Lease) -> Json {
    let json = Json::object([("name", name.into())]);
    terms(json, &lease.holder, lease.token, lease.ttl).with("granted", lease.granted.to_string())
}

/// The leases that are held, as this node knows or the master says.
pub(super) async fn list(call: Call) -> Result<Reply, RestError> {
    let state = snapshot::wanted(&call, None).await?;
    let leases = state.metadata.leases.iter().map(|(name, lease)| shown(name, lease)).collect();
    Ok(Reply::tree(Json::object([("at", state.id().to_string().into()), ("leases", leases)])))
}

fn name(parameters: &Parameters) -> Arc<str> {
    parameters.text("name").unwrap_or_default().into()
}

fn holding(parameters: &Parameters) -> Result<Holding, RestError> {
    let missing = || RestError::illegal("[token] is missing: the one that came with the grant");
    let token = token(parameters)?.ok_or_else(missing)?;
    Ok(Holding { name: name(parameters), token })
}
