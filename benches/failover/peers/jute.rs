//! A client of ZooKeeper with a session, that sets the data of a node of its own: as much of its protocol as that takes.

use super::zookeeper::{connect, connect_request};
use crate::peer::Writer;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a server that is busy with its disk is waited for.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

const CREATE: i32 = 1;
const SET_DATA: i32 = 5;

/// What the server says of a node that is there already.
const NODE_EXISTS: i32 = -110;

pub(super) struct SessionClient {
    stream: TcpStream,
    path: String,
    next: i32,
}

impl SessionClient {
    pub(super) fn open(address: SocketAddr, client: usize) -> io::Result<Self> {
        let mut stream = connect(address)?;
        stream.set_read_timeout(Some(WRITE_PATIENCE))?;
        stream.write_all(&connect_request())?;
        read_frame(&mut stream)?;
        let mut client = SessionClient { stream, path: format!("/bench-{client}"), next: 1 };
        match client.create()? {
            0 | NODE_EXISTS => Ok(client),
            error => Err(io::Error::other(format!("error {error} of the server"))),
        }
    }

    /// Open to everybody, and there for good.
    fn create(&mut self) -> io::Result<i32> {
        let acl = [&1_i32.to_be_bytes()[..], &31_i32.to_be_bytes(), &buffer(b"world"), &buffer(b"anyone")].concat();
        let body = [buffer(self.path.as_bytes()), buffer(b""), acl, 0_i32.to_be_bytes().to_vec()].concat();
        self.ask(CREATE, &body)
    }

    /// Asks, and tells the error of the answer; 0 is none.
    fn ask(&mut self, kind: i32, body: &[u8]) -> io::Result<i32> {
        let number = self.next;
        self.next += 1;
        let length = (8 + body.len()) as i32;
        let request = [&length.to_be_bytes()[..], &number.to_be_bytes(), &kind.to_be_bytes(), body].concat();
        self.stream.write_all(&request)?;
        loop {
            // The number of the request, the transaction in 8 bytes, the error.
            let answer = read_frame(&mut self.stream)?;
            let word = |at: usize| answer.get(at..at + 4).and_then(|word| word.try_into().ok()).map(i32::from_be_bytes);
            if word(0) == Some(number) {
                return word(12).ok_or_else(|| io::ErrorKind::InvalidData.into());
            }
        }
    }
}

impl Writer for SessionClient {
    fn write(&mut self, number: u64) -> bool {
        let value = format!("{number:064}");
        // Whatever its version.
        let body = [buffer(self.path.as_bytes()), buffer(value.as_bytes()), (-1_i32).to_be_bytes().to_vec()].concat();
        self.ask(SET_DATA, &body).is_ok_and(|error| error == 0)
    }
}

fn buffer(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as i32).to_be_bytes()[..], bytes].concat()
}

fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length).min(1 << 20) as usize];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}
