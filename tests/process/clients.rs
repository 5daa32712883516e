//! What clients of real nodes see when the master goes, or the node that they ask is told to end: time, and no error.
//!
//! `scripts/clients` does the same for longer and measures it.

use super::cluster::Cluster;
use super::http::{self, connect};
use super::node::wait_for;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How many ask at once.
const CLIENTS: usize = 64;

/// How many requests are answered before something happens, and after it.
const SOME: u64 = 500;

/// How long a client thinks between two requests.
const PAUSE: Duration = Duration::from_millis(400);

/// What one client told: how many changes it made, or what went wrong.
type Told = Result<u64, String>;

/// A client that keeps its connection, and goes to the next node when it is told that this one closes.
struct Client {
    ports: Vec<u16>,
    at: usize,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Asks one of the nodes, another one if that refuses connections.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<http::Response> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
        stream.get_mut().write_all((head + body).as_bytes())?;
        let (response, is_kept) = read(&mut stream)?;
        match is_kept {
            true => self.stream = Some(stream),
            false => self.at += 1,
        }
        Ok(response)
    }

    fn connect(&mut self) -> io::Result<BufReader<TcpStream>> {
        let mut last = None;
        for _ in 0..self.ports.len() {
            match connect(self.ports[self.at % self.ports.len()]) {
                Ok(stream) => return Ok(BufReader::new(stream)),
                Err(error) => last = Some(error),
            }
            self.at += 1;
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::NotConnected.into()))
    }

    /// Changes a key from what it changed it to last, and reads it: what is lost or done twice shows the next time.
    fn run(mut self, number: usize, answered: &AtomicU64, is_over: &AtomicBool) -> Told {
        let mut revision = "none".to_string();
        for written in 1.. {
            let path = format!("/_zazen/kv/c{number}?if_version={revision}");
            let told = self.demand("PUT", &path, &written.to_string())?;
            revision = told["revision"].as_str().unwrap_or_default().to_owned();
            let held = self.demand("GET", &format!("/_zazen/kv/c{number}?format=json"), "")?;
            if held["value"] != *written.to_string() || held["revision"] != *revision {
                return Err(format!("it wrote {written} as {revision}, and read {held}"));
            }
            // Nothing says for how long this may wait for a master.
            self.demand("POST", "/_cache/clear", "")?;
            answered.fetch_add(3, Ordering::Relaxed);
            if is_over.load(Ordering::Relaxed) {
                return Ok(written);
            }
        }
        Ok(0)
    }

    fn demand(&mut self, method: &str, path: &str, body: &str) -> Result<serde_json::Value, String> {
        let port = self.ports[self.at % self.ports.len()];
        let response = self.ask(method, path, body);
        let response = response.map_err(|error| format!("{method} {path} at {port}: {error}"))?;
        if !(200..300).contains(&response.status) {
            return Err(format!("{method} {path} at {port}: {response:?}"));
        }
        Ok(response.json())
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<(http::Response, bool)> {
    let (mut status, mut length, mut is_kept) = (0, 0, true);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            None => status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0),
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            Some(("connection", value)) => is_kept = value != "close",
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((http::Response { status, body: String::from_utf8_lossy(&body).into_owned() }, is_kept))
}

