//! A client of etcd over gRPC: as much of HTTP/2 as that takes.
//!
//! Headers are sent as they are and never read: what was granted is answered with data, what was not is not.
//! The few bytes of an answer never use up what the client allows to be sent to it.

use super::protobuf;
use crate::talk::{Heard, Talk};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What may be sent to this client on the connection: as much as can be said.
const WINDOW: u32 = (1 << 31) - 1 - 65_535;

/// A message of gRPC begins with a byte that says whether it is compressed, and its length.
const PREFIX: usize = 5;

/// One conversation, without its connection: one call at a time.
pub(super) struct Calls {
    authority: String,
    last: u32,
    data: Vec<u8>,
    /// The server wants to be left; it answers calls up to this one.
    ends_with: Option<u32>,
}

/// How far the call has come.
struct Progress {
    heard: Heard,
    /// The answer's message, or nothing if the call was not granted.
    answer: Option<Option<Vec<u8>>>,
}

impl Calls {
    fn new(address: SocketAddr) -> Self {
        Calls { authority: address.to_string(), last: 0, data: Vec::new(), ends_with: None }
    }

    /// What is sent before anything else.
    fn greeting() -> Vec<u8> {
        [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(WINDOW_UPDATE, 0, 0, &WINDOW.to_be_bytes())].concat()
    }

    fn ask(&mut self, path: &str, message: &[u8]) -> Vec<u8> {
        self.last += if self.last == 0 { 1 } else { 2 };
        self.data.clear();
        let body = [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat();
        let headers = headers(path, &self.authority);
        [frame(HEADERS, END_HEADERS, self.last, &headers), frame(DATA, END_STREAM, self.last, &body)].concat()
    }

    fn hear(&mut self, bytes: &[u8]) -> Progress {
        let mut progress = Progress { heard: Heard::default(), answer: None };
        while progress.answer.is_none() {
            let Some((kind, flags, stream, payload)) = parse(&bytes[progress.heard.used..]) else { break };
            progress.heard.used += 9 + payload.len();
            match kind {
                SETTINGS if flags & ACK == 0 => progress.heard.say.extend(frame(SETTINGS, ACK, 0, &[])),
                PING if flags & ACK == 0 => progress.heard.say.extend(frame(PING, ACK, 0, payload)),
                DATA if stream == self.last => self.data.extend(payload),
                HEADERS if stream == self.last && flags & END_STREAM != 0 => {
                    progress.answer = Some(self.data.get(PREFIX..).map(<[u8]>::to_vec));
                }
                RST_STREAM if stream == self.last => progress.answer = Some(None),
                GOAWAY => {
                    let last = payload.first_chunk().map_or(0, |last| u32::from_be_bytes(*last));
                    self.ends_with = Some(last);
                }
                _ => {}
            }
        }
        progress
    }
}

/// Kind, flags, stream and content of a frame that has come in full.
fn parse(bytes: &[u8]) -> Option<(u8, u8, u32, &[u8])> {
    let [long, middle, short, kind, flags, stream @ ..] = bytes else { return None };
    let length = u32::from_be_bytes([0, *long, *middle, *short]) as usize;
    let (stream, rest) = stream.split_first_chunk()?;
    Some((*kind, *flags, u32::from_be_bytes(*stream), rest.get(..length)?))
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Each as a literal that is not to be remembered.
fn headers(path: &str, authority: &str) -> Vec<u8> {
    let all = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    all.iter().flat_map(|(name, value)| [&[0][..], &text(name), &text(value)].concat()).collect()
}

fn greet(address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(&Calls::greeting())?;
    Ok(stream)
}

/// A connection that is waited on.
pub(super) struct Grpc {
    stream: TcpStream,
    calls: Calls,
    bytes: Vec<u8>,
}

impl Grpc {
    pub(super) fn connect(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = greet(address, patience)?;
        let mut grpc = Grpc { stream, calls: Calls::new(address), bytes: Vec::new() };
        // A server that greets has taken the connection.
        grpc.read()?;
        Ok(grpc)
    }

    /// Reads whatever comes next.
    fn read(&mut self) -> io::Result<()> {
        let mut more = [0; 4096];
        match self.stream.read(&mut more)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                self.bytes.extend(&more[..length]);
                Ok(())
            }
        }
    }

    /// Whether the server has ended the conversation since the last call.
    fn has_been_left(&mut self) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let came = self.read();
        self.stream.set_nonblocking(false)?;
        let heard = self.calls.hear(&self.bytes).heard;
        self.bytes.drain(..heard.used);
        self.stream.write_all(&heard.say)?;
        let is_over = came.is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock);
        Ok(is_over || self.calls.ends_with.is_some())
    }

    /// Calls, and waits for the answer's message; there is none if the server did not grant it. A call that the server
    /// certainly did not take is refused like a connection.
    pub(super) fn call(&mut self, path: &str, message: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if self.has_been_left().unwrap_or(true) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let request = self.calls.ask(path, message);
        self.stream.write_all(&request)?;
        loop {
            let Progress { heard, answer } = self.calls.hear(&self.bytes);
            self.bytes.drain(..heard.used);
            if !heard.say.is_empty() {
                self.stream.write_all(&heard.say)?;
            }
            if let Some(answer) = answer {
                return Ok(answer);
            }
            if self.calls.ends_with.is_some_and(|last| last < self.calls.last) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            self.read()?;
        }
    }

    /// Whether the server wants no more calls here.
    pub(super) fn is_ending(&self) -> bool {
        self.calls.ends_with.is_some()
    }
}

/// Puts one key again and again.
pub(super) struct PutTalk {
    calls: Calls,
    key: String,
}

impl PutTalk {
    pub(super) fn connect(address: SocketAddr, number: usize, patience: Duration) -> io::Result<(TcpStream, Self)> {
        let talk = PutTalk { calls: Calls::new(address), key: format!("bench-{number}") };
        Ok((greet(address, patience)?, talk))
    }
}

impl Talk for PutTalk {
    fn ask(&mut self, number: u64) -> Vec<u8> {
        let value = format!("{number:064}");
        let message = [protobuf::bytes(1, self.key.as_bytes()), protobuf::bytes(2, value.as_bytes())].concat();
        self.calls.ask("/etcdserverpb.KV/Put", &message)
    }

    fn hear(&mut self, bytes: &[u8]) -> Heard {
        let Progress { heard, answer } = self.calls.hear(bytes);
        Heard { answer: answer.map(|answer| answer.is_some()), ..heard }
    }
}
