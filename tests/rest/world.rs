//! Nodes to be asked over REST, without nodes: somebody at a desk answers in their place.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use flate2::read::{GzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tower::ServiceExt;
use zazen::cluster::{
    Block, ClusterState, Node, NodeId, Remembered, RequestOutcome, Roles, Term, Uuid, Version, VotingSet, VotingSets,
};
use zazen::rest::router;
use zazen::runtime::figures::{Connections, Place};
use zazen::runtime::{Handle, RequestReceiver};
use zazen::service::{Answer, Batch, PendingTask, Query, Question, Refusal, Task};
use zazen::settings::NodeSettings;

/// Nobody listens there.
const NOWHERE: &str = "127.0.0.1:1";

/// A node of the cluster, by its letter.
pub(crate) fn node(letter: char, address: &str) -> Arc<Node> {
    let id = |prefix: char| format!("{prefix}{letter}").repeat(11);
    Arc::new(Node {
        id: NodeId::from(id('n')),
        ephemeral_id: id('e').into(),
        name: format!("node-{letter}").into(),
        address: address.into(),
        roles: Roles::ALL,
        attributes: Arc::new(BTreeMap::from([("testattr".into(), "test".into())])),
        version: "6.8.23".into(),
    })
}

/// The node that is asked.
pub(crate) fn local() -> Arc<Node> {
    node('a', "127.0.0.1:9300")
}

/// A committed state with these nodes, led by the first of them.
pub(crate) fn led_by(nodes: &[Arc<Node>]) -> ClusterState {
    let mut state = ClusterState::initial("original".into());
    state.term = Term::new(3).expect("3 is small");
    state.version = Version::new(17).expect("17 is small");
    state.uuid = Uuid::from_u128(17);
    state.cluster_uuid = Some(Uuid::from_u128(1));
    state.nodes = nodes.iter().cloned().collect();
    state.nodes.master = nodes.first().map(|node| node.id.clone());
    let set: VotingSet = nodes.iter().map(|node| node.id.clone()).collect();
    state.metadata.voting = VotingSets { committed: set.clone(), own: set };
    state
}

/// The same without its master.
pub(crate) fn leaderless(mut state: ClusterState) -> ClusterState {
    state.nodes.master = None;
    state.blocks.add(Block::NO_MASTER_WRITES);
    state
}

/// The worlds of the original's answers.
pub(crate) fn state_of(world: &str) -> ClusterState {
    match world {
        "led" => led_by(&[local()]),
        "leaderless" => leaderless(led_by(&[local(), node('b', NOWHERE)])),
        "unformed" => {
            let mut state = leaderless(ClusterState::initial("original".into()));
            state.blocks.add(Block::STATE_NOT_RECOVERED);
            state
        }
        other => panic!("there is no world {other}, only led, leaderless and unformed"),
    }
}

/// A node that can be asked.
pub(crate) struct World {
    router: Router,
    states: watch::Sender<Arc<ClusterState>>,
}

/// What somebody was told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("headers of ours are text"))
    }
}

impl World {
    pub(crate) fn new(state: ClusterState) -> Self {
        World::with(NodeSettings::default(), state, Vec::new())
    }

    /// A node that is asked, with a state around it.
    pub(crate) fn of(local: Arc<Node>, settings: NodeSettings, state: ClusterState) -> Self {
        World::around(local, settings, state, Vec::new())
    }

    /// A node with these settings and tasks in its queue.
    pub(crate) fn with(settings: NodeSettings, state: ClusterState, tasks: Vec<PendingTask>) -> Self {
        World::around(local(), settings, state, tasks)
    }

    fn around(local: Arc<Node>, mut settings: NodeSettings, state: ClusterState, tasks: Vec<PendingTask>) -> Self {
        settings.path_data = std::env::temp_dir();
        let (states, shown) = watch::channel(Arc::new(state));
        let (handle, desk) = Handle::without_node(settings, local, shown.borrow().clone());
        let place = |address: &str| Place { bound: vec![address.into()], published: address.into() };
        handle.meter().set_http(place("127.0.0.1:9200"));
        handle.meter().set_transport(place("127.0.0.1:9300"), Box::new(Connections::default));
        tokio::spawn(attend(desk, states.clone(), states.subscribe(), tasks));
        World { router: router(handle), states }
    }

    /// A node that gives every change the same answer.
    pub(crate) fn answering(answer: Answer) -> Self {
        let (states, _) = watch::channel(Arc::new(state_of("led")));
        let (handle, mut desk) = Handle::without_node(NodeSettings::default(), local(), states.borrow().clone());
        tokio::spawn(async move {
            while let Some((_, asker)) = desk.next().await {
                // Who asked may have gone away.
                let _ = asker.send(answer.clone());
            }
        });
        World { router: router(handle), states }
    }

    /// What serves it.
    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    /// Which state there is.
    pub(crate) fn version(&self) -> u64 {
        self.states.borrow().version.get()
    }

    /// Lets the node see another state.
    pub(crate) fn show(&self, state: ClusterState) {
        self.states.send_replace(Arc::new(state));
    }

    pub(crate) async fn get(&self, target: &str) -> Told {
        self.ask("GET", target, &[], "").await
    }

