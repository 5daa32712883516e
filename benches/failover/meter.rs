//! Who takes the processors: the nodes, this program, or others, who should take nothing while figures are made.

use super::clock::now;
use super::process::Process;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::time::{Duration, Instant};

/// The kernel counts the time of all processors together in hundredths of a second.
const TICKS_A_SECOND: f64 = 100.0;

/// How many processors each took, on the average; two at the most where there are two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    /// This program, which is the clients.
    pub(crate) clients: f64,
    /// The nodes of the cluster that is measured.
    pub(crate) nodes: f64,
    /// Everybody else, idle clusters of others included.
    pub(crate) foreign: f64,
}

/// What was taken up to a moment, in seconds.
pub(crate) struct Meter {
    at: Instant,
    all: f64,
    clients: f64,
    nodes: f64,
}

impl Meter {
    /// Reads the counters now. A node that ends meanwhile still counts, if it was waited for.
    pub(crate) fn read<'a>(nodes: impl Iterator<Item = &'a Process>) -> Result<Self, String> {
        let cannot = |error: std::io::Error| format!("the use of the processors is not told: {error}");
        let mut running = Duration::ZERO;
        for node in nodes {
            running += node.processor_time().map_err(cannot)?;
        }
        let all = all_ticks(&fs::read_to_string("/proc/stat").map_err(cannot)?);
        let ended = ended_ticks(&fs::read_to_string("/proc/self/stat").map_err(cannot)?);
        let (Some(all), Some(ended)) = (all, ended) else {
            return Err("the use of the processors is told in a way that is not understood".into());
        };
        let clients = clock_gettime(ClockId::ProcessCPUTime);
        Ok(Meter {
            at: now(),
            all: all / TICKS_A_SECOND,
            clients: clients.tv_sec as f64 + clients.tv_nsec as f64 * 1e-9,
            nodes: running.as_secs_f64() + ended / TICKS_A_SECOND,
        })
    }

    /// What was taken from this moment to a later one.
    pub(crate) fn until(&self, later: &Meter) -> Shares {
        let spent = (later.at - self.at).as_secs_f64().max(1e-3);
        let share = |before: f64, after: f64| (after - before) / spent;
        let (clients, nodes) = (share(self.clients, later.clients), share(self.nodes, later.nodes));
        // The kernel's ticks are coarser than what it counts for a process.
        let foreign = (share(self.all, later.all) - clients - nodes).max(0.0);
        Shares { clients, nodes, foreign }
    }
}

/// All that is no idleness and no waiting for a disk.
fn all_ticks(stat: &str) -> Option<f64> {
    let ticks: Vec<f64> =
        stat.lines().next()?.split_whitespace().skip(1).filter_map(|tick| tick.parse().ok()).collect();
    let [user, nice, system, _idle, _disk, interrupts, soft, stolen, ..] = ticks[..] else {
        return None;
    };
    Some(user + nice + system + interrupts + soft + stolen)
}

/// The time of children that were waited for: the 16th and the 17th field, the second one being a name in brackets.
fn ended_ticks(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    Some(field(16)? + field(17)?)
}
