//! `/_cluster/stats`: what all nodes are and use together.
//!
//! Mirrors `RestClusterStatsAction`, `ClusterStatsNodes` and `ClusterStatsIndices` (6.8).

use super::body::Json;
use super::error::RestError;
use super::health::Health;
use super::nodes::{self, Action, Chosen, NO_JAVA, chosen, figures, header, idle_indices, infos, memory};
use super::reply::Reply;
use super::route::Call;
use super::section::Section;
use super::snapshot;
use crate::cluster::Node;
use crate::runtime::figures::{Disk, NodeFigures, NodeInfo, Share};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parts about indices, in the order in which they are told.
const INDICES: [&str; 6] = ["docs", "store", "fielddata", "query_cache", "completion", "segments"];

/// How connections are made, by Elasticsearch's name of what clients know.
const NETWORK: &str = "netty4";

/// A node with what it told.
type MemberFigures<'a> = (&'a Arc<Node>, &'a NodeInfo, &'a NodeFigures);

/// All nodes together.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let Chosen { state, nodes, timeout } = chosen(&call, "ClusterStatsRequest")?;
    let (infos, measured) =
        tokio::join!(infos(&call.handle, nodes.clone(), timeout), figures(&call.handle, nodes, timeout));
    let head = header(&state, Action("cluster:monitor/stats"), &measured);
    let told: Vec<MemberFigures<'_>> = infos
        .iter()
        .zip(&measured)
        .filter_map(|((node, info), (_, figures))| Some((node, info.as_ref().ok()?, figures.as_ref().ok()?)))
        .collect();
    // Only the master knows how the cluster is.
    let has_master = told.iter().any(|(node, ..)| Some(&node.id) == state.nodes.master.as_ref());
    let status = if has_master { Some(Health::of(&call.handle, &state).await.status.name()) } else { None };
    let at = told.iter().map(|(_, _, figures)| figures.at_millis).max().unwrap_or_else(nodes::now_millis);
    let mut indices = Json::object([("count", 0_u64.into()), ("shards", Json::object([]))]);
    for (name, part) in idle_indices(&INDICES, call.is_human) {
        indices = indices.with(name, part);
    }
    let body = head
        .with("cluster_uuid", snapshot::cluster_uuid(&state))
        .with("timestamp", at)
        .with_some("status", status)
        .with("indices", indices)
        .with("nodes", of_nodes(&told, call.is_human));
    Ok(Reply::tree(body))
}

fn of_nodes(told: &[MemberFigures<'_>], is_human: bool) -> Json {
    let has = |has: fn(&Node) -> bool| told.iter().filter(|(node, ..)| has(node)).count();
    let is_idle = |node: &Node| !node.roles.master && !node.roles.data && !node.roles.ingest;
    let count = Json::object([
        ("total", told.len().into()),
        ("data", has(|node| node.roles.data).into()),
        ("coordinating_only", has(is_idle).into()),
        ("master", has(|node| node.roles.master).into()),
        ("ingest", has(|node| node.roles.ingest).into()),
    ]);
    let versions = counted(told.iter().map(|(node, ..)| node.version.to_string()));
    let network = |kind: &'static str, count: usize| {
        let kinds = (count > 0).then(|| (NETWORK, count.into()));
        (kind, Json::map(kinds))
    };
    let listening = told.iter().filter(|(_, info, _)| info.http.is_some()).count();
    Json::object([
        ("count", count),
        ("versions", versions.keys().map(String::as_str).collect()),
        ("os", os(told, is_human)),
        ("process", process(told)),
        ("jvm", jvm(told, is_human)),
        ("fs", fs(told, is_human)),
        ("plugins", Json::List(Vec::new())),
        ("network_types", Json::object([network("transport_types", told.len()), network("http_types", listening)])),
    ])
}

fn counted(texts: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    texts.for_each(|text| *counted.entry(text).or_default() += 1);
    counted
}

fn named(name: &'static str, counted: BTreeMap<String, u64>) -> Json {
    counted.into_iter().map(|(text, count)| Json::object([(name, text.into()), ("count", count.into())])).collect()
}

fn sum<T>(told: &[T], figure: impl Fn(&T) -> u64) -> u64 {
    told.iter().fold(0, |sum, told| sum.saturating_add(figure(told)))
}

fn os(told: &[MemberFigures<'_>], is_human: bool) -> Json {
    let processors = sum(told, |(_, info, _)| info.os.processors);
    let share = |figure: fn(Share) -> u64| sum(told, |(_, _, figures)| figures.ram.map_or(0, figure));
    let ram = Share { used: share(|ram| ram.used), max: share(|ram| ram.max) };
    Json::object([
        ("available_processors", processors.into()),
        ("allocated_processors", processors.into()),
        ("names", named("name", counted(told.iter().map(|(_, info, _)| info.os.name.clone())))),
        ("pretty_names", named("pretty_name", counted(told.iter().map(|(_, info, _)| info.os.pretty_name.clone())))),
        ("mem", memory(ram, is_human)),
    ])
}

fn process(told: &[MemberFigures<'_>]) -> Json {
    let cpu = sum(told, |(_, _, figures)| figures.process.cpu_percent.unwrap_or(0).into());
    let files: Vec<u64> = told.iter().filter_map(|(_, _, figures)| Some(figures.files?.used)).collect();
    let average = sum(&files, |files| *files) / files.len().max(1) as u64;
    let open = (!files.is_empty()).then(|| {
        Json::object([
            ("min", files.iter().min().copied().into()),
            ("max", files.iter().max().copied().into()),
            ("avg", average.into()),
        ])
    });
    Json::object([("cpu", Json::object([("percent", cpu.into())]))]).with_some("open_file_descriptors", open)
}

fn jvm(told: &[MemberFigures<'_>], is_human: bool) -> Json {
    let uptime = told.iter().map(|(_, _, figures)| figures.uptime_millis).max().unwrap_or(0);
    let share = |figure: fn(Share) -> u64| sum(told, |(_, _, figures)| figures.memory.map_or(0, figure));
    let memory =
        Section::new(is_human).bytes("heap_used", share(|heap| heap.used)).bytes("heap_max", share(|heap| heap.max));
    let version = Json::object([
        ("version", NO_JAVA.into()),
        ("vm_name", NO_JAVA.into()),
        ("vm_version", NO_JAVA.into()),
        ("vm_vendor", NO_JAVA.into()),
        ("count", told.len().into()),
    ]);
    let versions = if told.is_empty() { Vec::new() } else { vec![version] };
    Section::new(is_human)
        .millis("max_uptime", uptime)
        .with("versions", Json::List(versions))
        .with("mem", memory)
        .with("threads", sum(told, |(_, _, figures)| figures.process.threads.unwrap_or(0)))
        .json()
}

/// Each disk once for all nodes of a machine that have their data on it.
fn fs(told: &[MemberFigures<'_>], is_human: bool) -> Json {
    let disk = |(node, _, figures): &MemberFigures<'_>| {
        let mount = figures.data.as_ref().map(|data| data.mount.clone()).unwrap_or_default();
        Some(((node.host().to_owned(), mount), figures.disk?))
    };
    let disks: BTreeMap<(String, String), Disk> = told.iter().filter_map(disk).collect();
    let disks: Vec<Disk> = disks.into_values().collect();
    if disks.is_empty() {
        return Json::object([]);
    }
    Section::new(is_human)
        .bytes("total", sum(&disks, |disk| disk.total))
        .bytes("free", sum(&disks, |disk| disk.free))
        .bytes("available", sum(&disks, |disk| disk.available))
        .json()
}
