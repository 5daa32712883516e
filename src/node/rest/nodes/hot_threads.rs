//! `/_nodes/hot_threads`: which threads of a node are busy, for people.
//!
//! Mirrors `RestNodesHotThreadsAction` and `HotThreads` (6.8). Differs from ES: there are no stacks; what a thread is
//! called tells which part of the node it is.

use super::{TIMEOUT, chosen, own};
use crate::rest::error::RestError;
use crate::rest::parameters::{Parameter, Values};
use crate::rest::reply::Reply;
use crate::rest::route::Call;
use crate::rest::section::iso;
use crate::rest::time::human_time;
use crate::runtime::ask;
use crate::runtime::figures::{self, Busy, HotThreads, INTERVAL_MAX, THREADS_MAX};
use std::fmt::Write;
use std::time::Duration;

/// What is understood besides which nodes.
pub(in crate::rest) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "threads", values: Values::Number, default: "3", doc: "How many threads of each node are told." },
    Parameter {
        name: "interval",
        values: Values::Time,
        default: "500ms",
        doc: "For how long threads are watched, at most 60s.",
    },
    Parameter {
        name: "snapshots",
        values: Values::Number,
        default: "10",
        doc: "Understood, and without a meaning: the system counts the time of threads itself.",
    },
    Parameter {
        name: "ignore_idle_threads",
        values: Values::Flag,
        default: "true",
        doc: "Leaves out threads that did nothing.",
    },
    Parameter {
        name: "type",
        values: Values::Text,
        default: "cpu",
        doc: "What is counted: `cpu` for the time on a processor, `wait` for waiting for one, `block` for waiting for a disk.",
    },
];

/// What of a thread is counted.
#[derive(Clone, Copy)]
enum Counted {
    Cpu,
    Wait,
    Block,
}

impl Counted {
    fn named(name: &str) -> Option<Self> {
        match name {
            "cpu" => Some(Counted::Cpu),
            "wait" => Some(Counted::Wait),
            "block" => Some(Counted::Block),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Counted::Cpu => "cpu",
            Counted::Wait => "wait",
            Counted::Block => "block",
        }
    }

    fn nanos(self, thread: &Busy) -> u64 {
        match self {
            Counted::Cpu => thread.cpu_nanos,
            Counted::Wait => thread.wait_nanos,
            Counted::Block => thread.block_nanos,
        }
    }
}

/// How threads are told.
struct Report {
    counted: Counted,
    interval: Duration,
    threads: usize,
    ignores_idle: bool,
}

/// The busy threads of each node; what cannot be counted is told of none, as by Elasticsearch.
pub(in crate::rest) async fn show(call: Call) -> Result<Reply, RestError> {
    let chosen = chosen(&call, "NodesHotThreadsRequest")?;
    let interval = call.parameters.time("interval", Duration::from_millis(500))?.min(INTERVAL_MAX);
    let threads = call.parameters.int("threads")?.map_or(3, |threads| usize::try_from(threads).unwrap_or(0));
    let is_negative = |name: &str| call.parameters.text(name).is_some_and(|text| text.trim().starts_with('-'));
    call.parameters.int("snapshots")?;
    let ignores_idle = call.parameters.flag("ignore_idle_threads")?.unwrap_or(true);
    let counted = Counted::named(call.parameters.text("type").unwrap_or("cpu"));
    let Some(counted) = counted.filter(|_| !["threads", "interval", "snapshots"].into_iter().any(is_negative)) else {
        return Ok(Reply::text(String::new()));
    };
    let report = Report { counted, interval, threads: threads.min(THREADS_MAX), ignores_idle };
    let target = format!("{}?interval_millis={}", figures::THREADS_PATH, interval.as_millis());
    let meter = call.handle.meter();
    let here = || async { Some(meter.watch_threads(interval).await) };
    let timeout = chosen.timeout.max(TIMEOUT) + interval;
    let asked = ask::of_all(&call.handle, chosen.nodes, (&target, timeout), here).await;
    let told = own(asked, |told: &HotThreads| &told.node);
    let told = told.iter().filter_map(|(node, told)| Some(report.show(&node.to_string(), told.as_ref().ok()?)));
    Ok(Reply::text(told.collect()))
}

impl Report {
    fn show(&self, node: &str, told: &HotThreads) -> String {
        let interval = human_time(self.interval);
        let (at, count, ignores) = (iso(told.at_millis), self.threads, self.ignores_idle);
        let mut text = format!("::: {node}\n   Hot threads at {at}, interval={interval}, busiestThreads={count}, ");
        let _ = writeln!(text, "ignoreIdleThreads={ignores}:");
        let mut threads: Vec<&Busy> = told.threads.iter().collect();
        threads.sort_by_key(|thread| std::cmp::Reverse(self.counted.nanos(thread)));
        let is_told = |thread: &&&Busy| !self.ignores_idle || self.counted.nanos(thread) > 0;
        for thread in threads.iter().filter(is_told).take(self.threads) {
            self.line(&mut text, thread, &interval);
        }
        text + "\n"
    }

    fn line(&self, text: &mut String, thread: &Busy, interval: &str) {
        let nanos = self.counted.nanos(thread);
        let percent = nanos as f64 * 100.0 / (self.interval.as_nanos() as f64).max(1.0);
        let (kind, time, name) = (self.counted.name(), human_time(Duration::from_nanos(nanos)), &thread.name);
        let _ = writeln!(text, "   \n   {percent:4.1}% ({time} out of {interval}) {kind} usage by thread '{name}'");
        let _ = writeln!(text, "     {} at the end", doing(thread.state));
    }
}

/// What a thread does, by the letter of the system.
fn doing(state: char) -> &'static str {
    match state {
        'R' => "running",
        'D' => "waiting for a disk",
        'T' | 't' => "stopped",
        'Z' | 'X' => "ended",
        _ => "sleeping",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_threads_are_told_as_elasticsearch_tells_them() {
        let thread =
            |name: &str, cpu_nanos, state| Busy { name: name.into(), cpu_nanos, wait_nanos: 0, block_nanos: 0, state };
        let threads = vec![thread("node", 20_500_000, 'R'), thread("log", 0, 'S')];
        let told = HotThreads { node: "A".into(), at_millis: 1_795_231_735_123, threads };
        let report =
            Report { counted: Counted::Cpu, interval: Duration::from_millis(500), threads: 3, ignores_idle: true };
        let expected = "::: {one}\n   Hot threads at 2026-11-21T03:28:55.123Z, interval=500ms, busiestThreads=3, \
                        ignoreIdleThreads=true:\n   \n    4.1% (20.5ms out of 500ms) cpu usage by thread 'node'\n     \
                        running at the end\n\n";
        assert_eq!(report.show("{one}", &told), expected);
        let idle = Report { ignores_idle: false, threads: 1, counted: Counted::Wait, ..report };
        assert_eq!(idle.show("{one}", &told).matches("wait usage").count(), 1);
    }
}
