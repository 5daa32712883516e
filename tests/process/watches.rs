//! Watchers of real nodes while masters go and come: each is told every change, in order, wherever it asks.

use super::cluster::Cluster;
use super::http::ask;
use super::tool::{url, zazen};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

const WRITERS: usize = 6;

/// How often a watcher looks once nothing is written any more.
const LAST_LOOKS: usize = 200;

/// The nodes' ports for users.
fn ports(cluster: &Cluster) -> Vec<u16> {
    cluster.nodes.iter().map(|node| node.http).collect()
}

/// How far writers and watchers are to go.
#[derive(Default)]
struct Course {
    is_written: AtomicBool,
    /// The last state, once nothing is written any more.
    last: Mutex<Option<Rank>>,
}

type Rank = (u64, u64);

fn rank(at: &str) -> Rank {
    let (term, version) = at.split_once('/').expect("a state is named by two numbers");
    (term.parse().expect("a number"), version.parse().expect("a number"))
}

/// Writes one value after the other, at one node after the other; whatever is not acknowledged is written again.
fn write(ports: &[u16], writer: usize, course: &Course) -> usize {
    let mut value = 0;
    for port in ports.iter().cycle().skip(writer) {
        if course.is_written.load(Ordering::Relaxed) {
            break;
        }
        let path = format!("/_zazen/kv/w{writer}?timeout=1s");
        let done = ask(*port, "PUT", &path, &(value + 1).to_string());
        value += usize::from(done.is_ok_and(|done| done.status == 200));
    }
    value
}

/// What a watcher was told of each key.
#[derive(Default)]
struct Told {
    values: BTreeMap<String, Vec<usize>>,
    /// Answers that told the state, for what led to it was not known.
    compacted: usize,
}

impl Told {
    /// Takes in one answer, and says where to go on.
    fn take(&mut self, answer: &serde_json::Value) -> String {
        self.compacted += usize::from(answer["compacted"] == true);
        for step in answer["steps"].as_array().expect("steps are a list") {
            for change in step["changes"].as_array().expect("changes are a list") {
                let (key, value) = (&change["entry"]["key"], &change["entry"]["value"]);
                let value = value.as_str().and_then(|text| text.parse().ok()).expect("a number was put");
                self.values.entry(key.as_str().expect("a key has a name").to_owned()).or_default().push(value);
            }
        }
        answer["at"].as_str().expect("it says where to go on").to_owned()
    }
}

/// Watches at one node until it knows what was written last; a node that is away is asked again.
fn watch(port: u16, from: &str, course: &Course) -> Told {
    let (mut told, mut at, mut looks_left) = (Told::default(), from.to_owned(), LAST_LOOKS);
    while looks_left > 0 {
        let path = format!("/_zazen/watch?prefix=w&wait_for=50ms&from={at}");
        if let Some(answer) = ask(port, "GET", &path, "").ok().filter(|answer| answer.status == 200) {
            at = told.take(&answer.json());
        }
        match *course.last.lock().expect("nobody panics with it") {
            Some(last) if rank(&at) >= last => break,
            Some(_) => looks_left -= 1,
            None => {}
        }
    }
    told
}

fn newest(port: u16) -> String {
    let answer = ask(port, "GET", "/_zazen/watch", "").expect("a node answers its users");
    answer.json()["at"].as_str().expect("it says where to go on").to_owned()
}

/// Lets watchers of every node watch while many write and something happens, and judges what they were told.
fn every_change_is_told(mut cluster: Cluster, happen: impl FnOnce(&mut Cluster)) {
    let members: Vec<usize> = (0..cluster.nodes.len()).collect();
    cluster.wait_master(&members);
    let (ports, course) = (Arc::new(ports(&cluster)), Arc::new(Course::default()));
    let begin = newest(ports[0]);
    let watchers = ports.iter().map(|port| {
        let (port, begin, course) = (*port, begin.clone(), course.clone());
        thread::spawn(move || watch(port, &begin, &course))
    });
    let watchers: Vec<_> = watchers.collect();
    let writers = (0..WRITERS).map(|writer| {
        let (ports, course) = (ports.clone(), course.clone());
        thread::spawn(move || write(&ports, writer, &course))
    });
    let writers: Vec<_> = writers.collect();
    happen(&mut cluster);
    course.is_written.store(true, Ordering::Relaxed);
    let written: Vec<usize> = writers.into_iter().map(|writer| writer.join().expect("it writes")).collect();
    let master = cluster.wait_master(&members);
    *course.last.lock().expect("nobody panics with it") = Some(rank(&newest(ports[master])));
    for (at, watcher) in watchers.into_iter().enumerate() {
        let told = watcher.join().expect("it watches");
        assert_eq!(told.compacted, 0, "what {} missed is known to others", cluster.nodes[at].name);
        for (writer, written) in written.iter().enumerate() {
            let mut values = told.values.get(&format!("w{writer}")).cloned().unwrap_or_default();
            values.dedup();
            assert_eq!(values, (1..=values.len()).collect::<Vec<_>>());
            // One more may have been carried out than was acknowledged.
            assert!((*written..=written + 1).contains(&values.len()), "{written} written, {} told", values.len());
        }
    }
}

#[test]
fn watchers_are_told_every_change_while_the_mastership_moves() {
    every_change_is_told(Cluster::start(3), |cluster| {
        for _ in 0..8 {
            let master = cluster.wait_master_under_load(&[0, 1, 2]);
            let next = cluster.others(&[master])[0];
            // Who is behind at that moment does not agree, and is asked again.
            cluster.wait("a hand-over", || {
                let mut asking =
                    zazen(&["member", &url(&cluster.nodes[master]), "handover", &cluster.nodes[next].name]);
                asking.output().is_ok_and(|output| output.status.success()).then_some(())
            });
        }
    });
}

#[test]
fn watchers_are_told_every_change_while_masters_die_and_come_back() {
    every_change_is_told(Cluster::start(3), |cluster| {
        for _ in 0..3 {
            let master = cluster.wait_master_under_load(&[0, 1, 2]);
            let others = cluster.others(&[master]);
            cluster.kill(master);
            cluster.wait_master_under_load(&others);
            cluster.restart(master);
        }
        cluster.wait_master_under_load(&[0, 1, 2]);
    });
}
