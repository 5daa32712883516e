//! Takes the figures of one node.

use super::info::{NodeInfo, OsInfo, Place, told};
use super::threads::{HotThreads, INTERVAL_MAX, between};
use super::{Connections, DeviceUse, Disk, NodeFigures, NodeUsage, Process, Share, Tally, Traffic};
use crate::cluster::NodeId;
use crate::runtime::Current;
use crate::runtime::hook_tally;
use crate::runtime::instruments::Instruments;
use crate::runtime::peers::Peers;
use crate::runtime::proc::{self, Ticks};
use crate::runtime::tasks::{Begun, NodeTasks, Tasks};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Tells how many connections there are.
pub type CountConnections = Box<dyn Fn() -> Connections + Send + Sync>;

/// Takes the figures of one node, and has a client to ask other nodes for theirs.
pub struct Meter {
    node: NodeId,
    settings: Current,
    began: Instant,
    began_millis: u64,
    io_before: Option<DeviceUse>,
    tally: Arc<Tally>,
    instruments: Arc<Instruments>,
    hooks: Arc<hook_tally::Tally>,
    tasks: Arc<Tasks>,
    transport: OnceLock<Place>,
    http: OnceLock<Place>,
    peers: OnceLock<CountConnections>,
    users: OnceLock<CountConnections>,
    readings: Mutex<Readings>,
    actions: Mutex<BTreeMap<&'static str, u64>>,
    turns: Arc<Semaphore>,
    access: OnceLock<Option<Peers>>,
}

/// How many threads may wait for the system at a time.
const READERS_MAX: usize = 4;

/// The last readings of the clocks of processors, and what they came to.
#[derive(Clone, Copy)]
struct Readings {
    machine: Ticks,
    process: u64,
    machine_percent: Option<u8>,
    process_percent: Option<u8>,
}

impl Meter {
    /// The meter of a node that begins.
    pub fn new(node: NodeId, settings: Current) -> Self {
        // The first figure is about all the time since the machine was started.
        let machine = proc::ticks().unwrap_or_default();
        let machine_percent = machine.busy_percent_since(Ticks::default());
        let process = proc::process_ticks().unwrap_or(0);
        Meter {
            node,
            io_before: proc::device_use(&settings.get().path_data),
            settings,
            began: Instant::now(),
            began_millis: millis_since_1970(),
            tally: Arc::default(),
            instruments: Arc::default(),
            hooks: Arc::default(),
            tasks: Arc::default(),
            transport: OnceLock::new(),
            http: OnceLock::new(),
            peers: OnceLock::new(),
            users: OnceLock::new(),
            readings: Mutex::new(Readings { machine, process, machine_percent, process_percent: Some(0) }),
            actions: Mutex::default(),
            turns: Arc::new(Semaphore::new(READERS_MAX)),
            access: OnceLock::new(),
        }
    }

    /// A route was asked. There are no more of them than the program has.
    pub fn count_action(&self, name: &'static str) {
        *self.actions.lock().entry(name).or_default() += 1;
    }

    /// How often which routes were asked.
    pub fn usage(&self) -> NodeUsage {
        let actions = self.actions.lock().iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let began_millis = self.began_millis;
        NodeUsage { node: self.node.clone(), at_millis: millis_since_1970(), began_millis, actions }
    }

    /// The counters of what passes between this node and others.
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// What is counted and measured for those who scrape it.
    pub fn instruments(&self) -> &Arc<Instruments> {
        &self.instruments
    }

    /// How hooks ended.
    pub fn hooks(&self) -> &Arc<hook_tally::Tally> {
        &self.hooks
    }

    /// The connections of other nodes.
    pub fn peers(&self) -> Connections {
        self.peers.get().map_or_else(Connections::default, |count| count())
    }

    /// The connections of users.
    pub fn users(&self) -> Connections {
        self.users.get().map_or_else(Connections::default, |count| count())
    }

    /// What this node is answering.
    pub fn tasks(&self) -> &Arc<Tasks> {
        &self.tasks
    }

    /// What this node is answering, and this question itself if it is a part of another task.
    pub fn list_tasks(&self, begun: Option<Begun>) -> NodeTasks {
        let _running = begun.map(|begun| self.tasks.begin(begun));
        NodeTasks { node: self.node.clone(), tasks: self.tasks.list() }
    }

