//! What a node uses of its system: processors, memory, disk, and what passes between it and others.
//!
//! Mirrors `OsStats`, `ProcessStats`, `FsInfo`, `TransportStats`, `HttpStats` and `DiscoveryStats` (6.8).

use crate::rest::body::Json;
use crate::rest::section::Section;
use crate::rest::time::human_bytes;
use crate::runtime::figures::{ControlGroups, DeviceUse, Disk, NodeFigures, Publishes, Share, Steps};
use crate::service::Account;

/// The machine.
pub(super) fn os(figures: &NodeFigures, is_human: bool) -> Json {
    let load = figures
        .load
        .map(|[one, five, fifteen]| Json::object([("1m", one.into()), ("5m", five.into()), ("15m", fifteen.into())]));
    let cpu = Json::object([("percent", figures.cpu_percent.map_or(-1, i64::from).into())]);
    let swap = figures.swap.map(|swap| {
        let section = Section::new(is_human).bytes("total", swap.max).bytes("free", swap.max.saturating_sub(swap.used));
        section.bytes("used", swap.used)
    });
    Section::new(is_human)
        .with("timestamp", figures.at_millis)
        .with("cpu", cpu.with_some("load_average", load))
        .with("mem", memory(figures.ram.unwrap_or(Share { used: 0, max: 0 }), is_human))
        .with_some("swap", swap)
        .with_some("cgroup", figures.groups.as_ref().map(groups))
        .json()
}

/// Memory, of one machine or of several.
pub(in crate::rest) fn memory(ram: Share, is_human: bool) -> Json {
    let free = ram.max.saturating_sub(ram.used);
    let used_percent = ram.percent().min(100);
    Section::new(is_human)
        .bytes("total", ram.max)
        .bytes("free", free)
        .bytes("used", ram.used)
        .with("free_percent", 100 - used_percent)
        .with("used_percent", used_percent)
        .json()
}

fn groups(groups: &ControlGroups) -> Json {
    let stat = Json::object([
        ("number_of_elapsed_periods", groups.periods.into()),
        ("number_of_times_throttled", groups.throttled.into()),
        ("time_throttled_nanos", groups.throttled_nanos.into()),
    ]);
    let group = || Json::from(groups.cpu_group.as_str());
    Json::object([
        ("cpuacct", Json::object([("control_group", group()), ("usage_nanos", groups.usage_nanos.into())])),
        (
            "cpu",
            Json::object([
                ("control_group", group()),
                ("cfs_period_micros", groups.period_micros.into()),
                ("cfs_quota_micros", groups.quota_micros.into()),
                ("stat", stat),
            ]),
        ),
        (
            "memory",
            Json::object([
                ("control_group", groups.memory_group.as_str().into()),
                ("limit_in_bytes", groups.memory_limit.as_str().into()),
                ("usage_in_bytes", groups.memory_usage.as_str().into()),
            ]),
        ),
    ])
}

