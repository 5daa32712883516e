//! What Elasticsearch answered to the requests of `requests.txt`, recorded by `scripts/record-original`, beside what a node
//! here answers: status, headers, names and types, and errors word for word.

use super::openapi::Api;
use super::shape::sorted_shape;
use super::world::{Told, World, leaderless, led_by, node};
use futures_util::future::join_all;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};
use zazen::cluster::Node;
use zazen::runtime::figures::{self, Connections, Meter, Place};
use zazen::runtime::tasks::Begun;
use zazen::settings::NodeSettings;

/// The headers that are compared.
const KEPT: [&str; 6] = ["allow", "content-encoding", "content-type", "vary", "warning", "x-opaque-id"];

/// How many of the requests may be answered otherwise on purpose: one in so many.
const DIFFERING_MAX: usize = 10;

/// The page that tells the differences, and the line that they follow there.
const PAGE: &str = "docs/differences.md";
const MARK: &str = "<!-- Made from tests/rest/differing.txt by `ZAZEN_BLESS=1 cargo test --test rest`. -->\n";
const END: &str = "<!-- The end of what is made. -->\n";

/// Nobody listens there.
const NOWHERE: &str = "127.0.0.1:1";

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A request with what was answered to it.
struct Recording {
    world: String,
    request: String,
    answer: String,
}

fn recordings() -> Vec<Recording> {
    let text = read("tests/rest/recorded.txt");
    let mut bodies: BTreeMap<String, String> = BTreeMap::new();
    let mut recordings = Vec::new();
    for part in text.trim_end().split("\n\n").filter(|part| !part.starts_with('#')) {
        let (title, answer) = part.split_once('\n').expect("an answer follows the request");
        let (above, body) = answer.rsplit_once('\n').expect("a body follows the status");
        let body = body.strip_prefix("as ").map_or_else(|| body.to_owned(), |title| bodies[title].clone());
        bodies.entry(title.to_owned()).or_insert_with(|| body.clone());
        let (world, request) = title.split_once(' ').expect("a world stands before the request");
        recordings.push(Recording { world: world.into(), request: request.into(), answer: format!("{above}\n{body}") });
    }
    recordings
}

/// A node of the recorded clusters.
fn member(number: u8, address: &str) -> Arc<Node> {
    let letter = char::from(b'A' + number);
    let mut node = (*node(letter, address)).clone();
    node.name = format!("n{number}").into();
    Arc::new(node)
}