/// Ends clients, also when what they are watched for panics: whoever waits for them would wait for ever.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets clients write and read at these nodes while something happens, and demands that none saw an error.
fn under_load(cluster: &mut Cluster, nodes: &[usize], happens: impl FnOnce(&mut Cluster)) {
    let ports: Vec<u16> = nodes.iter().map(|at| cluster.nodes[*at].http).collect();
    let (answered, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let told: Vec<Told> = thread::scope(|scope| {
        let (answered, is_over) = (&answered, &is_over);
        let begin = |number: usize| {
            let client = Client { ports: ports.clone(), at: number, stream: None };
            scope.spawn(move || client.run(number, answered, is_over))
        };
        let clients: Vec<_> = (0..CLIENTS).map(begin).collect();
        let more = |wanted: u64| wait_for(|| (answered.load(Ordering::Relaxed) >= wanted).then_some(()));
        let ending = Ending(is_over);
        more(SOME);
        happens(cluster);
        more(answered.load(Ordering::Relaxed) + SOME);
        drop(ending);
        clients.into_iter().map(|client| client.join().expect("it tells what is wrong")).collect()
    });
    let wrong: Vec<&String> = told.iter().filter_map(|told| told.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} of {CLIENTS} clients saw an error: {wrong:#?}", wrong.len());
}

/// A cluster of three, its master, and the others.
fn started() -> (Cluster, usize, Vec<usize>) {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let others = cluster.others(&[master]);
    (cluster, master, others)
}

#[test]
fn clients_of_the_survivors_see_no_error_when_the_master_is_killed() {
    let (mut cluster, master, others) = started();
    under_load(&mut cluster, &others, |cluster| cluster.kill(master));
}

#[test]
fn clients_of_the_survivors_see_no_error_when_the_master_is_frozen() {
    let (mut cluster, master, others) = started();
    under_load(&mut cluster, &others, |cluster| cluster.nodes[master].pause());
    cluster.nodes[master].resume();
    assert_ne!(cluster.wait_master(&[0, 1, 2]), master);
}

#[test]
fn clients_of_the_survivors_see_no_error_when_the_master_is_told_to_end() {
    let (mut cluster, master, others) = started();
    under_load(&mut cluster, &others, |cluster| assert_eq!(cluster.nodes[master].terminate(), Some(0)));
}

#[test]
fn clients_of_all_nodes_see_no_error_when_the_master_hands_over() {
    let (mut cluster, _, others) = started();
    let port = cluster.nodes[others[0]].http;
    under_load(&mut cluster, &[0, 1, 2], |_| {
        let told = http::ask(port, "POST", "/_zazen/handover", "").expect("it is answered");
        assert_eq!(told.status, 200, "{told:?}");
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a client that does nothing for a while is what is tried")]
fn a_client_that_pauses_is_answered_by_a_node_that_ends_and_told_to_go() {
    let (mut cluster, _, others) = started();
    let port = cluster.nodes[others[0]].http;
    let mut client = Client { ports: vec![port], at: 0, stream: None };
    client.demand("GET", "/_zazen/state", "").expect("the node is well");
    cluster.nodes[others[0]].ask_to_leave();
    wait_for(|| connect(port).err());
    thread::sleep(PAUSE);
    client.demand("GET", "/_zazen/state", "").expect("it asked lately, so it is waited for");
    assert!(client.stream.is_none(), "it was told that the connection closes");
    assert_eq!(cluster.nodes[others[0]].ended().code(), Some(0));
}

#[test]
fn clients_that_reconnect_see_no_error_in_a_rolling_restart() {
    let (mut cluster, ..) = started();
    under_load(&mut cluster, &[0, 1, 2], |cluster| {
        for at in 0..3 {
            assert_eq!(cluster.nodes[at].terminate(), Some(0), "{}", cluster.nodes[at].tail());
            cluster.restart(at);
            cluster.wait_master_under_load(&[0, 1, 2]);
        }
    });
}

#[test]
fn a_node_without_a_quorum_that_is_told_to_end_says_that_nothing_was_done() {
    let mut cluster = Cluster::start(3);
    let last = cluster.wait_master(&[0, 1, 2]);
    for other in cluster.others(&[last]) {
        cluster.kill(other);
    }
    cluster.wait_no_master(last);
    let port = cluster.nodes[last].http;
    let requests = [
        ("GET", "/_cluster/state/version"),
        ("GET", "/_zazen/kv/a"),
        ("PUT", "/_zazen/kv/b"),
        ("GET", "/_cluster/health?wait_for_nodes=9"),
        ("POST", "/_zazen/lease/a?wait=20s"),
    ];
    let asked = requests.map(|(method, path)| {
        let body = if method == "PUT" { "x" } else { "" };
        thread::spawn(move || http::ask(port, method, path, body))
    });
    let waiting = || cluster.nodes[last].get("/_tasks?detailed=true").expect("a node answers its users").body;
    cluster.wait("all of them wait", || {
        let waiting = waiting();
        requests.iter().all(|(_, path)| waiting.contains(path)).then_some(())
    });
    assert_eq!(cluster.nodes[last].terminate(), Some(0));
    for (asked, what) in asked.into_iter().zip(requests) {
        let told = asked.join().expect("it asks").expect("it is answered");
        assert_eq!(told.status, 503, "{what:?}: {told:?}");
    }
}
