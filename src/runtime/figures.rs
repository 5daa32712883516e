//! What a process uses: memory, processor, files, disk; of this node, and of others by asking them.
//!
//! Nothing is kept but what a share of time needs: the last reading of the processor's clock. What a system does not
//! tell stays empty. Stands where Elasticsearch has `OsProbe`, `ProcessProbe`, `FsProbe` and the node statistics of 6.8.

use super::Handle;
use super::proc::{self, Ticks};
use crate::cluster::{Address, Node, NodeId};
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::Instant;

/// Where a node's transport gives its figures away.
pub const PATH: &str = "/_zen/figures";

/// How many nodes are asked at a time.
const ASKED_AT_A_TIME: usize = 64;

/// The longest answer of a node.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// How long figures are good for: whoever asks more often is told the same.
const GOOD_FOR: Duration = Duration::from_millis(500);

/// What one process uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Whose figures these are.
    pub node: NodeId,
    /// The process.
    pub pid: u32,
    /// Where users are listened to, if they are.
    #[serde(default)]
    pub http_address: Option<String>,
    /// The release of Zazen.
    pub release: String,
    /// How long the node has been running.
    pub uptime_millis: u64,
    /// How busy the machine was since the figures were last taken, in percent.
    #[serde(default)]
    pub cpu_percent: Option<u8>,
    /// How many processes wanted to run, over 1, 5 and 15 minutes.
    #[serde(default)]
    pub load: Option<[f64; 3]>,
    /// The memory of this process, and the most that it can get.
    #[serde(default)]
    pub memory: Option<Share>,
    /// The memory of the machine.
    #[serde(default)]
    pub ram: Option<Share>,
    /// The files and sockets of this process, and the most that it may have.
    #[serde(default)]
    pub files: Option<Share>,
    /// The disk that the data is on; what is left of it may be more than a user gets.
    #[serde(default)]
    pub disk: Option<Disk>,
}

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

/// A disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// How large it is.
    pub total: u64,
    /// How much is free.
    pub free: u64,
    /// How much of it a user gets.
    pub available: u64,
}

/// Takes the figures of one node, and asks other nodes for theirs.
pub struct Meter {
    node: NodeId,
    began: Instant,
    path_data: PathBuf,
    http_address: OnceLock<String>,
    cpu: Mutex<(Ticks, Option<u8>)>,
    client: OnceLock<Option<reqwest::Client>>,
    taken: tokio::sync::Mutex<Taken>,
}

/// The figures that were taken last, and those that are being taken.
#[derive(Default)]
struct Taken {
    last: Option<(Instant, NodeFigures)>,
    under_way: Option<JoinHandle<NodeFigures>>,
}

impl Meter {
    /// The meter of a node that begins, whose data lies there.
    pub fn new(node: NodeId, path_data: PathBuf) -> Self {
        // The first figure is about all the time since the machine was started.
        let ticks = proc::ticks().unwrap_or_default();
        let cpu = Mutex::new((ticks, ticks.busy_percent_since(Ticks::default())));
        let (http_address, client, taken) = Default::default();
        Meter { node, began: Instant::now(), path_data, http_address, cpu, client, taken }
    }

    /// Says where users are listened to; once.
    pub fn set_http_address(&self, address: String) {
        // The first one stays: a node listens in one place as long as it lives.
        let _ = self.http_address.set(address);
    }

    /// What this process uses, as of a moment ago; nothing if it is about to end.
    ///
    /// The system may take its time: it goes through every open file, and a file system may hang. So one thread of its own
    /// asks it at a time, and no task of the node or of a user stands still meanwhile.
    pub async fn figures(self: &Arc<Self>) -> Option<NodeFigures> {
        let mut taken = self.taken.lock().await;
        if let Some((_, figures)) = taken.last.as_ref().filter(|(at, _)| at.elapsed() < GOOD_FOR) {
            return Some(figures.clone());
        }
        let meter = self.clone();
        let under_way = taken.under_way.get_or_insert_with(|| spawn_blocking(move || meter.measure()));
        // Whoever waits for it in vain leaves it to the next one.
        let figures = under_way.await;
        taken.under_way = None;
        let figures = figures.ok()?;
        taken.last = Some((Instant::now(), figures.clone()));
        Some(figures)
    }

