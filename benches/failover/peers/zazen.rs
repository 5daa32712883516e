//! Zazen itself: the binary that was built with this program, on a file as its users write it, all else at its defaults.

use super::conditional::KeyRegister;
use super::rest::{self, RestWatch, RestWriter};
use crate::http::{Http, request};
use crate::peer::{Peer, Watch, Writer};
use crate::register::Register;
use crate::site::{Place, Site};
use crate::talk::{Heard, Talk};
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

pub(crate) struct Zazen {
    /// What is set besides.
    settings: &'static [&'static str],
}

/// How long a write may take; the node itself waits for a master meanwhile.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// What ends the head of an answer, and what begins that of one that was granted.
const HEAD_END: &[u8] = b"\r\n\r\n";
const GRANTED: &str = "http/1.1 200 ";

/// How many nodes are named as hosts to the others; a large cluster names a few.
const HOSTS_MAX: usize = 5;

impl Zazen {
    /// All at its defaults.
    pub(crate) const PLAIN: Zazen = Zazen { settings: &[] };
    /// With all that `zazen setup` makes, in the directory of each node.
    pub(crate) const SECURE: Zazen = Zazen {
        settings: &[
            "zazen.security.secret=cluster.secret",
            "zazen.security.certificate=node.crt",
            "zazen.security.key=node.key",
            "zazen.security.authorities=ca.crt",
            "zazen.security.users=users",
            "zazen.security.http.certificate=http.crt",
            "zazen.security.http.key=http.key",
        ],
    };
    /// With a hook for everything.
    pub(crate) const WATCHED: Zazen = Zazen {
        settings: &[
            "hooks.on_master_elected=/bin/true",
            "hooks.on_step_down=/bin/true",
            "hooks.on_no_master=/bin/true",
            "hooks.on_node_joined=/bin/true",
            "hooks.on_node_left=/bin/true",
            "hooks.on_reduced=/bin/true",
        ],
    };
    /// Nodes that cut their own links when they are asked to.
    pub(crate) const CUTTABLE: Zazen = Zazen { settings: &["zazen.faults.enabled=true"] };
}

impl Peer for Zazen {
    fn key(&self) -> &'static str {
        "zazen"
    }

    fn title(&self) -> String {
        format!("Zazen {}", env!("CARGO_PKG_VERSION"))
    }

    fn missing(&self) -> Option<String> {
        None
    }

    fn install(&self) -> Result<(), String> {
        Ok(())
    }

    fn command(&self, site: &Site, place: &Place) -> io::Result<Command> {
        let hosts = site.places.iter().take(HOSTS_MAX);
        let hosts: Vec<String> = hosts.map(|host| format!("\"{}\"", host.peer())).collect();
        let file = place.directory.join("zazen.yml");
        // A bench is on a network of its own.
        let open = |host| format!("network.host: {host}\nzazen.security.allow_open: true\n");
        let network = if place.host.is_loopback() { String::new() } else { open(place.host) };
        let text = format!(
            "cluster.name: bench\nnode.name: {}\npath.data: {}\nhttp.port: {}\ntransport.tcp.port: {}\n{network}\
             discovery.zen.ping.unicast.hosts: [{}]\n",
            place.name,
            place.directory.join("data").display(),
            place.client(),
            place.transport(),
            hosts.join(", ")
        );
        fs::write(&file, text)?;
        let mut command = site.program(place, env!("CARGO_BIN_EXE_zazen"));
        command.arg("start").arg("-c").arg(&file);
        command.args(self.settings.iter().flat_map(|setting| ["-E", setting]));
        Ok(command)
    }

    fn watch(&self, place: &Place) -> Box<dyn Watch> {
        Box::new(RestWatch::new(place))
    }

    fn leader(&self, places: &[&Place]) -> Option<usize> {
        rest::leader(places)
    }

    fn writer(&self, place: &Place) -> Option<Box<dyn Writer>> {
        let mut writer = RestWriter::new(place);
        // Only a node that takes settings over REST can be timed by them.
        if writer.write(0) { Some(Box::new(writer)) } else { None }
    }

    fn talk(&self, place: &Place, number: usize) -> Option<io::Result<(TcpStream, Box<dyn Talk>)>> {
        let stream = TcpStream::connect(place.door()).and_then(|stream| stream.set_nodelay(true).map(|()| stream));
        Some(stream.map(|stream| (stream, Box::new(KeyTalk::new(number)) as Box<dyn Talk>)))
    }

    fn register(&self, doors: &[SocketAddr], number: usize) -> Box<dyn Register> {
        Box::new(KeyRegister::new(doors, number))
    }

    fn hand_over(&self, places: &[&Place], master: usize) -> Option<Result<(), String>> {
        Some(hand_over(places, master))
    }

    fn listens_at_once(&self) -> bool {
        true
    }
}

/// Asks a node that is not the master, which passes it on.
fn hand_over(places: &[&Place], master: usize) -> Result<(), String> {
    let other = places.iter().find(|place| place.index != master).ok_or("there is nobody to hand over to")?;
    let reply = Http::at(other.door(), WRITE_PATIENCE).ask("POST", "/_zazen/handover", b"");
    let reply = reply.map_err(|error| format!("the hand-over got no answer: {error}"))?;
    let told = String::from_utf8_lossy(&reply.body);
    if reply.is_fine() { Ok(()) } else { Err(format!("the hand-over was answered with {told}")) }
}

/// Writes a key, and waits until it is committed: whether every node has applied it is for other clients to ask.
struct KeyTalk {
    path: String,
}

impl KeyTalk {
    fn new(number: usize) -> Self {
        KeyTalk { path: format!("/_zazen/kv/bench-{number}?timeout=0ms&master_timeout=60s") }
    }
}

impl Talk for KeyTalk {
    fn ask(&mut self, number: u64) -> Vec<u8> {
        request("PUT", &self.path, &[], format!("{number:064}").as_bytes())
    }

    /// An answer has a head, and a body whose length that tells.
    fn hear(&mut self, bytes: &[u8]) -> Heard {
        let end = bytes.windows(HEAD_END.len()).position(|window| window == HEAD_END);
        let Some((head, from)) = end.map(|end| (&bytes[..end], end + HEAD_END.len())) else {
            return Heard::default();
        };
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        match from + length.unwrap_or_default() {
            used if used <= bytes.len() => Heard { used, answer: Some(head.starts_with(GRANTED)), ..Heard::default() },
            _ => Heard::default(),
        }
    }
}
