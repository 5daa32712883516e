//! `/_zazen/watch`: every committed change, in order, as it comes.
//!
//! A watcher asks again and again (long poll) or is told as long as it listens (server-sent events). Either way it says from
//! which state on, and gets every later change once; where these are remembered no longer it gets the state instead. A
//! watcher takes what it is given at its own pace: one that takes too little is cut off, and goes on by asking anew. What
//! is remembered is told in `service`.

use super::body::{Json, compact};
use super::error::RestError;
use super::kv;
use super::lane::Lane;
use super::lease;
use super::parameters::{Parameter, Parameters, Values};
use super::reply::Reply;
use super::route::Call;
use super::settings::leaf;
use super::snapshot;
use crate::cluster::{ClusterState, KeyValue, Node, Revision, Settings, StateId, Term, Version};
use crate::runtime::{Handle, catch_up};
use crate::service::watch::{Change, Resume, Step};
use crate::service::{Answer, Query, Question};
use crate::settings::Value;
use axum::body::Body;
use axum::http::{HeaderName, StatusCode, header};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long a long poll waits unless the request says otherwise.
const WAIT: Duration = Duration::from_secs(30);
/// How many steps are told at a time, and about how many bytes.
const STEPS_MAX: usize = 256;
const BYTES_MAX: usize = 1 << 20;
/// How often a listener is told how far it is when nothing that it wants happens.
const BOOKMARK: Duration = Duration::from_secs(10);
/// A listener that takes nothing for so long is cut off.
const PATIENCE: Duration = Duration::from_secs(10);

/// A listener is told a state in pieces of so many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// How long it is asked at first whether the state that a watcher knows is one of this cluster.
const CONFIRM: Duration = Duration::from_secs(1);

/// How the last event of a listener begins that is to come again.
const CUT_OFF: &str = "event: cut_off";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const EVENT_STREAM: &str = "text/event-stream";

const fn parameter(name: &'static str, values: Values, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values, default, doc }
}

/// What a watcher may say.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter(
        "from",
        Values::Text,
        "`Last-Event-ID`, else none",
        "The state that the watcher knows, as `at` of an answer names it, `3/17`: it is told every later change. Without it, \
         it is told the state first.",
    ),
    parameter(
        "wait_for",
        Values::Time,
        "30s",
        "How long to wait for a change that is wanted; then the answer tells none, and where to go on from. A node that has had \
         no master for 7 s, and has heard from no other member, does not know: 503 sends its watchers elsewhere.",
    ),
    parameter(
        "kinds",
        Values::List,
        "all; with `prefix`, `keys`",
        "What is wanted: `master`, `nodes`, `settings`, `keys`, `leases`.",
    ),
    parameter("prefix", Values::Text, "all keys", "How the keys begin that are wanted."),
];

/// What may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Master,
    Nodes,
    Settings,
    Keys,
    Leases,
}

impl Topic {
    const ALL: [(&'static str, Topic); 5] = [
        ("master", Topic::Master),
        ("nodes", Topic::Nodes),
        ("settings", Topic::Settings),
        ("keys", Topic::Keys),
        ("leases", Topic::Leases),
    ];

    fn named(name: &str) -> Result<Topic, RestError> {
        let found = Topic::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, topic)| topic);
        let allowed = Topic::ALL.map(|(known, _)| known).join(", ");
        found.ok_or_else(|| RestError::illegal(format!("kinds: there are no [{name}]; allowed: [{allowed}]")))
    }

    fn of(change: &Change) -> Topic {
        match change {
            Change::Master { .. } => Topic::Master,
            Change::Joined { .. } | Change::Left { .. } => Topic::Nodes,
            Change::Setting { .. } => Topic::Settings,
            Change::Key { .. } => Topic::Keys,
            Change::Lease { .. } => Topic::Leases,
        }
    }
}

/// What a step tells a watcher.
struct WatchStep {
    at: String,
    changes: Vec<Json>,
}

impl From<WatchStep> for Json {
    fn from(WatchStep { at, changes }: WatchStep) -> Json {
        Json::object([("at", at.into()), ("changes", Json::List(changes))])
    }
}

