//! What the control groups of this process tell of its processors and its memory, of both versions of them.
//!
//! Mirrors `OsProbe.getCgroup` (6.8), which knows the first version only.

use super::read;
use serde::{Deserialize, Serialize};

/// What the second version says of a limit that there is not.
const UNLIMITED: &str = "max";

/// What the control groups of a process tell of its processors and its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroups {
    /// The group that its processors are counted by.
    pub cpu_group: String,
    /// How much time of processors the group has used, in nanoseconds.
    pub usage_nanos: u64,
    /// In which periods that time is given out, in microseconds.
    pub period_micros: u64,
    /// How much the group gets in one period; -1 where there is no limit.
    pub quota_micros: i64,
    /// How many periods there were.
    pub periods: u64,
    /// In how many of them the group had to wait.
    pub throttled: u64,
    /// How long it had to wait, in nanoseconds.
    pub throttled_nanos: u64,
    /// The group that its memory is counted by.
    pub memory_group: String,
    /// How much memory the group may have, as the system writes it.
    pub memory_limit: String,
    /// How much it has, as the system writes it.
    pub memory_usage: String,
}

/// What is told, if anything is.
pub(in crate::runtime) fn control_groups() -> Option<ControlGroups> {
    let groups = read("/proc/self/cgroup")?;
    first_version(&groups).or_else(|| second_version(&groups))
}

/// The path of the group that has this controller; the second version has one group for all of them, without a name.
fn group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// The unit of the system's manager of services whose process this is, if it is one.
pub(in crate::runtime) fn service() -> Option<String> {
    // What a service starts in its turn has its variables as well, and another parent.
    let is_started_by_it = std::env::var_os("INVOCATION_ID").is_some()
        && rustix::process::getppid().is_some_and(rustix::process::Pid::is_init);
    is_started_by_it.then(|| unit(&read("/proc/self/cgroup")?)).flatten()
}

/// The last part of the path of its group, of either version.
fn unit(groups: &str) -> Option<String> {
    let path = group(groups, "name=systemd").or_else(|| group(groups, ""))?;
    let name = path.rsplit('/').next().filter(|name| name.ends_with(".service"))?;
    Some(name.to_owned())
}

/// Reads a file of a group, or of the root if the group sees itself as that.
fn file(controller: &str, group: &str, name: &str) -> Option<String> {
    let base = if controller.is_empty() { "/sys/fs/cgroup".into() } else { format!("/sys/fs/cgroup/{controller}") };
    let group = group.trim_end_matches('/');
    let text = read(&format!("{base}{group}/{name}")).or_else(|| read(&format!("{base}/{name}")))?;
    Some(text.trim().to_owned())
}

fn first_version(groups: &str) -> Option<ControlGroups> {
    let (cpu, memory) = (group(groups, "cpu")?, group(groups, "memory")?);
    let accounting = group(groups, "cpuacct")?;
    let stat = file("cpu", cpu, "cpu.stat")?;
    Some(ControlGroups {
        cpu_group: cpu.to_owned(),
        usage_nanos: file("cpuacct", accounting, "cpuacct.usage")?.parse().ok()?,
        period_micros: file("cpu", cpu, "cpu.cfs_period_us")?.parse().ok()?,
        quota_micros: file("cpu", cpu, "cpu.cfs_quota_us")?.parse().ok()?,
        periods: line(&stat, "nr_periods").unwrap_or(0),
        throttled: line(&stat, "nr_throttled").unwrap_or(0),
        throttled_nanos: line(&stat, "throttled_time").unwrap_or(0),
        memory_group: memory.to_owned(),
        memory_limit: file("memory", memory, "memory.limit_in_bytes")?,
        memory_usage: file("memory", memory, "memory.usage_in_bytes")?,
    })
}

fn second_version(groups: &str) -> Option<ControlGroups> {
    let group = group(groups, "")?;
    let stat = file("", group, "cpu.stat")?;
    let (quota, period) = quota(&file("", group, "cpu.max").unwrap_or_else(|| format!("{UNLIMITED} 100000")))?;
    Some(ControlGroups {
        cpu_group: group.to_owned(),
        usage_nanos: line(&stat, "usage_usec")?.saturating_mul(1_000),
        period_micros: period,
        quota_micros: quota,
        periods: line(&stat, "nr_periods").unwrap_or(0),
        throttled: line(&stat, "nr_throttled").unwrap_or(0),
        throttled_nanos: line(&stat, "throttled_usec").unwrap_or(0).saturating_mul(1_000),
        memory_group: group.to_owned(),
        memory_limit: file("", group, "memory.max").unwrap_or_else(|| UNLIMITED.into()),
        memory_usage: file("", group, "memory.current").unwrap_or_else(|| "0".into()),
    })
}

/// The number behind a name.
fn line(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// The share of each period, and the period.
fn quota(text: &str) -> Option<(i64, u64)> {
    let (quota, period) = text.split_once(' ')?;
    let quota = if quota == UNLIMITED { -1 } else { quota.parse().ok()? };
    Some((quota, period.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_known_by_its_group() {
        let of = |groups| unit(groups);
        assert_eq!(of("0::/system.slice/zazen.service\n"), Some("zazen.service".into()));
        let first = "2:cpu:/box\n1:name=systemd:/system.slice/system-zazen.slice/zazen@n1.service\n0::/\n";
        assert_eq!(of(first), Some("zazen@n1.service".into()));
        for other in ["0::/user.slice/user-0.slice/session-3.scope\n", "0::/\n", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn groups_are_found_by_their_controllers() {
        let groups = "5:cpu,cpuacct:/box\n4:memory:/m:x\n1:name=systemd:/x\n0::/slice\nnonsense\n";
        assert_eq!(group(groups, "cpuacct"), Some("/box"));
        assert_eq!(group(groups, "memory"), Some("/m:x"));
        assert_eq!(group(groups, ""), Some("/slice"));
        assert_eq!(group("", ""), None);
    }

    #[test]
    fn figures_stand_behind_their_names() {
        assert_eq!(line("usage_usec 5\nnr_periods 7\n", "nr_periods"), Some(7));
        assert_eq!(line("usage_usec x\n", "usage_usec"), None);
        assert_eq!((quota("max 100000"), quota("5 10\n"), quota("5")), (Some((-1, 100_000)), Some((5, 10)), None));
    }
}