    /// Ends what this node is answering under these numbers, if it can be ended.
    pub fn cancel_tasks(&self, ids: &[u64]) -> NodeTasks {
        NodeTasks { node: self.node.clone(), tasks: self.tasks.cancel(ids) }
    }

    /// Says where other nodes are listened to, and how many of them are connected; once.
    pub fn set_transport(&self, place: Place, count: CountConnections) {
        // The first ones stay: a node listens in one place as long as it lives.
        let _ = self.transport.set(place);
        let _ = self.peers.set(count);
    }

    /// Says where users are listened to; once.
    pub fn set_http(&self, place: Place) {
        let _ = self.http.set(place);
    }

    /// Where other nodes are listened to, and what users are told.
    pub(in crate::runtime) fn places(&self) -> (Vec<String>, Option<String>) {
        let bound = self.transport.get().map(|place| place.bound.clone()).unwrap_or_default();
        (bound, self.http.get().map(|place| place.published.clone()))
    }

    /// Where both ports are bound: that for nodes and that for users.
    pub(in crate::runtime) fn bound(&self) -> (Vec<String>, Vec<String>) {
        let bound = |place: &OnceLock<Place>| place.get().map(|place| place.bound.clone()).unwrap_or_default();
        (bound(&self.transport), bound(&self.http))
    }

    /// Says how many users are connected; once.
    pub fn count_users(&self, count: CountConnections) {
        let _ = self.users.set(count);
    }

    /// Reads what the system tells, on a thread that may wait. A disk that hangs keeps a few of them, and everybody else
    /// waits for these.
    pub async fn read<T: Send + 'static>(self: &Arc<Self>, read: fn(&Meter) -> T) -> Option<T> {
        let turn = self.turns.clone().acquire_owned().await.ok()?;
        let meter = self.clone();
        let work = move || {
            let told = read(&meter);
            // Whoever asked may have gone away; the thread is busy all the same.
            drop(turn);
            told
        };
        tokio::task::spawn_blocking(work).await.ok()
    }

    /// What this process uses at the moment. Reads files of the system, so it is no work for the node's own thread.
    pub fn measure(&self) -> NodeFigures {
        let ram = proc::ram();
        let Readings { machine_percent, process_percent, .. } = self.read_clocks();
        let peers = self.peers();
        let path = &self.settings.get().path_data;
        NodeFigures {
            node: self.node.clone(),
            pid: std::process::id(),
            http_address: self.http.get().map(|place| place.published.clone()),
            release: env!("CARGO_PKG_VERSION").into(),
            at_millis: millis_since_1970(),
            uptime_millis: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            cpu_percent: machine_percent,
            load: proc::load(),
            memory: proc::resident().zip(memory_max(ram)).map(|(used, max)| Share { used, max }),
            ram,
            swap: proc::swap(),
            files: proc::files(),
            process: Process { cpu_percent: process_percent, ..proc::process() },
            groups: proc::control_groups(),
            disk: disk(path),
            data: proc::data_place(path),
            io: self.device_use().into_iter().collect(),
            transport: Traffic { open: peers.open, ..self.tally.traffic() },
            users: self.users(),
            publishes: self.tally.publishes(),
            steps: self.tally.steps(),
        }
    }

    /// What the device with the data was used since this node began.
    fn device_use(&self) -> Option<DeviceUse> {
        let now = proc::device_use(&self.settings.get().path_data)?;
        let before = self.io_before.as_ref().filter(|before| before.device == now.device);
        Some(before.map_or(now.clone(), |before| now.since(before)))
    }

    /// What this node is.
    pub fn describe(&self) -> NodeInfo {
        let (settings, lists) = told(&self.settings.get());
        NodeInfo {
            node: self.node.clone(),
            release: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            began_millis: self.began_millis,
            settings,
            lists,
            os: OsInfo::read(),
            memory_max: memory_max(proc::ram()),
            transport: self.transport.get().cloned().unwrap_or_default(),
            http: self.http.get().cloned(),
            max_content_length: self.settings.get().rest.max_content_length,
        }
    }

    /// Watches the threads of this process for a time.
    pub async fn watch_threads(self: &Arc<Self>, interval: Duration) -> HotThreads {
        let at_millis = millis_since_1970();
        let before = self.read(|_| proc::threads()).await.unwrap_or_default();
        tokio::time::sleep(interval.min(INTERVAL_MAX)).await;
        let threads = between(&before, self.read(|_| proc::threads()).await.unwrap_or_default());
        HotThreads { node: self.node.clone(), at_millis, threads }
    }

    /// Two readings that are too close to each other tell nothing: then it is what it was.
    fn read_clocks(&self) -> Readings {
        let (Some(machine), Some(process)) = (proc::ticks(), proc::process_ticks()) else {
            return *self.readings.lock();
        };
        let mut last = self.readings.lock();
        if let Some(percent) = machine.busy_percent_since(last.machine) {
            let process_percent = machine.percent_of(process.saturating_sub(last.process), last.machine);
            *last = Readings { machine, process, machine_percent: Some(percent), process_percent };
        }
        *last
    }

    /// The way to other nodes, if there is one.
    pub(in crate::runtime) fn access(&self) -> Option<&Peers> {
        self.access.get_or_init(|| Peers::plain().ok()).as_ref()
    }

    /// Takes a way to other nodes that demand more than the usual. It is another one than that of the node, whose beats wait
    /// for no thread of users.
    pub(in crate::runtime) fn set_access(&self, access: Peers) {
        // Nobody sets it twice.
        let _ = self.access.set(Some(access));
    }
}

