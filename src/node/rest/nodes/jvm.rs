//! The Java of a node, which there is not.
//!
//! Clients and exporters want its sections to be there: the heap is the memory of the process, all of it in the old
//! generation, and nothing is ever collected.

use crate::rest::body::Json;
use crate::rest::section::Section;
use crate::runtime::figures::{NodeFigures, NodeInfo, Share};

/// What stands where Java would be named.
pub(in crate::rest) const NO_JAVA: &str = "-";

/// What it is.
pub(super) fn info(info: &NodeInfo, is_human: bool) -> Json {
    let max = info.memory_max.unwrap_or(0);
    let memory = Section::new(is_human)
        .bytes("heap_init", 0)
        .bytes("heap_max", max)
        .bytes("non_heap_init", 0)
        .bytes("non_heap_max", 0)
        .bytes("direct_max", 0);
    let texts = |texts: &[&str]| texts.iter().copied().collect::<Json>();
    Section::new(is_human)
        .with("pid", u64::from(info.pid))
        .with("version", NO_JAVA)
        .with("vm_name", NO_JAVA)
        .with("vm_version", NO_JAVA)
        .with("vm_vendor", NO_JAVA)
        .moment("start_time", info.began_millis)
        .with("mem", memory)
        .with("gc_collectors", texts(&["young", "old"]))
        .with("memory_pools", texts(&["young", "survivor", "old"]))
        .with("using_compressed_ordinary_object_pointers", "false")
        .with("input_arguments", Json::List(Vec::new()))
        .json()
}

/// What it uses.
pub(super) fn stats(figures: &NodeFigures, is_human: bool) -> Json {
    let heap = figures.memory.unwrap_or(Share { used: 0, max: 0 });
    let pool = |used: Share| {
        let section = Section::new(is_human).bytes("used", used.used).bytes("max", used.max);
        section.bytes("peak_used", used.used).bytes("peak_max", used.max).json()
    };
    let none = Share { used: 0, max: 0 };
    let pools = [("young", none), ("survivor", none), ("old", heap)];
    let memory = Section::new(is_human)
        .bytes("heap_used", heap.used)
        .with("heap_used_percent", heap.percent())
        .bytes("heap_committed", heap.used)
        .bytes("heap_max", heap.max)
        .bytes("non_heap_used", 0)
        .bytes("non_heap_committed", 0)
        .with("pools", Json::map(pools.map(|(name, used)| (name, pool(used)))));
    let threads = figures.process.threads.unwrap_or(0);
    let idle = |words: &str| Section::new(is_human).idle(words).json();
    let collector = || idle("collection_count collection_time:t");
    let buffers = || idle("count used:b total_capacity:b");
    Section::new(is_human)
        .with("timestamp", figures.at_millis)
        .millis("uptime", figures.uptime_millis)
        .with("mem", memory)
        .with("threads", Json::object([("count", threads.into()), ("peak_count", threads.into())]))
        .with("gc", Json::object([("collectors", Json::object([("young", collector()), ("old", collector())]))]))
        .with("buffer_pools", Json::object([("mapped", buffers()), ("direct", buffers())]))
        .with("classes", idle("current_loaded_count total_loaded_count total_unloaded_count"))
        .json()
}
