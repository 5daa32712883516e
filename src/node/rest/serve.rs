//! The way of every request, from its first line to its answer.
//!
//! What is the same for all routes is done here, in Elasticsearch's order: bounds, decoding, notation, route, method, body,
//! parameters; then the route answers. Mirrors `Netty4HttpRequestHandler`, `AbstractHttpServerTransport`, `RestController`
//! and `BaseRestHandler` (6.8).

use super::body::Json;
use super::cat::Display;
use super::cors::CorsDecision;
use super::door::Door;
use super::error::{Kind, RestError};
use super::lane::{self, Lane, TooMany, Turn};
use super::length::{is_sent_on, is_short};
use super::login::Guest;
use super::packing::{Unfit, packed, unpacked};
use super::parameters::Parameters;
use super::receive::{NotReceived, Received, no_room, paid, receive};
use super::reply::{Reply, bare};
use super::response_format::{ResponseFormat, content_type, is_body_type};
use super::route::{Answers, Call, METHODS, OPAQUE_ID, Route, Takes, Way};
use super::routes::{check_known, way};
use super::waits::{Waits, held};
use super::{icon, index, removal, rights, tasks, uri};
use crate::cluster::ClusterState;
use crate::runtime::Handle;
use crate::runtime::tasks::{Begun, DESCRIPTION_MAX};
use crate::settings::NodeSettings;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The longest request line: `http.max_initial_line_length`.
const LINE_MAX: usize = 4 << 10;
/// The most that all headers together may take: `http.max_header_size`.
const HEADERS_MAX: usize = 8 << 10;

/// So long there is no master when one takes the place of another.
const FAIL_OVER: Duration = Duration::from_millis(300);

/// What is measured under this name found no route.
const NO_ROUTE: &str = "none";

/// Answers a request in a node's name.
pub(super) async fn serve(
    handle: Handle,
    (door, lane, waits): (Arc<Door>, Lane, Arc<Waits>),
    request: Request<Body>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let parts = Arc::new(parts);
    let cors = &door.cors;
    // Whether a page may ask is asked beforehand, and without a login.
    let origin = match cors.as_ref().map(|cors| cors.judge(&parts)) {
        Some(CorsDecision::Answered(response)) => {
            door.note(&parts, None, response.status()).await;
            return response;
        }
        Some(CorsDecision::Passed(origin)) => origin,
        None => None,
    };
    let guest = match door.admit(&parts).await {
        Ok(guest) => guest,
        Err(mut refusal) => {
            door.note(&parts, None, refusal.status()).await;
            if let (Some(cors), Some(origin)) = (cors.as_ref(), &origin) {
                cors.mark(origin, refusal.headers_mut());
            }
            return without_body(&parts, refusal);
        }
    };
    let (settings, began) = (handle.settings(), Instant::now());
    let rest = &settings.rest;
    let way = way(parts.method.as_str(), parts.uri.path());
    let (route, _) = aim(&way);
    let place = waits.take(&way, parts.uri.query());
    let of =
        Asked { handle: handle.clone(), settings: settings.clone(), guest: guest.clone(), parts: parts.clone(), lane };
    let unfinished = door.unfinished(&parts, guest.as_ref());
    let (response, place) = match place {
        Ok(place) => {
            let response = tokio::select! {
                biased;
                response = respond(of, body, way) => response,
                refusal = Door::shut(guest.as_ref()) => refusal,
            };
            (response, place)
        }
        Err(too_many) => (later(too_many.to_string(), rest.detailed_errors), None),
    };
    unfinished.ends();
    door.note(&parts, guest.as_ref(), response.status()).await;
    let refused = |error| no_room(error, rest.detailed_errors).write(&ResponseFormat::default());
    let mut response = paid(response, handle.budget()).unwrap_or_else(refused);
    handle.meter().instruments().answered(route, response.status().as_u16(), began.elapsed());
    // Elasticsearch packs nothing for HEAD.
    if rest.compression && parts.method != Method::HEAD {
        response = packed(&parts.headers, response, rest.compression_level).await;
    }
    if let (Some(cors), Some(origin)) = (cors.as_ref(), origin) {
        cors.mark(&origin, response.headers_mut());
    }
    if let Some(id) = parts.headers.get(OPAQUE_ID) {
        response.headers_mut().insert(OPAQUE_ID, id.clone());
    }
    without_body(&parts, held(response, place))
}

