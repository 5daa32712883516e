//! Users who say that they send no more, and wait for the answer.

use super::cluster::Cluster;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Sends a request and its end, and tells what comes back.
fn told(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time can be set");
    stream.write_all(request.as_bytes()).expect("it is taken");
    stream.shutdown(Shutdown::Write).expect("it is connected");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is text");
    answer
}

#[test]
fn who_sends_no_more_is_answered_and_a_connection_ends_then() {
    let cluster = Cluster::start(1);
    cluster.wait_master(&[0]);
    let port = cluster.nodes[0].http;
    let body = r#"{"transient":{"cluster.metadata.a":"1"}}"#;
    let put = format!(
        "PUT /_cluster/settings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for request in ["GET /_cluster/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", &put] {
        let answer = told(port, request);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{request}: {answer}");
    }
    // The end may be seen before the request is looked at, or in the middle of its body.
    for number in 0..60 {
        let put = format!("PUT /_zazen/kv/half/{number} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx");
        for request in [put, format!("GET /_zazen/kv/half/{number} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")] {
            let answer = told(port, &request);
            assert!(answer.starts_with("HTTP/1.1 200 "), "{request}: {answer}");
        }
    }
    let waits = "GET /_cluster/health?wait_for_nodes=9&timeout=30s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    assert_eq!(told(port, waits), "", "who waits for long may have gone away");
}
