//! What no node and no client would say, on every port: an error at most, never a panic or a changed state.

use super::cluster::Cluster;
use super::http::connect;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use zazen::protocol::Rng;

/// How often random bytes are sent to each port.
const ROUNDS: usize = 20;

/// How long an answer to garbage is waited for: some garbage gets none, as it may go on.
const GLANCE: Duration = Duration::from_millis(50);

const METHODS: [&str; 10] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"];

const PATHS: [&str; 15] = [
    "/",
    "*",
    "//",
    "/%zz",
    "/%00",
    "/../../etc/passwd",
    "/_cluster/state?metric=%ff&metric",
    "/_cluster/nonsense",
    "/_zazen/nonsense",
    "/_zen/ping",
    "/_zen/publish",
    "/_zen/handover",
    "/_zen/lifeline",
    "/_zen/failed_start",
    "/_zen/nonsense",
];

const BODIES: [&str; 5] = ["", "{", "null", "{\"from\":{\"node\":{}},\"term\":-1}", "[[[[[[[[[[[[[[[[\u{0}"];

#[test]
fn garbage_on_every_port_changes_nothing() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let mut rng = Rng::new(6);
    let mut left_open = Vec::new();
    for at in 0..3 {
        for port in [cluster.nodes[at].transport, cluster.nodes[at].http] {
            requests(port);
            oversized(port);
            left_open.extend(halves(port));
            (0..ROUNDS).for_each(|_| noise(port, &mut rng));
        }
    }
    for at in 0..3 {
        assert!(cluster.nodes[at].is_alive(), "{}", cluster.nodes[at].tail());
        assert_eq!(cluster.view(at), before, "{}", cluster.nodes[at].tail());
        assert!(!cluster.nodes[at].log().contains("panicked"), "{}", cluster.nodes[at].tail());
    }
    drop(left_open);
}

/// Sends bytes, looks at what comes back, and hangs up. Whether the node lets all of it in is its own affair.
fn send(port: u16, bytes: &[u8]) -> String {
    let mut stream = connect(port).expect("a node that lives takes connections");
    let _ = stream.write_all(bytes);
    let _ = stream.set_read_timeout(Some(GLANCE));
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap_or(0);
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

fn requests(port: u16) {
    for (at, path) in PATHS.iter().enumerate() {
        for (method, body) in METHODS.iter().zip(BODIES.iter().cycle().skip(at)) {
            let length = body.len();
            let answer = send(
                port,
                format!("{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes(),
            );
            assert!(!answer.starts_with("HTTP/1.1 500"), "{method} {path} {body:?} on {port}: {answer}");
        }
    }
}

/// Heads that are too long or lie.
fn oversized(port: u16) {
    let long = "x".repeat(200_000);
    let heads = [
        format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nhost: x\r\nx: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5_000)),
        "POST /_zen/ping HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 18446744073709551615\r\n\r\n{}".into(),
        "POST /_zen/ping HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5\r\ncontent-length: 7\r\n\r\n{}".into(),
        "POST /_zen/ping HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".into(),
        "POST /_zen/lifeline HTTP/1.1\r\nhost: x\r\nzazen-address: \u{7f}\r\ntransfer-encoding: chunked\r\n\r\n\
         ffffffffffffffff\r\n"
            .into(),
    ];
    for head in heads {
        send(port, head.as_bytes());
    }
}

/// Requests that stop in the middle and stay.
fn halves(port: u16) -> Vec<TcpStream> {
    let halves = [
        "",
        "G",
        "GET / HT",
        "POST /_zen/ping HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{\"from\":",
    ];
    let open = |half: &&str| {
        let mut stream = connect(port).expect("a node that lives takes connections");
        stream.write_all(half.as_bytes()).expect("a connection that was just taken is open");
        stream
    };
    halves.iter().map(open).collect()
}

fn noise(port: u16, rng: &mut Rng) {
    let length = rng.between(1, 4_000);
    let bytes: Vec<u8> = (0..length).map(|_| rng.between(0, 255) as u8).collect();
    send(port, &bytes);
}
