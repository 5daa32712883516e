//! Elasticsearch 6.8 with its Zen discovery, from the jars that Maven fetches, with the quorum that its manual demands.
//!
//! All else is at its defaults but for the heap, which is smaller than the distribution's, so that three fit everywhere.

use super::conditional::SettingRegister;
use super::packages;
use super::rest::{self, RestWatch, RestWriter};
use crate::peer::{Peer, Watch, Writer};
use crate::register::Register;
use crate::site::{Place, Site};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const RELEASE: &str = "6.8.23";

/// The project file and the starter.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/failover/peers/elasticsearch");

/// What it needs of newer releases of Java than it was made for.
const JAVA_OPTIONS: [&str; 8] = [
    "-Xms256m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-Djava.security.manager=allow",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dio.netty.noUnsafe=true",
];

pub(crate) struct Elasticsearch;

impl Peer for Elasticsearch {
    fn key(&self) -> &'static str {
        "elasticsearch"
    }

    fn title(&self) -> String {
        format!("Elasticsearch {RELEASE}")
    }

    fn missing(&self) -> Option<String> {
        let starter = classes().join("Starter.class");
        if starter.exists() { None } else { Some(format!("it was not built, there is no [{}]", starter.display())) }
    }

    fn install(&self) -> Result<(), String> {
        let has = |tool: &str| Command::new(tool).arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if has("mvn").is_err() || has("javac").is_err() {
            packages::install(&["maven", "default-jdk-headless"])?;
        }
        fs::create_dir_all(classes()).map_err(|error| format!("[{}] cannot be made: {error}", classes().display()))?;
        let sources = Path::new(SOURCES);
        let mut fetch = Command::new("mvn");
        fetch.args(["--batch-mode", "--quiet", "--file"]).arg(sources.join("pom.xml"));
        fetch.arg("dependency:copy-dependencies").arg(format!("-DoutputDirectory={}", jars().display()));
        packages::run(&mut fetch)?;
        let mut compile = Command::new("javac");
        compile.arg("-cp").arg(format!("{}/*", jars().display())).arg("-d").arg(classes());
        packages::run(compile.arg(sources.join("Starter.java")))
    }

    fn command(&self, site: &Site, place: &Place) -> io::Result<Command> {
        let hosts: Vec<String> = site.places.iter().map(|host| host.peer().to_string()).collect();
        let home = place.directory.display();
        let mut command = site.program(place, "java");
        command.args(JAVA_OPTIONS).arg("-cp").arg(format!("{}/*:{}", jars().display(), classes().display()));
        command.arg("Starter").args([
            format!("path.home={home}"),
            format!("path.logs={home}/logs"),
            "cluster.name=bench".into(),
            format!("node.name={}", place.name),
            format!("network.host={}", place.host),
            format!("http.port={}", place.client()),
            format!("transport.tcp.port={}", place.transport()),
            "transport.type=netty4".into(),
            "http.type=netty4".into(),
            format!("discovery.zen.ping.unicast.hosts={}", hosts.join(",")),
            format!("discovery.zen.minimum_master_nodes={}", site.places.len() / 2 + 1),
        ]);
        Ok(command)
    }

    fn watch(&self, place: &Place) -> Box<dyn Watch> {
        Box::new(RestWatch::new(place))
    }

    fn leader(&self, places: &[&Place]) -> Option<usize> {
        rest::leader(places)
    }

    fn writer(&self, place: &Place) -> Option<Box<dyn Writer>> {
        Some(Box::new(RestWriter::new(place)))
    }

    fn register(&self, doors: &[SocketAddr], number: usize) -> Box<dyn Register> {
        Box::new(SettingRegister::new(doors, number))
    }

    /// Its settings are changed under no condition.
    fn tells_twice(&self) -> bool {
        false
    }

    /// Its clients' port opens once the node has joined.
    fn listens_at_once(&self) -> bool {
        false
    }

    /// Three pings of 30 s, and 30 s more for the publish that removes the frozen node.
    fn patience_with_the_frozen(&self) -> Duration {
        Duration::from_secs(300)
    }

    fn trials_of_the_frozen(&self) -> usize {
        1
    }
}

fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers").join(format!("elasticsearch-{RELEASE}"))
}

fn jars() -> PathBuf {
    built().join("lib")
}

fn classes() -> PathBuf {
    built().join("classes")
}
