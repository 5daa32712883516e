//! A client of ZooKeeper: one session, as much of its protocol as an election through it takes.
//!
//! Requests and answers are records in Jute's encoding, each in a frame with its length. An answer has the number of its
//! request; what fires a watch has the number -1. The session outlives its connection: whoever connects again in time
//! goes on with it. Mirrors `ClientCnxn` of ZooKeeper.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc;

const CREATE: i32 = 1;
const GET_DATA: i32 = 4;
const SET_DATA: i32 = 5;
const GET_CHILDREN: i32 = 8;

const NO_NODE: i32 = -101;
const BAD_VERSION: i32 = -103;
const NODE_EXISTS: i32 = -110;
const SESSION_EXPIRED: i32 = -112;

/// What the number of a request is in a frame that tells of a watch.
const FIRED: i32 = -1;
/// No answer here is longer.
const FRAME_MAX: usize = 1 << 20;
/// How many frames may wait to be looked at.
const FRAMES: usize = 64;
/// How many fired watches may wait.
const EVENTS_MAX: usize = 64;

/// Why something could not be done.
#[derive(Debug)]
pub(super) enum Error {
    /// The connection failed, or what came over it makes no sense.
    Lost(io::Error),
    /// The session is over.
    Expired,
    /// There is no such node.
    NoNode,
    /// There is such a node.
    NodeExists,
    /// The node was changed by somebody else.
    BadVersion,
    /// The server says so, by number.
    Refused(i32),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Lost(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Lost(error) => write!(f, "the connection is lost: {error}"),
            Error::Expired => f.write_str("the session expired"),
            Error::NoNode => f.write_str("there is no such node"),
            Error::NodeExists => f.write_str("there is such a node"),
            Error::BadVersion => f.write_str("the node was changed meanwhile"),
            Error::Refused(code) => write!(f, "the server refuses with error [{code}]"),
        }
    }
}

fn senseless(what: &str) -> Error {
    Error::Lost(io::Error::new(io::ErrorKind::InvalidData, what.to_owned()))
}

/// What a session is resumed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) id: i64,
    password: Vec<u8>,
}

/// The data of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) bytes: Vec<u8>,
    /// How often it was changed.
    pub(super) version: i32,
    /// The session that it lives as long as; 0 if it stays.
    pub(super) owner: i64,
}

/// A connection, with the session that it carries.
pub(super) struct Client {
    pub(super) session: Session,
    writer: OwnedWriteHalf,
    frames: mpsc::Receiver<Vec<u8>>,
    /// Paths whose watches fired.
    fired: VecDeque<String>,
    number: i32,
}

impl Client {
    /// Connects to a server, with a new session or the one that there was.
    pub(super) async fn connect(server: &str, timeout: Duration, session: Option<&Session>) -> Result<Self, Error> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let (reader, mut writer) = stream.into_split();
        let (id, password) = session.map_or((0, &[0; 16][..]), |session| (session.id, &session.password));
        let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // Protocol version, the last transaction that was seen, the timeout, the session.
        let request = Record::new().int(0).long(0).int(millis).long(id).buffer(password);
        writer.write_all(&request.frame()).await?;
        let (found, mut frames) = mpsc::channel(FRAMES);
        tokio::spawn(read_frames(BufReader::new(reader), found));
        let answer = frames.recv().await.ok_or_else(|| senseless("it was closed"))?;
        let mut fields = Fields(&answer);
        let granted = (|| {
            let (_version, _timeout) = (fields.int()?, fields.int()?);
            Some(Session { id: fields.long()?, password: fields.buffer()?.to_vec() })
        })();
        let session = granted.ok_or_else(|| senseless("no session in the answer"))?;
        if session.id == 0 {
            return Err(Error::Expired);
        }
        Ok(Client { session, writer, frames, fired: VecDeque::new(), number: 0 })
    }

    /// Makes a node that is open to all; an ephemeral one goes with the session.
    pub(super) async fn create(&mut self, path: &str, data: &[u8], is_ephemeral: bool) -> Result<(), Error> {
        let body = Record::new().text(path).buffer(data).int(1).int(31).text("world").text("anyone");
        self.ask(CREATE, body.int(i32::from(is_ephemeral))).await.map(drop)
    }

    /// The data of a node; with `watches` its next change or end is told.
    pub(super) async fn data(&mut self, path: &str, watches: bool) -> Result<Data, Error> {
        let answer = self.ask(GET_DATA, Record::new().text(path).flag(watches)).await?;
        let mut fields = Fields(&answer);
        let read = (|| {
            let bytes = fields.buffer()?.to_vec();
            // Two transactions and two times lie before the version, two other versions before the owner.
            fields.take(32)?;
            let version = fields.int()?;
            fields.take(8)?;
            Some(Data { bytes, version, owner: fields.long()? })
        })();
        read.ok_or_else(|| senseless("no data in the answer"))
    }

    /// Replaces the data of a node that still has this version.
    pub(super) async fn set(&mut self, path: &str, data: &[u8], version: i32) -> Result<(), Error> {
        self.ask(SET_DATA, Record::new().text(path).buffer(data).int(version)).await.map(drop)
    }

    /// The names of the nodes below a node.
    pub(super) async fn children(&mut self, path: &str) -> Result<Vec<String>, Error> {
        let answer = self.ask(GET_CHILDREN, Record::new().text(path).flag(false)).await?;
        let mut fields = Fields(&answer);
        let count = fields.int().unwrap_or(0).max(0);
        let names: Option<Vec<String>> = (0..count).map(|_| fields.text()).collect();
        names.ok_or_else(|| senseless("no names in the answer"))
    }

    /// Waits until a watch fires; tells the path.
    pub(super) async fn fired(&mut self) -> Result<String, Error> {
        loop {
            if let Some(path) = self.fired.pop_front() {
                return Ok(path);
            }
            let frame = self.frames.recv().await.ok_or_else(|| senseless("it was closed"))?;
            // An answer here is one that nobody waits for.
            self.take_event(&frame);
        }
    }

    /// Asks, and waits for the answer; what follows its header.
    async fn ask(&mut self, kind: i32, body: Record) -> Result<Vec<u8>, Error> {
        self.number = self.number.wrapping_add(1).max(1);
        let request = Record::new().int(self.number).int(kind).then(body);
        self.writer.write_all(&request.frame()).await?;
        loop {
            let frame = self.frames.recv().await.ok_or_else(|| senseless("it was closed"))?;
            let mut fields = Fields(&frame);
            let header = (|| Some((fields.int()?, fields.long()?, fields.int()?)))();
            let (number, _transaction, error) = header.ok_or_else(|| senseless("an answer without a header"))?;
            if number != self.number {
                self.take_event(&frame);
                continue;
            }
            return match error {
                0 => Ok(fields.0.to_vec()),
                NO_NODE => Err(Error::NoNode),
                BAD_VERSION => Err(Error::BadVersion),
                NODE_EXISTS => Err(Error::NodeExists),
                SESSION_EXPIRED => Err(Error::Expired),
                code => Err(Error::Refused(code)),
            };
        }
    }

    fn take_event(&mut self, frame: &[u8]) {
        if self.fired.len() < EVENTS_MAX {
            self.fired.extend(event(frame));
        }
    }
}

