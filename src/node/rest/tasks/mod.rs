//! `/_tasks`: the requests that nodes are answering, and ending those that wait.
//!
//! Mirrors `RestListTasksAction`, `RestGetTaskAction` and `RestCancelTasksAction` (6.8). Results of tasks that ended are not
//! kept.

mod actions;
mod tree;

pub(super) use actions::{action, is_cancellable};

use super::body::Json;
use super::error::{Kind, RestError};
use super::nodes::{Action, NODE_TIMEOUT, choose, failures, own};
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use crate::cluster::Node;
use crate::runtime::ask;
use crate::runtime::figures::{self, Asked};
use crate::runtime::tasks::{Begun, NodeTasks, Task};
use crate::service::matches;
use std::sync::Arc;
use std::time::Duration;
use tree::{Grouping, Telling};

/// By which name the request for tasks goes.
pub(super) const LIST: &str = "cluster:monitor/tasks/lists";

/// How long the end of one task is waited for.
const COMPLETION: Duration = Duration::from_secs(30);

/// How often tasks that are waited for are looked at.
const WAIT_STEP: Duration = Duration::from_millis(50);

const fn parameter(name: &'static str, values: Values, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values, default, doc }
}

const WAITS: Parameter =
    parameter("wait_for_completion", Values::Flag, "false", "Waits until the tasks have ended, as long as `timeout`.");

const GROUPS: Parameter = parameter(
    "group_by",
    Values::Text,
    "nodes",
    "Whether tasks stand under `nodes`, under their `parents`, or in a list: `none`.",
);

const CHOSEN: &[Parameter] = &[
    parameter("nodes", Values::List, "all", "The nodes whose tasks are wanted, as under `/_nodes`."),
    parameter("actions", Values::List, "all", "What the tasks do, or patterns of it."),
    parameter("parent_task_id", Values::Text, "any", "The task that they are a part of."),
    GROUPS,
];

/// What the list understands.
pub(super) const LISTING: &[&[Parameter]] =
    &[CHOSEN, &[parameter("detailed", Values::Flag, "false", "Adds what each task was asked."), WAITS, NODE_TIMEOUT]];

/// The task that is meant.
pub(super) const TASK: Parameter = parameter("task_id", Values::Text, "none", "A task: its node, a colon, its number.");

/// What one task is asked for with.
pub(super) const ONE: &[&[Parameter]] = &[&[
    TASK,
    parameter(
        "wait_for_completion",
        Values::Flag,
        "false",
        "Waits until it has ended, as long as `timeout`; 500 if it has not.",
    ),
    parameter("timeout", Values::Time, "30s", "How long to wait for that."),
]];

/// What tasks are ended with.
pub(super) const CANCELLING: &[&[Parameter]] = &[CHOSEN, &[TASK]];

/// Which tasks.
struct Wanted {
    actions: Vec<String>,
    parent: Option<String>,
}

impl Wanted {
    fn read(call: &Call) -> Result<Self, RestError> {
        let parent = call.parameters.text("parent_task_id");
        let parent = parent.map(TaskId::parse).transpose()?.flatten().map(|id| id.to_string());
        let actions = call.parameters.list("actions").unwrap_or_default();
        Ok(Wanted { actions: actions.into_iter().map(str::to_owned).collect(), parent })
    }

    fn fits(&self, task: &Task) -> bool {
        let is_named = self.actions.is_empty() || self.actions.iter().any(|action| matches(action, &task.action));
        is_named && self.parent.as_ref().is_none_or(|parent| task.parent.as_ref() == Some(parent))
    }
}

/// A node and a number.
struct TaskId<'a> {
    node: &'a str,
    number: u64,
}

impl<'a> TaskId<'a> {
    /// Reads it; the number -1 stands for no task, as does nothing at all.
    fn parse(text: &'a str) -> Result<Option<Self>, RestError> {
        if matches!(text, "" | "unset") {
            return Ok(None);
        }
        let refuse = || RestError::illegal(format!("malformed task id {text}"));
        let (node, number) = text.split_once(':').ok_or_else(refuse)?;
        match number.parse::<i64>() {
            Ok(-1) => Ok(None),
            // No task has such a number, and none is ever found.
            Ok(number) => Ok(Some(TaskId { node, number: u64::try_from(number).unwrap_or(u64::MAX) })),
            Err(_) => Err(refuse().caused_by(RestError::no_number(number))),
        }
    }
}

