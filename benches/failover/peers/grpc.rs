//! A client that puts a key into etcd over gRPC: as much of HTTP/2 as that takes.
//!
//! Headers are sent as they are and never read: a put that was granted is answered with data, one that was not is not.
//! The few bytes of an answer never use up what the client allows to be sent to it.

use crate::peer::Writer;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const PATIENCE: Duration = Duration::from_secs(10);

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

pub(super) struct GrpcWriter {
    stream: BufReader<TcpStream>,
    key: String,
    headers: Vec<u8>,
    next: u32,
}

impl GrpcWriter {
    pub(super) fn connect(port: u16, client: usize) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut stream = BufReader::new(stream);
        let begin = [PREFACE, &frame(SETTINGS, 0, 0, &[]), &frame(WINDOW_UPDATE, 0, 0, &WINDOW.to_be_bytes())].concat();
        stream.get_mut().write_all(&begin)?;
        Ok(GrpcWriter { stream, key: format!("bench-{client}"), headers: headers(port), next: 1 })
    }

    /// Puts the key, and tells whether the answer held anything.
    fn put(&mut self, number: u64) -> io::Result<bool> {
        let id = self.next;
        self.next += 2;
        let message = [field(1, self.key.as_bytes()), field(2, format!("{number:064}").as_bytes())].concat();
        // Not compressed, and its length.
        let body = [&[0][..], &(message.len() as u32).to_be_bytes(), &message].concat();
        let request = [frame(HEADERS, END_HEADERS, id, &self.headers), frame(DATA, END_STREAM, id, &body)].concat();
        self.stream.get_mut().write_all(&request)?;
        let mut was_granted = false;
        loop {
            let (kind, flags, stream, payload) = self.read()?;
            match kind {
                SETTINGS if flags & ACK == 0 => self.stream.get_mut().write_all(&frame(SETTINGS, ACK, 0, &[]))?,
                PING if flags & ACK == 0 => self.stream.get_mut().write_all(&frame(PING, ACK, 0, &payload))?,
                DATA if stream == id => was_granted = true,
                HEADERS if stream == id && flags & END_STREAM != 0 => return Ok(was_granted),
                RST_STREAM | GOAWAY => return Ok(false),
                _ => {}
            }
        }
    }

    fn read(&mut self) -> io::Result<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((head[3], head[4], stream, payload))
    }
}

impl Writer for GrpcWriter {
    fn write(&mut self, number: u64) -> bool {
        self.put(number).unwrap_or(false)
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Each as a literal that is not to be remembered.
fn headers(port: u16) -> Vec<u8> {
    let all = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/etcdserverpb.KV/Put"),
        (":authority", &format!("127.0.0.1:{port}")),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    all.iter().flat_map(|(name, value)| [&[0][..], &text(name), &text(value)].concat()).collect()
}

/// A field of a protobuf message that holds bytes, fewer than 128.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}
