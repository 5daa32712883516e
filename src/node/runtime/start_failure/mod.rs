//! Why a node did not start, as a verdict: with a code, and with what to type.
//!
//! What the failure means is decided here; who holds a port or a lock is found out in `holder`, what helps against a disk
//! is told by `disk`, where a file is gone by `missing` and where a certificate is no good by `remade`, and faults of a
//! configuration become a line in `slips`.

mod disk;
mod holder;
mod missing;
mod remade;
mod slips;

pub use super::host::{Misencoded, misencoded};
pub use disk::elsewhere;
pub use holder::{NAMES, file_in};
pub(in crate::runtime) use missing::copied;
pub use remade::remade;
pub use slips::{faults, said_of_encoding};

use crate::cluster::{Address, is_loopback};
use crate::diagnose::{Certainty, Code, Mend, Start, Verdict, Worth, ended, quoted};
use crate::runtime::addresses::{self, AddressError};
use crate::runtime::host::{absolute, launch_of, outward, ports_beside};
use crate::runtime::listen::BindError;
use crate::runtime::secure::{FileError, LINES};
use crate::runtime::seeds::with_port;
use crate::runtime::store::StoreError;
use crate::runtime::{StartError, is_stopped, program};
use crate::settings::NodeSettings;
use holder::Holder;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::path::Path;

/// How many ports behind one that is taken are tried.
const PORTS_TRIED: u16 = 200;

/// As many files as are enough, or as this user may have.
const MORE_FILES: &str = "ulimit -n 65536 2>/dev/null || ulimit -n \"$(ulimit -Hn)\"; ";

/// Where a node listens, the most special setting first.
const BIND: [&str; 6] =
    ["transport.bind_host", "transport.host", "http.bind_host", "http.host", "network.bind_host", "network.host"];

/// What it tells others, likewise.
const PUBLISH: [&str; 6] = [
    "transport.publish_host",
    "transport.host",
    "http.publish_host",
    "http.host",
    "network.publish_host",
    "network.host",
];

/// The process of this very node, if it runs already: it holds the data directory, and was started by the same file. A
/// relative directory may be another one where this is asked; then it is known by its port.
pub fn running(settings: &NodeSettings) -> Option<u32> {
    let of_port = || {
        let port = settings.transport.ports.only().filter(|_| settings.path_data.is_relative())?;
        let hosts = addresses::bind_addresses(&settings.transport).ok()?;
        hosts.into_iter().find_map(|host| Holder::of_port(host, port, settings))
    };
    let holder = of_data(settings).filter(Holder::is_this_node);
    let holder = holder.or_else(|| of_port().filter(Holder::is_this_node));
    holder.map(|holder| holder.pid)
}

