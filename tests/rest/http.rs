//! What is the same for all routes over HTTP: packed bodies, pages of other origins, the icon, the claimed release, and the
//! tasks that requests are.

use super::PATIENCE;
use super::world::{World, state_of};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;
use tower::ServiceExt;
use zazen::settings::{CorsSettings, NodeSettings, RestSettings};

fn world(rest: RestSettings) -> World {
    World::with(NodeSettings { rest, ..NodeSettings::default() }, state_of("led"), Vec::new())
}

async fn put_settings(world: &World, encoding: &str, body: Vec<u8>) -> StatusCode {
    let request = Request::builder().method("PUT").uri("/_cluster/settings").header("content-type", "application/json");
    let request = request.header("content-encoding", encoding).body(Body::from(body)).expect("it is well formed");
    world.router().oneshot(request).await.expect("the router never fails").status()
}

#[tokio::test]
async fn packed_bodies_are_taken_up_to_the_size_that_is_allowed_unpacked() {
    let world = world(RestSettings { max_content_length: 100, ..RestSettings::default() });
    let body = br#"{"transient":{"cluster.metadata.a":"b"}}"#;
    let gzip = |body: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(body).and_then(|()| packer.finish()).expect("memory takes all")
    };
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    let deflate = packer.write_all(body).and_then(|()| packer.finish()).expect("memory takes all");
    assert_eq!(put_settings(&world, "gzip", gzip(body)).await, StatusCode::OK);
    assert_eq!(put_settings(&world, "deflate", deflate).await, StatusCode::OK);
    assert_eq!(put_settings(&world, "identity", body.to_vec()).await, StatusCode::OK);
    assert_eq!(put_settings(&world, "gzip", body.to_vec()).await, StatusCode::BAD_REQUEST);
    let large = gzip(&[b' '; 101]);
    assert!(large.len() < 100, "it is small as long as it is packed");
    assert_eq!(put_settings(&world, "gzip", large).await, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn answers_are_packed_only_where_that_is_on() {
    let asks = [("accept-encoding", "gzip")];
    let on = world(RestSettings::default()).ask("GET", "/_cluster/health", &asks, "").await;
    assert_eq!(on.header("content-encoding"), Some("gzip"));
    assert!(on.header("content-length").is_some_and(|length| length != on.body.len().to_string()), "{on:?}");
    let off = world(RestSettings { compression: false, ..RestSettings::default() });
    let off = off.ask("GET", "/_cluster/health", &asks, "").await;
    assert_eq!((off.header("content-encoding"), &off.body), (None, &on.body));
}

#[tokio::test]
async fn pages_of_allowed_origins_are_answered_and_others_refused() {
    let cors = CorsSettings { enabled: true, allow_origin: "http://a".into(), ..CorsSettings::default() };
    let world = world(RestSettings { cors, ..RestSettings::default() });
    let preflight = |origin| [("origin", origin), ("access-control-request-method", "POST")];
    let told = world.ask("OPTIONS", "/_search", &preflight("http://a"), "").await;
    assert_eq!((told.status, told.header("access-control-allow-origin")), (StatusCode::OK, Some("http://a")));
    let lines = |name: &str| told.headers.get_all(name).iter().cloned().collect::<Vec<_>>();
    assert_eq!(lines("access-control-allow-methods"), ["OPTIONS,HEAD,GET,POST,PUT,DELETE"]);
    assert_eq!(lines("access-control-allow-headers"), ["X-Requested-With,Content-Type,Content-Length"]);
    assert_eq!(told.header("access-control-max-age"), Some("1728000"));
    assert_eq!((told.header("vary"), told.header("connection")), (Some("Origin"), None));
    let told = world.ask("OPTIONS", "/_search", &preflight("http://b"), "").await;
    assert_eq!((told.status, told.header("access-control-allow-origin")), (StatusCode::FORBIDDEN, None));
    let told = world.ask("GET", "/", &[("origin", "http://a")], "").await;
    assert_eq!((told.status, told.header("access-control-allow-origin")), (StatusCode::OK, Some("http://a")));
    assert_eq!(told.header("vary"), Some("Origin"));
    let told = world.ask("GET", "/", &[("origin", "")], "").await;
    assert_eq!((told.status, told.header("access-control-allow-origin")), (StatusCode::OK, None));
    let told = world.ask("OPTIONS", "/_search", &preflight(""), "").await;
    assert_eq!((told.status, told.header("access-control-allow-origin")), (StatusCode::FORBIDDEN, None));
    let told = world.ask("GET", "/", &[("origin", "http://b"), ("host", "c:9200")], "").await;
    assert_eq!((told.status, told.body.as_str()), (StatusCode::FORBIDDEN, ""));
    let told = world.ask("GET", "/", &[("origin", "http://c:9200"), ("host", "c:9200")], "").await;
    assert_eq!((told.status, told.header("access-control-allow-origin")), (StatusCode::OK, None));
}

#[tokio::test]
async fn an_answer_that_names_its_origin_is_kept_for_no_other_one() {
    for (allow_credentials, origin, vary) in [(false, "*", None), (true, "http://a", Some("Origin"))] {
        let cors =
            CorsSettings { enabled: true, allow_origin: "*".into(), allow_credentials, ..CorsSettings::default() };
        let world = world(RestSettings { cors, ..RestSettings::default() });
        let asks = [("origin", "http://a"), ("access-control-request-method", "GET")];
        for told in [world.ask("GET", "/", &asks, "").await, world.ask("OPTIONS", "/", &asks, "").await] {
            assert_eq!((told.header("access-control-allow-origin"), told.header("vary")), (Some(origin), vary));
        }
    }
}

#[tokio::test]
async fn browsers_get_an_icon_and_nothing_else_there() {
    let world = world(RestSettings::default());
    let told = world.get("/favicon.ico").await;
    assert_eq!((told.status, told.header("content-type")), (StatusCode::OK, Some("image/x-icon")));
    assert_eq!(world.ask("PUT", "/favicon.ico", &[], "").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_node_says_to_be_the_release_that_it_is_told_to() {
    let compatibility: Arc<str> = "5.6.16".into();
    let told = world(RestSettings { compatibility, ..RestSettings::default() }).get("/?filter_path=version").await;
    let version: Value = serde_json::from_str(&told.body).expect("it is JSON");
    let version = &version["version"];
    assert_eq!((&version["number"], &version["lucene_version"]), (&"5.6.16".into(), &"6.6.1".into()));
    assert_eq!((&version["distribution"], &version["build_flavor"]), (&"zazen".into(), &Value::Null));
}

/// The task that waits, once there is one.
async fn waiting(world: &World) -> String {
    let look = async {
        loop {
            let told = world.get("/_tasks?actions=cluster:monitor/health&group_by=none").await;
            let told: Value = serde_json::from_str(&told.body).expect("it is JSON");
            if let Some(task) = told["tasks"].get(0) {
                return format!("{}:{}", task["node"].as_str().unwrap_or_default(), task["id"]);
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("the request is a task")
}

#[tokio::test]
async fn a_request_that_waits_is_a_task_that_can_be_ended() {
    let world = world(RestSettings::default());
    let opaque = [("x-opaque-id", "me")];
    let asked = world.ask("GET", "/_cluster/health?wait_for_nodes=9&timeout=30s", &opaque, "");
    let ended = async {
        let id = waiting(&world).await;
        let task: Value = serde_json::from_str(&world.get(&format!("/_tasks/{id}")).await.body).expect("it is JSON");
        assert_eq!((&task["completed"], &task["task"]["cancellable"]), (&false.into(), &true.into()));
        assert_eq!(task["task"]["headers"]["X-Opaque-Id"], "me");
        assert_eq!(task["task"]["description"], "/_cluster/health?wait_for_nodes=9&timeout=30s");
        let told = world.ask("POST", &format!("/_tasks/{id}/_cancel"), &[], "").await;
        assert!(told.status == StatusCode::OK && told.body.contains(&id), "{told:?}");
        id
    };
    let (told, id) = tokio::time::timeout(PATIENCE, async { tokio::join!(asked, ended) }).await.expect("it ended");
    assert_eq!(told.status, StatusCode::BAD_REQUEST);
    assert!(told.body.contains("task_cancelled_exception"), "{told:?}");
    assert_eq!(world.get(&format!("/_tasks/{id}")).await.status, StatusCode::NOT_FOUND);
    for nobody in ["", "unset", "n:-1"] {
        let told = world.ask("POST", &format!("/_tasks/{nobody}/_cancel"), &[], "").await;
        assert_eq!((told.status, told.body.as_str()), (StatusCode::OK, r#"{"nodes":{}}"#), "[{nobody}] is no task");
    }
}

#[tokio::test]
async fn the_dashboard_is_whole_and_may_do_nothing_but_ask_its_own_node() {
    let world = world(RestSettings::default());
    let page = world.ask("GET", "/_dashboard", &[], "").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=UTF-8"));
    let policy = page.header("content-security-policy").expect("the page has a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
    let text = page.body.clone();
    let files: Vec<&str> = text.split('"').filter(|piece| piece.starts_with("/_dashboard/")).collect();
    assert_eq!(files.len(), 5, "{files:?}");
    for file in files {
        let answer = world.ask("GET", file, &[], "").await;
        assert_eq!((answer.status, answer.body.is_empty()), (StatusCode::OK, false), "{file}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{file}");
    }
    assert_eq!(world.ask("GET", "/_dashboard/..%2fetc", &[], "").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_end_of_one_task_is_waited_for_as_long_as_is_said() {
    let world = world(RestSettings::default());
    let asked = world.ask("GET", "/_cluster/health?wait_for_nodes=9&timeout=2s", &[], "");
    let waited = async {
        let id = waiting(&world).await;
        let late = world.get(&format!("/_tasks/{id}?wait_for_completion=true&timeout=60ms")).await;
        assert_eq!(late.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(late.body.contains("timeout_exception") && late.body.contains(&id), "{late:?}");
        let told = world.get(&format!("/_tasks/{id}?wait_for_completion=true&timeout=20s")).await;
        let told: Value = serde_json::from_str(&told.body).expect("it is JSON");
        assert_eq!((&told["completed"], &told["task"]["action"]), (&true.into(), &"cluster:monitor/health".into()));
    };
    let (health, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(asked, waited) }).await.expect("it ended");
    assert_eq!(health.status, StatusCode::REQUEST_TIMEOUT);
}
