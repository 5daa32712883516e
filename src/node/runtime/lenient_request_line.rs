//! Lets users write request lines as they are used to: `?wait_for_nodes=>=3`.
//!
//! Elasticsearch takes any letter in a path or a query; the HTTP library here refuses some before anybody sees them. A
//! stream is wrapped and what would be refused is escaped on its way in, and what stands behind a `#` in a query, which means
//! nothing, is left out; all else passes as it is. To find the request lines, heads are read for the lengths of bodies; from
//! a body of no stated length on, nothing is escaped any more.

use super::read_side::{ReadSide, Through};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// How much is read at a time.
const CHUNK: usize = 8 << 10;

/// The longest line of a head that is looked into; nothing is escaped behind a longer one.
const LINE_MAX: usize = 8 << 10;

/// A stream whose request lines are escaped on their way in.
pub type Lenient<S> = Through<S, Escaping>;

impl<S> Lenient<S> {
    /// Wraps a stream.
    pub fn new(stream: S) -> Self {
        Through::with(stream, Escaping::default())
    }
}

/// What was read and escaped, and how much of it was handed on.
#[derive(Default)]
pub struct Escaping {
    reading: Reading,
    ready: Vec<u8>,
    handed: usize,
}

impl ReadSide for Escaping {
    fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // What was left out whole is no end.
        while self.handed == self.ready.len() {
            let mut chunk = [MaybeUninit::uninit(); CHUNK];
            let mut chunk = ReadBuf::uninit(&mut chunk);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut chunk))?;
            self.ready.clear();
            self.handed = 0;
            if chunk.filled().is_empty() {
                break;
            }
            self.reading.escape(chunk.filled(), &mut self.ready);
        }
        let left = self.ready.get(self.handed..).unwrap_or_default();
        let now = left.len().min(into.remaining());
        into.put_slice(&left[..now]);
        self.handed += now;
        Poll::Ready(Ok(()))
    }
}

/// Where in a request the stream is.
#[derive(Debug, Default)]
struct Reading {
    place: Place,
    /// The line of a head that is not over yet, of requests' first lines only whether it has begun.
    line: Vec<u8>,
    body: u64,
    has_open_end: bool,
    /// Whether a query has begun in the first line of a request.
    has_query: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In the first line of a request, or before it.
    #[default]
    Target,
    /// In the part of such a line behind a query, which nobody reads.
    Fragment,
    /// In the lines below it.
    Head,
    /// This far from the end of a body.
    Body(u64),
    /// Where the next request begins is not known.
    Lost,
}

/// What stands in a request line as it is.
fn is_usual(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'`')
}