/// What a watcher wants to know of.
#[derive(Clone)]
struct Interest {
    topics: BTreeSet<Topic>,
    prefix: String,
}

impl Interest {
    fn read(parameters: &Parameters) -> Result<Interest, RestError> {
        let prefix = parameters.text("prefix");
        let topics = match (parameters.list("kinds"), prefix) {
            (Some(names), _) => names.into_iter().map(Topic::named).collect::<Result<_, _>>()?,
            (None, Some(_)) => [Topic::Keys].into(),
            (None, None) => Topic::ALL.map(|(_, topic)| topic).into(),
        };
        Ok(Interest { topics, prefix: prefix.unwrap_or_default().to_owned() })
    }

    fn has(&self, topic: Topic) -> bool {
        self.topics.contains(&topic)
    }

    fn wants(&self, change: &Change) -> bool {
        let is_fitting = match change {
            Change::Key { key, .. } => key.starts_with(&self.prefix),
            Change::Master { .. }
            | Change::Joined { .. }
            | Change::Left { .. }
            | Change::Setting { .. }
            | Change::Lease { .. } => true,
        };
        is_fitting && self.has(Topic::of(change))
    }

    /// What a step tells a watcher, if it tells anything.
    fn told(&self, step: &Step) -> Option<WatchStep> {
        let changes: Vec<Json> = step.changes.iter().filter(|change| self.wants(change)).map(change).collect();
        let at = step.at.to_string();
        (!changes.is_empty()).then_some(WatchStep { at, changes })
    }

    /// The parts of a state that are wanted, keys last.
    fn state(&self, state: &ClusterState) -> Json {
        let entries = || self.keys_from(state, &self.prefix).map(|(key, held)| kv::entry(key, held, true));
        self.frame(state).with_some("keys", self.has(Topic::Keys).then(|| entries().collect::<Json>()))
    }

    /// The keys that are wanted, from this one on.
    fn keys_from<'a>(
        &'a self,
        state: &'a ClusterState,
        first: &str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a KeyValue)> {
        let keys = state.metadata.keys.range_from(first);
        keys.take_while(|(key, _)| key.starts_with(&self.prefix))
    }

    /// What is wanted of a state besides its keys.
    fn frame(&self, state: &ClusterState) -> Json {
        let metadata = &state.metadata;
        let wanted = |topic, json: &dyn Fn() -> Json| self.has(topic).then(json);
        Json::object([])
            .with_some("master", wanted(Topic::Master, &|| state.nodes.master.as_ref().map(|id| id.as_str()).into()))
            .with_some("nodes", wanted(Topic::Nodes, &|| state.nodes.iter().map(|node| self::node(node)).collect()))
            .with_some("persistent", wanted(Topic::Settings, &|| settings(&metadata.persistent)))
            .with_some("transient", wanted(Topic::Settings, &|| settings(&metadata.transient)))
            .with_some(
                "leases",
                wanted(Topic::Leases, &|| {
                    metadata.leases.iter().map(|(name, lease)| lease::shown(name, lease)).collect()
                }),
            )
    }
}

fn settings(settings: &Settings) -> Json {
    Json::map(settings.iter().map(|(key, value)| (key.to_string(), leaf(&Value::of_stored(value)))))
}

fn node(node: &Node) -> Json {
    Json::object([
        ("id", node.id.as_str().into()),
        ("name", (&*node.name).into()),
        ("ephemeral_id", node.ephemeral_id.as_str().into()),
        ("transport_address", node.address.as_str().into()),
    ])
}

fn change(change: &Change) -> Json {
    let of = |kind: &'static str| Json::object([("kind", kind.into())]);
    match change {
        Change::Master { id } => of("master").with("master", id.as_ref().map(|id| id.as_str())),
        Change::Joined { node } => of("joined").with("node", self::node(node)),
        Change::Left { node } => of("left").with("node", self::node(node)),
        Change::Setting { persistent, key, value } => of("setting")
            .with("set", if *persistent { "persistent" } else { "transient" })
            .with("key", &**key)
            .with("value", value.as_ref().map(|value| leaf(&Value::of_stored(value)))),
        Change::Key { key, value: Some(held) } => of("put").with("entry", kv::entry(key, held, true)),
        Change::Key { key, value: None } => of("delete").with("key", &**key),
        Change::Lease { name, lease: Some(lease) } => of("granted").with("lease", lease::shown(name, lease)),
        Change::Lease { name, lease: None } => of("ended").with("name", &**name),
    }
}

