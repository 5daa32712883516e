//! Requests of a user, over a socket of their own each, with as little of HTTP as that takes.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a connection or an answer may take: some requests of tests wait for a master.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a node answered.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

pub(crate) fn get(port: u16, path: &str) -> io::Result<Response> {
    ask(port, "GET", path, "")
}

pub(crate) fn ask(port: u16, method: &str, path: &str, body: &str) -> io::Result<Response> {
    ask_with(port, (method, path), "", body)
}

/// The same with more lines in its head, each with its end.
pub(crate) fn ask_with(port: u16, (method, path): (&str, &str), lines: &str, body: &str) -> io::Result<Response> {
    let mut stream = connect(port)?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {lines}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Response { status, body: body.into() })
}
