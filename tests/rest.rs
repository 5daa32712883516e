//! The REST API, asked in process: shapes as recorded from Elasticsearch 6.8.23, words and numbers, waiting, refusing.

#[path = "rest/access.rs"]
mod access;
#[path = "rest/http.rs"]
mod http;
#[path = "rest/keys.rs"]
mod keys;
#[path = "rest/nodes.rs"]
mod nodes;
#[path = "rest/openapi.rs"]
mod openapi;
#[path = "rest/recorded.rs"]
mod recorded;
#[path = "rest/settings.rs"]
mod settings;
#[path = "rest/shape.rs"]
mod shape;
#[path = "rest/state.rs"]
mod state;
#[path = "rest/watch.rs"]
mod watch;
#[path = "rest/world.rs"]
mod world;

use axum::http::StatusCode;
use shape::shape;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::{World, led_by, local, node, state_of};
use zazen::runtime::Lenient;
use zazen::service::{PendingTask, Priority};
use zazen::settings::{NodeSettings, RestSettings};

const PAGE: &str = "docs/rest.md";
const BLESS: &str = "ZAZEN_BLESS=1 cargo test --test rest";

/// How long anything may take here.
const PATIENCE: Duration = Duration::from_secs(10);

/// What Zazen shows besides, or on purpose otherwise, and what stands there in the original's place.
const DIFFERENCES: [(&str, &str); 4] = [
    (",distribution:string,release:string", ""),
    (",term:integer,master_node", ",master_node"),
    ("cluster_coordination:{term:integer,last_committed_config:[string],last_accepted_config:[string]},", ""),
    ("cluster_coordination:{term:integer,last_committed_config:[],last_accepted_config:[]},", ""),
];

fn recorded(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rest").join(file);
    let text = fs::read_to_string(&path).expect("the recording is there");
    text.split("\n\n").filter(|part| !part.starts_with('#')).map(|part| part.trim_end().to_owned()).collect()
}

