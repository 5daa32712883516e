//! A register in etcd: a key that is put if its last revision is what the client knows, over gRPC.

use super::grpc::Grpc;
use super::protobuf::{bytes, bytes_in, number, number_in};
use crate::doors::{Doors, PATIENCE};
use crate::register::{Register, Written};
use std::io;
use std::net::SocketAddr;

const TXN: &str = "/etcdserverpb.KV/Txn";
const RANGE: &str = "/etcdserverpb.KV/Range";

/// The parts of etcd's messages that are used, by their numbers.
mod algorithms {
    pub(super) const HEADER: u64 = 1;
    pub(super) const REVISION: u64 = 3;
    pub(super) const SUCCEEDED: u64 = 2;
    pub(super) const FOUND: u64 = 2;
    pub(super) const CHANGED_AT: u64 = 3;
    pub(super) const VALUE: u64 = 5;
}

/// The comparison of a key's last revision.
const CHANGED_AT: u64 = 2;

pub(super) struct TxnRegister {
    doors: Doors,
    grpc: Option<Grpc>,
    key: String,
    /// When it was changed last, as far as its client knows; 0 if it is not there.
    revision: u64,
}

impl TxnRegister {
    pub(super) fn new(doors: &[SocketAddr], client: usize) -> Self {
        TxnRegister { doors: Doors::new(doors, client), grpc: None, key: format!("c{client}"), revision: 0 }
    }

    fn call(&mut self, path: &str, message: &[u8]) -> Result<Vec<u8>, String> {
        loop {
            match self.try_call(path, message) {
                // What was not taken is asked elsewhere, as by etcd's own client.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(format!("no answer: {error}")),
                Ok(answer) => return answer.ok_or_else(|| "etcd answered with an error".into()),
            }
        }
    }

    fn try_call(&mut self, path: &str, message: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut grpc = match self.grpc.take() {
            Some(grpc) => grpc,
            None => self.doors.connect(|address| Grpc::connect(address, PATIENCE)).map_err(io::Error::other)?,
        };
        let answer = grpc.call(path, message);
        match answer.is_err() || grpc.is_ending() {
            true => self.doors.turn(),
            false => self.grpc = Some(grpc),
        }
        answer
    }

    fn txn(&self, value: &str) -> Vec<u8> {
        let key = self.key.as_bytes();
        let compare = [number(2, CHANGED_AT), bytes(3, key), number(6, self.revision)].concat();
        let put = bytes(2, &[bytes(1, key), bytes(2, value.as_bytes())].concat());
        [bytes(1, &compare), bytes(2, &put)].concat()
    }
}

impl Register for TxnRegister {
    fn write(&mut self, value: u64) -> Written {
        let answer = match self.call(TXN, &self.txn(&value.to_string())) {
            Ok(answer) => answer,
            Err(why) => return Written::Failed(why),
        };
        let revision = bytes_in(&answer, algorithms::HEADER).and_then(|header| number_in(header, algorithms::REVISION));
        match (number_in(&answer, algorithms::SUCCEEDED), revision) {
            (Some(1), Some(revision)) => {
                self.revision = revision;
                Written::Done
            }
            (Some(_), Some(_)) => Written::Refused,
            (None, _) | (_, None) => Written::Failed("the answer is no message".into()),
        }
    }

    fn read(&mut self) -> Result<u64, String> {
        let answer = self.call(RANGE, &bytes(1, self.key.as_bytes()))?;
        let found = bytes_in(&answer, algorithms::FOUND).ok_or("the answer is no message")?;
        self.revision = number_in(found, algorithms::CHANGED_AT).ok_or("the answer holds no revision")?;
        let value =
            bytes_in(found, algorithms::VALUE).and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
        if value.is_empty() { Ok(0) } else { value.parse().map_err(|_| format!("`{value}` is what nobody wrote")) }
    }
}