/// What is wrong.
pub fn verdict(error: &StartError, settings: &NodeSettings) -> Verdict {
    let (code, mend) = match error {
        StartError::Address(error) => (Code::BadAddress, Some(address(error, settings))),
        StartError::Bind(error) if error.is_taken() => (Code::PortInUse, port(error, settings)),
        StartError::Bind(error) if error.is_denied() => (Code::BadAddress, Some(usual_port(error, settings))),
        StartError::Bind(error) => (Code::BadAddress, Some(host(&error.host().to_string(), settings))),
        StartError::Store(error) => store(error, settings),
        StartError::OtherCluster { found, .. } => {
            let named = || (Code::WrongClusterName, Some(text(settings, "cluster.name", found.as_str())));
            missing::as_noted(settings).map_or_else(named, |mend| (Code::BadSettings, Some(mend)))
        }
        StartError::FewFiles(_) => (Code::TooManyFiles, start(settings, MORE_FILES)),
        StartError::System(_, error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            (Code::TooManyFiles, start(settings, MORE_FILES))
        }
        StartError::Secret(FileError::Open(path, _)) => {
            (Code::BadSettings, start(settings, &format!("chmod 600 {} && ", quoted(&absolute(path)))))
        }
        StartError::Secret(FileError::Foreign(path, ..)) => {
            let (path, own) = (quoted(&absolute(path)), rustix::process::geteuid().as_raw());
            (Code::BadSettings, start(settings, &format!("chown {own} {path} && chmod go-w {path} && ")))
        }
        StartError::Secret(FileError::Unreadable(path, error)) if error.kind() == io::ErrorKind::NotFound => {
            let brought = missing::brought(path, settings).or_else(|| remade::remade(path, settings));
            let beside = brought.or_else(|| missing::as_beside(path, settings));
            (Code::BadSettings, beside.or_else(|| missing::with_an_admin(path, settings)))
        }
        StartError::Secret(FileError::Strange(path, _)) => {
            let of_nodes = remade::mistaken(path, settings).or_else(|| remade::remade(path, settings));
            let brought = of_nodes.or_else(|| missing::brought(path, settings));
            (Code::BadSettings, brought.or_else(|| missing::as_beside(path, settings)))
        }
        StartError::Secret(FileError::Incomplete(_)) => (Code::BadSettings, secured(settings)),
        StartError::Insecure(_) => (Code::BadSettings, insecure(settings)),
        StartError::Log(path, _) => (Code::BadSettings, logs(path, settings)),
        // They say themselves what to type.
        StartError::Secret(_) | StartError::System(..) | StartError::Client(_) => (Code::BadSettings, None),
    };
    let node = settings.node_name.as_deref().map(ToOwned::to_owned);
    let holder = holder(error, settings);
    // What stands in the file of the lock may be out of date.
    let held = if let (StartError::Store(StoreError::Locked { dir, .. }), Some(holder)) = (error, &holder) {
        Some(StartError::Store(StoreError::Locked { dir: dir.clone(), holder: Some(holder.pid) }))
    } else {
        None
    };
    let error = held.as_ref().unwrap_or(error);
    let summary = match holder {
        Some(holder) if holder.is_this_node() => {
            // What may be done about the log or the port of another node does not help here.
            let is_log = matches!(error, StartError::Log(..));
            let what = if is_log { "its log is written to".into() } else { error.to_string() };
            format!("{what}: this node runs already, as process [{}]", holder.pid)
        }
        Some(holder) => {
            holder.who(settings).map_or_else(|| error.to_string(), |who| format!("{error}: it is held by {who}"))
        }
        None => in_words(error, code, settings),
    };
    Verdict { code, summary, certainty: Certainty::Certain, node, evidence: Vec::new(), mend }
}

/// What the error says, and of a cluster that is another one only because the configuration lost its name, that it did.
fn in_words(error: &StartError, code: Code, settings: &NodeSettings) -> String {
    let is_lost = code == Code::BadSettings && matches!(error, StartError::OtherCluster { .. });
    match settings.file.as_ref().filter(|_| is_lost) {
        Some(file) => format!("[{}] says no more what it said when the node began last: {error}", file.display()),
        None => error.to_string(),
    }
}

/// What is told of a node that ended because its disk failed: where nothing else is known to help, it is started again.
pub fn after_disk_failed(error: &StoreError, settings: &NodeSettings) -> Verdict {
    let (code, mend) = store(error, settings);
    let node = settings.node_name.as_deref().map(ToOwned::to_owned);
    let (summary, mend) = (format!("its disk failed: {error}"), mend.or_else(|| start(settings, "")));
    Verdict { code, summary, certainty: Certainty::Certain, node, evidence: Vec::new(), mend }
}

/// Who holds what a node did not get.
fn holder(error: &StartError, settings: &NodeSettings) -> Option<Holder> {
    match error {
        StartError::Bind(error) if error.is_taken() => Holder::of_port(error.host(), error.first_port(), settings),
        StartError::Store(StoreError::Locked { dir, .. }) => Holder::of_lock(dir, settings),
        // The log is opened first of all.
        StartError::Log(..) => of_data(settings).filter(Holder::is_this_node),
        StartError::Bind(_)
        | StartError::Store(_)
        | StartError::Address(_)
        | StartError::OtherCluster { .. }
        | StartError::FewFiles(_)
        | StartError::System(..)
        | StartError::Insecure(_)
        | StartError::Secret(_)
        | StartError::Client(_) => None,
    }
}

fn of_data(settings: &NodeSettings) -> Option<Holder> {
    Holder::of_lock(&settings.path_data.join("nodes").join("0"), settings)
}

/// Another place for the log, or the end of the process that is this very node.
fn logs(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    match of_data(settings).filter(Holder::is_this_node) {
        Some(same) => instead_of(settings, same.pid),
        None => disk::logs_elsewhere(path, settings),
    }
}

