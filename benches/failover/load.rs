//! Clients that write as fast as they are answered, each to a key of its own: how many writes a second, and how long each
//! takes.

use super::clock::{milliseconds, now, pause};
use super::cluster::Cluster;
use super::peer::Writer;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How long the clients write before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// How long writes are counted for one sample.
const WINDOW: Duration = Duration::from_secs(1);

/// How many latencies are told at the most; of more, every so manyth.
const LATENCIES_MAX: usize = 10_000;

/// What the clients of one load saw.
pub(crate) struct Seen {
    /// Writes acknowledged in each second.
    pub(crate) rates: Vec<f64>,
    /// Milliseconds from a write to its acknowledgement.
    pub(crate) latencies: Vec<f64>,
}

/// Lets so many clients write for so many seconds. The first client writes through the master, the others take turns.
pub(crate) fn load(cluster: &mut Cluster<'_>, clients: usize, seconds: usize) -> Result<Option<Seen>, String> {
    let master = cluster.settle()?;
    let places = cluster.running();
    let at = |client: usize| {
        places[(places.iter().position(|place| place.index == master).unwrap_or(0) + client) % places.len()]
    };
    let writers: Option<Vec<_>> = (0..clients).map(|client| cluster.peer.client(at(client), client)).collect();
    let Some(writers) = writers else {
        return Ok(None);
    };
    let (written, counts, is_over) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let (rates, latencies) = thread::scope(|scope| {
        let started: Vec<_> =
            writers.into_iter().map(|writer| scope.spawn(|| write(writer, &written, &counts, &is_over))).collect();
        pause(WARM_UP);
        counts.store(true, Ordering::Relaxed);
        let rates: Vec<f64> = (0..seconds).map(|_| rate(&written)).collect();
        is_over.store(true, Ordering::Relaxed);
        let latencies: Result<Vec<_>, String> =
            started.into_iter().map(|client| client.join().expect("it does not panic")).collect();
        (rates, latencies)
    });
    let latencies = latencies?.concat();
    let every = latencies.len().div_ceil(LATENCIES_MAX).max(1);
    Ok(Some(Seen { rates, latencies: latencies.into_iter().step_by(every).collect() }))
}

/// How many writes a second are acknowledged in one window.
fn rate(written: &AtomicU64) -> f64 {
    let (began, before) = (now(), written.load(Ordering::Relaxed));
    pause(WINDOW);
    (written.load(Ordering::Relaxed) - before) as f64 / (now() - began).as_secs_f64()
}

/// One client. Nothing goes wrong with a healthy cluster, so a write that fails ends the trial.
fn write(
    mut writer: Box<dyn Writer>,
    written: &AtomicU64,
    counts: &AtomicBool,
    is_over: &AtomicBool,
) -> Result<Vec<f64>, String> {
    let mut latencies = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let began = now();
        if !writer.write(number) {
            is_over.store(true, Ordering::Relaxed);
            return Err(format!("a healthy cluster did not acknowledge write {number} of a client"));
        }
        written.fetch_add(1, Ordering::Relaxed);
        if counts.load(Ordering::Relaxed) {
            latencies.push(milliseconds(now() - began));
        }
    }
    Ok(latencies)
}
