//! What tables tell of nodes: what each says itself, and what the state says of it.

use super::world::{World, led_by, local, node};
use std::env;
use std::sync::Arc;
use zazen::cluster::Roles;
use zazen::runtime::figures::{self, Meter, Place};
use zazen::settings::NodeSettings;

/// Listens on a free port and answers a request for figures with this text; none is no answer at all.
async fn teller(text: Option<String>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let figures = move || {
        let text = text.clone();
        async move {
            match text {
                Some(text) => text,
                None => std::future::pending().await,
            }
        }
    };
    let router = axum::Router::new().route(figures::PATH, axum::routing::get(figures));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test]
async fn nodes_tell_their_own_figures_and_nobody_elses() {
    let told = |letter: char| {
        let settings = NodeSettings { path_data: env::temp_dir(), ..NodeSettings::default() };
        let meter = Meter::new(node(letter, "").id.clone(), zazen::runtime::Current::new(settings));
        let address = format!("127.0.0.{}:9200", letter as u32);
        meter.set_http(Place { bound: vec![address.clone()], published: address });
        serde_json::to_string(&meter.measure()).expect("figures are JSON")
    };
    let nodes = [
        local(),
        node('b', &teller(Some(told('b'))).await),
        node('c', &teller(Some(told('b'))).await),
        node('d', &teller(Some("[1]".into())).await),
        node('e', &teller(Some(format!("{}{}", told('e'), " ".repeat(300_000)))).await),
        node('f', &teller(None).await),
        node('g', "127.0.0.1:1"),
    ];
    let world = World::new(led_by(&nodes));
    let rows = world.get("/_cat/nodes?h=name,http,master,uptime&format=json&time=d&s=name:desc").await;
    let row = |letter: char, http: &str, master: &str, uptime: &str| {
        format!(r#"{{"name":"node-{letter}","http":"{http}","master":"{master}","uptime":{uptime}}}"#)
    };
    let silent = |letter: char| row(letter, "-", "-", "null");
    let expected = [
        silent('g'),
        silent('f'),
        silent('e'),
        silent('d'),
        silent('c'),
        row('b', "127.0.0.98:9200", "-", "\"0\""),
        row('a', "127.0.0.1:9200", "*", "\"0\""),
    ];
    assert_eq!(rows.body, format!("[{}]", expected.join(",")));
}

#[tokio::test]
async fn a_node_that_is_slow_is_told_from_one_that_is_not_there() {
    let world = World::new(led_by(&[local(), node('b', &teller(None).await), node('c', "127.0.0.1:1")]));
    let told = world.get("/_nodes/stats/os?timeout=200ms&filter_path=_nodes.failures.caused_by.type").await.body;
    let cause = |kind: &str| format!(r#"{{"caused_by":{{"type":"{kind}"}}}}"#);
    let causes = ["receive_timeout_transport_exception", "node_not_connected_exception"].map(cause).join(",");
    assert_eq!(told, format!(r#"{{"_nodes":{{"failures":[{causes}]}}}}"#));
}

#[tokio::test]
async fn a_node_that_tells_nothing_keeps_its_rows() {
    let world = World::new(led_by(&[local(), node('b', "127.0.0.1:1")]));
    let told = world.get("/_cat/allocation?h=node,disk.total&format=json&filter_path=node").await.body;
    assert_eq!(told, r#"[{"node":"node-a"},{"node":"node-b"}]"#);
    let told = world.get("/_cat/thread_pool/generic?h=node_name,name,active,size,type&format=json").await.body;
    let silent = r#"{"node_name":"node-b","name":"generic","active":null,"size":null,"type":null}"#;
    assert!(told.ends_with(&format!("{silent}]")), "{told}");
}

#[tokio::test]
async fn a_row_tells_what_a_node_is() {
    let mut voting_only = (*node('b', "[::1]:9301")).clone();
    voting_only.roles = Roles { master: true, ..Roles::NONE };
    let world = World::new(led_by(&[Arc::new(voting_only), local()]));
    let table = world.get("/_cat/nodes?v&h=id,ip,port,v,r,m,n&s=n").await;
    let expected = "id   ip        port v      r   m n\nnana 127.0.0.1 9300 6.8.23 mdi - node-a\nnbnb ::1       9301 6.8.23 m   * node-b\n";
    assert_eq!(table.body, expected);
    let ids = world.get("/_cat/nodes?h=id&full_id=true").await;
    assert_eq!(ids.body, "nanananananananananana\nnbnbnbnbnbnbnbnbnbnbnb\n");
    let tables = world.get("/_cat").await.body;
    assert!(
        tables.starts_with("=^.^=\n/_cat/allocation\n/_cat/shards\n/_cat/shards/{index}\n/_cat/master\n"),
        "{tables}"
    );
}
