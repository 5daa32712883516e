//! `/_nodes/stats`: what nodes use.
//!
//! Mirrors `RestNodesStatsAction` and `NodeStats` (6.8).

use super::indices::{self, METRICS as INDEX_METRICS};
use super::{Action, chosen, figures, header, jvm, pools, roles, system};
use crate::cluster::Node;
use crate::rest::body::Json;
use crate::rest::error::RestError;
use crate::rest::parameters::{Parameter, Values, unrecognized};
use crate::rest::reply::Reply;
use crate::rest::route::Call;
use crate::rest::section::Section;
use crate::rest::snapshot;
use crate::runtime::figures::NodeFigures;
use crate::service::Account;

/// All parts, in the order in which they are told.
const METRICS: [&str; 13] = [
    "indices",
    "os",
    "process",
    "jvm",
    "thread_pool",
    "fs",
    "transport",
    "http",
    "breaker",
    "script",
    "discovery",
    "ingest",
    "adaptive_selection",
];

const ALL: &str = "_all";

/// Which parts.
pub(in crate::rest) const METRIC_PARAMETER: Parameter = Parameter {
    name: "metric",
    values: Values::List,
    default: ALL,
    doc: "The parts that are wanted: `indices`, `os`, `process`, `jvm`, `thread_pool`, `fs`, `transport`, `http`, `breaker`, \
          `script`, `discovery`, `ingest`, `adaptive_selection`.",
};

/// Which parts of what is about indices.
pub(in crate::rest) const INDEX_METRIC_PARAMETER: Parameter = Parameter {
    name: "index_metric",
    values: Values::List,
    default: ALL,
    doc: "The parts of `indices` that are wanted.",
};

const fn ignored(name: &'static str) -> Parameter {
    let doc = "Understood, and without a meaning, as there are no indices.";
    Parameter { name, values: Values::List, default: "none", doc }
}

/// What else is understood.
pub(in crate::rest) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "level",
        values: Values::Text,
        default: "node",
        doc: "In which detail indices are told: `node`, `indices` or `shards`.",
    },
    ignored("fields"),
    ignored("completion_fields"),
    ignored("fielddata_fields"),
    ignored("groups"),
    ignored("types"),
    Parameter {
        name: "include_segment_file_sizes",
        values: Values::Flag,
        default: "false",
        doc: "Understood, and without a meaning, as there are no indices.",
    },
];

/// What is wanted of each node.
struct Wanted {
    metrics: Vec<&'static str>,
    index_metrics: Vec<&'static str>,
    level: Option<&'static str>,
    is_human: bool,
    size: Account,
}

/// What nodes use.
pub(in crate::rest) async fn show(call: Call) -> Result<Reply, RestError> {
    let wanted = Wanted::read(&call)?;
    let chosen = chosen(&call, "NodesStatsRequest")?;
    let asked = figures(&call.handle, chosen.nodes, chosen.timeout).await;
    let head = header(&chosen.state, Action("cluster:monitor/nodes/stats"), &asked);
    let told = asked.iter().filter_map(|(node, told)| Some((node.id.as_str(), wanted.show(node, told.as_ref().ok()?))));
    let reply = Reply::tree(head.with("nodes", Json::map(told)));
    let is_deprecated = call.parameters.list("index_metric").is_some_and(|metrics| metrics.contains(&"suggest"));
    Ok(match is_deprecated {
        true => reply
            .with_warning(&format!("the suggest index metric is deprecated on the nodes stats API [{}]", call.target)),
        false => reply,
    })
}

impl Wanted {
    fn read(call: &Call) -> Result<Self, RestError> {
        let (metrics, index_metrics) = metrics(call)?;
        check_unread(call, &metrics, &index_metrics)?;
        let given = call.parameters.text("level").unwrap_or("node");
        let level = match given.to_ascii_lowercase().as_str() {
            _ if !metrics.contains(&"indices") => None,
            "node" => None,
            // Elasticsearch takes them in any case, and shows them in small letters only.
            "indices" | "shards" => ["indices", "shards"].into_iter().find(|level| *level == given),
            _ => {
                let other = given;
                let allowed = "level parameter must be one of [indices] or [node] or [shards]";
                return Err(RestError::illegal(format!("{allowed} but was [{other}]")));
            }
        };
        call.parameters.flag("include_segment_file_sizes")?;
        let size = Account::of(&snapshot::local(&call.handle));
        Ok(Wanted { metrics, index_metrics, level, is_human: call.is_human, size })
    }