/// The process.
pub(super) fn process(figures: &NodeFigures, is_human: bool) -> Json {
    let process = &figures.process;
    let files = figures.files.map_or((-1, -1), |files| (signed(files.used), signed(files.max)));
    let percent = process.cpu_percent.map_or(-1, i64::from);
    let cpu = Section::new(is_human).with("percent", percent).millis("total", process.cpu_millis.unwrap_or(0));
    let memory = Section::new(is_human).bytes("total_virtual", process.virtual_bytes.unwrap_or(0));
    Section::new(is_human)
        .with("timestamp", figures.at_millis)
        .with("open_file_descriptors", files.0)
        .with("max_file_descriptors", files.1)
        .with("cpu", cpu)
        .with("mem", memory)
        .json()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The disk with the data.
pub(super) fn fs(figures: &NodeFigures, is_human: bool) -> Json {
    let sizes = |section: Section, disk: Disk| {
        section.bytes("total", disk.total).bytes("free", disk.free).bytes("available", disk.available)
    };
    let total = figures.disk.map_or_else(|| Section::new(is_human), |disk| sizes(Section::new(is_human), disk));
    let data = figures.data.as_ref().zip(figures.disk).map(|(place, disk)| {
        let section = Section::new(is_human)
            .with("path", place.path.as_str())
            .with("mount", place.mount.as_str())
            .with("type", place.kind.as_str());
        sizes(section, disk).json()
    });
    let io = Json::object([]);
    let io = match figures.io.is_empty() {
        true => io,
        false => {
            io.with("devices", figures.io.iter().map(device).collect::<Json>()).with("total", total_io(&figures.io))
        }
    };
    Section::new(is_human)
        .with("timestamp", figures.at_millis)
        .with("total", total)
        .with("data", data.into_iter().collect::<Json>())
        .with("io_stats", io)
        .json()
}

fn device(device: &DeviceUse) -> Json {
    counts(Section::new(false).with("device_name", device.device.as_str()), std::slice::from_ref(device))
}

fn total_io(devices: &[DeviceUse]) -> Json {
    counts(Section::new(false), devices)
}

fn counts(section: Section, devices: &[DeviceUse]) -> Json {
    let sum =
        |figure: fn(&DeviceUse) -> u64| devices.iter().fold(0_u64, |sum, device| sum.saturating_add(figure(device)));
    section
        .with("operations", sum(|device| device.reads.saturating_add(device.writes)))
        .with("read_operations", sum(|device| device.reads))
        .with("write_operations", sum(|device| device.writes))
        .with("read_kilobytes", sum(|device| device.read_kilobytes))
        .with("write_kilobytes", sum(|device| device.written_kilobytes))
        .json()
}

/// What is said between nodes.
pub(super) fn transport(figures: &NodeFigures, is_human: bool) -> Json {
    let traffic = figures.transport;
    Section::new(is_human)
        .with("server_open", traffic.open)
        .with("rx_count", traffic.received)
        .bytes("rx_size", traffic.received_bytes)
        .with("tx_count", traffic.sent)
        .bytes("tx_size", traffic.sent_bytes)
        .json()
}

/// What is said with users.
pub(super) fn http(figures: &NodeFigures) -> Json {
    Json::object([("current_open", figures.users.open.into()), ("total_opened", figures.users.total.into())])
}

/// The limits of memory, of which only that of the process is real. Their sizes are readable in any case.
pub(super) fn breakers(figures: &NodeFigures) -> Json {
    let names =
        [("request", 1.0), ("fielddata", 1.03), ("in_flight_requests", 1.0), ("accounting", 1.0), ("parent", 1.0)];
    let limit = figures.memory.map_or(0, |memory| memory.max);
    Json::map(names.map(|(name, overhead)| {
        let breaker = Json::object([
            ("limit_size_in_bytes", limit.into()),
            ("limit_size", human_bytes(limit).into()),
            ("estimated_size_in_bytes", 0_u64.into()),
            ("estimated_size", "0b".into()),
            ("overhead", overhead.into()),
            ("tripped", 0_u64.into()),
        ]);
        (name, breaker)
    }))
}

/// How large a state may be, and is.
pub(in crate::rest) fn account(account: &Account) -> Json {
    let Account { keys, settings, leases, nodes, requests, indices } = *account;
    let parts = [
        ("bytes", account.total()),
        ("allowed_bytes", Account::BYTES_MAX),
        ("key_bytes", keys),
        ("setting_bytes", settings),
        ("lease_bytes", leases),
        ("request_bytes", requests),
        ("node_bytes", nodes),
        ("index_bytes", indices),
    ];
    Json::object(parts.map(|(name, bytes)| (name, bytes.into())))
}

/// What came from masters, how large the state is by what the node that was asked knows, and how long the core was busy.
pub(super) fn discovery(figures: &NodeFigures, size: &Account) -> Json {
    let Publishes { pending, full, incompatible, compatible } = figures.publishes;
    let Steps { total, over_1ms, over_5ms, over_50ms, longest_micros } = figures.steps;
    let steps = [
        ("total", total),
        ("over_1_millis", over_1ms),
        ("over_5_millis", over_5ms),
        ("over_50_millis", over_50ms),
        ("longest_in_micros", longest_micros),
    ];
    let queue = [("total", pending), ("pending", pending), ("committed", 0)];
    let published = [("full_states", full), ("incompatible_diffs", incompatible), ("compatible_diffs", compatible)];
    Json::object([
        ("cluster_state_queue", Json::object(queue.map(|(name, count)| (name, count.into())))),
        ("published_cluster_states", Json::object(published.map(|(name, count)| (name, count.into())))),
        ("cluster_state", account(size)),
        ("core_steps", Json::object(steps.map(|(name, count)| (name, count.into())))),
    ])
}