/// The path whose watch fired, if that is what a frame tells.
fn event(frame: &[u8]) -> Option<String> {
    let mut fields = Fields(frame);
    if fields.int()? != FIRED {
        return None;
    }
    // The transaction and the error, then what happened and the state of the session.
    fields.take(12)?;
    fields.take(8)?;
    fields.text()
}

/// Reads frames until the connection ends or one is too long.
async fn read_frames(mut reader: impl AsyncReadExt + Unpin, found: mpsc::Sender<Vec<u8>>) {
    while let Ok(length) = reader.read_u32().await {
        let mut frame = vec![0; (length as usize).min(FRAME_MAX)];
        let is_whole = length as usize <= FRAME_MAX && reader.read_exact(&mut frame).await.is_ok();
        if !is_whole || found.send(frame).await.is_err() {
            return;
        }
    }
}

/// A record that is written.
struct Record(Vec<u8>);

impl Record {
    fn new() -> Self {
        Record(Vec::new())
    }

    fn then(mut self, Record(rest): Record) -> Self {
        self.0.extend(rest);
        self
    }

    fn flag(self, value: bool) -> Self {
        self.then(Record(vec![u8::from(value)]))
    }

    fn int(self, value: i32) -> Self {
        self.then(Record(value.to_be_bytes().to_vec()))
    }

    fn long(self, value: i64) -> Self {
        self.then(Record(value.to_be_bytes().to_vec()))
    }

    fn buffer(self, bytes: &[u8]) -> Self {
        self.int(bytes.len() as i32).then(Record(bytes.to_vec()))
    }

    fn text(self, text: &str) -> Self {
        self.buffer(text.as_bytes())
    }

    fn frame(self) -> Vec<u8> {
        let length = self.0.len() as i32;
        Record::new().int(length).then(self).0
    }
}

/// What is left of a record that is read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn int(&mut self) -> Option<i32> {
        self.take(4)?.try_into().ok().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Option<i64> {
        self.take(8)?.try_into().ok().map(i64::from_be_bytes)
    }

    /// A length of -1 stands for no bytes.
    fn buffer(&mut self) -> Option<&'a [u8]> {
        let length = self.int()?.max(0);
        self.take(length as usize)
    }

    fn text(&mut self) -> Option<String> {
        self.buffer().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = Record::new().int(-7).long(1 << 40).flag(true).buffer(b"ab").text("/x");
        let mut fields = Fields(&record.0);
        assert_eq!((fields.int(), fields.long(), fields.take(1)), (Some(-7), Some(1 << 40), Some(&[1][..])));
        assert_eq!((fields.buffer(), fields.text()), (Some(&b"ab"[..]), Some("/x".to_owned())));
        assert_eq!(fields.take(1), None, "nothing is left");
    }

    #[test]
    fn a_frame_begins_with_its_length() {
        assert_eq!(Record::new().text("ab").frame(), [0, 0, 0, 6, 0, 0, 0, 2, b'a', b'b']);
    }

    #[test]
    fn records_that_lie_about_their_lengths_are_refused() {
        assert_eq!(Fields(&[0, 0, 0, 9, 1]).buffer(), None);
        assert_eq!(Fields(&[0x7f, 0xff, 0xff, 0xff]).text(), None);
        assert_eq!(Fields(&[0xff, 0xff, 0xff, 0xff]).buffer(), Some(&[][..]));
        assert_eq!(Fields(&[0, 0]).int(), None);
    }

    #[test]
    fn a_fired_watch_is_told_from_an_answer() {
        let fired = Record::new().int(FIRED).long(-1).int(0).int(2).int(3).text("/controller");
        assert_eq!(event(&fired.0), Some("/controller".to_owned()));
        assert_eq!(event(&Record::new().int(4).long(1).int(0).0), None);
        assert_eq!(event(&fired.0[..18]), None);
    }
}
