//! The thread pools of Elasticsearch, which there are not here.
//!
//! Clients and exporters look for them by name, so each is told, with what it would be and with nothing to do. `generic`
//! stands for all threads of the process.

use crate::rest::body::Json;
use crate::rest::section::Section;

/// A pool of threads.
pub(in crate::rest) struct Pool {
    /// What it is called.
    pub(in crate::rest) name: &'static str,
    /// How it grows.
    pub(in crate::rest) kind: &'static str,
    /// How long an idle thread of it is kept, if it lets go of them.
    pub(in crate::rest) keep_alive: Option<&'static str>,
    /// How much may wait for it; -1 where there is no limit.
    pub(in crate::rest) queue: i64,
}

const fn fixed(name: &'static str, queue: i64) -> Pool {
    Pool { name, kind: "fixed", keep_alive: None, queue }
}

const fn scaling(name: &'static str, keep_alive: &'static str) -> Pool {
    Pool { name, kind: "scaling", keep_alive: Some(keep_alive), queue: -1 }
}

const fn adaptive(name: &'static str, queue: i64) -> Pool {
    Pool { name, kind: "fixed_auto_queue_size", keep_alive: None, queue }
}

/// The pool that stands for all threads of the process.
const ALL_THREADS: &str = "generic";

/// All of them, by name.
pub(in crate::rest) const POOLS: [Pool; 16] = [
    fixed("analyze", 16),
    scaling("fetch_shard_started", "5m"),
    scaling("fetch_shard_store", "5m"),
    scaling("flush", "5m"),
    fixed("force_merge", -1),
    scaling(ALL_THREADS, "30s"),
    fixed("get", 1_000),
    fixed("index", 200),
    fixed("listener", -1),
    scaling("management", "5m"),
    scaling("refresh", "5m"),
    adaptive("search", 1_000),
    adaptive("search_throttled", 100),
    scaling("snapshot", "5m"),
    scaling("warmer", "5m"),
    fixed("write", 200),
];

impl Pool {
    /// How many threads it has, of those of the process.
    pub(in crate::rest) fn threads(&self, of_process: Option<u64>) -> u64 {
        if self.name == ALL_THREADS { of_process.unwrap_or(0) } else { 0 }
    }
}

/// What the pools are.
pub(super) fn info() -> Json {
    Json::map(POOLS.iter().map(|pool| {
        let sizes = Json::object([("type", pool.kind.into()), ("min", 0_u64.into()), ("max", 0_u64.into())]);
        (pool.name, sizes.with_some("keep_alive", pool.keep_alive).with("queue_size", pool.queue))
    }))
}

/// What the pools do.
pub(super) fn stats(of_process: Option<u64>) -> Json {
    Json::map(POOLS.iter().map(|pool| {
        let threads = pool.threads(of_process);
        let section = Section::new(false).with("threads", threads).idle("queue active rejected");
        (pool.name, section.with("largest", threads).with("completed", 0_u64).json())
    }))
}
