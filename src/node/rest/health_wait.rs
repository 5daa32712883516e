//! `/_cluster/health`: waiting until the cluster is as wanted, and telling how it is then.
//!
//! All that is waited for must hold at once, and is looked at again with every state. An index lacks nothing, as there are no
//! shards. Mirrors `TransportClusterHealthAction` and `RestClusterHealthAction` (6.8).

use super::body::Json;
use super::error::RestError;
use super::health::{self, Health, Status, pending};
use super::indices::{Options, resolve};
use super::parameters::{Parameter, Parameters, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use crate::cluster::ClusterState;
use crate::runtime::Handle;
use crate::service::Priority;
use axum::http::StatusCode;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long to wait unless the request says so.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How often the master's queue is looked at, which changes without a new state.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long a node without a master asks others for the state, again and again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// How long what was known before is told where the time to wait is over while there is no master.
const CHANGE_OF_MASTERS: Duration = Duration::from_secs(2);

const fn parameter(name: &'static str, values: Values, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values, default, doc }
}

/// What the route understands besides what every read of the state understands.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("index", Values::List, "all", "The indices that must be there; without them the status is `red`."),
    parameter("level", Values::Text, "cluster", "How much to tell: `cluster`, `indices` or `shards`."),
    parameter("timeout", Values::Time, "30s", "How long to wait; then the answer is 408 and tells how the cluster is."),
    parameter(
        "wait_for_status",
        Values::Text,
        "none",
        "Waits until the status is `green`, `yellow` or `red`, or better.",
    ),
    parameter(
        "wait_for_nodes",
        Values::Text,
        "none",
        "Waits for so many nodes: `3`, `>=3`, `<=3`, `>3`, `<3`, or `ge(3)`, `le(3)`, `gt(3)`, `lt(3)`.",
    ),
    parameter(
        "wait_for_events",
        Values::Text,
        "none",
        "Waits until the node, if it is the master, has no task in its queue that is as urgent as this or more: \
         `immediate`, `urgent`, `high`, `normal`, `low` or `languid`.",
    ),
    parameter(
        "wait_for_active_shards",
        Values::Text,
        "0",
        "Waits for so many active shards, of which there are none, or `all`.",
    ),
    parameter("wait_for_no_relocating_shards", Values::Flag, "false", "Holds at any time: no shard is placed."),
    parameter("wait_for_no_initializing_shards", Values::Flag, "false", "Holds at any time: no shard is placed."),
    parameter("wait_for_relocating_shards", Values::Text, "none", "Refused, as Elasticsearch refuses it."),
];

/// Answers when the cluster is as wanted, or says 408 and how it is when the time is over.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let conditions = Conditions::read(&call.parameters)?;
    let has_indices = matches!(call.parameters.text("level"), Some("indices" | "shards"));
    let is_local = call.parameters.flag("local")?.unwrap_or(false);
    let timeout = call.parameters.time("timeout", TIMEOUT)?;
    // Who gives the one time means it for all.
    let master_timeout = if call.parameters.text("timeout").is_some() { timeout } else { MASTER_TIMEOUT };
    let master_timeout = call.parameters.time("master_timeout", master_timeout)?;
    let deadline = Instant::now() + timeout;
    let first = match is_local {
        true => snapshot::local(&call.handle),
        false => snapshot::confirmed(&call.handle, master_timeout).await?,
    };
    conditions.check(&first)?;
    let (state, is_met) = conditions.wait(&call.handle, first, is_local, deadline).await?;
    let mut health = match is_local {
        true => Health::of_local(&call.handle, &state),
        false => Health::of(&call.handle, &state).await,
    };
    let indices = conditions.indices(&state);
    if indices.is_none() {
        health.status = Status::Red;
    }
    let body = health.json(state.cluster_name.as_str(), !is_met, call.is_human);
    let has_shards = call.parameters.text("level") == Some("shards");
    let indices = has_indices.then(|| indices_json(&indices.unwrap_or_default(), has_shards));
    let status = if is_met { StatusCode::OK } else { StatusCode::REQUEST_TIMEOUT };
    Ok(Reply::tree(body.with_some("indices", indices)).with_status(status))
}

/// An index without shards lacks none.
fn indices_json(names: &BTreeSet<String>, has_shards: bool) -> Json {
    let counts = [
        "number_of_shards",
        "number_of_replicas",
        "active_primary_shards",
        "active_shards",
        "relocating_shards",
        "initializing_shards",
        "unassigned_shards",
    ];
    let green = || Json::object([("status", Status::Green.name().into())]);
    let index = || counts.iter().fold(green(), |index, name| index.with(name, 0_u64));
    let shards = || has_shards.then(|| Json::object([]));
    Json::map(names.iter().map(|name| (name, index().with_some("shards", shards()))))
}

/// What to wait for.
struct Conditions {
    names: Vec<String>,
    status: Option<Status>,
    nodes: Option<(Compare, i32)>,
    active_shards: u32,
    events: Option<Priority>,
}