impl std::fmt::Display for TaskId<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.node, self.number)
    }
}

/// What nodes are answering, each asked itself. What this request makes them do is a task as well.
pub(super) async fn asked(call: &Call, nodes: Vec<Arc<Node>>, timeout: Duration) -> Vec<Asked<NodeTasks>> {
    let parent = format!("{}:{}", call.handle.local().id.as_str(), call.task);
    let target = format!("{}?parent={parent}", figures::TASKS_PATH);
    let meter = call.handle.meter();
    let here = || {
        let action = format!("{LIST}[n]");
        let begun = Begun { kind: "direct", action, parent: Some(parent.clone()), ..Begun::default() };
        std::future::ready(Some(meter.list_tasks(Some(begun))))
    };
    own(ask::of_all(&call.handle, nodes, (&target, timeout), here).await, |tasks| &tasks.node)
}

/// What is wrong with the task that a path names, which is looked at before what else was given.
pub(super) fn malformed(call: &Call) -> Option<RestError> {
    let id = call.parameters.text("task_id").filter(|_| call.path.starts_with("/_tasks/"))?;
    TaskId::parse(id).err()
}

/// The tasks that are wanted.
pub(super) async fn list(call: Call) -> Result<Reply, RestError> {
    let grouping = Grouping::read(&call)?;
    let wanted = Wanted::read(&call)?;
    let waits = call.parameters.flag("wait_for_completion")?.unwrap_or(false);
    let is_detailed = call.parameters.flag("detailed")?.unwrap_or(false);
    let chosen = choose(&call, "timeout", call.parameters.list("nodes").as_deref())?;
    let deadline = tokio::time::Instant::now() + chosen.timeout;
    loop {
        let mut asked = asked(&call, chosen.nodes.clone(), chosen.timeout).await;
        keep(&mut asked, |_, task| wanted.fits(task));
        // This request and its parts end with the answer, so they are not waited for.
        let is_over = asked
            .iter()
            .filter_map(|(_, told)| told.as_ref().ok())
            .all(|told| told.tasks.iter().all(|task| task.action.starts_with(LIST)));
        if !waits || is_over || snapshot::is_over(&call.handle, deadline) {
            let telling = Telling { is_detailed, is_human: call.is_human };
            return Ok(Reply::tree(grouping.write(Json::object([]), &asked, telling)));
        }
        tokio::time::sleep(WAIT_STEP).await;
    }
}

/// One task that is running; of one that ended nothing is known, but what was seen of it by who waited for its end.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let waits = call.parameters.flag("wait_for_completion")?.unwrap_or(false);
    let deadline = tokio::time::Instant::now() + call.parameters.time("timeout", COMPLETION)?;
    let id = TaskId::parse(call.parameters.text("task_id").unwrap_or_default())?;
    let id = id.ok_or_else(|| RestError::asks_for_nothing("task id is required"))?;
    let mut last = None;
    loop {
        // Its node may go meanwhile.
        let chosen = choose(&call, "timeout", Some(&[id.node]))?;
        if !chosen.nodes.iter().any(|node| node.id.as_str() == id.node) {
            return Err(of_no_member(&id));
        }
        // A node that stops answering is not waited for beyond that.
        let left = deadline.saturating_duration_since(tokio::time::Instant::now()).max(WAIT_STEP);
        let nodes = (chosen.nodes, chosen.timeout.min(left));
        let (found, is_told) = look_for(&call, &id, nodes).await;
        let has_ended = found.is_none() && is_told;
        let Some((node, task)) = found.or(last) else {
            return Err(not_running(&id).rooted_in(RestError::no_task_index()));
        };
        if !waits || has_ended {
            let telling = Telling { is_detailed: true, is_human: call.is_human };
            let task = telling.task(&node, &task).json();
            return Ok(Reply::tree(Json::object([("completed", has_ended.into()), ("task", task)])));
        }
        if snapshot::is_over(&call.handle, deadline) {
            return Err(RestError::new(Kind::Timeout, format!("Timed out waiting for completion of [{id}]")));
        }
        last = Some((node, task));
        tokio::time::sleep(WAIT_STEP).await;
    }
}

