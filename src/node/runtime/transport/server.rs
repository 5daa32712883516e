//! The listening side: requests of other nodes, handed to the core and replied to with what it says.

use super::encode_cache::Encoded;
use super::entrance::{self, Entrance, Known};
use super::lifeline::{self, ADDRESS_HEADER, LIFELINE, LinkId};
use super::{DECODED_AT_ONCE, Inbound, ReplyTo, Side};
use crate::cluster::Address;
use crate::runtime::Handle;
use crate::runtime::applied;
use crate::runtime::catch_up;
use crate::runtime::coding::Coding;
use crate::runtime::descriptors;
use crate::runtime::faults::Faults;
use crate::runtime::figures::{self, Meter};
use crate::runtime::inquiry;
use crate::runtime::listen::{Manners, Terms};
use crate::runtime::outlook;
use crate::runtime::peers::parts::{Incomplete, Part};
use crate::runtime::peers::{UNACKNOWLEDGED_MAX, kind_of};
use crate::runtime::sight::{self, Here, Wanted};
use crate::runtime::tasks::Begun;
use crate::runtime::versions;
use crate::settings::NodeSettings;
use crate::wire;
use crate::zen::Message;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Extension, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

/// The longest address that a link may come with.
const ADDRESS_MAX: usize = 256;

/// Messages up to this size are read at once; of larger ones only a few at a time.
const SMALL: usize = 1 << 20;

/// How many large messages are read at a time.
const LARGE_AT_A_TIME: usize = 4;

/// How many other nodes may have threads watched at a time.
const WATCHERS_OF_THREADS: usize = 16;

/// How many other nodes may follow the changes of this one at a time.
const FOLLOWERS_MAX: usize = 64;

/// The longest name of a task.
const TASK_ID_MAX: usize = 256;

/// How long a message may take to arrive.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);

impl Terms {
    /// Those for other nodes.
    pub fn of_nodes(settings: &NodeSettings) -> Self {
        let connections = descriptors::connections(descriptors::Side::Nodes, settings.peer_connections);
        Terms {
            manners: Manners::Strict,
            connections,
            keeps_known: true,
            read_timeout: ARRIVAL_MAX,
            write_timeout: ARRIVAL_MAX,
            unacknowledged_max: Some(UNACKNOWLEDGED_MAX),
            endless: Some(LIFELINE),
            tls: None,
        }
    }
}

/// What the handlers need.
#[derive(Clone)]
struct Port {
    inbox: mpsc::Sender<Inbound>,
    faults: Arc<Faults>,
    large: Arc<Semaphore>,
    incomplete: Arc<Incomplete>,
    meter: Arc<Meter>,
    watchers: Arc<Semaphore>,
    followers: Arc<Semaphore>,
    handle: Handle,
}

/// What other nodes find at this one.
pub(in crate::runtime) fn router(inbox: mpsc::Sender<Inbound>, handle: Handle, entrance: Entrance) -> Router {
    let (faults, meter) = (handle.faults().clone(), handle.meter().clone());
    let large = Arc::new(Semaphore::new(LARGE_AT_A_TIME));
    let watchers = Arc::new(Semaphore::new(WATCHERS_OF_THREADS));
    let followers = Arc::new(Semaphore::new(FOLLOWERS_MAX));
    Router::new()
        .route(LIFELINE, post(hold))
        .route(figures::PATH, get(measure))
        .route(figures::INFO_PATH, get(describe))
        .route(figures::USAGE_PATH, get(usage))
        .route(figures::TASKS_PATH, get(tasks))
        .route(figures::CANCEL_PATH, get(cancel))
        .route(figures::THREADS_PATH, get(watch_threads))
        .route(applied::PATH, get(applied_state))
        .route(catch_up::PATH, get(next_changes))
        .route(sight::PATH, get(see))
        .route(sight::HERE_PATH, get(here))
        .route(inquiry::FAILED_PATH, post(hear_of_a_failed_start))
        .route("/_zen/{*path}", post(take))
        .merge(inquiry::router(handle.clone()))
        .fallback(nothing_here)
        .layer(axum::middleware::from_fn_with_state(entrance, entrance::pass))
        .with_state(Port { inbox, faults, large, incomplete: Arc::default(), meter, watchers, followers, handle })
}

/// What other nodes find at one that lets nobody in: why that is so.
pub(in crate::runtime) fn report_only(handle: Handle, entrance: Entrance) -> Router {
    inquiry::router::<()>(handle)
        .fallback(nothing_here)
        .layer(axum::middleware::from_fn_with_state(entrance, entrance::pass))
}

