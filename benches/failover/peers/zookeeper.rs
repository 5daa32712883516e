//! ZooKeeper of Debian's package, with the timings of its sample configuration.
//!
//! Its servers do not say whom they follow, only whether they lead, follow or serve nobody. A survivor that was seen
//! without service and serves again has another leader.

use super::jute::{SetTalk, Ticket, connect_request};
use super::packages;
use super::session::SessionRegister;
use crate::clock::now;
use crate::peer::{Peer, View, Watch, Writer};
use crate::register::Register;
use crate::site::{Place, Site};
use crate::talk::Talk;
use std::fmt::Write;
use std::fs;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

const PACKAGE: &str = "zookeeper";

const PATIENCE: Duration = Duration::from_secs(2);

/// The package's own class path, with its settings of the log.
const CLASS_PATH: &str = "/etc/zookeeper/conf:/usr/share/java/zookeeper.jar";

pub(crate) struct ZooKeeper;

impl Peer for ZooKeeper {
    fn key(&self) -> &'static str {
        "zookeeper"
    }

    fn title(&self) -> String {
        format!("ZooKeeper {}", packages::release(PACKAGE).unwrap_or_default())
    }

    fn missing(&self) -> Option<String> {
        packages::missing(PACKAGE)
    }

    fn install(&self) -> Result<(), String> {
        packages::install(&[PACKAGE])
    }

    fn command(&self, site: &Site, place: &Place) -> io::Result<Command> {
        let data = place.directory.join("data");
        fs::create_dir_all(&data)?;
        // Servers are numbered from 1.
        fs::write(data.join("myid"), (place.index + 1).to_string())?;
        let mut text = format!(
            "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir={}\nclientPort={}\nclientPortAddress={}\n\
             admin.enableServer=false\nmaxClientCnxns=0\n",
            data.display(),
            place.client(),
            place.host
        );
        for peer in &site.places {
            let _ = writeln!(text, "server.{}={}:{}", peer.index + 1, peer.peer(), peer.election());
        }
        let file = place.directory.join("zoo.cfg");
        fs::write(&file, text)?;
        let mut command = site.program(place, "java");
        command.args(["-cp", CLASS_PATH, "org.apache.zookeeper.server.quorum.QuorumPeerMain"]).arg(file);
        Ok(command)
    }

    fn watch(&self, place: &Place) -> Box<dyn Watch> {
        Box::new(ModeWatch { address: place.door(), reached: None, has_served: false, was_lost: false })
    }

    fn leader(&self, places: &[&Place]) -> Option<usize> {
        let modes = places.iter().map(|place| mode(connect(place.door()).ok()?).ok().flatten());
        let modes: Vec<Mode> = modes.collect::<Option<_>>()?;
        let mut leaders = places.iter().zip(&modes).filter(|(_, mode)| **mode == Mode::Leader);
        match (leaders.next(), leaders.next()) {
            (Some((place, _)), None) => Some(place.index),
            (None, _) | (Some(_), Some(_)) => None,
        }
    }

    fn writer(&self, place: &Place) -> Option<Box<dyn Writer>> {
        Some(Box::new(SessionWriter(place.door())))
    }

    fn talk(&self, place: &Place, number: usize) -> Option<io::Result<(TcpStream, Box<dyn Talk>)>> {
        let talk = SetTalk::open(place.door(), number);
        Some(talk.map(|(stream, talk)| (stream, Box::new(talk) as Box<dyn Talk>)))
    }

    fn register(&self, doors: &[SocketAddr], number: usize) -> Box<dyn Register> {
        Box::new(SessionRegister::new(doors, number))
    }

    fn listens_at_once(&self) -> bool {
        true
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Leader,
    Follower,
}

/// Asks a server what it is; one that serves nobody is neither. It closes the connection after its answer.
fn mode(mut stream: TcpStream) -> io::Result<Option<Mode>> {
    stream.write_all(b"srvr")?;
    let mut said = String::new();
    stream.take(4096).read_to_string(&mut said)?;
    Ok(match said.lines().find_map(|line| line.strip_prefix("Mode: ")) {
        Some("leader") => Some(Mode::Leader),
        Some("follower") => Some(Mode::Follower),
        _ => None,
    })
}

struct ModeWatch {
    address: SocketAddr,
    reached: Option<Instant>,
    has_served: bool,
    was_lost: bool,
}

impl ModeWatch {
    fn see(&mut self) -> io::Result<Option<Mode>> {
        let stream = connect(self.address)?;
        self.reached.get_or_insert_with(now);
        mode(stream)
    }
}

impl Watch for ModeWatch {
    fn look(&mut self) -> View {
        let seen = self.see();
        match seen {
            Ok(Some(Mode::Leader | Mode::Follower)) => {
                self.has_served = true;
                View::Master(if self.was_lost { "a later leader" } else { "the first leader" }.into())
            }
            Ok(None) | Err(_) => {
                self.was_lost |= self.has_served;
                if seen.is_ok() { View::Masterless } else { View::Silent }
            }
        }
    }

    fn reached(&self) -> Option<Instant> {
        self.reached
    }
}

/// Opens sessions: the quorum commits each one, as it does every other write.
struct SessionWriter(SocketAddr);

impl SessionWriter {
    fn open(&self) -> io::Result<bool> {
        let mut stream = connect(self.0)?;
        stream.write_all(&connect_request(&Ticket::default()))?;
        // Length, protocol version, the timeout that was granted, and the session.
        let mut granted = [0; 20];
        stream.read_exact(&mut granted)?;
        Ok(granted[12..].iter().any(|byte| *byte != 0))
    }
}

impl Writer for SessionWriter {
    fn write(&mut self, _number: u64) -> bool {
        self.open().unwrap_or(false)
    }
}
