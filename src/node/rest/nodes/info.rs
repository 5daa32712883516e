//! `/_nodes`: what nodes are.
//!
//! Mirrors `RestNodesInfoAction` and `NodesInfoResponse` (6.8).

use super::{Action, choose, header, infos, jvm, pools, roles};
use crate::cluster::Node;
use crate::rest::body::Json;
use crate::rest::error::RestError;
use crate::rest::parameters::{Parameter, Values};
use crate::rest::release::{FLAVOR, TYPE, build};
use crate::rest::reply::Reply;
use crate::rest::route::Call;
use crate::rest::section::Section;
use crate::rest::settings::{FLAT, written};
use crate::runtime::figures::{NodeInfo, OsInfo, Place};
use std::collections::BTreeMap;

/// All parts, in the order in which they are told.
const METRICS: [&str; 10] =
    ["settings", "os", "process", "jvm", "thread_pool", "transport", "http", "plugins", "ingest", "indices"];

/// How often what is told of a system is read anew: with every request.
const REFRESH_MILLIS: u64 = 1_000;

/// Which parts.
pub(in crate::rest) const METRICS_PARAMETER: Parameter = Parameter {
    name: "metrics",
    values: Values::List,
    default: "_all",
    doc: "The parts that are wanted: `settings`, `os`, `process`, `jvm`, `thread_pool`, `transport`, `http`, `plugins`, \
          `ingest`, `indices`; others are passed over.",
};

/// What else is understood.
pub(in crate::rest) const PARAMETERS: &[Parameter] = &[METRICS_PARAMETER, FLAT];

/// What nodes are.
pub(in crate::rest) async fn show(call: Call) -> Result<Reply, RestError> {
    // Blanks around names are passed over here, unlike elsewhere.
    let list = |name: &str| -> Option<Vec<&str>> {
        Some(call.parameters.list(name)?.into_iter().map(str::trim).filter(|name| !name.is_empty()).collect())
    };
    let nodes = list("nodeId");
    let is_metrics = |list: &Vec<&str>| list.iter().all(|name| METRICS.contains(name));
    // Where only one list is given it may be either: names of parts, or else of nodes.
    let (nodes, metrics) = match (nodes, list("metrics")) {
        (Some(list), None) if is_metrics(&list) => (None, Some(list)),
        (nodes, metrics) => (nodes, metrics),
    };
    let is_all = metrics.as_ref().is_none_or(|metrics| metrics.as_slice() == ["_all"]);
    let is_wanted = |metric: &str| is_all || metrics.as_ref().is_some_and(|metrics| metrics.contains(&metric));
    let chosen = choose(&call, "NodesInfoRequest.timeout", nodes.as_deref())?;
    let is_flat = is_wanted("settings") && call.parameters.flag("flat_settings")?.unwrap_or(false);
    let asked = infos(&call.handle, chosen.nodes, chosen.timeout).await;
    let head = header(&chosen.state, Action("cluster:monitor/nodes/info"), &asked);
    let told = asked.iter().filter_map(|(node, told)| {
        let telling = Telling { node, info: told.as_ref().ok()?, is_human: call.is_human, is_flat };
        Some((node.id.as_str(), telling.show(is_wanted)))
    });
    Ok(Reply::tree(head.with("nodes", Json::map(told))))
}

/// What is told of one node, and how.
struct Telling<'a> {
    node: &'a Node,
    info: &'a NodeInfo,
    is_human: bool,
    is_flat: bool,
}

impl Telling<'_> {
    fn show(&self, is_wanted: impl Fn(&str) -> bool) -> Json {
        let section = Section::new(self.is_human)
            .with("name", &*self.node.name)
            .with("transport_address", self.node.address.as_str())
            .with("host", self.node.host())
            .with("ip", self.node.host())
            .with("version", &*self.node.version)
            .with("build_flavor", FLAVOR)
            .with("build_type", TYPE)
            .with("build_hash", build(&self.info.release));
        let section = if is_wanted("indices") { self.indexing_buffer(section) } else { section };
        let parts = METRICS.iter().filter(|metric| is_wanted(metric));
        parts.fold(roles(self.node, section), |section, metric| self.part(section, metric)).json()
    }

    /// The number has the name that its readable twin should have, and the other way round: clients rely on it.
    fn indexing_buffer(&self, section: Section) -> Section {
        let twin = self.is_human.then_some("0b");
        section.with_some("total_indexing_buffer_in_bytes", twin).with("total_indexing_buffer", 0_u64)
    }

    fn part(&self, section: Section, metric: &'static str) -> Section {
        match metric {
            "settings" => section.with(metric, self.settings()),
            "os" => section.with(metric, os(&self.info.os, self.is_human)),
            "process" => {
                let process = Section::new(self.is_human).millis("refresh_interval", REFRESH_MILLIS);
                section.with(metric, process.with("id", u64::from(self.info.pid)).with("mlockall", false))
            }
            "jvm" => section.with(metric, jvm::info(self.info, self.is_human)),
            "thread_pool" => section.with(metric, pools::info()),
            "transport" => {
                let place = place(Section::new(self.is_human), &self.info.transport);
                section.with(metric, place.with("profiles", Json::object([])))
            }
            "http" => {
                let http = self.info.http.as_ref().map(|http| place(Section::new(self.is_human), http));
                section
                    .with_some(metric, http.map(|http| http.bytes("max_content_length", self.info.max_content_length)))
            }
            "plugins" => section.with(metric, Json::List(Vec::new())).with("modules", Json::List(Vec::new())),
            "ingest" => section.with(metric, Json::object([("processors", Json::List(Vec::new()))])),
            _ => section,
        }
    }

    /// What the node was told at its start, and who it is even if that was not told.
    fn settings(&self) -> Json {
        let info = self.info;
        let leaf = |(key, elements): (&String, &Vec<String>)| {
            let json = match elements.as_slice() {
                [text] if !info.lists.contains(key) => text.as_str().into(),
                elements => elements.iter().map(String::as_str).collect(),
            };
            (key.clone(), json)
        };
        let mut settings: BTreeMap<String, Json> = info.settings.iter().map(leaf).collect();
        settings.entry("node.name".into()).or_insert_with(|| (&*self.node.name).into());
        settings.insert("client.type".into(), "node".into());
        written(settings.into_iter(), self.is_flat)
    }
}

fn os(os: &OsInfo, is_human: bool) -> Json {
    Section::new(is_human)
        .millis("refresh_interval", REFRESH_MILLIS)
        .with("name", os.name.as_str())
        .with("pretty_name", os.pretty_name.as_str())
        .with("arch", os.arch.as_str())
        .with("version", os.version.as_str())
        .with("available_processors", os.processors)
        .with("allocated_processors", os.processors)
        .json()
}

fn place(section: Section, place: &Place) -> Section {
    let bound = place.bound.iter().map(String::as_str).collect::<Json>();
    section.with("bound_address", bound).with("publish_address", place.published.as_str())
}