async fn nothing_here(request: Request) -> Response {
    let what = format!(
        "This is the transport of a Zazen node; [{} {}] is nothing it knows. Users are served on the HTTP port.\n",
        request.method(),
        request.uri().path()
    );
    (StatusCode::NOT_FOUND, what).into_response()
}

/// What a page in a browser may send without asking has another type.
fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
}

fn not_json() -> Response {
    let what = "a message comes with [Content-Type: application/json]\n";
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, what).into_response()
}

async fn take(
    State(port): State<Port>,
    Path(path): Path<String>,
    Extension(known): Extension<Known>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(kind) = kind_of(&path) else {
        return (StatusCode::NOT_FOUND, format!("no message is called [{path}]\n")).into_response();
    };
    if !is_json(&headers) {
        return not_json();
    }
    let read = tokio::time::timeout(ARRIVAL_MAX, read(&port, &headers, body)).await;
    let Ok(Some(bytes)) = read else {
        let (most, wait) = (wire::SIZE_MAX, ARRIVAL_MAX);
        let what = format!("a message takes at most [{most}] bytes, and arrives within [{wait:?}]\n");
        return (StatusCode::PAYLOAD_TOO_LARGE, what).into_response();
    };
    if !known.sealed(&bytes) {
        return (StatusCode::FORBIDDEN, "the body is not the one that was sealed\n").into_response();
    }
    port.meter.tally().received(1, bytes.len());
    let bytes = match Part::of(&headers) {
        None => bytes,
        Some(Err(what)) => return (StatusCode::BAD_REQUEST, what).into_response(),
        Some(Ok(part)) => match port.incomplete.take(Instant::now(), part, &bytes) {
            Ok(bytes) => bytes,
            Err(answer) => return answer.into_response(),
        },
    };
    let message = match decode(kind, bytes, port.handle.coding()).await {
        Ok(message) => message,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    if let Some(from) = message.sender().map(|from| from.node.address.clone()) {
        if !known.speaks_for(&from) {
            let what = format!("[{from}] is another node than the one that sent this\n");
            return (StatusCode::FORBIDDEN, what).into_response();
        }
        port.faults.pass(|faults| faults.swallows_from(&from)).await;
        let response = hand_over(&port, message).await;
        port.faults.pass(|faults| faults.swallows_to(&from)).await;
        return response;
    }
    hand_over(&port, message).await
}

/// A node that could not start says why: afterwards there is nobody who could be asked.
async fn hear_of_a_failed_start(
    State(port): State<Port>,
    Extension(known): Extension<Known>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if !is_json(&headers) {
        return not_json();
    }
    let Ok(Ok(bytes)) = tokio::time::timeout(ARRIVAL_MAX, to_bytes(body, inquiry::FAILED_MAX)).await else {
        let what = format!("a start that failed is told in at most [{}] bytes\n", inquiry::FAILED_MAX);
        return (StatusCode::PAYLOAD_TOO_LARGE, what).into_response();
    };
    if !known.sealed(&bytes) {
        return (StatusCode::FORBIDDEN, "the body is not the one that was sealed\n").into_response();
    }
    match inquiry::hear(&port.handle, &bytes, (from, known.is_of_cluster())).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}

/// Makes out a message; what is large keeps no thread from others that wait for theirs.
async fn decode(kind: &'static str, bytes: Bytes, coding: &Coding) -> Result<Message, String> {
    if bytes.len() <= DECODED_AT_ONCE {
        return wire::decode_as(kind, &bytes).map_err(|error| error.to_string());
    }
    let decoded = coding.run(kind, move || wire::decode_as(kind, &bytes)).await;
    decoded.ok_or_else(|| "the message cannot be read".to_owned())?.map_err(|error| error.to_string())
}

/// Reads a message; a large one, or one that does not tell its size, waits for its turn.
async fn read(port: &Port, headers: &HeaderMap, body: Body) -> Option<Bytes> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    match length {
        Some(0..=SMALL) => to_bytes(body, SMALL).await.ok(),
        Some(_) | None => {
            let _turn = port.large.acquire().await.ok()?;
            to_bytes(body, wire::SIZE_MAX).await.ok()
        }
    }
}