#[tokio::test]
async fn answers_have_the_shape_of_the_original() {
    let mut differing = Vec::new();
    for recording in recorded("original.txt") {
        let (request, expected) = recording.split_once('\n').expect("a shape follows the request");
        let (world, target) = request.split_once(" GET ").expect("a world stands before the request");
        let told = World::new(state_of(world)).get(target).await;
        let mut found = format!("{} {}", told.status.as_u16(), shape(&told.body));
        for (ours, theirs) in DIFFERENCES {
            found = found.replace(ours, theirs);
        }
        // Of no shards the original says NaN, as a text.
        let expected = expected.replace("percent_as_number:string", "percent_as_number:float");
        if found != expected {
            differing.push(format!("{request}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(differing.is_empty(), "look at the differing answers:\n{}", differing.join("\n"));
}

#[tokio::test]
async fn tables_have_the_columns_of_the_original() {
    let world = World::new(state_of("led"));
    for recording in recorded("columns.txt") {
        let (path, expected) = recording.split_once('\n').expect("columns follow the path");
        let told = world.get(&format!("{path}?help")).await;
        let column = |line: &str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            format!("{} {}", cells[0], cells[1]).trim_end().to_owned()
        };
        let found: Vec<String> = told.body.lines().map(column).collect();
        assert_eq!(found, expected.lines().collect::<Vec<_>>(), "{path}");
    }
}

#[tokio::test]
async fn the_page_of_the_api_is_in_step_with_the_routes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let made = zazen::rest::page();
    if env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, &made).expect("the page can be written");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(made == found, "{PAGE} differs from the routes; write it anew with: {BLESS}");
}

#[tokio::test]
async fn the_welcome_is_spread_out_and_says_503_while_there_is_no_master() {
    let told = World::new(state_of("led")).get("/").await;
    assert_eq!(told.status, StatusCode::OK);
    assert!(
        told.body.starts_with("{\n  \"name\" : \"node-a\",\n  \"cluster_name\" : \"original\",\n"),
        "{}",
        told.body
    );
    assert!(told.body.ends_with("  \"tagline\" : \"You Know, for Search\"\n}\n"), "{}", told.body);
    assert_eq!(told.header("content-type"), Some("application/json; charset=UTF-8"));
    for (world, uuid) in [("leaderless", "AAAAAAAAAAAAAAAAAAAAAQ"), ("unformed", "_na_")] {
        let told = World::new(state_of(world)).get("/?pretty=false").await;
        assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE, "{world}");
        assert!(told.body.contains(r#""number":"6.8.23","build_flavor":"oss""#), "{}", told.body);
        assert!(told.body.contains(&format!(r#""cluster_uuid":"{uuid}""#)), "{}", told.body);
    }
}

#[tokio::test]
async fn head_tells_the_length_of_the_body_that_it_leaves_out() {
    let world = World::new(state_of("led"));
    let (get, head) = (world.get("/").await, world.ask("HEAD", "/", &[], "").await);
    assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""));
    assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()));
    assert_eq!(head.header("content-type"), get.header("content-type"));
    let refused = world.ask("HEAD", "/_cluster/health", &[], "").await;
    assert_eq!((refused.status, refused.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, Some("GET")));
}

async fn check_error(world: &World, target: &str, expected: &str, reason: &str) {
    let told = world.get(target).await;
    let body: serde_json::Value = serde_json::from_str(&told.body).expect("errors are JSON");
    let error = &body["error"];
    let found = format!("{} {}", told.status.as_u16(), error["type"].as_str().unwrap_or_default());
    assert_eq!((found.as_str(), error["reason"].as_str()), (expected, Some(reason)), "{target}");
    let root = &error["root_cause"][0];
    assert_eq!((&root["type"], &root["reason"]), (&error["type"], &error["reason"]), "{target}");
    assert_eq!(body["status"], told.status.as_u16(), "{target}");
}

#[tokio::test]
async fn errors_have_the_words_of_the_original() {
    let world = World::new(state_of("led"));
    for recording in recorded("errors.txt") {
        let lines: Vec<&str> = recording.lines().collect();
        let [request, expected, reason] = lines[..] else { panic!("three lines: {recording}") };
        check_error(&world, request.trim_start_matches("GET "), expected, reason).await;
    }
}

#[tokio::test]
async fn what_the_original_takes_badly_is_the_users_mistake_here() {
    let world = World::new(state_of("led"));
    let words = "Failed to parse value [perhaps] as only [true] or [false] are allowed.";
    check_error(&world, "/_cluster/health?error_trace=perhaps", "400 illegal_argument_exception", words).await;
    let words = "Unable to sort by unknown sort key `x`";
    check_error(&world, "/_cat/nodes?s=x", "400 illegal_argument_exception", words).await;
}

#[tokio::test]
async fn paths_and_methods_that_lead_nowhere_are_refused_as_by_the_original() {
    let world = World::new(state_of("led"));
    let cases = [
        (
            "GET",
            "/_cluster/nope?x",
            405,
            Some("POST"),
            r#"{"error":"Incorrect HTTP method for uri [/_cluster/nope?x] and method [GET], allowed: [POST]","status":405}"#,
        ),
        (
            "POST",
            "/_cluster/state/a/b",
            405,
            Some("GET"),
            r#"{"error":"Incorrect HTTP method for uri [/_cluster/state/a/b] and method [POST], allowed: [GET]","status":405}"#,
        ),
        (
            "PUT",
            "/",
            405,
            Some("GET,HEAD,DELETE"),
            r#"{"error":"Incorrect HTTP method for uri [/] and method [PUT], allowed: [GET, HEAD, DELETE]","status":405}"#,
        ),
        (
            "GET",
            "/a/b/c/d/e?pretty=false",
            400,
            None,
            r#"{"error":"no handler found for uri [/a/b/c/d/e?pretty=false] and method [GET]"}"#,
        ),
        ("GET", "/a/b/c/d/e/f", 400, None, r#"{"error":"no handler found for uri [/a/b/c/d/e/f] and method [GET]"}"#),
        ("OPTIONS", "/_cluster/health", 200, Some("GET"), ""),
        ("OPTIONS", "/_cluster/nope", 200, Some("POST"), ""),
        ("OPTIONS", "/a/b/c/d/e", 200, None, ""),
    ];
    for (method, target, status, allow, body) in cases {
        let told = world.ask(method, target, &[("x-opaque-id", "me")], "").await;
        assert_eq!(
            (told.status.as_u16(), told.header("allow"), told.body.as_str()),
            (status, allow, body),
            "{method} {target}"
        );
        assert_eq!(told.header("x-opaque-id"), Some("me"), "{method} {target}");
        let text = told.header("content-type") == Some("text/plain; charset=UTF-8");
        assert_eq!(text, method == "OPTIONS", "{method} {target}");
    }
    let told = world.ask("FOO", "/", &[], "").await;
    assert!(told.status == StatusCode::BAD_REQUEST && told.body.contains("Unexpected http method: FOO"), "{told:?}");
}

#[tokio::test]
async fn all_about_documents_and_changes_of_indices_is_refused_alike_whatever_it_is_given() {
    let world = World::new(state_of("led"));
    let form = [("content-type", "text/strange")];
    for (method, target) in [
        ("POST", "/logs/_doc"),
        ("PUT", "/logs/_doc/1?routing=a&nope"),
        ("GET", "/logs/_doc/1"),
        ("DELETE", "/logs"),
        ("PUT", "/logs?wait_for_active_shards=1"),
        ("POST", "/_bulk"),
        ("POST", "/logs/_update_by_query?conflicts=proceed"),
        ("PUT", "/_template/t?order=1"),
        ("POST", "/_aliases"),
        ("GET", "/_search/scroll"),
        ("POST", "/_snapshot/r/s/_restore"),
        ("PUT", "/_ingest/pipeline/p"),
        ("PUT", "/_scripts/s"),
    ] {
        let told = world.ask(method, target, &form, "{").await;
        let path = target.split('?').next().unwrap_or_default();
        let subject = match path.split('/').nth(1) {
            Some("_snapshot") => "snapshots",
            Some("_ingest") => "pipelines of documents",
            Some("_scripts") => "scripts",
            _ => "documents, searches or changes of indices",
        };
        let reason = format!("[{method} {path}] is about {subject}, which Zazen does not have");
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{method} {target}: {told:?}");
        assert!(told.body.contains(&reason) && told.body.contains("unsupported_operation_exception"), "{told:?}");
    }
}

#[tokio::test]
async fn bodies_are_taken_in_known_notations_and_up_to_a_size() {
    let rest = RestSettings { max_content_length: 10, ..NodeSettings::default().rest };
    let world = World::with(NodeSettings { rest, ..NodeSettings::default() }, state_of("led"), Vec::new());
    let json = [("content-type", "application/json; charset=UTF-8")];
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let path = "/_cluster/state/version";
    assert_eq!(world.ask("GET", path, &json, "{}").await.status, StatusCode::OK);
    assert_eq!(world.ask("GET", path, &form, "").await.status, StatusCode::OK);
    let told = world.ask("GET", path, &form, "{}").await;
    let words = r#"{"error":"Content-Type header [application/x-www-form-urlencoded] is not supported","status":406}"#;
    assert_eq!((told.status, told.body.as_str()), (StatusCode::NOT_ACCEPTABLE, words));
    let told = world.ask("GET", path, &[], "{}").await;
    assert_eq!(told.body, r#"{"error":"Content-Type header [] is not supported","status":406}"#);
    let told = world.ask("GET", path, &[("content-type", "foo")], "").await;
    assert!(told.status == StatusCode::BAD_REQUEST && told.body.contains("content_type_header_exception"), "{told:?}");
    for headers in [&json[..], &[("content-length", "11")]] {
        let told = world.ask("GET", path, headers, "0123456789a").await;
        assert_eq!((told.status, told.body.as_str()), (StatusCode::PAYLOAD_TOO_LARGE, ""));
        assert_eq!(told.header("content-length"), Some("0"));
    }
    let told = world.ask("GET", path, &[("expect", "a miracle")], "").await;
    assert_eq!(told.status, StatusCode::EXPECTATION_FAILED);
}

#[tokio::test]
async fn bodies_that_become_trees_are_refused_by_their_size_before_they_are_read() {
    let world = World::new(state_of("led"));
    let json = [("content-type", "application/json")];
    let body = format!("{}{{}}", " ".repeat((1 << 20) - 1));
    for path in ["/_search", "/_count", "/_cluster/reroute", "/_cluster/allocation/explain"] {
        let told = world.ask("POST", path, &json, &body).await;
        let reason = "the body has 1048577 bytes, allowed are 1048576 for this request";
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{path}: {told:?}");
        assert!(told.body.contains(reason), "{path}: {told:?}");
        let told = world.ask("POST", path, &json, &body[1..]).await;
        assert!(!told.body.contains("allowed are"), "{path}: {told:?}");
    }
}

#[tokio::test]
async fn lines_and_headers_that_are_too_long_are_refused() {
    let world = World::new(state_of("led"));
    let told = world.get(&format!("/_cluster/state?x={}", "x".repeat(4_096))).await;
    let reason = "\"too_long_frame_exception\",\"reason\":\"An HTTP line is larger than 4096 bytes.\"";
    assert!(told.status == StatusCode::BAD_REQUEST && told.body.contains(reason), "{told:?}");
    let told = world.ask("GET", "/", &[("x", &"x".repeat(8_192))], "").await;
    assert!(told.body.contains("HTTP header is larger than 8192 bytes."), "{told:?}");
}

#[tokio::test]
async fn the_same_answer_comes_in_the_notation_that_is_asked_for() {
    let world = World::new(state_of("led"));
    let path = "/_cluster/health?filter_path=status";
    let yaml = world.ask("GET", path, &[("accept", "application/yaml")], "").await;
    assert_eq!(
        (yaml.header("content-type"), yaml.body.as_str()),
        (Some("application/yaml"), "---\nstatus: \"green\"\n")
    );
    let pretty = world.get(&format!("{path};pretty")).await;
    assert_eq!(pretty.body, "{\n  \"status\" : \"green\"\n}\n");
    assert_eq!(world.get("/_cluster/health?filter_path=zzz").await.body, "{}");
    assert_eq!(world.get("/_cat/master?format=json&filter_path=zzz").await.body, "");
    assert_eq!(world.get("/_cat/master?format=json&h=node").await.body, r#"[{"node":"node-a"}]"#);
    let text = world.ask("GET", "/_cat/master?format=text&h=n,ip", &[("accept", "application/json")], "").await;
    assert_eq!(
        (text.header("content-type"), text.body.as_str()),
        (Some("text/plain; charset=UTF-8"), "node-a 127.0.0.1\n")
    );
    let unfiltered = world.get("/_cluster/health?nope&filter_path=status").await;
    assert!(unfiltered.body.contains("root_cause"), "{unfiltered:?}");
}

#[tokio::test]
async fn a_node_that_keeps_details_back_tells_the_class_at_most() {
    let rest = RestSettings { detailed_errors: false, ..NodeSettings::default().rest };
    let settings = NodeSettings { rest, ..NodeSettings::default() };
    let world = World::with(settings, state_of("leaderless"), Vec::new());
    let told = world.get("/_cluster/state?master_timeout=1ms").await;
    assert_eq!(told.body, r#"{"error":"MasterNotDiscoveredException[null]","status":503}"#);
    assert_eq!(world.get("/?nope").await.body, r#"{"error":"No ElasticsearchException found","status":400}"#);
    let told = world.get("/?error_trace&pretty=false").await;
    assert_eq!(told.body, r#"{"error":"error traces in responses are disabled.","status":400}"#);
    let open = World::new(state_of("led"));
    assert!(open.get("/?nope&error_trace").await.body.contains("\"stack_trace\""));
    assert!(!open.get("/?nope").await.body.contains("stack_trace"));
}

#[tokio::test]
async fn without_a_master_a_read_ends_in_503_unless_it_is_local() {
    let world = World::new(state_of("leaderless"));
    let error = r#"{"error":{"root_cause":[{"type":"master_not_discovered_exception","reason":null}],"type":"master_not_discovered_exception","reason":null},"status":503}"#;
    for path in ["/_cluster/state", "/_cat/master", "/_cat/nodes", "/_cluster/health", "/foo"] {
        let told = world.get(&format!("{path}?master_timeout=10ms")).await;
        assert_eq!((told.status, told.body.as_str()), (StatusCode::SERVICE_UNAVAILABLE, error), "{path}");
    }
    let told = world.get("/_cluster/health?timeout=10ms").await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE, "one time is meant for all");
    let told = world.get("/_cluster/health?local&filter_path=status,*as_number").await;
    assert_eq!(
        (told.status, told.body.as_str()),
        (StatusCode::OK, r#"{"status":"red","active_shards_percent_as_number":0.0}"#)
    );
    assert_eq!(world.get("/_cat/master?local").await.body, "- - - -\n");
    let table = world.get("/_cat/nodes?local&v&h=name,master,cpu,ip").await.body;
    let [header, ours, dead] = table.lines().collect::<Vec<_>>()[..] else { panic!("three lines: {table}") };
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["name", "master", "cpu", "ip"]);
    assert!(ours.starts_with("node-a x ") && dead.starts_with("node-b x "), "{table}");
    assert_eq!(dead.split_whitespace().collect::<Vec<_>>(), ["node-b", "x", "127.0.0.1"], "{table}");
}

#[tokio::test]
async fn a_read_waits_for_a_master_and_for_its_state() {
    let world = World::new(state_of("leaderless"));
    let asked = world.get("/_cluster/state/version,master_node?master_timeout=10s");
    let answered = async {
        let elected = async { world.show(state_of("led")) };
        tokio::join!(asked, elected).0
    };
    let told = tokio::time::timeout(PATIENCE, answered).await.expect("a master appeared");
    let expected = r#"{"cluster_name":"original","cluster_uuid":"AAAAAAAAAAAAAAAAAAAAAQ","version":17,"state_uuid":"AAAAAAAAAAAAAAAAAAAAEQ","term":3,"master_node":"nanananananananananana"}"#;
    assert_eq!((told.status, told.body.as_str()), (StatusCode::OK, expected));
}

#[tokio::test]
async fn health_waits_for_nodes_and_says_408_with_all_figures_when_they_do_not_come() {
    let two = led_by(&[local(), node('b', "127.0.0.1:1")]);
    let world = World::new(state_of("led"));
    let told = world.get("/_cluster/health?wait_for_nodes=2&timeout=20ms&filter_path=timed_out,number_of_nodes").await;
    assert_eq!(told.status, StatusCode::REQUEST_TIMEOUT);
    assert_eq!(told.body, r#"{"timed_out":true,"number_of_nodes":1}"#);
    for wanted in ["2", "%3E=2", "ge(2)", "%3E1", "gt(1)"] {
        let world = World::new(state_of("led"));
        let target =
            format!("/_cluster/health?wait_for_nodes={wanted}&timeout=10s&filter_path=timed_out,number_of_nodes");
        let joined = async { world.show(two.clone()) };
        let (told, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(world.get(&target), joined) })
            .await
            .expect("the node joined");
        assert_eq!(
            (told.status, told.body.as_str()),
            (StatusCode::OK, r#"{"timed_out":false,"number_of_nodes":2}"#),
            "{wanted}"
        );
    }
}

#[tokio::test]
async fn health_waits_for_a_status_and_for_indices_that_must_be_there() {
    let world = World::new(state_of("leaderless"));
    let told = world.get("/_cluster/health?local&wait_for_status=yellow&timeout=10ms").await;
    assert!(
        told.status == StatusCode::REQUEST_TIMEOUT && told.body.contains("\"status\":\"red\",\"timed_out\":true"),
        "{told:?}"
    );
    let led = World::new(state_of("led"));
    assert_eq!(led.get("/_cluster/health?wait_for_status=YELLOW&timeout=0s").await.status, StatusCode::OK);
    let told = led.get("/_cluster/health/nope?timeout=10ms").await;
    assert!(told.status == StatusCode::REQUEST_TIMEOUT && told.body.contains("\"status\":\"red\""), "{told:?}");
    assert_eq!(led.get("/_cluster/health/nope*?timeout=10ms").await.status, StatusCode::OK);
    assert_eq!(
        led.get("/_cluster/health?wait_for_active_shards=1&timeout=10ms").await.status,
        StatusCode::REQUEST_TIMEOUT
    );
}

#[tokio::test]
async fn health_tells_and_waits_for_what_is_in_the_queue_of_the_master() {
    let task = PendingTask {
        insert_order: 1,
        priority: Priority::High,
        source: "put-key [a]".into(),
        executing: true,
        time_in_queue_millis: 1_500,
    };
    let world = World::with(NodeSettings::default(), state_of("led"), vec![task]);
    let told = world.get("/_cluster/health?human&filter_path=*pending*,*queue*").await;
    let expected =
        r#"{"number_of_pending_tasks":1,"task_max_waiting_in_queue":"1.5s","task_max_waiting_in_queue_millis":1500}"#;
    assert_eq!(told.body, expected);
    let status = |told: world::Told| told.status;
    assert_eq!(status(world.get("/_cluster/health?wait_for_events=urgent&timeout=10ms").await), StatusCode::OK);
    let late = world.get("/_cluster/health?wait_for_events=languid&timeout=10ms").await;
    assert_eq!(status(late), StatusCode::REQUEST_TIMEOUT);
    let row = world.get("/_cat/health?h=st,pt,mtwt,asp,cl").await;
    assert_eq!(row.body, "green 1 1.5s 100.0% original\n");
}

#[tokio::test]
async fn request_lines_may_hold_letters_that_http_forbids() {
    let (mut client, server) = tokio::io::duplex(1 << 10);
    let service = hyper_util::service::TowerToHyperService::new(World::new(state_of("led")).router());
    let stream = hyper_util::rt::TokioIo::new(Lenient::new(server));
    tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(stream, service));
    let request = "GET /_cluster/health?wait_for_nodes=>=1&filter_path=timed_out HTTP/1.1\r\nHost: h\r\n\r\n\
                   HEAD / HTTP/1.1\r\nConnection: close\r\nHost: h\r\n\r\n";
    client.write_all(request.as_bytes()).await.expect("it is open");
    let mut answer = String::new();
    let read = tokio::time::timeout(PATIENCE, client.read_to_string(&mut answer)).await;
    read.expect("it is closed as asked").expect("it is text");
    let (first, second) = answer.split_once(r#"{"timed_out":false}"#).expect("the first answer has a body");
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n") && first.contains("content-length: 19\r\n"), "{answer}");
    let length = World::new(state_of("led")).get("/").await.body.len();
    assert!(second.starts_with("HTTP/1.1 200 OK\r\n") && second.ends_with("\r\n\r\n"), "{answer}");
    assert!(second.contains(&format!("content-length: {length}\r\n")), "{answer}");
}

#[tokio::test]
async fn links_are_cut_and_mended_only_where_it_is_allowed() {
    let json = [("content-type", "application/json")];
    let cut = r#"{"peer":"127.0.0.1:9301","from":false}"#;
    let closed = World::new(state_of("led"));
    for method in ["GET", "POST", "DELETE"] {
        let told = closed.ask(method, "/_zazen/faults", &json, cut).await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{method}");
        assert!(told.body.contains("[zazen.faults.enabled: true]"), "{}", told.body);
    }
    let settings = NodeSettings { faults: true, ..NodeSettings::default() };
    let world = World::with(settings, state_of("led"), Vec::new());
    let one = r#"{"faults":[{"peer":"127.0.0.1:9301","to":true,"from":false}]}"#;
    let none = r#"{"faults":[]}"#;
    let mended = r#"{"peer":"127.0.0.1:9301","to":false,"from":false}"#;
    let steps = [("GET", "", none), ("POST", cut, one), ("GET", "", one), ("POST", mended, none), ("POST", cut, one)];
    for (method, body, expected) in steps.into_iter().chain([("DELETE", "", none)]) {
        assert_eq!(world.ask(method, "/_zazen/faults", &json, body).await.body, expected, "{method} {body}");
    }
    for body in ["", "{}", r#"{"peer":"there"}"#, r#"{"peer":"127.0.0.1:1","too":true}"#] {
        let told = world.ask("POST", "/_zazen/faults", &json, body).await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{body}: {}", told.body);
        assert!(told.body.contains("allowed: "), "{body}: {}", told.body);
    }
}