/// The answer to somebody who should come again a little later.
fn later(why: String, is_detailed: bool) -> Response<Body> {
    let error = RestError::new(Kind::EsRejectedExecution, why);
    Reply::error(&error, false, is_detailed)
        .with_header(header::RETRY_AFTER, lane::RETRY_AFTER)
        .write(&ResponseFormat::default())
}

/// The same without a body if only its head was asked for; the length stays that of the body which is left out. What was not
/// changed has neither.
fn without_body(parts: &Parts, mut response: Response<Body>) -> Response<Body> {
    if response.status() == StatusCode::NOT_MODIFIED {
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if parts.method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    response
}

/// Who asks what of whom.
struct Asked {
    handle: Handle,
    settings: Arc<NodeSettings>,
    guest: Option<Guest>,
    parts: Arc<Parts>,
    lane: Lane,
}

async fn respond(asked: Asked, body: Body, way: Result<Way, RestError>) -> Response<Body> {
    let (parts, rest) = (&asked.parts, &asked.settings.rest);
    let (_, takes) = aim(&way);
    if parts.uri.path() == icon::PATH {
        return icon::answer(&parts.method);
    }
    let account = (asked.handle.budget(), rest.max_content_length);
    let body = match receive(parts, body, takes, account).await {
        Ok(body) => body,
        Err(NotReceived::Status(status)) => return bare(status),
        Err(NotReceived::NoRoom(error)) => {
            return no_room(error, rest.detailed_errors).write(&ResponseFormat::default());
        }
        Err(NotReceived::NoValue(refusal)) => {
            return Reply::error(&refusal.into(), false, rest.detailed_errors).write(&ResponseFormat::default());
        }
    };
    let body = match unpacked(&parts.headers, body, rest.max_content_length).await {
        Ok(body) => body,
        Err(Unfit::TooLarge) => return bare(StatusCode::PAYLOAD_TOO_LARGE),
        Err(Unfit::NoRoom(error)) => return no_room(error, rest.detailed_errors).write(&ResponseFormat::default()),
        Err(Unfit::Strange(error)) => {
            return Reply::error(&error, false, rest.detailed_errors).write(&ResponseFormat::default());
        }
    };
    let (parameters, wanted) = match read(parts) {
        Ok(read) => read,
        Err(error) => return Reply::error(&error, false, rest.detailed_errors).write(&ResponseFormat::default()),
    };
    if is_short(&way, &parts.headers, &body.bytes) {
        return asked.answer(body, way, parameters, wanted).await;
    }
    let (lane, is_detailed) = (asked.lane.clone(), rest.detailed_errors);
    let turn = match is_sent_on(&way) {
        true => turn(&asked, &body.bytes).await,
        false => Ok(None),
    };
    let _turn = match turn {
        Ok(turn) => turn,
        Err(too_many) => return later(too_many.to_string(), is_detailed),
    };
    let answered = lane.run(asked.answer(body, way, parameters, wanted)).await;
    answered.unwrap_or_else(|error| {
        let error = RestError::new(Kind::IllegalState, error.to_string());
        Reply::error(&error, false, is_detailed).write(&ResponseFormat::default())
    })
}

/// Waits until it is the turn of a body that goes to the master.
async fn turn(asked: &Asked, body: &[u8]) -> Result<Option<Turn>, TooMany> {
    tokio::select! {
        turn = asked.lane.turn(body) => turn,
        // Those whose turn it is wait for a master, and so may this one, as long as it wants.
        () = masterless(&asked.handle) => Ok(None),
    }
}

/// Returns when there has been no master for longer than a fail-over takes.
async fn masterless(handle: &Handle) {
    let mut states = handle.states();
    loop {
        let has_master = |state: &Arc<ClusterState>| state.nodes.master_node().is_some();
        let ended = states.wait_for(|state| !has_master(state)).await.is_err();
        if ended || timeout(FAIL_OVER, states.wait_for(has_master)).await.is_err() {
            return;
        }
    }
}

impl Asked {
    /// The answer to what was taken in, as it is sent.
    async fn answer(
        self,
        body: Received,
        way: Result<Way, RestError>,
        parameters: Parameters,
        wanted: ResponseFormat,
    ) -> Response<Body> {
        let is_detailed = self.settings.rest.detailed_errors;
        let found = Found { way, parameters, wanted: &wanted };
        let answered = dispatch(self, body.bytes.clone(), found).await;
        answered.unwrap_or_else(|error| Reply::error(&error, wanted.has_trace, is_detailed)).write(&wanted)
    }
}

/// What the route of a request is called, and what it takes; nothing is read on any other way.
fn aim(way: &Result<Way, RestError>) -> (&'static str, Takes) {
    match way {
        Ok(Way::Here(route, _)) => (route.name, route.takes),
        Ok(Way::OtherMethods(_) | Way::Nowhere) | Err(_) => (NO_ROUTE, Takes::Bytes),
    }
}

/// Reads what can be read without knowing the route.
fn read(parts: &Parts) -> Result<(Parameters, ResponseFormat), RestError> {
    check_lengths(parts)?;
    if !METHODS.contains(&parts.method.as_str()) {
        return Err(RestError::illegal(format!("Unexpected http method: {}", parts.method)));
    }
    let pairs = uri::pairs(parts.uri.query().unwrap_or_default());
    let parameters: Parameters = pairs.map_err(|reason| RestError::wrapping(Kind::BadParameter, reason))?.into();
    let wanted = ResponseFormat::read(&parameters, &parts.headers)?;
    Ok((parameters, wanted))
}

fn check_lengths(parts: &Parts) -> Result<(), RestError> {
    let line = parts.method.as_str().len() + target(parts).len() + " HTTP/1.1 ".len();
    if line > LINE_MAX {
        let reason = format!("An HTTP line is larger than {LINE_MAX} bytes.");
        return Err(RestError::new(Kind::TooLongFrame, reason));
    }
    if size(&parts.headers) > HEADERS_MAX {
        let reason = format!("HTTP header is larger than {HEADERS_MAX} bytes.");
        return Err(RestError::new(Kind::TooLongFrame, reason));
    }
    Ok(())
}

fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum()
}