/// How a number of nodes is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Equal,
    AtLeast,
    AtMost,
    More,
    Less,
}

impl Conditions {
    /// Reads them from a request.
    fn read(parameters: &Parameters) -> Result<Conditions, RestError> {
        if parameters.text("wait_for_relocating_shards").is_some() {
            let reason =
                "wait_for_relocating_shards has been removed, use wait_for_no_relocating_shards [true/false] instead";
            return Err(RestError::illegal(reason));
        }
        // What always holds is read for its mistakes.
        parameters.flag("wait_for_no_relocating_shards")?;
        parameters.flag("wait_for_no_initializing_shards")?;
        let names = parameters.list("index").unwrap_or_default();
        Ok(Conditions {
            names: names.into_iter().map(str::to_owned).collect(),
            status: parameters.text("wait_for_status").map(status).transpose()?,
            nodes: parameters.text("wait_for_nodes").filter(|text| !text.is_empty()).map(nodes).transpose()?,
            active_shards: parameters.text("wait_for_active_shards").map_or(Ok(0), active_shards)?,
            events: parameters.text("wait_for_events").map(priority).transpose()?,
        })
    }

    /// Refuses names that no index can have.
    fn check(&self, state: &ClusterState) -> Result<(), RestError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let lenient = Options { ignore_unavailable: true, allow_no_indices: true, open: true, closed: true };
        resolve(state, &names, lenient).map(drop)
    }

    /// The indices that are asked for; none if one of them is not there.
    fn indices(&self, state: &ClusterState) -> Option<BTreeSet<String>> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let strict = Options { ignore_unavailable: false, allow_no_indices: true, open: true, closed: true };
        resolve(state, &names, strict).ok()
    }

    fn hold(&self, handle: &Handle, state: &Arc<ClusterState>) -> bool {
        let indices = self.indices(state);
        let current = if indices.is_none() { Status::Red } else { health::status(handle, state) };
        indices.is_some()
            && self.active_shards == 0
            && self.status.is_none_or(|wanted| current <= wanted)
            && self.nodes.is_none_or(|(compare, wanted)| compare.holds(state.nodes.len(), wanted))
    }

    /// Waits until all holds. Tells the last state, and whether it did.
    async fn wait(
        &self,
        handle: &Handle,
        first: Arc<ClusterState>,
        is_local: bool,
        deadline: Instant,
    ) -> Result<(Arc<ClusterState>, bool), RestError> {
        let mut state = first;
        let mut known = None;
        loop {
            // What only the master knows is not known while there is none.
            let is_known = is_local || state.nodes.master.is_some();
            if is_known {
                known = Some((state.clone(), Instant::now()));
            }
            if is_known && self.hold(handle, &state) && self.events_are_over(handle).await {
                return Ok((state, true));
            }
            if Instant::now() >= deadline {
                // Who waits over a change of masters hears how it was while there was one.
                let known = known.filter(|(_, at)| is_known || at.elapsed() < CHANGE_OF_MASTERS);
                return known.map(|(state, _)| (state, false)).ok_or_else(RestError::no_master);
            }
            let again = if self.events.is_some() { Some(LOOK_AGAIN) } else { None };
            state = next(handle, (state, is_local), (again, deadline)).await?;
        }
    }

    async fn events_are_over(&self, handle: &Handle) -> bool {
        match self.events {
            None => true,
            Some(priority) => pending(handle).await.iter().all(|task| task.priority > priority),
        }
    }
}

/// The state to look at next: the node's own once it is another one, and while it has no master that of others who may.
async fn next(
    handle: &Handle,
    (seen, is_local): (Arc<ClusterState>, bool),
    (again, deadline): (Option<Duration>, Instant),
) -> Result<Arc<ClusterState>, RestError> {
    let is_cut_off = || !is_local && handle.state().nodes.master.is_none();
    let again = if is_cut_off() { Some(LOOK_AGAIN) } else { again };
    let until = again.map_or(deadline, |again| deadline.min(Instant::now() + again));
    let is_new = |newer: &ClusterState| newer.id() != seen.id() || newer.nodes.master != seen.nodes.master;
    snapshot::wait_long(handle, until, is_new).await?;
    let own = snapshot::local(handle);
    if !is_cut_off() || Instant::now() >= deadline {
        return Ok(own);
    }
    let patience = ASK_AGAIN.min(deadline.saturating_duration_since(Instant::now()));
    let asked = handle.closing().run_until_cancelled(snapshot::confirmed(handle, patience)).await;
    Ok(asked.and_then(Result::ok).unwrap_or(own))
}

impl Compare {
    fn holds(self, found: usize, wanted: i32) -> bool {
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        let wanted = i64::from(wanted);
        match self {
            Compare::Equal => found == wanted,
            Compare::AtLeast => found >= wanted,
            Compare::AtMost => found <= wanted,
            Compare::More => found > wanted,
            Compare::Less => found < wanted,
        }
    }
}