    pub(crate) async fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Told {
        let request = headers.iter().fold(Request::builder().method(method).uri(target), |request, (name, value)| {
            request.header(*name, *value)
        });
        let request = request.body(Body::from(body.to_owned())).expect("the request is well formed");
        let response = self.router().oneshot(request).await.expect("the router never fails");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("the body is in memory").to_bytes();
        let body = unpacked(&body, parts.headers.get("content-encoding"));
        // What is no text is looked at by its headers.
        let body = String::from_utf8_lossy(&body).into_owned();
        Told { status: parts.status, headers: parts.headers, body }
    }
}

/// A body as it was before it was packed.
fn unpacked(body: &[u8], encoding: Option<&HeaderValue>) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let read = match encoding.map(|encoding| encoding.to_str().expect("it is text")) {
        Some("gzip") => GzDecoder::new(body).read_to_end(&mut unpacked),
        Some("deflate") => ZlibDecoder::new(body).read_to_end(&mut unpacked),
        Some(other) => panic!("nothing is packed with {other}"),
        None => return body.to_vec(),
    };
    read.expect("it is packed as its headers say");
    unpacked
}

/// Answers as a node does, after the states that it is shown, and carries out what it is asked for.
async fn attend(
    mut desk: RequestReceiver,
    states: watch::Sender<Arc<ClusterState>>,
    mut shown: watch::Receiver<Arc<ClusterState>>,
    tasks: Vec<PendingTask>,
) {
    loop {
        let asked = tokio::select! {
            biased;
            Ok(()) = shown.changed() => {
                desk.show(shown.borrow_and_update().clone());
                continue;
            }
            asked = desk.next() => asked,
        };
        let Some((question, answer)) = asked else { return };
        let told = match question {
            Question::Read { query: Query::Newest, master_timeout } => {
                tokio::spawn(vouch(states.subscribe(), master_timeout, answer));
                continue;
            }
            Question::Read { query, .. } => read(&states.borrow(), query),
            Question::PendingTasks { .. } => Answer::Pending(tasks.clone()),
            Question::Submit { task, .. } => carry_out(&states, &task),
            Question::HandOver { to, .. } => Answer::HandedOver { to: to.unwrap_or_else(|| "best".into()) },
            Question::Leave => panic!("REST never asks a node to leave"),
        };
        desk.show(states.borrow().clone());
        // Who asked may have gone away.
        let _ = answer.send(told);
    }
}

/// What a master with this state tells.
fn read(state: &ClusterState, query: Query) -> Answer {
    let at = state.id();
    if state.nodes.master.is_none() {
        return Answer::NoMaster;
    }
    match query {
        Query::Newest => Answer::Newest { at },
        Query::Key { key } => Answer::Value { at, value: state.metadata.keys.get(&*key).cloned() },
        Query::Range { prefix, after, limit } => {
            let fits = state.metadata.keys.iter().filter(|(key, _)| key.starts_with(&*prefix));
            let mut keys: Vec<_> = fits.map(|(key, held)| (key.clone(), held.clone())).collect();
            keys.retain(|(key, _)| after.as_ref().is_none_or(|after| key > after));
            let more = keys.len() > limit;
            keys.truncate(limit);
            Answer::Range { at, keys, more }
        }
        Query::Lease { name } => Answer::Lease { at, lease: state.metadata.leases.get(&*name).cloned() },
        Query::KeepAlive(holding) => {
            match state.metadata.leases.get(&*holding.name).filter(|lease| lease.token == holding.token) {
                Some(lease) => Answer::Lease { at, lease: Some(lease.clone()) },
                None => Answer::Refused(Refusal::NotHeld(holding)),
            }
        }
    }
}

/// What a master does with a task, which is committed at once.
fn carry_out(states: &watch::Sender<Arc<ClusterState>>, task: &Task) -> Answer {
    let mut state = (**states.borrow()).clone();
    if state.nodes.master.is_none() {
        return Answer::NoMaster;
    }
    state.version = state.version.next();
    state.uuid = Uuid::from_u128(u128::from(state.version.get()));
    let mut batch = Batch::new(state, zazen::settings::rule);
    match batch.carry_out(task) {
        Ok(Remembered { outcome: RequestOutcome::Refused(refusal), .. }) => Answer::Refused(*refusal),
        Ok(Remembered { at, outcome, .. }) => {
            // What was done before is not done again.
            if at == batch.state.id() {
                states.send_replace(Arc::new(batch.state));
            }
            Answer::Done { at, acknowledged: true, outcome }
        }
        Err(refusal) => Answer::Refused(refusal),
    }
}

async fn vouch(
    mut states: watch::Receiver<Arc<ClusterState>>,
    patience: Duration,
    answer: tokio::sync::oneshot::Sender<Answer>,
) {
    let led = tokio::time::timeout(patience, states.wait_for(|state| state.nodes.master.is_some())).await;
    let told = match led {
        Ok(Ok(state)) => Answer::Newest { at: state.id() },
        Ok(Err(_)) | Err(_) => Answer::NoMaster,
    };
    // Who asked may have gone away.
    let _ = answer.send(told);
}