type Rank = (Term, Version);

fn from(call: &Call) -> Result<Option<Rank>, RestError> {
    let last = call.headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let Some(text) = call.parameters.text("from").or(last) else {
        return Ok(None);
    };
    let refuse = |_| RestError::illegal(format!("from: [{text}] names no state; allowed: TERM/VERSION, as in 3/17"));
    text.parse().map(|revision: Revision| Some(revision.rank())).map_err(refuse)
}

/// Tells a watcher what it wants to know: once, or as long as it listens.
pub(super) async fn watch(call: Call) -> Result<Reply, RestError> {
    let interest = Interest::read(&call.parameters)?;
    let from = from(&call)?;
    let watching = call.handle.meter().instruments().watchers().clone();
    if let Some(from) = from {
        refuse_future(&call.handle, from, Instant::now() + CONFIRM).await?;
    }
    let accepted = call.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepted.contains(EVENT_STREAM) {
        let (events, body) = mpsc::channel(1);
        let told = Listener { handle: call.handle.clone(), lane: call.lane.clone(), interest, events };
        let (open, listening) = (watching.enter(), listen(told, from));
        tokio::spawn(async move {
            listening.await;
            drop(open);
        });
        return Ok(Reply::stream(EVENT_STREAM, streamed(body)).with_header(header::CACHE_CONTROL, "no-store"));
    }
    let wait = call.parameters.time("wait_for", WAIT)?;
    let _open = watching.enter();
    poll(&call.handle, &interest, from, Instant::now() + wait).await
}

/// Refuses a watcher that knows a state which this cluster never had, as after a restore: it would wait for nothing, and
/// take for known what it is not told. A node that is merely behind is waited for.
async fn refuse_future(handle: &Handle, from: Rank, deadline: Instant) -> Result<(), RestError> {
    let is_ahead = matches!(handle.changes().resume(Some(from), 0, 0), Resume::Ahead);
    if !is_ahead {
        return Ok(());
    }
    let master_timeout = deadline.saturating_duration_since(Instant::now());
    let answer = handle.ask(Question::Read { query: Query::Newest, master_timeout }).await;
    // Without a master there is nobody who knows.
    if let Answer::Newest { at } = answer
        && at.rank() < from
    {
        let from = text(from);
        return Err(RestError::illegal(format!(
            "from: [{from}] is ahead of the cluster, whose newest state is [{at}]; allowed: a state that it told, or none"
        )));
    }
    Ok(())
}

fn streamed(events: mpsc::Receiver<Bytes>) -> Body {
    let next = |mut events: mpsc::Receiver<Bytes>| async move {
        let event = events.recv().await?;
        Some((Ok::<_, Infallible>(event), events))
    };
    Body::from_stream(futures_util::stream::unfold(events, next))
}

/// What there is to tell behind a state, as soon as there is something. A node that is out of touch says that it has no master,
/// so that watchers go elsewhere.
enum News {
    /// Changes, and how far they lead.
    Steps(Vec<WatchStep>, Rank),
    /// The whole state, for what led to it is remembered no longer.
    State(Arc<ClusterState>),
    /// Nothing that is wanted, up to there.
    None(Rank),
}

/// Whether this node does not know that there is nothing to tell.
fn is_out_of_touch(handle: &Handle) -> bool {
    handle.state().nodes.master.is_none() && handle.changes().is_out_of_touch()
}

