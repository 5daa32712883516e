//! Which threads of a process are busy.
//!
//! Where Elasticsearch tells what the Java of a thread is doing, here the system tells how long each thread was on a
//! processor, which is enough to find the part that is busy. Mirrors `HotThreads` (6.8).

use crate::cluster::NodeId;
use crate::runtime::proc::{self, ThreadTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest time that threads are watched for.
pub const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// How many threads are told of at the most.
pub const THREADS_MAX: usize = 1_024;

/// The busiest threads of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotThreads {
    /// Whose threads these are.
    pub node: NodeId,
    /// When they were watched, in milliseconds since 1970.
    pub at_millis: u64,
    /// The threads, the busiest first.
    pub threads: Vec<Busy>,
}

/// How busy a thread was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// What it is called.
    pub name: String,
    /// How long it was on a processor, in nanoseconds.
    pub cpu_nanos: u64,
    /// How long it waited for a processor.
    pub wait_nanos: u64,
    /// How long it waited for a disk.
    pub block_nanos: u64,
    /// What it was doing at the end: `R` for running, `S` for sleeping, `D` for waiting for a disk.
    pub state: char,
}

/// What happened between two readings, the busiest first.
pub(super) fn between(before: &[ThreadTime], after: Vec<ThreadTime>) -> Vec<Busy> {
    let before: BTreeMap<u64, &ThreadTime> = before.iter().map(|thread| (thread.id, thread)).collect();
    let tick_nanos = 1_000_000_000 / proc::ticks_per_second();
    let busy = |thread: ThreadTime| {
        let before = before.get(&thread.id);
        let (ticks, waited) = before.map_or((0, 0), |before| (before.ticks, before.waited_nanos));
        let blocked = before.map_or(0, |before| before.blocked_ticks);
        Busy {
            cpu_nanos: thread.ticks.saturating_sub(ticks).saturating_mul(tick_nanos),
            wait_nanos: thread.waited_nanos.saturating_sub(waited),
            block_nanos: thread.blocked_ticks.saturating_sub(blocked).saturating_mul(tick_nanos),
            name: thread.name,
            state: thread.state,
        }
    };
    let mut busy: Vec<Busy> = after.into_iter().map(busy).collect();
    busy.sort_by(|one, other| other.cpu_nanos.cmp(&one.cpu_nanos).then_with(|| one.name.cmp(&other.name)));
    busy.truncate(THREADS_MAX);
    busy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_thread_comes_first() {
        let thread = |id, name: &str, ticks, waited_nanos| ThreadTime {
            id,
            name: name.into(),
            ticks,
            waited_nanos,
            blocked_ticks: 0,
            state: 'S',
        };
        let before = [thread(1, "node", 10, 5), thread(2, "rest", 10, 0)];
        let after = vec![thread(1, "node", 11, 7), thread(2, "rest", 13, 0), thread(3, "log", 0, 1)];
        let busy = between(&before, after);
        let names: Vec<&str> = busy.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["rest", "node", "log"]);
        assert_eq!((busy[1].wait_nanos, busy[2].wait_nanos), (2, 1));
    }
}
