//! The library as another program uses it: nodes embedded in this process, and clients of theirs.

#[path = "process/ports.rs"]
mod ports;

use ports::free_port;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, process};
use zazen::Node;
use zazen::client::{Change, Client, News, Precondition};
use zazen::embed::Mastership;
use zazen::service::{Condition, Txn};

/// How long anything may take here.
const PATIENCE: Duration = Duration::from_secs(30);

type Told = Arc<Mutex<Vec<Mastership>>>;

/// Some nodes of one cluster, and what each was told of the mastership.
struct Cluster {
    nodes: Vec<Option<Node>>,
    told: Vec<Told>,
    scratch: PathBuf,
}

impl Cluster {
    fn start(name: &str, count: usize) -> Cluster {
        let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("library-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&scratch);
        let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let told: Vec<Told> = (0..count).map(|_| Told::default()).collect();
        let start = |at: usize| {
            let heard = told[at].clone();
            let node = Node::builder()
                .config(format!("cluster.name: {name}\nhttp.port: 0\n"))
                .setting("node.name", format!("n{at}"))
                .setting("path.data", scratch.join(format!("n{at}")).display())
                .setting("transport.tcp.port", ports[at])
                .setting("discovery.zen.ping.unicast.hosts", hosts.join(","))
                .on_mastership(move |who| heard.lock().expect("nobody panicked").push(who))
                .start();
            Some(node.unwrap_or_else(|error| panic!("{error}")))
        };
        let nodes = (0..count).map(start).collect();
        Cluster { nodes, told, scratch }
    }

    fn client(&self) -> Client {
        let all = self.nodes.iter().flatten().filter_map(Node::http_address).map(|address| address.to_string());
        Client::new(all).expect("there are nodes").with_patience(PATIENCE)
    }

    /// Which node leads, once all that run agree on it.
    async fn master(&self) -> usize {
        for node in self.nodes.iter().flatten() {
            let mut states = node.handle().states();
            let count = self.nodes.iter().flatten().count();
            let is_whole =
                |state: &Arc<zazen::cluster::ClusterState>| state.nodes.master.is_some() && state.nodes.len() == count;
            let formed = tokio::time::timeout(PATIENCE, states.wait_for(is_whole)).await;
            let seen = || self.nodes.iter().flatten().map(|node| node.state().clone()).collect::<Vec<_>>();
            formed.unwrap_or_else(|_| panic!("no cluster of {count} forms in time: {:?}", seen())).expect("it runs");
        }
        let leads = |node: &Option<Node>| {
            node.as_ref().is_some_and(|node| matches!(node.mastership(), Mastership::Leading { .. }))
        };
        self.nodes.iter().position(leads).expect("one of them leads")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

#[tokio::test]
async fn a_client_writes_reads_and_lists_keys_whoever_leads() {
    let mut cluster = Cluster::start("keys", 3);
    let client = cluster.client();
    let first = client.put("a/1", "x").await.expect("it is written");
    let second =
        client.put_if("a/1", vec![0xff, 0x00], Precondition::IfUnchanged(first)).await.expect("nobody was faster");
    let late = client.put_if("a/1", "y", Precondition::IfUnchanged(first)).await;
    assert!(late.as_ref().is_err_and(|error| error.is_conflict()), "{late:?}");
    assert!(client.put_if("a/1", "y", Precondition::IfAbsent).await.is_err_and(|error| error.is_conflict()));
    let entry = client.get("a/1").await.expect("it is read").expect("it is there");
    assert_eq!((entry.value.as_bytes(), entry.revision), (&[0xff, 0x00][..], second));

    let master = cluster.master().await;
    cluster.nodes[master].take().expect("it runs").stop();
    client.put("a/2 ?&/%", "z").await.expect("another leads");
    let keys: Vec<String> =
        client.list("a/").await.expect("they are listed").into_iter().map(|entry| entry.key).collect();
    assert_eq!(keys, ["a/1", "a/2 ?&/%"]);
    assert_eq!((client.delete("a/1").await, client.delete("a/1").await), (Ok(true), Ok(false)));
    assert_eq!(client.get("a/1").await, Ok(None));
}

#[tokio::test]
async fn a_client_passes_over_a_node_that_takes_connections_and_says_nothing() {
    let cluster = Cluster::start("silent", 1);
    cluster.master().await;
    let silent = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let silent = (silent.local_addr().expect("it is bound").to_string(), silent);
    let address = cluster.nodes[0].as_ref().and_then(Node::http_address).expect("it listens").to_string();
    let client = Client::new([silent.0, address]).expect("two are named").with_patience(PATIENCE);
    let written = client.put("s", "x").await.expect("the other one is asked");
    assert_eq!(client.get("s").await.expect("it is read").map(|entry| entry.revision), Some(written));
}

#[tokio::test]
async fn a_watch_tells_every_change_once_and_in_order() {
    let cluster = Cluster::start("watch", 1);
    let client = cluster.client();
    client.put("w/0", "before").await.expect("it is written");
    let mut watch = client.watch("w/");
    let begun = watch.next().await.expect("it begins");
    let News::State { at, keys, .. } = begun else { panic!("a watch begins with the state, not with {begun:?}") };
    assert_eq!(keys.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["w/0"]);
    let writer = client.clone();
    let writing = tokio::spawn(async move {
        for round in 0..20 {
            writer.put("w/1", round.to_string()).await.expect("it is written");
        }
        writer.delete("w/1").await.expect("it is deleted");
    });
    for watch in [&mut watch, &mut client.watch("w/").from(at)] {
        let mut values = Vec::new();
        loop {
            let news =
                tokio::time::timeout(PATIENCE, watch.next()).await.expect("it comes in time").expect("it goes on");
            let News::Changes { changes, .. } = news else { panic!("{news:?} where changes were expected") };
            for change in &changes {
                match change {
                    Change::Put { entry } => values.push(entry.value.to_string()),
                    Change::Delete { key } => values.push(format!("{key} is gone")),
                    other @ (Change::Master { .. }
                    | Change::Joined { .. }
                    | Change::Left { .. }
                    | Change::Setting { .. }
                    | Change::Granted { .. }
                    | Change::Ended { .. }) => panic!("{other:?} was not asked for"),
                }
            }
            if values.last().is_some_and(|value| value == "w/1 is gone") {
                break;
            }
        }
        let expected: Vec<String> = (0..20).map(|round| round.to_string()).chain(["w/1 is gone".into()]).collect();
        assert_eq!(values, expected);
    }
    writing.await.expect("all was written");
}

#[tokio::test]
async fn a_lease_passes_on_with_a_higher_token_and_fences_its_old_holder() {
    let cluster = Cluster::start("lease", 3);
    let client = cluster.client();
    let (ttl, wait) = (Duration::from_secs(1), Duration::from_secs(20));
    let mut first = client.acquire("l", "first", ttl, wait).await.expect("it is answered").expect("it is free");
    assert!(first.left() <= first.ttl() && first.ttl() == Duration::from_millis(900));
    first.keep_alive().await.expect("it is held");
    let refused = client.acquire("l", "second", ttl, Duration::ZERO).await.expect("it is answered");
    assert!(refused.is_none(), "another holds it");
    // The first is silent, so the lease runs out; not before the holder's own time is over.
    let second = client.acquire("l", "second", ttl, wait).await.expect("it is answered").expect("it ran out");
    assert_eq!(first.left(), Duration::ZERO, "the old holder knew before");
    assert!(second.token() > first.token());
    let fenced = |grant: &zazen::client::Grant| Txn::put("k", "x").only_if(Condition::Held(grant.holding().clone()));
    assert!(client.change(&fenced(&first)).await.is_err_and(|error| error.is_not_held()));
    client.change(&fenced(&second)).await.expect("it is held");
    assert!(first.keep_alive().await.is_err_and(|error| error.is_not_held()));
    second.release().await.expect("it is held");
}

#[tokio::test]
async fn a_program_is_told_who_leads() {
    let mut cluster = Cluster::start("mastership", 3);
    let master = cluster.master().await;
    let term = cluster.nodes[master].as_ref().expect("it runs").state().term;
    cluster.nodes[master].take().expect("it runs").stop();
    let next = cluster.master().await;
    let others = [0, 1, 2].into_iter().filter(|at| *at != master);
    for at in others {
        let is_told = || {
            let told = cluster.told[at].lock().expect("nobody panicked");
            told.iter().any(|who| match who {
                Mastership::Leading { term: led } => at == next && *led > term,
                Mastership::Following { master, term: led } => {
                    at != next && *led > term && *master.name == *format!("n{next}")
                }
                Mastership::Nobody => false,
            })
        };
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !is_told() {
            assert!(tokio::time::Instant::now() < deadline, "n{at} was told {:?}", cluster.told[at]);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let told = cluster.told[next].lock().expect("nobody panicked");
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "it is told changes only: {told:?}");
}
