//! Registers over REST: a key of Zazen that is changed from one revision, and a setting of Elasticsearch.

use crate::doors::HttpDoors;
use crate::http::Reply;
use crate::register::{Register, Written};
use serde_json::Value;
use std::io;
use std::net::SocketAddr;

/// What a key that is not there has for a revision.
const NONE: &str = "none";

/// A key, each write of which names the change that it comes after.
pub(super) struct KeyRegister {
    doors: HttpDoors,
    key: String,
    revision: String,
}

impl KeyRegister {
    pub(super) fn new(doors: &[SocketAddr], client: usize) -> Self {
        KeyRegister { doors: HttpDoors::new(doors, client), key: format!("c{client}"), revision: NONE.into() }
    }
}

impl Register for KeyRegister {
    fn write(&mut self, number: u64) -> Written {
        let path = format!("/_zazen/kv/{}?if_version={}", self.key, self.revision);
        match told(self.doors.ask("PUT", &path, number.to_string().as_bytes())) {
            Ok((409, _)) => Written::Refused,
            Ok((200, told)) => {
                self.revision = text(&told["revision"]);
                Written::Done
            }
            Ok((status, told)) => Written::Failed(format!("status {status}, {told}")),
            Err(why) => Written::Failed(why),
        }
    }

    fn read(&mut self) -> Result<u64, String> {
        let (status, told) = told(self.doors.ask("GET", &format!("/_zazen/kv/{}?format=json", self.key), b""))?;
        match status {
            200 => self.revision = text(&told["revision"]),
            404 => self.revision = NONE.into(),
            _ => return Err(format!("status {status}, {told}")),
        }
        number(&told["value"])
    }
}

/// A setting of nodes that do not exist. It knows no conditions, so that a change that was made twice is not noticed.
pub(super) struct SettingRegister {
    doors: HttpDoors,
    name: String,
}

impl SettingRegister {
    pub(super) fn new(doors: &[SocketAddr], client: usize) -> Self {
        let name = format!("cluster.routing.allocation.exclude.c{client}");
        SettingRegister { doors: HttpDoors::new(doors, client), name }
    }
}

impl Register for SettingRegister {
    fn write(&mut self, number: u64) -> Written {
        let body = format!(r#"{{"transient":{{"{}":"{number}"}}}}"#, self.name);
        match told(self.doors.ask("PUT", "/_cluster/settings", body.as_bytes())) {
            Ok((200, told)) if told["acknowledged"] == true => Written::Done,
            Ok((status, told)) => Written::Failed(format!("status {status}, {told}")),
            Err(why) => Written::Failed(why),
        }
    }

    fn read(&mut self) -> Result<u64, String> {
        let path = format!("/_cluster/settings?filter_path=transient.{}", self.name);
        match told(self.doors.ask("GET", &path, b""))? {
            (200, told) => number(self.name.split('.').fold(&told["transient"], |told, part| &told[part])),
            (status, told) => Err(format!("status {status}, {told}")),
        }
    }
}

fn told(reply: io::Result<Reply>) -> Result<(u16, Value), String> {
    let reply = reply.map_err(|error| format!("no answer: {error}"))?;
    Ok((reply.status, serde_json::from_slice(&reply.body).unwrap_or_default()))
}

fn text(told: &Value) -> String {
    told.as_str().unwrap_or_default().into()
}

fn number(told: &Value) -> Result<u64, String> {
    match told.as_str() {
        None => Ok(0),
        Some(text) => text.parse().map_err(|_| format!("`{text}` is what nobody wrote")),
    }
}