/// The path and the query as they were sent.
fn target(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("", |target| target.as_str())
}

/// What was found out about a request before its route answers.
struct Found<'a> {
    way: Result<Way, RestError>,
    parameters: Parameters,
    wanted: &'a ResponseFormat,
}

async fn dispatch(
    asked: Asked,
    body: Bytes,
    Found { way, mut parameters, wanted }: Found<'_>,
) -> Result<Reply, RestError> {
    let Asked { handle, settings, guest, parts, lane } = asked;
    let (parts, rest) = (&*parts, &settings.rest);
    let (route, captured) = match way? {
        Way::Here(route, captured) => (route, captured),
        Way::OtherMethods(methods) => return Ok(other_methods(parts, methods)),
        Way::Nowhere => return Ok(nowhere(parts)),
    };
    if matches!(route.answers, Answers::Refused) {
        handle.meter().count_action(route.name);
        let asked = (parts.method.as_str(), parts.uri.path(), !body.is_empty());
        return Err(index::refusal(asked, &captured, &parameters));
    }
    parameters.extend(captured);
    if let Some(guest) = &guest {
        rights::check(guest, route.name, route.needs, &parameters)?;
    }
    if wanted.has_trace && !rest.detailed_errors {
        let text = "error traces in responses are disabled.".to_owned();
        return Ok(Reply::simple_error(StatusCode::BAD_REQUEST, text));
    }
    if let Some(refusal) = strange_body(parts, &body, route.takes)? {
        return Ok(refusal);
    }
    let path = uri::decode(parts.uri.path()).unwrap_or_else(|_| parts.uri.path().to_owned());
    let (method, headers) = (parts.method.clone(), parts.headers.clone());
    handle.meter().count_action(route.name);
    let target = target(parts).to_owned();
    let running = handle.meter().tasks().begin(begun(route, &target, &headers));
    let task = running.id();
    let is_human = wanted.is_human;
    let warnings = removal::warnings(route.name, &method, &parameters);
    let peer = parts.extensions.get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| *peer);
    let until = guest.as_ref().map(|guest| guest.until.clone());
    let call =
        Call { handle, route, guest, lane, path, target, method, parameters, headers, peer, task, body, is_human };
    let reply = tokio::select! {
        biased;
        () = running.cancelled() => Err(RestError::new(Kind::TaskCancelled, "the request was ended by another one")),
        reply = answer(call, wanted) => reply.map(|reply| reply.while_running(running, until)),
    };
    if warnings.is_empty() {
        return reply;
    }
    let reply = reply.unwrap_or_else(|error| Reply::error(&error, wanted.has_trace, rest.detailed_errors));
    Ok(warnings.iter().fold(reply, |reply, text| reply.with_warning(text)))
}

