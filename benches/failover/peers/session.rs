//! A register in ZooKeeper: a node whose data is set if its version is what the client knows.
//!
//! A session's reads miss nothing of what it wrote, at whatever server; a new session asks its server to catch up first.

use super::jute::{Answer, BAD_VERSION, GET_DATA, NO_NODE, SET_DATA, SYNC, Session, Ticket, buffer, set_data, word};
use crate::doors::Doors;
use crate::register::{Register, Written};
use std::io;
use std::net::SocketAddr;

/// Where the version is in what a server tells of a node: behind four numbers of eight bytes.
const VERSION: usize = 32;

pub(super) struct SessionRegister {
    doors: Doors,
    session: Option<Session>,
    ticket: Ticket,
    path: String,
    version: i32,
}

impl SessionRegister {
    pub(super) fn new(doors: &[SocketAddr], client: usize) -> Self {
        let (doors, path) = (Doors::new(doors, client), format!("/c{client}"));
        SessionRegister { doors, session: None, ticket: Ticket::default(), path, version: 0 }
    }

    /// Asks once, over a connection that is made if there is none.
    fn ask(&mut self, kind: i32, body: &[u8]) -> io::Result<Answer> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect()?,
        };
        let answer = session.ask(kind, body);
        self.ticket = session.ticket.clone();
        match answer {
            Ok(_) => self.session = Some(session),
            Err(_) => self.doors.turn(),
        }
        answer
    }

    fn connect(&mut self) -> io::Result<Session> {
        let (ticket, path) = (&mut self.ticket, &self.path);
        let open = |address| {
            let session = Session::open(address, ticket);
            if session.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotConnected) {
                *ticket = Ticket::default();
            }
            let mut session = session?;
            if session.is_new {
                session.create(path, "0")?;
                session.ask(SYNC, &buffer(path))?;
            }
            Ok(session)
        };
        self.doors.connect(open)
    }
}

impl Register for SessionRegister {
    fn write(&mut self, number: u64) -> Written {
        let body = set_data(&self.path, &number.to_string(), self.version);
        match self.ask(SET_DATA, &body) {
            Ok(Answer { error: 0, body }) => {
                self.version = word(&body, VERSION).unwrap_or_default();
                Written::Done
            }
            Ok(Answer { error: BAD_VERSION | NO_NODE, .. }) => Written::Refused,
            Ok(Answer { error, .. }) => Written::Failed(format!("error {error} of the server")),
            Err(error) => Written::Failed(format!("no answer: {error}")),
        }
    }

    fn read(&mut self) -> Result<u64, String> {
        // Nobody is to be told of changes.
        let body = [buffer(&self.path), vec![0]].concat();
        let answer = self.ask(GET_DATA, &body).map_err(|error| format!("no answer: {error}"))?;
        if answer.error != 0 {
            return Err(format!("error {} of the server", answer.error));
        }
        let length = word(&answer.body, 0).unwrap_or_default().max(0) as usize;
        let value =
            answer.body.get(4..4 + length).and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
        self.version = word(&answer.body, 4 + length + VERSION).unwrap_or_default();
        value.parse().map_err(|_| format!("`{value}` is what nobody wrote"))
    }
}