/// The setting that names what is no address of this host, with one that is.
fn address(error: &AddressError, settings: &NodeSettings) -> Mend {
    match error {
        AddressError::NoInterface { host: given, .. }
        | AddressError::NoAddress { host: given, .. }
        | AddressError::Unresolved { host: given, .. } => host(given, settings),
        AddressError::Multicast { address, .. } | AddressError::NotHere { address, .. } => {
            host(&address.to_string(), settings)
        }
        AddressError::Wildcard { .. } => host("0.0.0.0", settings),
        AddressError::Port { bound, .. } => {
            let port = bound.first().map_or(9300, std::net::SocketAddr::port);
            plain(settings, "transport.publish_port", port)
        }
        AddressError::Listing { .. } => text(settings, "network.host", "127.0.0.1"),
    }
}

fn names_loopback_only(settings: &NodeSettings) -> bool {
    let seeds = settings.discovery.hosts.as_deref().unwrap_or_default();
    let is_here = |seed: &String| is_loopback(Address::from(seed.as_str()).host()) || is_loopback(seed);
    !seeds.is_empty() && seeds.iter().all(is_here)
}

fn host(given: &str, settings: &NodeSettings) -> Mend {
    let names =
        |key: &&&str| settings.given.get(**key).is_some_and(|value| value.elements().iter().any(|one| one == given));
    let is_given = |key: &&&str| settings.given.contains_key(**key);
    let all = || BIND.iter().chain(&PUBLISH);
    // A name that was looked up is given under another one.
    let key = all().find(names).or_else(|| BIND.iter().find(is_given)).copied().unwrap_or("network.host");
    let seeds = settings.discovery.hosts.as_deref().unwrap_or_default();
    let beyond = outward(seeds).filter(|host| host.parse::<IpAddr>().is_ok_and(|host| !host.is_loopback()));
    text(settings, key, beyond.as_deref().unwrap_or("_local_"))
}

/// The setting that gave a port.
fn key_of_port(error: &BindError, settings: &NodeSettings) -> &'static str {
    if settings.http.ports == *error.ports() {
        return "http.port";
    }
    let is_given = settings.given.contains_key("transport.port");
    if is_given { "transport.port" } else { "transport.tcp.port" }
}

/// A port that every user may listen at.
fn usual_port(error: &BindError, settings: &NodeSettings) -> Mend {
    let key = key_of_port(error, settings);
    plain(settings, key, if key == "http.port" { 9200 } else { 9300 })
}

/// Another port, or the end of the process that is this very node.
fn port(error: &BindError, settings: &NodeSettings) -> Option<Mend> {
    let (host, taken) = (error.host(), error.first_port());
    if let Some(same) = Holder::of_port(host, taken, settings).filter(|holder| holder.is_same) {
        return instead_of(settings, same.pid);
    }
    let key = key_of_port(error, settings);
    let others = [&settings.http.ports, &settings.transport.ports].map(|ports| ports.only());
    let beside = ports_beside(settings);
    let is_free = |port: &u16| {
        !others.contains(&Some(*port)) && !beside.contains(port) && TcpListener::bind((host, *port)).is_ok()
    };
    let free = (taken.saturating_add(1)..=taken.saturating_add(PORTS_TRIED)).find(is_free)?;
    // Seed hosts without ports are looked for at the first of its own.
    let seeds = settings.discovery.hosts.as_deref().unwrap_or_default();
    let is_where_others_are = key != "http.port" && seeds.iter().any(|seed| with_port(seed, taken) != *seed);
    Some(if is_where_others_are { plain(settings, key, format!("{taken}-{free}")) } else { plain(settings, key, free) })
}

fn store(error: &StoreError, settings: &NodeSettings) -> (Code, Option<Mend>) {
    let new = || elsewhere(settings);
    match error {
        StoreError::Locked { dir, .. } => {
            let in_the_way = Holder::of_lock(dir, settings).filter(Holder::is_in_the_way);
            let mend = in_the_way.map_or_else(new, |holder| instead_of(settings, holder.pid));
            (Code::DataInUse, mend)
        }
        StoreError::Io { path, source, .. } => disk::refused(path, source, settings),
        StoreError::Corrupt { .. } | StoreError::UnknownVersion { .. } => (Code::DataDamaged, new()),
        StoreError::Replaced { .. }
        | StoreError::Unwritable { .. }
        | StoreError::Panicked { .. }
        | StoreError::GaveUp { .. } => (Code::DataDamaged, None),
    }
}