/// What no route that takes trees takes: bodies in a strange notation.
fn strange_body(parts: &Parts, body: &Bytes, takes: Takes) -> Result<Option<Reply>, RestError> {
    let kind = content_type(&parts.headers)?.unwrap_or_default();
    if body.is_empty() || matches!(takes, Takes::Bytes | Takes::Value) || is_body_type(kind) {
        return Ok(None);
    }
    let text = format!("Content-Type header [{kind}] is not supported");
    Ok(Some(Reply::simple_error(StatusCode::NOT_ACCEPTABLE, text)))
}

/// As much of a text as is kept of a task.
fn shortened(text: &str) -> String {
    if text.len() <= DESCRIPTION_MAX { text.to_owned() } else { text.chars().take(DESCRIPTION_MAX).collect() }
}

/// How a request is told of to those who ask for tasks.
fn begun(route: &'static Route, target: &str, headers: &HeaderMap) -> Begun {
    let opaque_id = headers.get(OPAQUE_ID).and_then(|id| id.to_str().ok()).map(shortened);
    let (action, is_cancellable) = (tasks::action(route.name), tasks::is_cancellable(route.name));
    Begun { kind: "transport", action, description: shortened(target), is_cancellable, parent: None, opaque_id }
}

async fn answer(call: Call, wanted: &ResponseFormat) -> Result<Reply, RestError> {
    let (columns, rows) = match call.route.answers {
        Answers::Table(columns, rows) => (columns, rows),
        Answers::Reply(reply, _) => {
            check_known(&call, false).map_err(|unknown| tasks::malformed(&call).unwrap_or(unknown))?;
            return reply(call).await;
        }
        Answers::Refused => {
            return Err(index::refusal((call.method.as_str(), &call.path, false), &[], &call.parameters));
        }
    };
    let display = Display::read(columns, &call.parameters, wanted.asked.is_none())?;
    check_known(&call, display.is_help)?;
    if display.is_help {
        return Ok(Reply::text(display.help()));
    }
    let rows = rows(call).await?;
    // A table is text unless a notation was asked for; that of the request does not count.
    Ok(if wanted.asked.is_some() { Reply::tree(display.tree(rows)) } else { Reply::text(display.text(rows)) })
}

fn other_methods(parts: &Parts, methods: Vec<&'static str>) -> Reply {
    let allow = methods.join(",");
    if parts.method == Method::OPTIONS {
        return Reply::text(String::new()).with_header(header::ALLOW, allow);
    }
    let (target, method, allowed) = (target(parts), &parts.method, methods.join(", "));
    let text = format!("Incorrect HTTP method for uri [{target}] and method [{method}], allowed: [{allowed}]");
    Reply::simple_error(StatusCode::METHOD_NOT_ALLOWED, text).with_header(header::ALLOW, allow)
}

/// The status stands in the first line only, as Elasticsearch has it.
fn nowhere(parts: &Parts) -> Reply {
    if parts.method == Method::OPTIONS {
        return Reply::text(String::new());
    }
    let text = format!("no handler found for uri [{}] and method [{}]", target(parts), parts.method);
    Reply::tree(Json::object([("error", text.into())])).with_status(StatusCode::BAD_REQUEST).whole()
}