fn nodes(text: &str) -> Result<(Compare, i32), RestError> {
    let forms = [
        (">=", Compare::AtLeast),
        ("<=", Compare::AtMost),
        (">", Compare::More),
        ("<", Compare::Less),
        ("ge(", Compare::AtLeast),
        ("le(", Compare::AtMost),
        ("gt(", Compare::More),
        ("lt(", Compare::Less),
    ];
    let form = forms.iter().find_map(|(form, compare)| Some((form, *compare, text.strip_prefix(form)?)));
    let (compare, number) = match form {
        // Whatever stands at the end is taken for the bracket that closes.
        Some((form, compare, rest)) if form.ends_with('(') => {
            (compare, rest.char_indices().next_back().map_or("", |(at, _)| &rest[..at]))
        }
        Some((_, compare, rest)) => (compare, rest),
        None => (Compare::Equal, text),
    };
    Ok((compare, number.parse().map_err(|_| RestError::no_number(number))?))
}

fn no_constant(class: &str, text: &str) -> RestError {
    RestError::illegal(format!("No enum constant org.elasticsearch.{class}.{}", text.to_uppercase()))
}

fn status(text: &str) -> Result<Status, RestError> {
    let found = [Status::Green, Status::Yellow, Status::Red]
        .into_iter()
        .find(|status| text.eq_ignore_ascii_case(status.name()));
    found.ok_or_else(|| no_constant("cluster.health.ClusterHealthStatus", text))
}

fn priority(text: &str) -> Result<Priority, RestError> {
    let all =
        [Priority::Immediate, Priority::Urgent, Priority::High, Priority::Normal, Priority::Low, Priority::Languid];
    let found = all.into_iter().find(|priority| text.eq_ignore_ascii_case(&priority.to_string()));
    found.ok_or_else(|| no_constant("common.Priority", text))
}

/// How many active shards are wanted; all of none are none.
fn active_shards(text: &str) -> Result<u32, RestError> {
    match text.parse::<i32>() {
        _ if text == "all" => Ok(0),
        Ok(number) => u32::try_from(number).map_err(|_| RestError::illegal("shard count cannot be a negative value")),
        Err(_) => {
            let reason = format!("cannot parse ActiveShardCount[{text}]");
            Err(RestError::illegal(reason).caused_by(RestError::no_number(text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_nodes_may_be_said_in_many_ways() {
        let cases = [
            ("3", Compare::Equal),
            ("+3", Compare::Equal),
            (">=3", Compare::AtLeast),
            ("ge(3)", Compare::AtLeast),
            ("<=3", Compare::AtMost),
            ("le(3)", Compare::AtMost),
            (">3", Compare::More),
            ("gt(3)", Compare::More),
            ("<3", Compare::Less),
            ("lt(3)", Compare::Less),
        ];
        for (text, compare) in cases {
            assert_eq!(nodes(text), Ok((compare, 3)), "{text}");
        }
        let holding = |compare: Compare| [2, 3, 4].map(|found| compare.holds(found, 3));
        assert_eq!(holding(Compare::AtLeast), [false, true, true]);
        assert_eq!(holding(Compare::More), [false, false, true]);
        assert_eq!(holding(Compare::Equal), [false, true, false]);
    }

    #[test]
    fn what_is_no_number_of_nodes_is_named() {
        for (text, named) in [
            ("abc", "abc"),
            ("ge(x)", "x"),
            ("ge(2", ""),
            ("ge(", ""),
            (">= 2", " 2"),
            ("GE(2)", "GE(2)"),
            ("2147483648", "2147483648"),
            ("ge(é", ""),
        ] {
            assert_eq!(nodes(text), Err(RestError::no_number(named)), "{text}");
        }
    }

    #[test]
    fn words_are_read_in_any_case_and_bad_ones_named_as_java_does() {
        assert_eq!(status("Yellow"), Ok(Status::Yellow));
        assert_eq!(priority("languid"), Ok(Priority::Languid));
        let text = |error: RestError| error.to_string();
        assert_eq!(
            status("purple").map_err(text),
            Err("IllegalArgumentException[No enum constant org.elasticsearch.cluster.health.ClusterHealthStatus.PURPLE]".into())
        );
        assert_eq!(
            priority("").map_err(text),
            Err("IllegalArgumentException[No enum constant org.elasticsearch.common.Priority.]".into())
        );
        assert_eq!((active_shards("all"), active_shards("2")), (Ok(0), Ok(2)));
        assert_eq!(
            active_shards("-1").map_err(text),
            Err("IllegalArgumentException[shard count cannot be a negative value]".into())
        );
        assert_eq!(
            active_shards("x").map_err(text),
            Err("IllegalArgumentException[cannot parse ActiveShardCount[x]]".into())
        );
    }
}
