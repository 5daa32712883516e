//! What Linux tells of a process and its machine, read from `/proc` and `/sys`.
//!
//! Texts are read apart from files, so that any text can be tried. Whatever is missing or strange is no figure; elsewhere
//! than on Linux there are none.

mod disks;
mod groups;
mod listeners;
mod mounts;
mod process;

pub use disks::{DataPlace, DeviceUse};
pub(super) use disks::{data_place, device_use};
pub use groups::ControlGroups;
pub(super) use groups::{control_groups, service};
pub(super) use listeners::{Listening, free_port, listeners, listening_at, user_of_peer};
pub use listeners::{is_stopped, listener, listening, stopped};
pub(super) use mounts::{mount_point, unmounted};
pub use process::Process;
pub(super) use process::{ThreadTime, process, process_ticks, threads, ticks_per_second};

use serde::{Deserialize, Serialize};
use std::fs;

/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// Some of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// How much is used.
    pub used: u64,
    /// How much there is.
    pub max: u64,
}

impl Share {
    /// How much is used, in percent.
    pub fn percent(self) -> u64 {
        let percent = u128::from(self.used) * 100 / u128::from(self.max.max(1));
        u64::try_from(percent).unwrap_or(u64::MAX)
    }
}

/// How long all processors together have been running, and idle, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    idle: u64,
    total: u64,
}

impl Ticks {
    /// How busy the processors were between two readings, unless no time passed.
    pub(super) fn busy_percent_since(self, earlier: Ticks) -> Option<u8> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)?;
        let idle = self.idle.saturating_sub(earlier.idle).min(total);
        u8::try_from((total - idle).saturating_mul(100) / total).ok()
    }

    /// Which share of the time since an earlier reading some ticks are, of all processors together.
    pub(super) fn percent_of(self, ticks: u64, earlier: Ticks) -> Option<u8> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)?;
        u8::try_from(ticks.min(total).saturating_mul(100) / total).ok()
    }

    /// The first line of `/proc/stat`: what guests used is part of what users used.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let idle = ticks.get(3)?.saturating_add(ticks.get(4).copied().unwrap_or(0));
        Some(Ticks { idle, total: ticks.iter().fold(0, |sum, part| sum.saturating_add(*part)) })
    }
}

fn read(path: &str) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    fs::File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What tells the machine, or the part of one, apart that process ids and loopback addresses belong to. A container has
/// process ids of its own.
pub(super) fn machine() -> Option<String> {
    let boot = read("/proc/sys/kernel/random/boot_id")?;
    let name = |kind: &str| fs::read_link(format!("/proc/self/ns/{kind}")).map(|name| name.display().to_string());
    Some(format!("{} {} {}", boot.trim(), name("pid").unwrap_or_default(), name("net").unwrap_or_default()))
}

pub(super) fn ticks() -> Option<Ticks> {
    Ticks::parse(&read("/proc/stat")?)
}

/// How many processes wanted to run, over 1, 5 and 15 minutes.
pub(super) fn load() -> Option<[f64; 3]> {
    parse_load(&read("/proc/loadavg")?)
}

fn parse_load(text: &str) -> Option<[f64; 3]> {
    let loads: Vec<f64> = text.split_whitespace().take(3).map_while(|word| word.parse().ok()).collect();
    loads.try_into().ok()
}

/// The memory that this process has in the machine's.
pub fn resident() -> Option<u64> {
    kilobytes(&read("/proc/self/status")?, "VmRSS")
}

/// The machine's memory. What can be had back at once counts as free.
pub(super) fn ram() -> Option<Share> {
    let text = read("/proc/meminfo")?;
    let max = kilobytes(&text, "MemTotal")?;
    let free = kilobytes(&text, "MemAvailable").or_else(|| kilobytes(&text, "MemFree"))?;
    Some(Share { used: max.saturating_sub(free), max })
}

/// What the machine uses of its disks as memory.
pub(super) fn swap() -> Option<Share> {
    let text = read("/proc/meminfo")?;
    let max = kilobytes(&text, "SwapTotal")?;
    Some(Share { used: max.saturating_sub(kilobytes(&text, "SwapFree")?), max })
}

/// What the makers of the system call it.
pub(super) fn pretty_name() -> Option<String> {
    let text = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"))?;
    parse_pretty_name(&text)
}

