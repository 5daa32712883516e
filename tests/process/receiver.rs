//! A server that takes what is posted to it, as a collector or a webhook does.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What was posted.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) path: String,
    /// The lines of its head behind the first, in small letters.
    pub(crate) head: Vec<String>,
    pub(crate) body: String,
}

/// Takes all and says 200.
pub(crate) struct Receiver {
    pub(crate) port: u16,
    taken: Arc<Mutex<Vec<Posted>>>,
}

impl Receiver {
    pub(crate) fn start() -> Receiver {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
        let port = listener.local_addr().expect("it is bound").port();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let taking = taken.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let taking = taking.clone();
                thread::spawn(move || serve(stream, &taking));
            }
        });
        Receiver { port, taken }
    }

    /// All that was posted so far.
    pub(crate) fn taken(&self) -> Vec<Posted> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers one connection until it ends.
fn serve(stream: TcpStream, taken: &Mutex<Vec<Posted>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut head) = (String::new(), Vec::new());
        while reader.read_line(&mut line)? > 0 && line != "\r\n" {
            head.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        if head.is_empty() {
            return Ok(());
        }
        let first = head.remove(0);
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        head.iter_mut().for_each(|line| line.make_ascii_lowercase());
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8(body).map_err(io::Error::other)?;
        taken.lock().unwrap_or_else(PoisonError::into_inner).push(Posted { path, head, body });
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")?;
    }
}