    fn show(&self, node: &Node, figures: &NodeFigures) -> Json {
        let head = Section::new(self.is_human)
            .with("timestamp", figures.at_millis)
            .with("name", &*node.name)
            .with("transport_address", node.address.as_str())
            .with("host", node.host())
            // Elasticsearch writes it with the port here, and without one where it tells what a node is.
            .with("ip", node.address.as_str());
        let parts = self.metrics.iter();
        let show = |section: Section, metric: &&str| match *metric {
            "breaker" => section.with("breakers", system::breakers(figures)),
            metric => section.with(metric.to_owned(), self.part(metric, figures)),
        };
        parts.fold(roles(node, head), show).json()
    }

    fn part(&self, metric: &str, figures: &NodeFigures) -> Json {
        match metric {
            "indices" => self.indices(),
            "os" => system::os(figures, self.is_human),
            "process" => system::process(figures, self.is_human),
            "jvm" => jvm::stats(figures, self.is_human),
            "thread_pool" => pools::stats(figures.process.threads),
            "fs" => system::fs(figures, self.is_human),
            "transport" => system::transport(figures, self.is_human),
            "http" => system::http(figures),
            "script" => Section::new(false).idle("compilations cache_evictions").json(),
            "discovery" => system::discovery(figures, &self.size),
            "ingest" => {
                let total = Section::new(self.is_human).idle("count time:t current failed");
                Json::object([("total", total.json()), ("pipelines", Json::object([]))])
            }
            _ => Json::object([]),
        }
    }

    fn indices(&self) -> Json {
        let parts = indices::parts(|metric| self.index_metrics.contains(&metric), self.is_human);
        match self.level {
            Some(level) => parts.with(level, Json::object([])).json(),
            None => parts.json(),
        }
    }
}

/// What is about fields and groups, with the parts of which any reads it.
const READ_BY: [(&str, &[&str]); 6] = [
    ("completion_fields", &["completion"]),
    ("fielddata_fields", &["fielddata"]),
    ("fields", &["completion", "fielddata"]),
    ("groups", &["search"]),
    ("include_segment_file_sizes", &["segments"]),
    ("types", &["indexing"]),
];

/// Refuses what nobody reads, as the parts that do are not wanted.
fn check_unread(call: &Call, metrics: &[&str], index_metrics: &[&str]) -> Result<(), RestError> {
    let is_wanted = |part: &&str| metrics.contains(&"indices") && index_metrics.contains(part);
    let unread = READ_BY.iter().filter(|(_, parts)| !parts.iter().any(is_wanted)).map(|(name, _)| *name);
    let given: Vec<&str> = unread.filter(|name| call.parameters.text(name).is_some()).collect();
    if given.is_empty() {
        return Ok(());
    }
    Err(unrecognized(&call.path, "parameter", &given, &["level", "timeout", "metric", "nodeId"].into()))
}

/// The parts that are wanted, and those of them that are about indices.
fn metrics(call: &Call) -> Result<(Vec<&'static str>, Vec<&'static str>), RestError> {
    let refuse = |what: String| Err(RestError::illegal(format!("request [{}] contains {what}", call.path)));
    let given = call.parameters.words("metric").unwrap_or_else(|| vec![ALL]);
    let index_given = call.parameters.text("index_metric");
    if given.iter().all(|metric| *metric == ALL) && !given.is_empty() {
        return match index_given {
            Some(index) => refuse(format!("index metrics [{index}] but all stats requested")),
            None => Ok((METRICS.to_vec(), INDEX_METRICS.to_vec())),
        };
    }
    if given.contains(&ALL) {
        let given = call.parameters.text("metric").unwrap_or_default();
        return refuse(format!("_all and individual metrics [{given}]"));
    }
    let metrics = known(call, "metric", &given, &METRICS)?;
    if metrics.contains(&"indices") {
        let given = call.parameters.words("index_metric").unwrap_or_else(|| vec![ALL]);
        let all = || Ok(INDEX_METRICS.to_vec());
        let index = if given == [ALL] { all() } else { known(call, "index metric", &given, &INDEX_METRICS) }?;
        return Ok((metrics, index));
    }
    match index_given {
        Some(index) => refuse(format!("index metrics [{index}] but indices stats not requested")),
        None => Ok((metrics, Vec::new())),
    }
}

/// Those of the known names that are given; one that is not known is refused.
fn known(
    call: &Call,
    what: &str,
    given: &[&str],
    known: &'static [&'static str],
) -> Result<Vec<&'static str>, RestError> {
    let mut unknown: Vec<&str> = given.iter().filter(|name| !known.contains(name)).copied().collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        return Err(unrecognized(&call.path, what, &unknown, &known.iter().copied().collect()));
    }
    Ok(known.iter().filter(|name| given.contains(name)).copied().collect())
}