impl Reading {
    fn escape(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.place {
                // Some clients send an empty line behind a body; nobody would see what comes behind that.
                Place::Target if self.line.is_empty() && b"\r\n".contains(&byte) => bytes = rest,
                Place::Target => {
                    let usual = bytes.iter().position(|byte| !is_usual(*byte)).unwrap_or(bytes.len());
                    if usual > 0 {
                        out.extend_from_slice(&bytes[..usual]);
                        self.line.resize(1, byte);
                        self.has_query |= bytes[..usual].contains(&b'?');
                        bytes = &bytes[usual..];
                    } else {
                        bytes = rest;
                        self.target(byte, out);
                    }
                }
                Place::Fragment => {
                    let end = bytes.iter().position(|byte| b" \r\n".contains(byte));
                    bytes = &bytes[end.unwrap_or(bytes.len())..];
                    self.place = if end.is_some() { Place::Target } else { Place::Fragment };
                }
                Place::Head => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (now, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
                    bytes = rest;
                    out.extend_from_slice(now);
                    self.head(now);
                }
                Place::Body(left) => {
                    let now = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    out.extend_from_slice(&bytes[..now]);
                    bytes = &bytes[now..];
                    let left = left - now as u64;
                    self.place = if left == 0 { Place::Target } else { Place::Body(left) };
                }
                Place::Lost => {
                    out.extend_from_slice(bytes);
                    return;
                }
            }
        }
    }

    fn target(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'#' if self.has_query => self.place = Place::Fragment,
            b'"' | b'#' | b'<' | b'>' | b'`' | 0x7f.. => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            other => out.push(other),
        }
        match byte {
            b'\n' => {
                self.line.clear();
                (self.place, self.body, self.has_open_end, self.has_query) = (Place::Head, 0, false, false);
            }
            b'\r' => {}
            other => self.line.resize(1, other),
        }
    }

    /// Takes a part of a line in, or all that is left of it.
    fn head(&mut self, part: &[u8]) {
        self.line.extend(part.iter().filter(|byte| !b"\r\n".contains(byte)));
        if self.line.len() > LINE_MAX {
            self.place = Place::Lost;
        } else if part.ends_with(b"\n") {
            let mut line = std::mem::take(&mut self.line);
            self.head_line(&line);
            line.clear();
            self.line = line;
        }
    }

    fn head_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            self.place = match self.body {
                _ if self.has_open_end => Place::Lost,
                0 => Place::Target,
                length => Place::Body(length),
            };
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.has_open_end = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let length = std::str::from_utf8(value.get(1..).unwrap_or_default()).ok();
            match length.and_then(|length| length.trim().parse().ok()) {
                Some(length) => self.body = length,
                None => self.has_open_end = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn escaped(text: &str, at_a_time: usize) -> String {
        let (mut reading, mut out) = (Reading::default(), Vec::new());
        for chunk in text.as_bytes().chunks(at_a_time) {
            reading.escape(chunk, &mut out);
        }
        String::from_utf8(out).expect("the samples are text")
    }

    #[test]
    fn only_request_lines_are_escaped_however_the_bytes_arrive() {
        let sent = "\r\nGET /<a>#?n=>=3&q=\"`é\"#x?#y HTTP/1.1\r\nX: <b>\r\n\r\n\
                    PUT /x>y HTTP/1.1\r\nCONTENT-LENGTH: 15 \r\nHost: h\r\n\r\nGET /> HTTP/1.1\
                    GET /c>d HTTP/1.1\nHost: >\n\n\
                    POST /e>f HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n>\r\n0\r\n\r\nGET /> HTTP/1.1\r\n\r\n";
        let expected = "GET /%3Ca%3E%23?n=%3E=3&q=%22%60%C3%A9%22 HTTP/1.1\r\nX: <b>\r\n\r\n\
                        PUT /x%3Ey HTTP/1.1\r\nCONTENT-LENGTH: 15 \r\nHost: h\r\n\r\nGET /> HTTP/1.1\
                        GET /c%3Ed HTTP/1.1\nHost: >\n\n\
                        POST /e%3Ef HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n>\r\n0\r\n\r\nGET /> HTTP/1.1\r\n\r\n";
        for at_a_time in [1, 2, 7, 1_000] {
            assert_eq!(escaped(sent, at_a_time), expected, "{at_a_time} bytes at a time");
        }
    }

    #[test]
    fn a_head_that_makes_no_sense_loses_the_way_and_nothing_else() {
        for head in ["Content-Length: x", "Content-Length: -1", &"x".repeat(LINE_MAX + 1)] {
            let sent = format!("GET /> HTTP/1.1\r\n{head}\r\n\r\nGET /> HTTP/1.1\r\n\r\n");
            let expected = sent.replacen("/>", "/%3E", 1);
            assert_eq!(escaped(&sent, 100), expected, "{}", &head[..10]);
        }
    }

    #[tokio::test]
    async fn what_is_left_out_whole_is_not_taken_for_the_end() {
        // Each write fills the pipe, so that the next one waits until it was read.
        let (mut client, server) = tokio::io::duplex(8);
        let sending = tokio::spawn(async move {
            for piece in ["GET /?a#", "12345678", "12345678", " HTTP/1."] {
                client.write_all(piece.as_bytes()).await.expect("it is open");
            }
        });
        let mut read = String::new();
        Lenient::new(server).read_to_string(&mut read).await.expect("it is text");
        sending.await.expect("it was sent");
        assert_eq!(read, "GET /?a HTTP/1.");
    }

    #[tokio::test]
    async fn a_stream_passes_both_ways_in_pieces_of_any_size() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = Lenient::new(server);
        client.write_all(b"GET />>>> HTTP/1.1\r\n\r\n").await.expect("it fits");
        client.shutdown().await.expect("it is open");
        let mut read = Vec::new();
        let mut small = [0; 3];
        loop {
            let count = server.read(&mut small).await.expect("it is open");
            if count == 0 {
                break;
            }
            read.extend_from_slice(&small[..count]);
        }
        assert_eq!(read, b"GET /%3E%3E%3E%3E HTTP/1.1\r\n\r\n");
        server.write_all(b"HTTP/1.1 200 OK\r\n\r\n>").await.expect("it fits");
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("it is text");
        assert_eq!(answer, "HTTP/1.1 200 OK\r\n\r\n>");
    }
}
