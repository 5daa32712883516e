//! Tasks as a tree: under their nodes, under their parents, or in a list.

use super::failed;
use crate::cluster::Node;
use crate::rest::body::Json;
use crate::rest::error::RestError;
use crate::rest::nodes::roles;
use crate::rest::route::Call;
use crate::rest::section::{Section, iso};
use crate::rest::time::human_time;
use crate::runtime::figures::Asked;
use crate::runtime::tasks::{NodeTasks, Task};
use std::sync::Arc;
use std::time::Duration;

/// How deep tasks are shown below others; none has parts that have parts.
const DEPTH_MAX: usize = 8;

/// Under what tasks stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    Nodes,
    Parents,
    Alone,
}

impl Grouping {
    pub(super) fn read(call: &Call) -> Result<Self, RestError> {
        match call.parameters.text("group_by").unwrap_or("nodes") {
            "nodes" => Ok(Grouping::Nodes),
            "parents" => Ok(Grouping::Parents),
            "none" => Ok(Grouping::Alone),
            other => {
                let allowed = "[group_by] must be one of [nodes], [parents] or [none]";
                Err(RestError::illegal(format!("{allowed} but was [{other}]")))
            }
        }
    }

    pub(super) fn write(self, body: Json, asked: &[Asked<NodeTasks>], telling: Telling) -> Json {
        let body = body.with_some("node_failures", failed(asked));
        let told = || asked.iter().filter_map(|(node, told)| Some((node, told.as_ref().ok()?)));
        match self {
            Grouping::Nodes => {
                let busy = told().filter(|(_, told)| !told.tasks.is_empty());
                body.with(
                    "nodes",
                    Json::map(busy.map(|(node, told)| (node.id.as_str(), telling.node(node, &told.tasks)))),
                )
            }
            Grouping::Alone => {
                let tasks = told().flat_map(|(node, told)| told.tasks.iter().map(move |task| telling.task(node, task)));
                body.with("tasks", tasks.collect::<Json>())
            }
            Grouping::Parents => {
                let all: Vec<(&Arc<Node>, &Task)> =
                    told().flat_map(|(node, told)| told.tasks.iter().map(move |task| (node, task))).collect();
                body.with("tasks", Json::map(family(&all, None, telling, 0)))
            }
        }
    }
}

fn name(node: &Node, task: &Task) -> String {
    format!("{}:{}", node.id.as_str(), task.id)
}

/// The tasks of a parent, or those whose parent is not among them, each with its own below it.
fn family(all: &[(&Arc<Node>, &Task)], parent: Option<&str>, telling: Telling, depth: usize) -> Vec<(String, Json)> {
    let is_known = |wanted: &str| all.iter().any(|(node, task)| name(node, task) == wanted);
    let fits = |task: &Task| match (parent, task.parent.as_deref()) {
        (Some(parent), of) => of == Some(parent),
        (None, of) => of.is_none_or(|of| !is_known(of)),
    };
    let own = all.iter().filter(|(_, task)| depth < DEPTH_MAX && fits(task));
    let write = |(node, task): &(&Arc<Node>, &Task)| {
        let name = name(node, task);
        let children = family(all, Some(&name), telling, depth + 1);
        let children = (!children.is_empty()).then(|| Json::List(children.into_iter().map(|(_, json)| json).collect()));
        (name, telling.task(node, task).with_some("children", children).json())
    };
    own.map(write).collect()
}

/// How tasks are told.
#[derive(Clone, Copy)]
pub(super) struct Telling {
    pub(super) is_detailed: bool,
    pub(super) is_human: bool,
}

impl Telling {
    fn node(self, node: &Node, tasks: &[Task]) -> Json {
        let head = Section::new(self.is_human)
            .with("name", &*node.name)
            .with("transport_address", node.address.as_str())
            .with("host", node.host())
            .with("ip", node.address.as_str());
        let tasks = tasks.iter().map(|task| (name(node, task), self.task(node, task).json()));
        roles(node, head).with("tasks", Json::map(tasks)).json()
    }

    pub(super) fn task(self, node: &Node, task: &Task) -> Section {
        let headers = task.opaque_id.as_deref().map(|id| ("X-Opaque-Id", id.into()));
        Section::new(self.is_human)
            .with("node", node.id.as_str())
            .with("id", task.id)
            .with("type", task.kind.as_str())
            .with("action", task.action.as_str())
            .with_some("description", self.is_detailed.then_some(task.description.as_str()))
            .with_some("start_time", self.is_human.then(|| iso(task.began_millis)))
            .with("start_time_in_millis", task.began_millis)
            .with_some("running_time", self.is_human.then(|| human_time(Duration::from_nanos(task.running_nanos))))
            .with("running_time_in_nanos", task.running_nanos)
            .with("cancellable", task.is_cancellable)
            .with_some("parent_task_id", task.parent.as_deref())
            .with("headers", Json::map(headers))
    }
}

/// A node that tasks were to be ended on and that there is not.
pub(super) fn no_such_node(id: &str) -> Json {
    let cause = Json::object([
        ("type", "no_such_node_exception".into()),
        ("reason", format!("No such node [{id}]").into()),
        ("node_id", id.into()),
    ]);
    Json::object([
        ("type", "failed_node_exception".into()),
        ("reason", format!("Failed node [{id}]").into()),
        ("node_id", id.into()),
        ("caused_by", cause),
    ])
}
