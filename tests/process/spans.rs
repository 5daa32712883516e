//! Spans of real nodes: a collector gets the parts of each change from all of them, in one trace.

use super::cluster::Cluster;
use super::http::ask;
use super::receiver::{Posted, Receiver};
use serde_json::Value;
use std::net::{Ipv4Addr, TcpListener};

/// A span, with the name of the node that told it.
#[derive(Clone, Debug)]
struct Told {
    node: String,
    span: Value,
}

impl Told {
    fn text(&self, key: &str) -> &str {
        self.span[key].as_str().unwrap_or_default()
    }

    fn is(&self, name: &str) -> bool {
        self.span["name"] == name
    }

    fn time(&self, key: &str) -> u64 {
        self.text(key).parse().expect("a time is a number in quotes")
    }
}

/// All that a collector was told.
fn told(collector: &Receiver) -> Vec<Told> {
    let each = |posted: &Posted| {
        assert_eq!(posted.path, "/v1/traces");
        spans(&serde_json::from_str(&posted.body).expect("it is JSON"))
    };
    collector.taken().iter().flat_map(each).collect()
}

fn spans(request: &Value) -> Vec<Told> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut all = Vec::new();
    for resource in list(&request["resourceSpans"]) {
        let attributes = list(&resource["resource"]["attributes"]);
        let name = attributes.iter().find(|attribute| attribute["key"] == "zazen.node.name");
        let node = name.and_then(|name| name["value"]["stringValue"].as_str()).expect("a node has a name").to_owned();
        let scopes = list(&resource["scopeSpans"]).into_iter();
        all.extend(scopes.flat_map(|scope| list(&scope["spans"])).map(|span| Told { node: node.clone(), span }));
    }
    all
}

#[test]
fn a_collector_is_told_each_part_of_a_change_by_the_node_that_did_it_in_one_trace() {
    let collector = Receiver::start();
    let endpoint = format!("zazen.tracing.otlp.endpoint: http://127.0.0.1:{}/", collector.port);
    let cluster = Cluster::start_with(3, |_, node| node.settings.push(endpoint.clone()));
    let master = cluster.wait_master(&[0, 1, 2]);
    let [asked, other] = cluster.others(&[master])[..] else {
        panic!("there are two others");
    };
    let put = ask(cluster.nodes[asked].http, "PUT", "/_zazen/kv/traced", "x").expect("there is a master");
    assert_eq!(put.status, 200, "{put:?}");
    let name = |at: usize| format!("n{at}");
    let trace = cluster.wait("the change is told as a whole", || {
        let all = told(&collector);
        let request = all.iter().find(|told| told.span["kind"] == 2 && told.node == name(asked))?;
        let trace: Vec<Told> =
            all.iter().filter(|told| told.text("traceId") == request.text("traceId")).cloned().collect();
        (trace.len() >= 9).then_some(trace)
    });
    let by = |name: &str| {
        let mut nodes: Vec<&str> = trace.iter().filter(|told| told.is(name)).map(|told| &*told.node).collect();
        nodes.sort_unstable();
        nodes
    };
    let (master, mut others) = (name(master), [name(asked), name(other)]);
    others.sort_unstable();
    for part in ["publish", "queue", "commit", "acknowledge"] {
        assert_eq!(by(part), [&*master], "{part}");
    }
    for part in ["store", "apply"] {
        assert_eq!(by(part), others, "{part}");
    }
    let root = trace.iter().find(|told| told.is("publish")).expect("it was looked at above");
    assert_eq!(root.text("parentSpanId"), "");
    for told in &trace {
        assert!(told.time("startTimeUnixNano") <= told.time("endTimeUnixNano"), "{told:?}");
        assert!(told.is("publish") || told.text("parentSpanId") == root.text("spanId"), "{told:?}");
    }
}

#[test]
fn a_collector_that_is_not_there_costs_spans_and_nothing_else() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|bound| bound.local_addr()).expect("a port").port();
    let endpoint = format!("zazen.tracing.otlp.endpoint: http://127.0.0.1:{port}");
    let cluster = Cluster::start_with(1, |_, node| node.settings.push(endpoint.clone()));
    cluster.wait_master(&[0]);
    let node = &cluster.nodes[0];
    assert_eq!(ask(node.http, "PUT", "/_zazen/kv/traced", "x").expect("it leads").status, 200);
    cluster.wait("what was dropped is counted", || {
        let page = node.get("/metrics").ok()?.body;
        let count = page.lines().find_map(|line| line.strip_prefix("zazen_spans_dropped_total "))?;
        (count != "0").then_some(())
    });
    assert!(node.tail().contains("does not take them"), "{}", node.tail());
}
