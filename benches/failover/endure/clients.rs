//! What clients of the survivors see when the master goes: they write and read without pause, and every request counts.
//!
//! Each client has a key to itself, which it changes only from what it changed it to last: a change that were made twice,
//! or lost, would be refused the next time.

use crate::clock::{milliseconds, now, pause};
use crate::cluster::Cluster;
use crate::figures::{Summary, count, figure};
use crate::http::{Http, Reply};
use crate::peers::Zazen;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use rustix::process::Signal;
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const NODES: usize = 3;

/// How long clients ask before the master goes, and after it went.
const BEFORE: Duration = Duration::from_millis(300);
const AFTER: Duration = Duration::from_millis(700);
const AFTER_SILENCE: Duration = Duration::from_secs(2);

/// How long a client waits for an answer: longer than a node may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// How the master goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, and SIGCONT when the clients are done.
    Stop,
    /// SIGTERM.
    Term,
    /// It is asked to hand over, and stays.
    HandOver,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Kill => "SIGKILL",
            Way::Stop => "SIGSTOP",
            Way::Term => "SIGTERM",
            Way::HandOver => "hand-over",
        })
    }
}

/// Lets clients of the survivors write and read while the master goes, and demands that none sees an error.
#[derive(Args)]
pub(crate) struct ClientsArgs {
    /// How often the master goes in each way.
    #[arg(default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: u32,
    /// How many clients ask at once.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// How the master goes; every way unless given.
    #[arg(long, value_delimiter = ',', value_enum)]
    ways: Vec<Way>,
}

impl ClientsArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        let ways = if self.ways.is_empty() { Way::value_variants() } else { &self.ways };
        let cluster = Cluster::start(&Zazen::PLAIN, NODES)?;
        let clients = (0..self.clients).map(|number| Client::new(number as usize)).collect();
        let mut storm = Storm { cluster, clients };
        println!("| the master gets | trials | requests | errors | longest request: median | maximum |");
        println!("|---|---|---|---|---|---|");
        for way in ways {
            let row = storm.row(*way, self.trials);
            let row = row.map_err(|why| {
                format!("{way}: {why}; its files are kept in [{}]", storm.cluster.site.keep().display())
            });
            println!("{}", row?);
        }
        Ok(())
    }
}

struct Storm {
    cluster: Cluster<'static>,
    clients: Vec<Client>,
}

impl Storm {
    fn row(&mut self, way: Way, trials: u32) -> Result<String, String> {
        let mut progress = Progress::start(format!("the master goes by {way}"), "times");
        let (mut longest, asked) = (Vec::new(), AtomicU64::new(0));
        for trial in 1..=trials as usize {
            longest.push(milliseconds(self.trial(way, &asked)?));
            progress.tell(trial, trials as usize, "");
        }
        progress.end();
        let summary = Summary::of(&longest).ok_or("there was no trial")?;
        let asked = count(asked.load(Ordering::Relaxed));
        let (median, maximum) = (figure(summary.median), figure(summary.maximum));
        Ok(format!("| {way} | {trials} | {asked} | 0 | {median} ms | {maximum} ms |"))
    }

    /// Tells how long the longest request took.
    fn trial(&mut self, way: Way, asked: &AtomicU64) -> Result<Duration, String> {
        let master = self.cluster.settle()?;
        let places = self.cluster.running();
        let ports: Vec<u16> = places.iter().filter(|place| place.index != master).map(|place| place.client()).collect();
        let is_over = AtomicBool::new(false);
        let clients = std::mem::take(&mut self.clients);
        let (went, ended) = thread::scope(|scope| {
            let (ports, is_over) = (&ports, &is_over);
            let run = |client: Client| scope.spawn(move || client.run(ports, is_over, asked));
            let threads: Vec<_> = clients.into_iter().map(run).collect();
            pause(BEFORE);
            let went = go(&self.cluster, master, way, ports[0]);
            pause(if way == Way::Stop { AFTER_SILENCE } else { AFTER });
            is_over.store(true, Ordering::Relaxed);
            let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect();
            (went, ended)
        });
        went?;
        let mut longest = Duration::ZERO;
        for ended in ended {
            let (client, took) = ended?;
            longest = longest.max(took);
            self.clients.push(client);
        }
        self.mend(master, way)?;
        Ok(longest)
    }

    fn mend(&mut self, master: usize, way: Way) -> Result<(), String> {
        match way {
            Way::Kill | Way::Term => {
                self.cluster.wait(master)?;
                self.cluster.launch(master)?;
            }
            Way::Stop => drop(self.cluster.node(master).signal(Signal::CONT)),
            Way::HandOver => {}
        }
        self.cluster.settle().map(drop)
    }
}

fn go(cluster: &Cluster<'_>, master: usize, way: Way, survivor: u16) -> Result<(), String> {
    let signal = match way {
        Way::Kill => Signal::KILL,
        Way::Stop => Signal::STOP,
        Way::Term => Signal::TERM,
        Way::HandOver => {
            let reply = Http::new(survivor, PATIENCE).ask("POST", "/_zazen/handover", b"");
            let reply = reply.map_err(|error| format!("the hand-over got no answer: {error}"))?;
            let told = String::from_utf8_lossy(&reply.body);
            return if reply.is_fine() { Ok(()) } else { Err(format!("the hand-over was answered with {told}")) };
        }
    };
    cluster.node(master).signal(signal);
    Ok(())
}

/// One client with its key.
struct Client {
    number: usize,
    written: u64,
    /// The last change of its key.
    revision: String,
}

impl Client {
    fn new(number: usize) -> Self {
        Client { number, written: 0, revision: "none".into() }
    }

    /// Writes and reads until it is over, and tells how long the longest request took.
    fn run(mut self, ports: &[u16], is_over: &AtomicBool, asked: &AtomicU64) -> Result<(Self, Duration), String> {
        let port = ports[self.number % ports.len()];
        let (mut http, mut longest) = (Http::new(port, PATIENCE), Duration::ZERO);
        while !is_over.load(Ordering::Relaxed) {
            for step in [Client::write, Client::read] {
                let began = now();
                step(&mut self, &mut http)?;
                longest = longest.max(now() - began);
                asked.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok((self, longest))
    }

    fn write(&mut self, http: &mut Http) -> Result<(), String> {
        let path = format!("/_zazen/kv/c{}?if_version={}", self.number, self.revision);
        let number = self.written + 1;
        let told = self.told(http.ask("PUT", &path, number.to_string().as_bytes()), "write")?;
        self.written = number;
        self.revision = text(&told, "revision");
        Ok(())
    }

    fn read(&mut self, http: &mut Http) -> Result<(), String> {
        let path = format!("/_zazen/kv/c{}?format=json", self.number);
        let told = self.told(http.ask("GET", &path, b""), "read")?;
        let (value, revision) = (text(&told, "value"), text(&told, "revision"));
        if value == self.written.to_string() && revision == self.revision {
            return Ok(());
        }
        Err(format!(
            "client {} wrote {} at {} and read {value} at {revision}",
            self.number, self.written, self.revision
        ))
    }

    fn told(&self, reply: std::io::Result<Reply>, what: &str) -> Result<Value, String> {
        let reply = reply.map_err(|error| format!("a {what} of client {} got no answer: {error}", self.number))?;
        let wrong = || {
            let body = String::from_utf8_lossy(&reply.body);
            format!("a {what} of client {} was answered with {} {body}", self.number, reply.status)
        };
        reply.json().ok_or_else(wrong)
    }
}

fn text(told: &Value, field: &str) -> String {
    told[field].as_str().unwrap_or_default().to_owned()
}
