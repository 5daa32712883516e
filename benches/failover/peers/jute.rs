//! A client of ZooKeeper with a session, which it takes along to another server: as much of its protocol as that takes.

use crate::talk::{Heard, Talk};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a session outlives its connection, as the servers are asked for; and how long a server may take for an answer
/// until another one is tried, as in ZooKeeper's own client.
const SESSION_MS: i32 = 10_000;
const SERVER_PATIENCE: Duration = Duration::from_millis(SESSION_MS as u64 * 2 / 3);

pub(super) const CREATE: i32 = 1;
pub(super) const GET_DATA: i32 = 4;
pub(super) const SET_DATA: i32 = 5;
pub(super) const SYNC: i32 = 9;

/// What the server says of a node that is there already, or not there, or has another version.
pub(super) const NODE_EXISTS: i32 = -110;
pub(super) const NO_NODE: i32 = -101;
pub(super) const BAD_VERSION: i32 = -103;

/// Whatever its version.
pub(super) const ANY: i32 = -1;

/// What is taken along from one connection to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Ticket {
    session: i64,
    password: [u8; 16],
    /// The last transaction that was seen: a server that is behind it does not take the client.
    seen: i64,
}

/// What was answered: an error, or 0, and the content.
pub(super) struct Answer {
    pub(super) error: i32,
    pub(super) body: Vec<u8>,
}

/// One connection.
pub(super) struct Session {
    stream: TcpStream,
    pub(super) ticket: Ticket,
    /// Whether the session is not the one that the client came with.
    pub(super) is_new: bool,
    next: i32,
}

impl Session {
    /// Connects, and goes on with the session of the ticket while the servers know it.
    pub(super) fn open(address: SocketAddr, ticket: &Ticket) -> io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, SERVER_PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SERVER_PATIENCE))?;
        stream.write_all(&connect_request(ticket))?;
        // Protocol version, the timeout that was granted, the session, a password.
        let granted = read_frame(&mut stream)?;
        let session = long(&granted, 8).ok_or(io::ErrorKind::InvalidData)?;
        let password = granted.get(20..36).and_then(|password| password.try_into().ok());
        let password = password.ok_or(io::ErrorKind::InvalidData)?;
        if session == 0 {
            // It has expired. The next attempt is for a new one.
            return Err(io::ErrorKind::NotConnected.into());
        }
        let ticket_now = Ticket { session, password, seen: ticket.seen };
        Ok(Session { stream, is_new: session != ticket.session, ticket: ticket_now, next: 1 })
    }

    /// Asks, and waits for the answer.
    pub(super) fn ask(&mut self, kind: i32, body: &[u8]) -> io::Result<Answer> {
        let number = self.next;
        self.next += 1;
        self.stream.write_all(&request(number, kind, body))?;
        loop {
            // The number of the request, the transaction, the error.
            let answer = read_frame(&mut self.stream)?;
            if word(&answer, 0) == Some(number) {
                self.ticket.seen = self.ticket.seen.max(long(&answer, 4).unwrap_or_default());
                let error = word(&answer, 12).ok_or(io::ErrorKind::InvalidData)?;
                return Ok(Answer { error, body: answer[16..].to_vec() });
            }
        }
    }

    /// Makes a node that is open to everybody and there for good, unless there is one.
    pub(super) fn create(&mut self, path: &str, value: &str) -> io::Result<()> {
        let acl = [&1_i32.to_be_bytes()[..], &31_i32.to_be_bytes(), &buffer("world"), &buffer("anyone")].concat();
        let body = [buffer(path), buffer(value), acl, 0_i32.to_be_bytes().to_vec()].concat();
        match self.ask(CREATE, &body)?.error {
            0 | NODE_EXISTS => Ok(()),
            error => Err(io::Error::other(format!("error {error} of the server"))),
        }
    }
}

/// Protocol version, last transaction seen, timeout, the session and its password, not read-only.
pub(super) fn connect_request(ticket: &Ticket) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(0_i32.to_be_bytes());
    body.extend(ticket.seen.to_be_bytes());
    body.extend(SESSION_MS.to_be_bytes());
    body.extend(ticket.session.to_be_bytes());
    body.extend((ticket.password.len() as i32).to_be_bytes());
    body.extend(ticket.password);
    body.push(0);
    [&(body.len() as i32).to_be_bytes()[..], &body].concat()
}

fn request(number: i32, kind: i32, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len()) as i32;
    [&length.to_be_bytes()[..], &number.to_be_bytes(), &kind.to_be_bytes(), body].concat()
}

/// What sets the data of a node that has this version.
pub(super) fn set_data(path: &str, value: &str, version: i32) -> Vec<u8> {
    [buffer(path), buffer(value), version.to_be_bytes().to_vec()].concat()
}

pub(super) fn buffer(text: &str) -> Vec<u8> {
    [&(text.len() as i32).to_be_bytes()[..], text.as_bytes()].concat()
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..at + 4)?.try_into().ok().map(i32::from_be_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<i64> {
    bytes.get(at..at + 8)?.try_into().ok().map(i64::from_be_bytes)
}

fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length).min(1 << 20) as usize];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}

/// Sets the data of one node again and again.
pub(super) struct SetTalk {
    path: String,
    next: i32,
}

impl SetTalk {
    /// With a session of its own, and a node that is there.
    pub(super) fn open(address: SocketAddr, client: usize) -> io::Result<(TcpStream, Self)> {
        let path = format!("/bench-{client}");
        let mut session = Session::open(address, &Ticket::default())?;
        session.create(&path, "")?;
        Ok((session.stream, SetTalk { path, next: session.next }))
    }
}

impl Talk for SetTalk {
    fn ask(&mut self, number: u64) -> Vec<u8> {
        self.next += 1;
        request(self.next, SET_DATA, &set_data(&self.path, &format!("{number:064}"), ANY))
    }

    fn hear(&mut self, bytes: &[u8]) -> Heard {
        let mut heard = Heard::default();
        while let Some(length) = word(bytes, heard.used) {
            let Some(answer) = bytes.get(heard.used + 4..heard.used + 4 + length.max(0) as usize) else { break };
            heard.used += 4 + answer.len();
            if word(answer, 0) == Some(self.next) {
                heard.answer = Some(word(answer, 12) == Some(0));
                break;
            }
        }
        heard
    }
}