/// Listens on a free port and tells what a node is asked; one that is frozen takes requests and answers none.
async fn teller(number: u8, is_frozen: bool) -> Arc<Node> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let node = member(number, &listener.local_addr().expect("it is bound").to_string());
    let meter = Arc::new(meter(&node));
    let tell = move |(path, parent): (String, Option<String>)| {
        let meter = meter.clone();
        let begun =
            Begun { kind: "transport", action: "cluster:monitor/tasks/lists[n]".into(), parent, ..Begun::default() };
        async move {
            if is_frozen {
                std::future::pending::<()>().await;
            }
            match path.as_str() {
                figures::PATH => serde_json::to_string(&meter.measure()),
                figures::INFO_PATH => serde_json::to_string(&meter.describe()),
                figures::USAGE_PATH => serde_json::to_string(&meter.usage()),
                figures::TASKS_PATH => serde_json::to_string(&meter.list_tasks(Some(begun))),
                figures::CANCEL_PATH => serde_json::to_string(&meter.cancel_tasks(&[])),
                _ => serde_json::to_string(&meter.watch_threads(std::time::Duration::from_millis(1)).await),
            }
            .expect("what a node tells is JSON")
        }
    };
    let router = axum::Router::new().fallback(move |uri: axum::http::Uri| {
        let parent = uri.query().and_then(|query| query.strip_prefix("parent=")).map(str::to_owned);
        tell((uri.path().to_owned(), parent))
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    node
}

fn meter(node: &Node) -> Meter {
    let given = [("cluster.name", "original"), ("http.port", "9200")];
    let given = given.map(|(key, value)| (key.to_owned(), value.into())).into();
    let settings = NodeSettings { path_data: env::temp_dir(), given, ..NodeSettings::default() };
    let meter = Meter::new(node.id.clone(), zazen::runtime::Current::new(settings));
    let place = |address: &str| Place { bound: vec![address.into()], published: address.into() };
    meter.set_http(place("127.0.0.1:9200"));
    meter.set_transport(place("127.0.0.1:9300"), Box::new(Connections::default));
    meter
}

/// The worlds of the recordings: three nodes, of which the first one leads and is asked.
async fn world(name: &str) -> World {
    let local = member(0, "127.0.0.1:19300");
    let others = match name {
        "led" => [teller(1, false).await, teller(2, false).await],
        "frozen" => [teller(1, false).await, teller(2, true).await],
        "leaderless" => [member(1, NOWHERE), member(2, NOWHERE)],
        other => panic!("there is no world {other}"),
    };
    let [one, two] = others;
    let state = led_by(&[local.clone(), one, two]);
    let given = [("discovery.zen.minimum_master_nodes".to_owned(), "2".into())].into();
    let settings = NodeSettings { given, ..NodeSettings::default() };
    World::of(local, settings, if name == "leaderless" { leaderless(state) } else { state })
}

async fn ask(world: &World, request: &str) -> Told {
    let mut parts: Vec<&str> = request.split(" | ").map(str::trim).collect();
    let body = parts.pop_if(|part| part.starts_with(['{', '['])).unwrap_or_default();
    let (method, target) = parts[0].split_once(' ').expect("a method stands before the path");
    let headers: Vec<(&str, &str)> =
        parts[1..].iter().map(|line| line.split_once(": ").expect("a header has a colon")).collect();
    world.ask(method, &target.replace('>', "%3E"), &headers, body).await
}

/// What of an answer is otherwise than the API is described.
fn broken(api: &Api, request: &str, told: &Told) -> Vec<String> {
    let line = request.split(" | ").next().unwrap_or_default();
    let (method, target) = line.split_once(' ').expect("a path follows the method");
    api.faults(method, target, told)
}

/// An answer as the recorder writes it.
fn written(request: &str, told: &Told) -> String {
    let mut lines = Vec::new();
    for (name, value) in &told.headers {
        if KEPT.contains(&name.as_str()) {
            let mut value = value.to_str().expect("headers of ours are text").to_owned();
            if name == "allow" {
                let mut methods: Vec<&str> = value.split(',').collect();
                methods.sort_unstable();
                value = methods.join(",");
            }
            lines.push(format!("{name}: {value}"));
        }
    }
    lines.sort_unstable();
    lines.insert(0, told.status.as_u16().to_string());
    lines.push(body(request, told));
    lines.join("\n")
}

/// The methods of a 405 come in no order.
fn with_sorted_methods(text: &str) -> String {
    let Some((before, rest)) = text.split_once("allowed: [") else {
        return text.to_owned();
    };
    let (methods, after) = rest.split_once(']').unwrap_or((rest, ""));
    let mut methods: Vec<&str> = methods.split(", ").collect();
    methods.sort_unstable();
    format!("{before}allowed: [{}]{after}", methods.join(", "))
}

fn body(request: &str, told: &Told) -> String {
    let kind = told.header("content-type").unwrap_or_default();
    if told.body.is_empty() {
        return "empty".into();
    }
    if kind.starts_with("application/json") {
        let value: Value = serde_json::from_str(&told.body).unwrap_or_else(|error| panic!("{request}: {error}"));
        let status = told.status.as_u16();
        let is_whole = status >= 400
            && status != 408
            && !["stack_trace", "\"version\""].iter().any(|word| told.body.contains(word));
        return if is_whole { value.to_string() } else { sorted_shape(&value) };
    }
    if !kind.starts_with("text/plain") {
        return "other".into();
    }
    let target = request.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let has =
        |name: &str| path.starts_with("/_cat/") && query.split('&').any(|pair| pair.split('=').next() == Some(name));
    if path == "/_cat" {
        return told.body.trim().replace('\n', " ");
    }
    if has("help") {
        let column = |line: &str| {
            let mut cells = line.split('|').map(str::trim);
            format!("{}={}", cells.next().unwrap_or_default(), cells.next().unwrap_or_default())
        };
        return format!("columns {}", told.body.lines().map(column).collect::<Vec<_>>().join(" "));
    }
    match told.body.lines().next().filter(|_| has("v")) {
        Some(line) => format!("header {}", line.split_whitespace().collect::<Vec<_>>().join(" ")),
        None => "text".into(),
    }
}

/// What differs on purpose, in two parts: what stands otherwise in any answer, and requests that are answered otherwise.
struct Differences {
    /// Ours, theirs, and why.
    texts: Vec<[String; 3]>,
    /// The request, and why.
    requests: Vec<[String; 2]>,
}

/// Each difference is a reason with what it is about below it.
fn differences() -> Differences {
    let mut differences = Differences { texts: Vec::new(), requests: Vec::new() };
    let mut reason = String::new();
    for line in read("tests/rest/differing.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match line.strip_prefix("  ") {
            None => reason = line.to_owned(),
            Some(line) => match line.split_once(" =>") {
                Some((ours, theirs)) => {
                    differences.texts.push([ours.into(), theirs.trim_start().into(), reason.clone()])
                }
                None => differences.requests.push([line.to_owned(), reason.clone()]),
            },
        }
    }
    differences
}