/// What to do about a process that has what this node needs: one that was stopped by a signal would not even end.
fn instead_of(settings: &NodeSettings, pid: u32) -> Option<Mend> {
    if is_stopped(pid) {
        return Some(about(settings, Mend::command(format!("kill -CONT {pid}"))));
    }
    Some(about(settings, starts(settings)?.mend(&ended(pid))))
}

/// Does something, and starts the node, or starts it anew if it runs.
fn start(settings: &NodeSettings, before: &str) -> Option<Mend> {
    let start = starts(settings)?;
    let Some(pid) = running(settings).filter(|pid| *pid != std::process::id()) else {
        return Some(about(settings, start.mend(before)));
    };
    let Mend { line, withheld, .. } = start.mend(&ended(pid));
    let line = if before.is_empty() { line } else { format!("{before}{{ {line}; }}") };
    Some(about(settings, Mend { withheld, ..Mend::command(line) }))
}

/// The start with what `zazen setup` made, or on loopback where all others are on this host; else the error says what to type.
fn insecure(settings: &NodeSettings) -> Option<Mend> {
    secured(settings).or_else(|| names_loopback_only(settings).then(|| host("", settings)))
}

/// The start with the files that `zazen setup` made and that no setting names, if they lie where the others do.
fn secured(settings: &NodeSettings) -> Option<Mend> {
    let own = settings.security.certificate.as_ref().map(|certificate| settings.path_conf.join(certificate));
    let directory = own.as_deref().and_then(Path::parent).unwrap_or(&settings.path_conf);
    let mut start = starts(settings)?;
    let made = LINES.lines().filter_map(|line| line.split_once(": ")).filter(|(key, _)| key.starts_with("zazen."));
    for (key, name) in made.filter(|(key, _)| !settings.given.contains_key(*key)) {
        let file = directory.join(name);
        if !file.is_file() {
            return None;
        }
        start = start.with(key, &Worth::Text(absolute(&file)));
    }
    Some(about(settings, start.mend("")))
}

/// How the node was to be started; none if nothing tells how.
fn starts(settings: &NodeSettings) -> Option<Start> {
    let (file, launch) = (settings.file.as_deref().map(absolute), launch_of(&settings.launch));
    let start = (file.is_some() || !launch.is_empty()).then(|| Start::new(&program(), file.as_deref(), &launch))?;
    // Where it is typed may be another directory.
    Some(if settings.path_data.is_relative() { start.on(&absolute(&settings.path_data)) } else { start })
}

/// What is wrong in a sentence or two, without the commands that may stand on lines of their own behind it.
pub fn in_short(summary: &str) -> String {
    let line = summary.lines().next().unwrap_or_default();
    let announces = line.ends_with(':').then(|| line.rsplit_once(". ")).flatten();
    announces.map_or(line, |(before, _)| before).to_owned()
}

/// What is said of a failure at the standard error: the words, the code, and what to type.
pub fn words(Verdict { code, summary, mend, .. }: &Verdict) -> String {
    said(summary, *code, mend.as_ref())
}

fn said(summary: &str, code: Code, mend: Option<&Mend>) -> String {
    format!("{summary} [{}]{}", code.name(), mend.map_or_else(String::new, Mend::in_words))
}

/// Another value of a setting: in the file, or in the line that starts the node if that, or the environment, gives it.
pub fn set(settings: &NodeSettings, key: &str, worth: &Worth) -> Mend {
    let changed = starts(settings)
        .filter(|_| launch_of(&settings.launch).gives(key))
        .map(|start| start.with(key, worth).mend(""));
    let in_file = || Mend::setting(key, worth, settings.file.as_deref().map(absolute));
    about(settings, changed.unwrap_or_else(in_file))
}

/// One that sets a text.
pub fn text(settings: &NodeSettings, key: &str, value: &str) -> Mend {
    set(settings, key, &Worth::Text(value.to_owned()))
}

/// One that sets a number.
fn plain(settings: &NodeSettings, key: &str, value: impl ToString) -> Mend {
    set(settings, key, &Worth::Plain(value.to_string()))
}

fn about(settings: &NodeSettings, mend: Mend) -> Mend {
    Mend { node: settings.node_name.as_deref().map(ToOwned::to_owned), ..mend }
}