/// The least of the limits of the control groups and the memory of the machine.
fn memory_max(ram: Option<Share>) -> Option<u64> {
    proc::memory_limit().into_iter().chain(ram.map(|ram| ram.max)).min()
}

fn disk(path: &Path) -> Option<Disk> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Some(Disk { total: bytes(stat.f_blocks), free: bytes(stat.f_bfree), available: bytes(stat.f_bavail) })
}

/// What time it is, in milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "users are told when figures were taken; nothing is decided by it")]
fn millis_since_1970() -> u64 {
    let since: Duration = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::NodeSettings;

    fn meter() -> Meter {
        let settings = NodeSettings { path_data: std::env::temp_dir(), ..NodeSettings::default() };
        let meter = Meter::new("me".into(), Current::new(settings));
        let place = |address: &str| Place { bound: vec![address.into()], published: address.into() };
        meter.set_http(place("127.0.0.1:9200"));
        meter.set_http(place("127.0.0.1:9201"));
        meter.count_users(Box::new(|| Connections { open: 2, total: 9, max: 10 }));
        meter
    }

    #[test]
    fn a_process_knows_what_it_uses_and_tells_it_in_json() {
        let figures = meter().measure();
        assert_eq!((figures.pid, figures.http_address.as_deref()), (std::process::id(), Some("127.0.0.1:9200")));
        let memory = figures.memory.expect("Linux tells it");
        assert!(memory.used > 100_000 && memory.used < memory.max, "{memory:?}");
        let ram = figures.ram.expect("Linux tells it");
        assert!(ram.used < ram.max && memory.max <= ram.max, "{ram:?}");
        assert!(figures.files.is_some_and(|files| files.used > 2 && files.used < files.max), "{:?}", figures.files);
        assert!(figures.disk.is_some_and(|disk| disk.available <= disk.free && disk.free <= disk.total));
        assert!(figures.load.is_some_and(|load| load.iter().all(|load| *load >= 0.0)));
        assert!(figures.process.threads.is_some_and(|threads| threads > 0), "{:?}", figures.process);
        assert!(figures.process.virtual_bytes > Some(memory.used), "{:?}", figures.process);
        assert_eq!((figures.users.open, figures.users.total), (2, 9));
        let text = serde_json::to_string(&figures).expect("figures are JSON");
        assert_eq!(serde_json::from_str::<NodeFigures>(&text).ok(), Some(figures));
    }

    #[test]
    fn a_node_knows_what_it_is_and_tells_it_in_json() {
        let info = meter().describe();
        assert_eq!(info.os.name, "Linux");
        assert!(info.os.processors > 0 && !info.os.version.is_empty() && info.memory_max > Some(1 << 20), "{info:?}");
        let text = serde_json::to_string(&info).expect("it is JSON");
        assert_eq!(serde_json::from_str::<NodeInfo>(&text).ok(), Some(info));
    }
}
