//! Clients that write as fast as they are answered, each to a key of its own: how many writes a second, and how long each
//! takes.
//!
//! One thread leads all of their conversations, so that they take little of the processors that the nodes need.

use super::clock::{milliseconds, now, pause};
use super::cluster::Cluster;
use super::meter::{Meter, Shares};
use super::talk::Talk;
use futures_util::future::try_join_all;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long the clients write before anything counts.
const LEAD: Duration = Duration::from_secs(1);

/// How long a healthy cluster may take for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the clients of one load saw.
pub(crate) struct Seen {
    /// Writes acknowledged a second, in each window.
    pub(crate) rates: Vec<f64>,
    /// Milliseconds from a write to its acknowledgement.
    pub(crate) latencies: Vec<f64>,
    /// Who took the processors meanwhile.
    pub(crate) shares: Shares,
}

#[derive(Default)]
struct Shared {
    written: AtomicU64,
    counts: AtomicBool,
    is_over: AtomicBool,
}

/// A client and its connection.
type Line = (std::net::TcpStream, Box<dyn Talk>);

/// Lets so many clients write, window after window until these are enough; nothing if the peer has no such clients.
pub(crate) fn load(
    cluster: &mut Cluster<'_>,
    clients: usize,
    window: Duration,
    is_enough: impl Fn(&[f64]) -> bool,
) -> Result<Option<Seen>, String> {
    let Some(lines) = connect(cluster, clients)? else {
        return Ok(None);
    };
    let shared = Shared::default();
    let (windows, latencies) = thread::scope(|scope| {
        let clients = scope.spawn(|| converse(lines, &shared));
        pause(LEAD);
        shared.counts.store(true, Ordering::Relaxed);
        let windows = watch(cluster, window, is_enough, &shared);
        shared.is_over.store(true, Ordering::Relaxed);
        (windows, clients.join().expect("it does not panic"))
    });
    let latencies = latencies?;
    let (rates, shares) = windows?;
    Ok(Some(Seen { rates, latencies, shares }))
}

/// The first client writes through the master, the others take turns.
fn connect(cluster: &mut Cluster<'_>, clients: usize) -> Result<Option<Vec<Line>>, String> {
    let master = cluster.settle()?;
    let places = cluster.running();
    let first = places.iter().position(|place| place.index == master).unwrap_or(0);
    let mut lines = Vec::new();
    for number in 0..clients {
        let place = places[(first + number) % places.len()];
        let Some(line) = cluster.peer.talk(place, number) else { return Ok(None) };
        lines.push(line.map_err(|error| format!("client {number} cannot connect: {error}"))?);
    }
    Ok(Some(lines))
}

fn watch(
    cluster: &Cluster<'_>,
    window: Duration,
    is_enough: impl Fn(&[f64]) -> bool,
    shared: &Shared,
) -> Result<(Vec<f64>, Shares), String> {
    let before = Meter::read(cluster.processes())?;
    let mut rates = Vec::new();
    while !is_enough(&rates) && !shared.is_over.load(Ordering::Relaxed) {
        let (began, written) = (now(), shared.written.load(Ordering::Relaxed));
        pause(window);
        rates.push((shared.written.load(Ordering::Relaxed) - written) as f64 / (now() - began).as_secs_f64());
    }
    let after = Meter::read(cluster.processes())?;
    Ok((rates, before.until(&after)))
}

/// All clients, to their end. Nothing goes wrong with a healthy cluster, so a write that fails ends the trial.
fn converse(lines: Vec<Line>, shared: &Shared) -> Result<Vec<f64>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime can be made: {error}"))?;
    let latencies = runtime.block_on(try_join_all(lines.into_iter().map(|line| client(line, shared))));
    shared.is_over.store(true, Ordering::Relaxed);
    Ok(latencies?.concat())
}

async fn client((stream, mut talk): Line, shared: &Shared) -> Result<Vec<f64>, String> {
    let cannot = |error: io::Error| format!("a healthy cluster did not answer: {error}");
    let mut stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)).map_err(cannot)?;
    let (mut latencies, mut bytes) = (Vec::new(), Vec::new());
    for number in 0.. {
        if shared.is_over.load(Ordering::Relaxed) {
            break;
        }
        let began = now();
        let write = exchange(&mut stream, &mut *talk, number, &mut bytes);
        let was_granted =
            tokio::time::timeout(PATIENCE, write).await.map_err(io::Error::from).flatten().map_err(cannot)?;
        if !was_granted {
            return Err(format!("a healthy cluster did not acknowledge write {number} of a client"));
        }
        shared.written.fetch_add(1, Ordering::Relaxed);
        if shared.counts.load(Ordering::Relaxed) {
            latencies.push(milliseconds(now() - began));
        }
    }
    Ok(latencies)
}

/// Asks for one write, and tells whether it was acknowledged.
async fn exchange(stream: &mut TcpStream, talk: &mut dyn Talk, number: u64, bytes: &mut Vec<u8>) -> io::Result<bool> {
    stream.write_all(&talk.ask(number)).await?;
    loop {
        let heard = talk.hear(bytes);
        bytes.drain(..heard.used);
        if !heard.say.is_empty() {
            stream.write_all(&heard.say).await?;
        }
        if let Some(answer) = heard.answer {
            return Ok(answer);
        }
        if stream.read_buf(bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
