//! The columns of `/_cat/nodes`, each with what it tells of a node.
//!
//! Those behind the name are about indices, of which a node holds none: they are there because scripts ask for them, and
//! say 0 of a node that answers.

use super::node_row::NodeRow;
use crate::rest::column::{Cell, Column};
use crate::rest::release::{FLAVOR, TYPE, build};
use crate::runtime::figures::Disk;
use std::time::Duration;

/// What a node tells in a column.
type Tell = fn(&NodeRow) -> Cell;

/// The columns alone.
pub(super) static COLUMNS: [Column; NODES.len()] = {
    let mut columns = [NODES[0].0; NODES.len()];
    let mut at = 0;
    while at < columns.len() {
        columns[at] = NODES[at].0;
        at += 1;
    }
    columns
};

const IDLE: &str = "of indices, which a node holds none of";

const fn idle(name: &'static str, aliases: &'static [&'static str], tell: Tell) -> (Column, Tell) {
    (Column::new(name, aliases, IDLE).right(), tell)
}

const COUNT: Tell = |row| row.told(|_| Some(Cell::Count(0)));
const BYTES: Tell = |row| row.told(|_| Some(Cell::Bytes(0)));
const TIME: Tell = |row| row.told(|_| Some(Cell::Time(Duration::ZERO)));

fn used(disk: Disk) -> u64 {
    disk.total.saturating_sub(disk.available)
}

fn used_percent(disk: Disk) -> f64 {
    used(disk) as f64 * 100.0 / disk.total.max(1) as f64
}

/// The columns and what nodes tell in them.
#[rustfmt::skip]
pub(super) const NODES: &[(Column, Tell)] = &[
    (Column::new("id", &["id", "nodeId"], "id of the node"), NodeRow::id),
    (Column::new("pid", &["p"], "id of its process"), |row| row.told(|told| Some(Cell::text(told.pid.to_string())))),
    (Column::new("ip", &["i"], "its address without the port").shown(), |row| Cell::text(row.node.host())),
    (Column::new("port", &["po"], "port for other nodes"), NodeRow::port),
    (Column::new("http_address", &["http"], "address for users"), NodeRow::http),
    (Column::new("version", &["v"], "release of Elasticsearch that it stands for"), |row| Cell::text(&*row.node.version)),
    (Column::new("flavor", &["f"], "flavor of the distribution"), |row| row.told(|_| Some(Cell::text(FLAVOR)))),
    (Column::new("type", &["t"], "type of the distribution"), |row| row.told(|_| Some(Cell::text(TYPE)))),
    (Column::new("build", &["b"], "release of Zazen"), |row| row.told(|told| Some(Cell::text(build(&told.release))))),
    (Column::new("jdk", &["j"], "release of Java, which there is not"), |row| row.told(|_| Some(Cell::text("-")))),
    (Column::new("disk.total", &["dt", "diskTotal"], "size of the disk with its data").right(), |row| row.told(|told| Some(Cell::Bytes(told.disk?.total)))),
    (Column::new("disk.used", &["du", "diskUsed"], "used space of that disk").right(), |row| row.told(|told| Some(Cell::Bytes(used(told.disk?))))),
    (Column::new("disk.avail", &["d", "da", "disk", "diskAvail"], "space of that disk that is left").right(), |row| row.told(|told| Some(Cell::Bytes(told.disk?.available)))),
    (Column::new("disk.used_percent", &["dup", "diskUsedPercent"], "used share of that disk").right(), |row| row.told(|told| Some(Cell::Decimal(used_percent(told.disk?))))),
    (Column::new("heap.current", &["hc", "heapCurrent"], "memory of its process").right(), |row| row.told(|told| Some(Cell::Bytes(told.memory?.used)))),
    (Column::new("heap.percent", &["hp", "heapPercent"], "share of the memory that it may have").right().shown(), |row| row.told(|told| Some(Cell::Count(told.memory?.percent())))),
    (Column::new("heap.max", &["hm", "heapMax"], "memory that it may have").right(), |row| row.told(|told| Some(Cell::Bytes(told.memory?.max)))),
    (Column::new("ram.current", &["rc", "ramCurrent"], "used memory of its machine").right(), |row| row.told(|told| Some(Cell::Bytes(told.ram?.used)))),
    (Column::new("ram.percent", &["rp", "ramPercent"], "used share of that memory").right().shown(), |row| row.told(|told| Some(Cell::Count(told.ram?.percent())))),
    (Column::new("ram.max", &["rm", "ramMax"], "memory of its machine").right(), |row| row.told(|told| Some(Cell::Bytes(told.ram?.max)))),
    (Column::new("file_desc.current", &["fdc", "fileDescriptorCurrent"], "files and sockets that it has open").right(), |row| row.told(|told| Some(Cell::Count(told.files?.used)))),
    (Column::new("file_desc.percent", &["fdp", "fileDescriptorPercent"], "share of those that it may have").right(), |row| row.told(|told| Some(Cell::Count(told.files?.percent())))),
    (Column::new("file_desc.max", &["fdm", "fileDescriptorMax"], "files and sockets that it may have open").right(), |row| row.told(|told| Some(Cell::Count(told.files?.max)))),
    (Column::new("cpu", &["cpu"], "how busy its machine is, in percent").right().shown(), |row| row.told(|told| Some(Cell::Count(told.cpu_percent?.into())))),
    (Column::new("load_1m", &["l"], "load of its machine over 1 minute").right().shown(), |row| row.load(0)),
    (Column::new("load_5m", &["l"], "load of its machine over 5 minutes").right().shown(), |row| row.load(1)),
    (Column::new("load_15m", &["l"], "load of its machine over 15 minutes").right().shown(), |row| row.load(2)),
    (Column::new("uptime", &["u"], "how long it has been running").right(), |row| row.told(|told| Some(Cell::Time(Duration::from_millis(told.uptime_millis))))),
    (Column::new("node.role", &["r", "role", "nodeRole"], "m: may be master, d: holds data, i: ingests, -: coordinates only").shown(), NodeRow::roles),
    (Column::new("master", &["m"], "*: the master, -: another node, x: no master is known").shown(), NodeRow::mark),
    (Column::new("name", &["n"], "what it is called").shown(), |row| Cell::text(&*row.node.name)),
    idle("completion.size", &["cs", "completionSize"], BYTES),
    idle("fielddata.memory_size", &["fm", "fielddataMemory"], BYTES),
    idle("fielddata.evictions", &["fe", "fielddataEvictions"], COUNT),
    idle("query_cache.memory_size", &["qcm", "queryCacheMemory"], BYTES),
    idle("query_cache.evictions", &["qce", "queryCacheEvictions"], COUNT),
    idle("request_cache.memory_size", &["rcm", "requestCacheMemory"], BYTES),
    idle("request_cache.evictions", &["rce", "requestCacheEvictions"], COUNT),
    idle("request_cache.hit_count", &["rchc", "requestCacheHitCount"], COUNT),
    idle("request_cache.miss_count", &["rcmc", "requestCacheMissCount"], COUNT),
    idle("flush.total", &["ft", "flushTotal"], COUNT),
    idle("flush.total_time", &["ftt", "flushTotalTime"], TIME),
    idle("get.current", &["gc", "getCurrent"], COUNT),
    idle("get.time", &["gti", "getTime"], TIME),
    idle("get.total", &["gto", "getTotal"], COUNT),
    idle("get.exists_time", &["geti", "getExistsTime"], TIME),
    idle("get.exists_total", &["geto", "getExistsTotal"], COUNT),
    idle("get.missing_time", &["gmti", "getMissingTime"], TIME),
    idle("get.missing_total", &["gmto", "getMissingTotal"], COUNT),
    idle("indexing.delete_current", &["idc", "indexingDeleteCurrent"], COUNT),
    idle("indexing.delete_time", &["idti", "indexingDeleteTime"], TIME),
    idle("indexing.delete_total", &["idto", "indexingDeleteTotal"], COUNT),
    idle("indexing.index_current", &["iic", "indexingIndexCurrent"], COUNT),
    idle("indexing.index_time", &["iiti", "indexingIndexTime"], TIME),
    idle("indexing.index_total", &["iito", "indexingIndexTotal"], COUNT),
    idle("indexing.index_failed", &["iif", "indexingIndexFailed"], COUNT),
    idle("merges.current", &["mc", "mergesCurrent"], COUNT),
    idle("merges.current_docs", &["mcd", "mergesCurrentDocs"], COUNT),
    idle("merges.current_size", &["mcs", "mergesCurrentSize"], BYTES),
    idle("merges.total", &["mt", "mergesTotal"], COUNT),
    idle("merges.total_docs", &["mtd", "mergesTotalDocs"], COUNT),
    idle("merges.total_size", &["mts", "mergesTotalSize"], BYTES),
    idle("merges.total_time", &["mtt", "mergesTotalTime"], TIME),
    idle("refresh.total", &["rto", "refreshTotal"], COUNT),
    idle("refresh.time", &["rti", "refreshTime"], TIME),
    idle("refresh.listeners", &["rli", "refreshListeners"], COUNT),
    idle("script.compilations", &["scrcc", "scriptCompilations"], COUNT),
    idle("script.cache_evictions", &["scrce", "scriptCacheEvictions"], COUNT),
    idle("search.fetch_current", &["sfc", "searchFetchCurrent"], COUNT),
    idle("search.fetch_time", &["sfti", "searchFetchTime"], TIME),
    idle("search.fetch_total", &["sfto", "searchFetchTotal"], COUNT),
    idle("search.open_contexts", &["so", "searchOpenContexts"], COUNT),
    idle("search.query_current", &["sqc", "searchQueryCurrent"], COUNT),
    idle("search.query_time", &["sqti", "searchQueryTime"], TIME),
    idle("search.query_total", &["sqto", "searchQueryTotal"], COUNT),
    idle("search.scroll_current", &["scc", "searchScrollCurrent"], COUNT),
    idle("search.scroll_time", &["scti", "searchScrollTime"], TIME),
    idle("search.scroll_total", &["scto", "searchScrollTotal"], COUNT),
    idle("segments.count", &["sc", "segmentsCount"], COUNT),
    idle("segments.memory", &["sm", "segmentsMemory"], BYTES),
    idle("segments.index_writer_memory", &["siwm", "segmentsIndexWriterMemory"], BYTES),
    idle("segments.version_map_memory", &["svmm", "segmentsVersionMapMemory"], BYTES),
    idle("segments.fixed_bitset_memory", &["sfbm", "fixedBitsetMemory"], BYTES),
    idle("suggest.current", &["suc", "suggestCurrent"], COUNT),
    idle("suggest.time", &["suti", "suggestTime"], TIME),
    idle("suggest.total", &["suto", "suggestTotal"], COUNT),
];