async fn news(
    handle: &Handle,
    interest: &Interest,
    mut from: Option<Rank>,
    deadline: Instant,
) -> Result<News, RestError> {
    let mut states = handle.states();
    loop {
        // What comes after this look is waited for below.
        if states.borrow_and_update().nodes.master.is_none() {
            catch_up::follow_others(handle);
        }
        let followed = handle.changes().followed();
        match catch_up::resume(handle, from, (STEPS_MAX, BYTES_MAX), deadline).await {
            Resume::Compacted(_) if is_out_of_touch(handle) => return Err(RestError::no_master()),
            Resume::Compacted(state) => return Ok(News::State(state)),
            Resume::Steps(steps) => {
                let told: Vec<WatchStep> = steps.iter().filter_map(|step| interest.told(step)).collect();
                from = steps.last().map(|step| step.at.rank()).or(from);
                if let Some(from) = from.filter(|_| !told.is_empty()) {
                    return Ok(News::Steps(told, from));
                }
                if !steps.is_empty() {
                    continue;
                }
            }
            Resume::Ahead => {
                if let Some(from) = from {
                    refuse_future(handle, from, deadline).await?;
                }
            }
        }
        let changed = async {
            tokio::select! {
                changed = states.changed() => changed,
                () = followed => Ok(()),
            }
        };
        let changed = tokio::time::timeout_at(deadline, changed);
        match handle.closing().run_until_cancelled(changed).await {
            Some(Ok(Ok(()))) => {}
            Some(Ok(Err(_))) => return Err(snapshot::closed(handle)),
            Some(Err(_)) if is_out_of_touch(handle) => return Err(RestError::no_master()),
            Some(Err(_)) | None => return from.map(News::None).ok_or_else(RestError::no_master),
        }
    }
}

async fn poll(handle: &Handle, interest: &Interest, from: Option<Rank>, deadline: Instant) -> Result<Reply, RestError> {
    let none = || Json::List(Vec::new());
    let (at, compacted, steps, state) = match news(handle, interest, from, deadline).await? {
        News::Steps(steps, at) => (at, false, steps.into_iter().collect(), None),
        News::State(state) => (state.rank(), true, none(), Some(interest.state(&state))),
        News::None(at) => (at, false, none(), None),
    };
    let json = Json::object([("at", text(at).into()), ("compacted", compacted.into()), ("steps", steps)]);
    Ok(Reply::tree(json.with_some("state", state)))
}

fn text((term, version): Rank) -> String {
    StateId { term, version, ..StateId::NONE }.to_string()
}

/// Who listens, and what for.
struct Listener {
    handle: Handle,
    lane: Lane,
    interest: Interest,
    events: mpsc::Sender<Bytes>,
}

impl Listener {
    /// Hands it something; false if it is not there any more, takes nothing, or there is no memory for it: then it is told when
    /// it comes back.
    async fn take(&self, told: String) -> bool {
        let Ok(told) = self.handle.budget().hold(told) else {
            return false;
        };
        let sent = tokio::time::timeout(PATIENCE, self.events.send(told)).await;
        matches!(sent, Ok(Ok(()))) && !self.handle.closing().is_cancelled()
    }

    /// Tells it a state, piece by piece: however many listen, nobody holds more of it than the piece that is being taken.
    async fn take_state(&self, state: &Arc<ClusterState>) -> bool {
        let mut last = None;
        loop {
            let (interest, state) = (self.interest.clone(), state.clone());
            let Ok((told, next)) = self.lane.run(async move { piece(&interest, &state, last.as_deref()) }).await else {
                return false;
            };
            if !self.take(told).await {
                return false;
            }
            match next {
                Some(next) => last = Some(next),
                None => return true,
            }
        }
    }
}

