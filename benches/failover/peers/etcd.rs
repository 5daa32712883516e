//! etcd of Debian's package, at its defaults.

use super::grpc::PutTalk;
use super::packages;
use super::txn::TxnRegister;
use crate::http::Http;
use crate::peer::{Peer, View, Watch, Writer};
use crate::register::Register;
use crate::site::{Place, Site};
use crate::talk::Talk;
use serde_json::Value;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

const PACKAGE: &str = "etcd-server";

const PATIENCE: Duration = Duration::from_secs(2);

/// A hand-over is given up by the leader after an election's time.
const TRANSFER_PATIENCE: Duration = Duration::from_secs(10);

/// A write that was handed to a dead leader is never answered; a healthy one takes a tenth of this.
const WRITE_PATIENCE: Duration = Duration::from_millis(25);

pub(crate) struct Etcd;

impl Peer for Etcd {
    fn key(&self) -> &'static str {
        "etcd"
    }

    fn title(&self) -> String {
        format!("etcd {}", packages::release(PACKAGE).unwrap_or_default())
    }

    fn missing(&self) -> Option<String> {
        packages::missing(PACKAGE)
    }

    fn install(&self) -> Result<(), String> {
        packages::install(&[PACKAGE])
    }

    fn command(&self, site: &Site, place: &Place) -> io::Result<Command> {
        let cluster: Vec<String> =
            site.places.iter().map(|peer| format!("{}=http://{}", peer.name, peer.peer())).collect();
        let (client, transport) = (format!("http://{}", place.door()), format!("http://{}", place.peer()));
        let mut command = site.program(place, "etcd");
        command.args(["--name", &place.name, "--initial-cluster", &cluster.join(",")]);
        command.arg("--data-dir").arg(place.directory.join("data"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &transport, "--initial-advertise-peer-urls", &transport]);
        // Its refusal to run where it was not tried is a matter of other machines.
        command.env("ETCD_UNSUPPORTED_ARCH", std::env::consts::ARCH);
        Ok(command)
    }

    fn watch(&self, place: &Place) -> Box<dyn Watch> {
        Box::new(EtcdWatch(Http::at(place.door(), PATIENCE)))
    }

    fn leader(&self, places: &[&Place]) -> Option<usize> {
        let statuses = places.iter().map(|place| status(&mut Http::at(place.door(), PATIENCE)).ok().flatten());
        let statuses: Vec<Value> = statuses.collect::<Option<_>>()?;
        let named = leader_of(statuses.first()?)?;
        if statuses.iter().any(|status| leader_of(status) != Some(named)) {
            return None;
        }
        let at = statuses.iter().position(|status| status["header"]["member_id"].as_str() == Some(named))?;
        Some(places[at].index)
    }

    fn writer(&self, place: &Place) -> Option<Box<dyn Writer>> {
        Some(Box::new(EtcdWriter(Http::at(place.door(), WRITE_PATIENCE))))
    }

    fn talk(&self, place: &Place, number: usize) -> Option<io::Result<(TcpStream, Box<dyn Talk>)>> {
        let talk = PutTalk::connect(place.door(), number, PATIENCE);
        Some(talk.map(|(stream, talk)| (stream, Box::new(talk) as Box<dyn Talk>)))
    }

    fn register(&self, doors: &[SocketAddr], number: usize) -> Box<dyn Register> {
        Box::new(TxnRegister::new(doors, number))
    }

    fn hand_over(&self, places: &[&Place], master: usize) -> Option<Result<(), String>> {
        Some(hand_over(places, master))
    }

    fn listens_at_once(&self) -> bool {
        true
    }
}

/// What a node says of itself, if it says anything of the kind.
fn status(http: &mut Http) -> io::Result<Option<Value>> {
    Ok(http.ask("POST", "/v3/maintenance/status", b"{}")?.json())
}

fn hand_over(places: &[&Place], master: usize) -> Result<(), String> {
    let http = |place: &Place| Http::at(place.door(), TRANSFER_PATIENCE);
    let next = places.iter().find(|place| place.index != master).ok_or("there is nobody to hand over to")?;
    let cannot = |error: io::Error| format!("the hand-over got no answer: {error}");
    let status = status(&mut http(next)).map_err(cannot)?.unwrap_or_default();
    let member = status["header"]["member_id"].as_str().unwrap_or_default();
    let leader = places.iter().find(|place| place.index == master).ok_or("the leader is gone")?;
    let body = format!(r#"{{"targetID":"{member}"}}"#);
    let reply = http(leader).ask("POST", "/v3/maintenance/transfer-leadership", body.as_bytes()).map_err(cannot)?;
    match reply.is_fine() {
        true => Ok(()),
        false => Err(format!("the hand-over was answered with {}", String::from_utf8_lossy(&reply.body))),
    }
}

fn leader_of(status: &Value) -> Option<&str> {
    status["leader"].as_str().filter(|leader| *leader != "0")
}

struct EtcdWatch(Http);

impl Watch for EtcdWatch {
    fn look(&mut self) -> View {
        match status(&mut self.0) {
            Ok(status) => match status.as_ref().and_then(leader_of) {
                Some(leader) => View::Master(leader.into()),
                None => View::Masterless,
            },
            Err(_) => View::Silent,
        }
    }

    fn reached(&self) -> Option<Instant> {
        self.0.reached()
    }
}

struct EtcdWriter(Http);

impl Writer for EtcdWriter {
    fn write(&mut self, number: u64) -> bool {
        // Key and value are Base64; the digits of a number are that as they are.
        let body = format!(r#"{{"key":"YmVuY2g=","value":"{number:016}"}}"#);
        self.0.ask("POST", "/v3/kv/put", body.as_bytes()).is_ok_and(|reply| reply.is_fine())
    }
}
