//! A small HTTP/1.1 client over one kept connection, so cheap that a thousand requests a second disturb nobody.
//!
//! Reads bodies with a length or in chunks, and no more than [`BODY_MAX`] of them. A request that fails drops the
//! connection; the next one makes another.

use super::clock::now;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The longest body that is read: the state of a hundred nodes takes a twentieth of it.
const BODY_MAX: usize = 4 << 20;

/// The longest line of a head.
const LINE_MAX: u64 = 16 << 10;

/// What was answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The body as JSON, if the request was granted.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        if self.is_fine() { serde_json::from_slice(&self.body).ok() } else { None }
    }

    pub(crate) fn is_fine(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// A client of one server.
pub(crate) struct Http {
    address: SocketAddr,
    patience: Duration,
    stream: Option<BufReader<TcpStream>>,
    reached: Option<Instant>,
}

impl Http {
    /// A client of a port on loopback that waits for any single read no longer than `patience`.
    pub(crate) fn new(port: u16, patience: Duration) -> Self {
        Http::at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), patience)
    }

    /// The same of a server that is not on loopback.
    pub(crate) fn at(address: SocketAddr, patience: Duration) -> Self {
        Http { address, patience, stream: None, reached: None }
    }

    /// When the server took a connection for the first time.
    pub(crate) fn reached(&self) -> Option<Instant> {
        self.reached
    }

    /// Whether the connection is kept.
    pub(crate) fn is_connected(&self) -> bool {
        self.stream.is_some()
    }

    /// Asks without a body.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.ask("GET", path, b"")
    }

    /// Asks, over the kept connection if there is one.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<Reply> {
        self.send(&request(method, path, &[], body))
    }

    /// Sends a whole request, and reads the answer.
    pub(crate) fn send(&mut self, request: &[u8]) -> io::Result<Reply> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        stream.get_mut().write_all(request)?;
        let (reply, is_kept) = read(&mut stream)?;
        if is_kept {
            self.stream = Some(stream);
        }
        Ok(reply)
    }

    fn connect(&mut self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&self.address, self.patience)?;
        self.reached.get_or_insert_with(now);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_write_timeout(Some(self.patience))?;
        Ok(BufReader::new(stream))
    }
}

/// What is sent.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<(Reply, bool)> {
    let first = line(stream)?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| nonsense(&first))?;
    let (mut length, mut is_chunked, mut is_kept) = (None, false, true);
    loop {
        let header = line(stream)?.to_ascii_lowercase();
        match header.split_once(':').map(|(name, value)| (name, value.trim())) {
            None if header.is_empty() => break,
            None => return Err(nonsense(&header)),
            Some(("content-length", value)) => length = value.parse().ok(),
            Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
            Some(("connection", value)) => is_kept = !value.contains("close"),
            Some(_) => {}
        }
    }
    let body = match (is_chunked, length) {
        (true, _) => chunks(stream)?,
        (false, Some(length)) => exactly(stream, length)?,
        (false, None) => return Err(nonsense("a body without a length")),
    };
    Ok((Reply { status, body }, is_kept))
}

fn chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(stream)?;
        let length = usize::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16);
        let length = length.map_err(|_| nonsense(&size))?;
        if body.len() + length > BODY_MAX {
            return Err(nonsense("a body that is too long"));
        }
        body.extend(exactly(stream, length)?);
        line(stream)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn exactly(stream: &mut BufReader<TcpStream>, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY_MAX {
        return Err(nonsense("a body that is too long"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(body)
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    stream.take(LINE_MAX).read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("`{what}` is no HTTP/1.1 that is understood here"))
}
