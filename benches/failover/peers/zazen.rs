//! Zazen itself: the binary that was built with this program, on a file as its users write it, all else at its defaults.

use super::rest::{self, RestWatch, RestWriter};
use crate::http::Http;
use crate::peer::{Peer, Watch, Writer};
use crate::site::{Place, Site};
use std::fs;
use std::io;
use std::process::Command;
use std::time::Duration;

pub(crate) struct Zazen {
    /// What is set besides.
    settings: &'static [&'static str],
}

/// How long a write may take; the node itself waits for a master meanwhile.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// How many nodes are named as hosts to the others; a large cluster names a few.
const HOSTS_MAX: usize = 5;

impl Zazen {
    /// All at its defaults.
    pub(crate) const PLAIN: Zazen = Zazen { settings: &[] };
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
        let network = if place.host.is_loopback() { String::new() } else { format!("network.host: {}\n", place.host) };
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
        let program = env!("CARGO_BIN_EXE_zazen");
        let mut command = match &site.wires {
            Some(wires) => wires.enter(place.index, program),
            None => Command::new(program),
        };
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

    fn client(&self, place: &Place, number: usize) -> Option<Box<dyn Writer>> {
        let mut writer = KeyWriter::new(place, number);
        // Only a node that keeps keys can be timed by them.
        if writer.write(0) { Some(Box::new(writer)) } else { None }
    }

    fn listens_at_once(&self) -> bool {
        true
    }
}

/// Writes a key, and waits until it is committed: whether every node has applied it is for other clients to ask.
struct KeyWriter {
    http: Http,
    path: String,
}

impl KeyWriter {
    fn new(place: &Place, number: usize) -> Self {
        let path = format!("/_zazen/kv/bench-{number}?timeout=0ms&master_timeout=60s");
        KeyWriter { http: Http::new(place.client(), WRITE_PATIENCE), path }
    }
}

impl Writer for KeyWriter {
    fn write(&mut self, number: u64) -> bool {
        let value = format!("{number:064}");
        self.http.ask("PUT", &self.path, value.as_bytes()).is_ok_and(|reply| reply.is_fine())
    }
}