    /// What this process uses at the moment. Blocks its caller.
    pub fn measure(&self) -> NodeFigures {
        let ram = proc::ram();
        let limit = proc::memory();
        NodeFigures {
            node: self.node.clone(),
            pid: std::process::id(),
            http_address: self.http_address.get().cloned(),
            release: env!("CARGO_PKG_VERSION").into(),
            uptime_millis: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            cpu_percent: self.cpu_percent(),
            load: proc::load(),
            memory: proc::resident().zip(limit).map(|(used, max)| Share { used, max }),
            ram,
            files: proc::files(),
            disk: disk(&self.path_data),
        }
    }

    /// Two readings that are too close to each other tell nothing: then it is what it was.
    fn cpu_percent(&self) -> Option<u8> {
        let now = proc::ticks()?;
        let mut last = self.cpu.lock();
        if let Some(percent) = now.busy_percent_since(last.0) {
            *last = (now, Some(percent));
        }
        last.1
    }

    fn client(&self) -> Option<&reqwest::Client> {
        let build = || {
            let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
            builder.retry(reqwest::retry::never()).build().ok()
        };
        self.client.get_or_init(build).as_ref()
    }
}

fn disk(path: &std::path::Path) -> Option<Disk> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Some(Disk { total: bytes(stat.f_blocks), free: bytes(stat.f_bfree), available: bytes(stat.f_bavail) })
}

/// The figures of these nodes, in their order; none of those that do not give them in time.
pub async fn of_all(
    handle: &Handle,
    nodes: Vec<Arc<Node>>,
    timeout: Duration,
) -> Vec<(Arc<Node>, Option<NodeFigures>)> {
    let ask = |node: Arc<Node>| async move {
        let meter = handle.meter();
        let asked = async {
            if node.same_process(handle.local()) {
                meter.figures().await
            } else {
                of_one(meter.client(), &node.address).await
            }
        };
        let figures = tokio::time::timeout(timeout, asked).await.ok().flatten();
        let figures = figures.filter(|figures| figures.node == node.id);
        (node, figures)
    };
    stream::iter(nodes).map(ask).buffered(ASKED_AT_A_TIME).collect().await
}

async fn of_one(client: Option<&reqwest::Client>, address: &Address) -> Option<NodeFigures> {
    let mut response = client?.get(format!("http://{address}{PATH}")).send().await.ok()?;
    if response.status() != reqwest::StatusCode::OK {
        return None;
    }
    let mut answer = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        answer.extend_from_slice(&chunk);
        if answer.len() > ANSWER_BYTES_MAX {
            return None;
        }
    }
    serde_json::from_slice(&answer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_process_knows_what_it_uses_and_tells_it_in_json() {
        let meter = Meter::new("me".into(), std::env::temp_dir());
        meter.set_http_address("127.0.0.1:9200".into());
        meter.set_http_address("127.0.0.1:9201".into());
        let figures = meter.measure();
        assert_eq!((figures.pid, figures.http_address.as_deref()), (std::process::id(), Some("127.0.0.1:9200")));
        let memory = figures.memory.expect("Linux tells it");
        assert!(memory.used > 100_000 && memory.used < memory.max, "{memory:?}");
        let ram = figures.ram.expect("Linux tells it");
        assert!(ram.used < ram.max && memory.max <= ram.max, "{ram:?}");
        assert!(figures.files.is_some_and(|files| files.used > 2 && files.used < files.max), "{:?}", figures.files);
        assert!(figures.disk.is_some_and(|disk| disk.available <= disk.free && disk.free <= disk.total));
        assert!(figures.load.is_some_and(|load| load.iter().all(|load| *load >= 0.0)));
        let text = serde_json::to_string(&figures).expect("figures are JSON");
        assert_eq!(serde_json::from_str::<NodeFigures>(&text).ok(), Some(figures));
    }

    #[tokio::test]
    async fn who_asks_often_is_told_the_same_and_who_gives_up_leaves_it_to_the_next() {
        let meter = Arc::new(Meter::new("me".into(), std::env::temp_dir()));
        assert!(meter.figures().now_or_never().is_none(), "this thread does not take them");
        let (one, other) = tokio::join!(meter.figures(), meter.figures());
        let one = one.expect("the process goes on");
        assert_eq!(one.pid, std::process::id());
        assert_eq!(Some(one), other);
    }

    #[test]
    fn a_share_is_told_in_whole_percent_whatever_its_size() {
        for (used, max, percent) in
            [(0, 0, 0), (1, 3, 33), (5, 5, 100), (u64::MAX, 1, u64::MAX), (u64::MAX, u64::MAX, 100)]
        {
            assert_eq!(Share { used, max }.percent(), percent, "{used} of {max}");
        }
    }
}
