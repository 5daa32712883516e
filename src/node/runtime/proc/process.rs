//! What Linux tells of this process and of its threads.

use super::{kilobytes, read};
use serde::{Deserialize, Serialize};
use std::fs;

/// More threads than these are not looked at.
const THREADS_MAX: usize = 1_024;

/// A process, as its system sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// How busy it kept all processors together since the figures were last taken, in percent.
    pub cpu_percent: Option<u8>,
    /// How much time of processors it has used.
    pub cpu_millis: Option<u64>,
    /// The addresses that it has laid claim to, in bytes.
    pub virtual_bytes: Option<u64>,
    /// How many threads it has.
    pub threads: Option<u64>,
}

/// How long a thread has been running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::runtime) struct ThreadTime {
    /// Its number.
    pub(in crate::runtime) id: u64,
    /// What it is called.
    pub(in crate::runtime) name: String,
    /// Its time on processors, in ticks.
    pub(in crate::runtime) ticks: u64,
    /// How long it waited for a processor, in nanoseconds.
    pub(in crate::runtime) waited_nanos: u64,
    /// How long it waited for a disk, in ticks.
    pub(in crate::runtime) blocked_ticks: u64,
    /// What it does: `R` for running, `S` for sleeping, `D` for waiting for a disk.
    pub(in crate::runtime) state: char,
}

/// How many ticks a second has.
pub(in crate::runtime) fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

/// The time of this process on processors, in ticks.
pub(in crate::runtime) fn process_ticks() -> Option<u64> {
    Some(parse_stat(&read("/proc/self/stat")?)?.ticks)
}

/// What is known of this process besides its memory and its files.
pub(in crate::runtime) fn process() -> Process {
    let status = read("/proc/self/status").unwrap_or_default();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    Process {
        cpu_percent: None,
        cpu_millis: process_ticks().map(|ticks| ticks.saturating_mul(1_000) / ticks_per_second()),
        virtual_bytes: kilobytes(&status, "VmSize"),
        threads: threads.and_then(|count| count.trim().parse().ok()),
    }
}

/// The threads of this process; those that end meanwhile are left out.
pub(in crate::runtime) fn threads() -> Vec<ThreadTime> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let names = tasks.take(THREADS_MAX).filter_map(|task| task.ok()?.file_name().into_string().ok());
    let thread = |id: String| {
        let thread = parse_stat(&read(&format!("/proc/self/task/{id}/stat"))?)?;
        let waited = read(&format!("/proc/self/task/{id}/schedstat")).and_then(|text| parse_waited(&text));
        Some(ThreadTime { waited_nanos: waited.unwrap_or(0), ..thread })
    };
    names.filter_map(thread).collect()
}

/// A line of `stat`. The name stands in brackets and may hold anything, so the fields begin behind the last one.
fn parse_stat(text: &str) -> Option<ThreadTime> {
    let (id, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ThreadTime {
        id: id.trim().parse().ok()?,
        name: name.to_owned(),
        ticks: ticks(11)?.saturating_add(ticks(12)?),
        waited_nanos: 0,
        blocked_ticks: ticks(39).unwrap_or(0),
        state: fields.first()?.chars().next()?,
    })
}

/// The second number of `schedstat`.
fn parse_waited(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_whatever_it_is_called() {
        let text = "17 (a) b (c) S 1 2 3 0 -1 4194304 99 0 0 0 70 5 0 0 20 0 1 0 79493";
        let expected =
            ThreadTime { id: 17, name: "a) b (c".into(), ticks: 75, waited_nanos: 0, blocked_ticks: 0, state: 'S' };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_waited("5 9 1\n"), Some(9));
        for text in ["", "17", "17 (a", "x (a) S 1", "17 (a) S 1 2 3 0 -1 4194304 99 0 0 0 x 5"] {
            assert_eq!(parse_stat(text), None, "{text}");
        }
    }

    #[test]
    fn this_process_has_threads_and_uses_time() {
        assert!(threads().iter().any(|thread| thread.id == u64::from(std::process::id())));
        let process = process();
        assert!(process.threads >= Some(1) && process.cpu_millis.is_some(), "{process:?}");
    }
}