/// The next piece of the event that tells a state: behind this key, or from the beginning; with the last key that it has, if
/// there are more.
fn piece(interest: &Interest, state: &ClusterState, behind: Option<&str>) -> (String, Option<Arc<str>>) {
    const END: &str = "}}\n\n";
    let mut told = String::new();
    if behind.is_none() {
        let at = text(state.rank());
        let json = Json::object([("at", at.as_str().into()), ("state", interest.frame(state))]);
        told = event("state", Some(&at), &json);
        told.truncate(told.len() - END.len());
    }
    if interest.has(Topic::Keys) {
        if behind.is_none() {
            told.push_str(if told.ends_with('{') { r#""keys":["# } else { r#","keys":["# });
        }
        let first = behind.unwrap_or(&interest.prefix);
        let keys = interest.keys_from(state, first).filter(|(key, _)| behind.is_none_or(|behind| &***key > behind));
        let mut separator = if behind.is_some() { "," } else { "" };
        for (key, held) in keys {
            told.push_str(separator);
            told.push_str(&compact(&kv::entry(key, held, true)));
            separator = ",";
            if told.len() >= PIECE_BYTES {
                return (told, Some(key.clone()));
            }
        }
        told.push(']');
    }
    told.push_str(END);
    (told, None)
}

/// Tells a listener everything until it hears no more, or cannot keep up.
async fn listen(listener: Listener, mut from: Option<Rank>) {
    let (handle, interest) = (&listener.handle, &listener.interest);
    let mut has_begun = false;
    loop {
        let news = tokio::select! {
            news = news(handle, interest, from, Instant::now() + BOOKMARK) => news,
            () = listener.events.closed() => return,
        };
        let (told, at) = match news {
            Ok(News::Steps(steps, at)) => (steps.into_iter().map(change_event).collect(), Some(at)),
            // The rest is told to whoever comes back: what it missed meanwhile was more than a node remembers.
            Ok(News::State(_)) if has_begun => (event("cut_off", None, &Json::object([])), None),
            Ok(News::State(state)) => {
                if !listener.take_state(&state).await {
                    return;
                }
                (has_begun, from) = (true, Some(state.rank()));
                continue;
            }
            Ok(News::None(at)) => {
                let at_text = text(at);
                let json = Json::object([("at", at_text.as_str().into())]);
                (event("bookmark", Some(&at_text), &json), Some(at))
            }
            // It is told why when it comes back.
            Err(error) if error.status() == StatusCode::BAD_REQUEST => {
                (event("cut_off", None, &Json::object([])), None)
            }
            // Without a state there is nothing to begin with; a comment keeps the connection.
            Err(_) if handle.states().has_changed().is_ok() && !handle.closing().is_cancelled() => {
                (": waiting\n\n".to_owned(), None)
            }
            Err(_) => return,
        };
        let is_cut_off = told.starts_with(CUT_OFF);
        has_begun |= at.is_some();
        from = at.or(from);
        if !listener.take(told).await || is_cut_off {
            return;
        }
    }
}

fn change_event(told: WatchStep) -> String {
    let at = told.at.clone();
    event("change", Some(&at), &told.into())
}

fn event(name: &str, id: Option<&str>, data: &Json) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {}\n\n", compact(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(interest: &Interest, state: &ClusterState) -> (usize, serde_json::Value) {
        let (mut all, mut last, mut pieces) = (String::new(), None::<Arc<str>>, 0);
        loop {
            let (told, next) = piece(interest, state, last.as_deref());
            assert!(told.len() < PIECE_BYTES + 4_096, "a piece of {} bytes", told.len());
            all.push_str(&told);
            pieces += 1;
            match next {
                Some(next) => last = Some(next),
                None => break,
            }
        }
        let data = all.strip_prefix("id: 0/1\nevent: state\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
        let data = data.unwrap_or_else(|| panic!("it is no event: {all}"));
        (pieces, serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")))
    }

    #[test]
    fn the_pieces_of_a_state_are_one_event_that_tells_all_that_is_wanted() {
        let mut state = ClusterState::initial("watched".into());
        state.version = Version::new(1).expect("it is small");
        let all: BTreeSet<Topic> = Topic::ALL.map(|(_, topic)| topic).into();
        for keys in [0, 1, 700] {
            for number in 0..keys {
                let held = KeyValue::new("x".repeat(300), state.rank());
                state
                    .metadata
                    .keys
                    .insert(format!("{}{number:04}", if number % 2 == 0 { "a/" } else { "b/" }).into(), held);
            }
            for (topics, prefix) in [(all.clone(), ""), ([Topic::Keys].into(), "b/"), ([Topic::Master].into(), "")] {
                let interest = Interest { topics, prefix: prefix.to_owned() };
                let (pieces, told) = told(&interest, &state);
                let whole: serde_json::Value =
                    serde_json::from_str(&compact(&interest.state(&state))).expect("it is JSON");
                assert_eq!(told["state"], whole, "{keys} keys, {prefix}");
                assert_eq!(pieces > 1, keys == 700 && interest.has(Topic::Keys), "{keys} keys in {pieces} pieces");
            }
        }
    }
}
