//! A node to be asked, for one thread: somebody at a desk answers in its place, and time passes by itself.

#[allow(dead_code, reason = "fuzzers use their own part of it")]
#[path = "../rest/world.rs"]
mod world;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use std::cell::RefCell;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;
use world::{World, state_of};
use zazen::runtime::Lenient;

/// After so many requests there is another node, so that what one holds stays small.
const REQUESTS_MAX: u32 = 2_000;

/// How long anything may go on: watches never end. It passes at once where nothing else is to be done.
const PATIENCE: Duration = Duration::from_secs(100);

struct RequestReceiver {
    runtime: Runtime,
    world: World,
    asked: u32,
}

impl RequestReceiver {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.expect("there are threads and descriptors");
        let world = runtime.block_on(async { World::new(state_of("led")) });
        RequestReceiver { runtime, world, asked: 0 }
    }
}

thread_local! {
    static DESK: RefCell<RequestReceiver> = RefCell::new(RequestReceiver::new());
}

fn at_the_desk(work: impl AsyncFnOnce(&World)) {
    DESK.with_borrow_mut(|desk| {
        desk.asked += 1;
        if desk.asked > REQUESTS_MAX {
            *desk = RequestReceiver::new();
        }
        let RequestReceiver { runtime, world, .. } = desk;
        // A watch goes on for ever.
        let _ = runtime.block_on(async { tokio::time::timeout(PATIENCE, work(world)).await });
    });
}

/// Has a node read these bytes as a connection, and reads what it answers.
#[allow(dead_code, reason = "one fuzzer uses it")]
pub(crate) fn converse(bytes: &[u8]) {
    at_the_desk(async |world| {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let service = hyper_util::service::TowerToHyperService::new(world.router());
        let stream = hyper_util::rt::TokioIo::new(Lenient::new(server));
        let served = tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(stream, service));
        let mut answer = Vec::new();
        let asked = client.write_all(bytes).await;
        if asked.is_ok() && client.shutdown().await.is_ok() {
            let _ = client.read_to_end(&mut answer).await;
        }
        served.abort();
        assert!(!answer.starts_with(b"HTTP/1.1 500"), "{}", String::from_utf8_lossy(&answer));
    });
}

/// Asks a node, and reads its answer.
#[allow(dead_code, reason = "one fuzzer uses it")]
pub(crate) fn ask(bytes: &[u8]) {
    let Some(request) = request(bytes) else { return };
    let described = format!("{request:?}");
    at_the_desk(async |world| {
        let response = world.router().oneshot(request).await.expect("the router never fails");
        let (parts, body) = response.into_parts();
        let Ok(body) = body.collect().await else { return };
        let body = body.to_bytes();
        let text = String::from_utf8_lossy(&body);
        assert_ne!(parts.status, StatusCode::INTERNAL_SERVER_ERROR, "{described}\n{text}");
        let is = |name: &str, start: &str| {
            parts.headers.get(name).is_some_and(|value| value.as_bytes().starts_with(start.as_bytes()))
        };
        if is("content-type", "application/json") && !parts.headers.contains_key("content-encoding") && !body.is_empty()
        {
            let read = serde_json::from_slice::<serde_json::Value>(&body);
            assert!(read.is_ok(), "{described} is answered with what is no JSON: {text}");
        }
    });
}

/// The request that a line and a body are, if they are one.
fn request(bytes: &[u8]) -> Option<Request<Body>> {
    let mut parts = bytes.split(|byte| *byte == b'|');
    let line = std::str::from_utf8(parts.next()?).ok()?.trim();
    let (method, target) = line.split_once(' ')?;
    let rest: Vec<&[u8]> = parts.collect();
    let (body, headers) = rest.split_last().map_or((&b""[..], &[][..]), |(body, headers)| (*body, headers));
    let mut request = Request::builder().method(method).uri(target);
    for header in headers {
        let (name, value) = std::str::from_utf8(header).ok()?.split_once(':')?;
        request = request.header(name.trim(), value.trim());
    }
    request.body(Body::from(body.trim_ascii().to_vec())).ok()
}