impl Differences {
    fn evened(&self, text: &str) -> String {
        self.texts.iter().fold(with_sorted_methods(text), |text, [ours, theirs, _]| text.replace(ours, theirs))
    }

    fn is_listed(&self, title: &str) -> bool {
        self.requests.iter().any(|[listed, _]| listed == title)
    }

    /// The lines for the page.
    fn page(&self) -> String {
        let mut page = "| request | why it is answered otherwise |\n|---|---|\n".to_owned();
        for [request, reason] in &self.requests {
            page += &format!("| `{}` | {reason} |\n", request.replace('|', "\\|"));
        }
        page + "\n"
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_requests_are_answered_as_by_the_original() {
    let (recordings, differences) = (recordings(), differences());
    let api = Api::of(&world("led").await).await;
    let mut undescribed = Vec::new();
    let mut differing = Vec::new();
    let mut alike = Vec::new();
    for (Recording { world: name, request, answer }, told) in asked_in_their_worlds(&recordings).await {
        let title = format!("{name} {request}");
        undescribed.extend(broken(&api, request, &told));
        let (expected, found) = (differences.evened(answer), differences.evened(&written(request, &told)));
        match (expected == found, differences.is_listed(&title)) {
            (true, true) => alike.push(title),
            (false, false) => differing.push(format!("{title}\n  expected {expected}\n  found    {found}")),
            (true, false) | (false, true) => {}
        }
    }
    assert!(undescribed.is_empty(), "answered otherwise than described:\n{}", undescribed.join("\n"));
    assert!(differing.is_empty(), "{} differ, look at them:\n{}", differing.len(), differing.join("\n"));
    assert!(
        alike.is_empty(),
        "answered as by the original, take them out of tests/rest/differing.txt:\n{}",
        alike.join("\n")
    );
    let (all, listed) = (recordings.len(), differences.requests.len());
    assert!(all >= 300, "{all} requests are recorded, at least 300 are wanted");
    assert!(
        listed * DIFFERING_MAX <= all,
        "{listed} of {all} requests differ on purpose, allowed is one in {DIFFERING_MAX}"
    );
}

/// What each is answered. Some wait for seconds, so the worlds are asked beside each other.
async fn asked_in_their_worlds(recordings: &[Recording]) -> Vec<(&Recording, Told)> {
    let mut worlds: BTreeMap<&str, Vec<&Recording>> = BTreeMap::new();
    for recording in recordings {
        worlds.entry(&recording.world).or_default().push(recording);
    }
    join_all(worlds.into_iter().map(|(name, all)| asked_in(name, all))).await.into_iter().flatten().collect()
}

/// Requests change what later ones are answered, so they come one after another, but for those of figures, which wait until
/// something was measured.
async fn asked_in<'a>(name: &str, recordings: Vec<&'a Recording>) -> Vec<(&'a Recording, Told)> {
    let world = world(name).await;
    let told = async |recording: &&'a Recording| (*recording, ask(&world, &recording.request).await);
    let measures = |recording: &Recording| {
        ["GET /_nodes", "GET /_cluster/nodes", "GET /_cluster/stats"]
            .iter()
            .any(|path| recording.request.starts_with(path))
    };
    let mut all = Vec::new();
    for together in recordings.chunk_by(|one, next| measures(one) && measures(next)) {
        all.extend(join_all(together.iter().map(told)).await);
    }
    all
}

#[test]
fn the_page_of_differences_tells_those_of_the_recorded_requests() {
    let page = read(PAGE);
    let (before, rest) = page.split_once(MARK).expect("the page has a place for what is made");
    let (_, after) = rest.split_once(END).expect("what is made has an end");
    let made = format!("{before}{MARK}\n{}{END}{after}", differences().page());
    if env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1") {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE), &made).expect("the page can be written");
        return;
    }
    assert!(
        made == page,
        "{PAGE} differs from tests/rest/differing.txt; write it anew with: ZAZEN_BLESS=1 cargo test --test rest"
    );
}