async fn hand_over(port: &Port, message: Message) -> Response {
    let version = message.sender().map_or(wire::OLDEST, |from| versions::wire_of(&from.node));
    if matches!(message, Message::Notice { .. }) {
        let told = Inbound::Message { message, reply: ReplyTo::Nobody };
        return match port.inbox.send(told).await {
            Ok(()) => StatusCode::OK.into_response(),
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        };
    }
    let (reply, replied) = oneshot::channel();
    let asked = Inbound::Message { message, reply: ReplyTo::Caller(reply) };
    if port.inbox.send(asked).await.is_err() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let Ok(reply) = replied.await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    match Encoded::of_message(version, reply, port.handle.coding()).bytes().await {
        Some(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Takes up a link; it is open for as long as both bodies are.
async fn hold(
    State(port): State<Port>,
    Extension(known): Extension<Known>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let address = headers.get(ADDRESS_HEADER).and_then(|address| address.to_str().ok());
    let Some(address) = address.filter(|address| !address.is_empty() && address.len() <= ADDRESS_MAX) else {
        let what = format!("a link needs the header [{ADDRESS_HEADER}], the address of the node that makes it\n");
        return (StatusCode::BAD_REQUEST, what).into_response();
    };
    let peer = Address::from(address);
    if !known.speaks_for(&peer) || !known.begins_link() {
        let what = format!("[{peer}] is another node than the one that sent this, or this begins no link\n");
        return (StatusCode::FORBIDDEN, what).into_response();
    }
    port.faults.pass(|faults| faults.swallows_from(&peer) || faults.swallows_to(&peer)).await;
    let id = LinkId::next();
    let tally = port.meter.tally().clone();
    let (hears, says) = known.link();
    let (lines, answer) = lifeline::way_out(tally.clone(), says);
    let opened = Inbound::LinkOpened { id, peer: peer.clone(), side: Side::Accepted, lines };
    if port.inbox.send(opened).await.is_err() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let inbox = port.inbox.clone();
    tokio::spawn(async move {
        lifeline::read(body.into_data_stream().map(Result::ok), (id, &peer), hears, (&inbox, &tally)).await;
        // The node has ended if it takes no more.
        let _ = inbox.send(Inbound::LinkClosed { id, peer }).await;
    });
    Body::from_stream(answer).into_response()
}

/// What this process uses.
async fn measure(State(port): State<Port>) -> Response {
    read_system(&port, Meter::measure).await
}

/// What this node is.
async fn describe(State(port): State<Port>) -> Response {
    read_system(&port, Meter::describe).await
}

/// How often which routes of this node were asked.
async fn usage(State(port): State<Port>) -> Response {
    json(&port.meter.usage())
}

/// What this node is answering.
async fn tasks(State(port): State<Port>, request: Request) -> Response {
    let parent = request.uri().query().and_then(|query| query.strip_prefix("parent="));
    let parent = parent.filter(|parent| parent.len() <= TASK_ID_MAX).map(str::to_owned);
    let action = "cluster:monitor/tasks/lists[n]".to_owned();
    json(&port.meter.list_tasks(Some(Begun { kind: "transport", action, parent, ..Begun::default() })))
}

/// Ends what this node is answering under the numbers of the query.
async fn cancel(State(port): State<Port>, request: Request) -> Response {
    let ids = request.uri().query().and_then(|query| query.strip_prefix("ids=")).unwrap_or_default();
    let ids: Vec<u64> = ids.split(',').filter_map(|id| id.parse().ok()).collect();
    json(&port.meter.cancel_tasks(&ids))
}

/// The state that this node has applied.
async fn applied_state(State(port): State<Port>) -> Response {
    let Ok(_turn) = port.large.acquire().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    applied::told(&port.handle).await
}

/// What changes next.
async fn next_changes(State(port): State<Port>, request: Request) -> Response {
    let Ok(_turn) = port.followers.try_acquire() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    catch_up::told(&port.handle, request.uri().query()).await
}

/// What this node sees of its cluster.
async fn see(State(port): State<Port>, request: Request) -> Response {
    match outlook::look(port.handle, Wanted::of(request.uri().query())).await {
        Some(sight) => json(&sight),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Which process this is.
async fn here(State(port): State<Port>) -> Response {
    json(&Here::of(port.handle.local()))
}

/// Reads what the system tells, on a thread that may wait: beats go over this one.
async fn read_system<T>(port: &Port, read: fn(&Meter) -> T) -> Response
where
    T: Serialize + Send + 'static,
{
    match port.meter.read(read).await {
        Some(told) => json(&told),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Which threads are busy, watched for as many milliseconds as the query says.
async fn watch_threads(State(port): State<Port>, request: Request) -> Response {
    let Ok(_turn) = port.watchers.acquire().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let wanted = request.uri().query().and_then(|query| query.strip_prefix("interval_millis="));
    let Some(interval) = wanted.and_then(|millis| millis.parse().ok()).map(Duration::from_millis) else {
        let what = "how long to watch threads is missing, allowed: [interval_millis=] and a number\n";
        return (StatusCode::BAD_REQUEST, what).into_response();
    };
    json(&port.meter.watch_threads(interval).await)
}

fn json<T: Serialize>(told: &T) -> Response {
    match serde_json::to_vec(told) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