/// The task, if it is running, and whether its node told.
async fn look_for(
    call: &Call,
    id: &TaskId<'_>,
    (nodes, timeout): (Vec<Arc<Node>>, Duration),
) -> (Option<(Arc<Node>, Task)>, bool) {
    let mut asked = asked(call, nodes, timeout).await;
    keep(&mut asked, |_, task| task.id == id.number);
    let is_told = asked.iter().any(|(_, told)| told.is_ok());
    let found = asked.into_iter().find_map(|(node, told)| Some((node, told.ok()?.tasks.into_iter().next()?)));
    (found, is_told)
}

fn of_no_member(id: &TaskId<'_>) -> RestError {
    let reason = format!(
        "task [{id}] belongs to the node [{}] which isn't part of the cluster and there is no record of the task",
        id.node
    );
    RestError::no_resource(reason).caused_by(not_running(id)).rooted_in(RestError::no_task_index())
}

fn not_running(id: &TaskId<'_>) -> RestError {
    let reason = format!("task [{id}] isn't running and hasn't stored its results");
    RestError::no_resource(reason).caused_by(RestError::no_task_index())
}

/// Ends the tasks that are wanted and can be ended.
pub(super) async fn cancel(call: Call) -> Result<Reply, RestError> {
    let grouping = Grouping::read(&call)?;
    let wanted = Wanted::read(&call)?;
    let one = call.parameters.text("task_id").map(TaskId::parse).transpose()?.flatten();
    if one.is_some() && call.parameters.list("nodes").is_some_and(|nodes| !nodes.is_empty()) {
        return Err(RestError::asks_for_nothing("task id cannot be used together with node ids"));
    }
    let filter = one.as_ref().map(|id| vec![id.node]).or_else(|| call.parameters.list("nodes"));
    let chosen = choose(&call, "timeout", filter.as_deref())?;
    let is_there = |id: &TaskId<'_>| chosen.nodes.iter().any(|node| node.id.as_str() == id.node);
    if let Some(id) = one.as_ref().filter(|id| !is_there(id)) {
        let body = Json::object([("node_failures", [tree::no_such_node(id.node)].into_iter().collect())]);
        let telling = Telling { is_detailed: true, is_human: call.is_human };
        return Ok(Reply::tree(grouping.write(body, &[], telling)));
    }
    let mut asked = asked(&call, chosen.nodes, chosen.timeout).await;
    let is_meant = |task: &Task| one.as_ref().is_none_or(|id| id.number == task.id);
    keep(&mut asked, |_, task| task.is_cancellable && wanted.fits(task) && is_meant(task));
    let mut ended = Vec::new();
    for (node, told) in asked {
        let ids: Vec<u64> = told.iter().flat_map(|told| told.tasks.iter().map(|task| task.id)).collect();
        match ids.is_empty() {
            true => ended.push((node, told)),
            false => ended.extend(end(&call, node, &ids, chosen.timeout).await),
        }
    }
    if let Some(id) =
        one.as_ref().filter(|_| ended.iter().all(|(_, told)| told.as_ref().is_ok_and(|told| told.tasks.is_empty())))
    {
        return Err(RestError::no_resource(format!("task [{id}] doesn't support cancellation, or is not found")));
    }
    let telling = Telling { is_detailed: true, is_human: call.is_human };
    Ok(Reply::tree(grouping.write(Json::object([]), &ended, telling)))
}

async fn end(call: &Call, node: Arc<Node>, ids: &[u64], timeout: Duration) -> Vec<Asked<NodeTasks>> {
    let list: Vec<String> = ids.iter().map(u64::to_string).collect();
    let target = format!("{}?ids={}", figures::CANCEL_PATH, list.join(","));
    let here = || std::future::ready(Some(call.handle.meter().cancel_tasks(ids)));
    own(ask::of_all(&call.handle, vec![node], (&target, timeout), here).await, |tasks| &tasks.node)
}

fn keep(asked: &mut [Asked<NodeTasks>], is_kept: impl Fn(&Node, &Task) -> bool) {
    for (node, told) in asked {
        if let Ok(told) = told {
            told.tasks.retain(|task| is_kept(node, task));
        }
    }
}

/// Why nodes told nothing, if there are such.
fn failed(asked: &[Asked<NodeTasks>]) -> Option<Json> {
    failures(Action(LIST), asked)
}