fn parse_pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The figure of a line such as `VmRSS:   1024 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files and sockets that this process has open, and how many it may have.
pub(super) fn files() -> Option<Share> {
    let max = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    match fs::read_dir("/proc/self/fd") {
        Ok(open) => Some(Share { used: u64::try_from(open.count()).ok()?, max }),
        // To count them takes one more.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            Some(Share { used: max, max })
        }
        Err(_) => None,
    }
}

/// The least of the limits that the control groups of this process set on its memory, if any does.
pub(super) fn memory_limit() -> Option<u64> {
    let groups = read("/proc/self/cgroup")?;
    let paths = limit_paths(&groups);
    paths.iter().filter_map(|path| read(path)?.trim().parse().ok()).min()
}

/// The most memory that this process can get.
pub(super) fn memory() -> Option<u64> {
    memory_limit().into_iter().chain(ram().map(|ram| ram.max)).min()
}

/// Where the limits stand, of both versions of control groups; within a container a group may see itself as the root.
fn limit_paths(groups: &str) -> Vec<String> {
    let mut paths = vec!["/sys/fs/cgroup/memory.max".into(), "/sys/fs/cgroup/memory/memory.limit_in_bytes".into()];
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        if controllers.is_empty() {
            paths.push(format!("/sys/fs/cgroup{path}/memory.max"));
        } else if controllers.split(',').any(|controller| controller == "memory") {
            paths.push(format!("/sys/fs/cgroup/memory{path}/memory.limit_in_bytes"));
        }
    }
    paths
}

/// Has the thread that calls this go so many steps behind the first one of the process, whoever made it: ten leave it a tenth of a
/// processor that both want. Elsewhere than on Linux this would be about the whole process.
pub fn go_behind(steps: i32) {
    if cfg!(target_os = "linux")
        && let Ok(nice) = rustix::process::getpriority_process(Some(rustix::process::getpid()))
    {
        // A thread that may not even give way goes on as it is.
        let _ = rustix::process::setpriority_process(None, nice + steps);
    }
}

/// What this machine calls itself.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_in_whole_percent_whatever_its_size() {
        for (used, max, percent) in
            [(0, 0, 0), (1, 3, 33), (5, 5, 100), (u64::MAX, 1, u64::MAX), (u64::MAX, u64::MAX, 100)]
        {
            assert_eq!(Share { used, max }.percent(), percent, "{used} of {max}");
        }
    }

    #[test]
    fn the_processor_is_busy_when_it_is_not_idle() {
        let stat = "cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2 3 4\n";
        let earlier = Ticks::parse(stat).expect("that is how Linux writes it");
        assert_eq!(earlier, Ticks { idle: 850, total: 1000 });
        let later = Ticks { idle: 875, total: 1100 };
        assert_eq!(later.busy_percent_since(earlier), Some(75));
        assert_eq!(later.percent_of(25, earlier), Some(25));
        assert_eq!(later.percent_of(700, earlier), Some(100));
        assert_eq!(earlier.busy_percent_since(earlier), None);
        assert_eq!(earlier.busy_percent_since(later), None);
    }

    #[test]
    fn figures_are_read_from_what_linux_writes() {
        assert_eq!(parse_load("0.99 1.11 2.49 2/345 678\n"), Some([0.99, 1.11, 2.49]));
        assert_eq!(kilobytes("VmPeak:\t 9 kB\nVmRSS:\t    1024 kB\n", "VmRSS"), Some(1 << 20));
        let named = parse_pretty_name("ID=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
        assert_eq!(named.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        let paths = limit_paths("5:cpu,memory:/box\n1:name=systemd:/x\n0::/slice\nnonsense\n");
        assert_eq!(paths[2..], ["/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "/sys/fs/cgroup/slice/memory.max"]);
    }

    #[test]
    fn strange_texts_are_no_figures() {
        for text in
            ["", "cpu", "cpu 1 2", "cpu x", "\u{0}", "VmRSS: 99999999999999999999 kB", "VmRSS: 18446744073709551615 kB"]
        {
            assert_eq!(Ticks::parse(text), None, "{text}");
            assert_eq!(parse_load(text), None, "{text}");
            assert_eq!(kilobytes(text, "VmRSS"), None, "{text}");
        }
    }
}
