//! What would keep a node of this host that does not run from starting, found without trying: nothing is bound, written or
//! locked, as its operator may start it at this very moment.
//!
//! The same errors as those of a start, so that [`crate::runtime::start_failure`] tells what they mean and what to type.

use crate::cluster::ClusterName;
use crate::diagnose::{Obstacle, Sibling, Verdict};
use crate::runtime::StartError;
use crate::runtime::addresses::{AddressError, Machine, is_here};
use crate::runtime::host::Locks;
use crate::runtime::listen::BindError;
use crate::runtime::proc::Listening;
use crate::runtime::secure::{FileError, Side, gate, readable};
use crate::runtime::start_failure;
use crate::runtime::store::{Store, StoreError};
use crate::settings::{ListenSettings, NodeSettings};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What is larger is not read; a start tells whether it is damaged.
const READ_MAX: u64 = 16 << 20;

/// How many data directories are remembered.
const KNOWN_MAX: usize = 256;

/// What data directories held when they were looked at last. To read one takes long, and it changes only where a node runs.
#[derive(Default)]
pub(super) struct Held(BTreeMap<PathBuf, (Stamp, ClusterName, Contents)>);

/// What a data directory holds.
#[derive(Clone)]
enum Contents {
    /// The state of a cluster, or something that cannot be told from outside.
    State,
    /// A node was there that never was in a cluster.
    NoState,
    /// What the node cannot begin with.
    Unusable(Arc<StartError>),
}

/// The files of a data directory: their names, sizes, and when they were written.
type Stamp = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// This host, asked no more than it must: of a hundred nodes that run the sockets are not read.
pub(super) struct Host {
    pub(super) machine: Machine,
    locks: OnceCell<Locks>,
    listening: OnceCell<Listening>,
}

impl Host {
    pub(super) fn look() -> Self {
        let machine = Machine::look().unwrap_or_default();
        Host { machine, locks: OnceCell::new(), listening: OnceCell::new() }
    }

    /// Whether a process holds a data directory.
    fn is_locked(&self, data: &Path) -> bool {
        self.locks.get_or_init(Locks::now).holder_of(&data.join("nodes").join("0")).is_some()
    }

    /// Whether somebody listens there.
    fn is_taken(&self, at: SocketAddr) -> bool {
        self.listening.get_or_init(Listening::now).is_taken(at)
    }
}

/// A node that is not to be seen running, with the first thing that would keep it from it by these settings.
pub(super) fn looked_at(one: Sibling, settings: &NodeSettings, host: &Host, held: &mut Held) -> Sibling {
    if host.is_locked(&settings.path_data) {
        return one;
    }
    // What another user wrote is not read: it may be anything.
    let contents = if one.owner.is_none() { held.of(settings) } else { Contents::State };
    let unusable = || match &contents {
        Contents::Unusable(error) => Some(error.clone()),
        Contents::State | Contents::NoState => None,
    };
    // What it holds goes first: one that runs on other data since has its own port.
    let others = || {
        listens(settings, &one, host)
            .or_else(|| secret(settings, &one))
            .or_else(|| data(settings, &one))
            .or_else(|| logs(settings, &one))
    };
    let error = unusable().or_else(|| others().map(Arc::new));
    let obstacle = error.map(|error| obstacle(&one, start_failure::verdict(&error, settings)));
    Sibling { obstacle, has_never_joined: matches!(contents, Contents::NoState), ..one }
}

fn obstacle(one: &Sibling, told: Verdict) -> Obstacle {
    // A command is typed by whoever asked, and would have another user start it than the one whose it is.
    let mend = told.mend.filter(|mend| mend.is_setting || (one.owner.is_none() && one.unit.is_none()));
    Obstacle { code: told.code, fault: start_failure::in_short(&told.summary), mend }
}

/// Addresses that are none of this host, or that strangers reach, and ports that others have.
fn listens(settings: &NodeSettings, sibling: &Sibling, host: &Host) -> Option<StartError> {
    // The loopback of another host is not this one's.
    let is_here = !sibling.is_elsewhere || ran_here(sibling);
    let users = (settings.rest.enabled && is_here).then_some((Side::Users, &settings.http));
    let mut sides = [(Side::Nodes, &settings.transport)].into_iter().chain(users);
    sides.find_map(|(side, listen)| listens_at(settings, (side, listen), sibling, host))
}

fn listens_at(
    settings: &NodeSettings,
    (side, listen): (Side, &ListenSettings),
    sibling: &Sibling,
    host: &Host,
) -> Option<StartError> {
    let names = listen.bind_hosts.iter().chain(&listen.publish_hosts);
    // To look a name up may take long.
    if names.clone().any(|host| is_name(host)) {
        return None;
    }
    let bound = match host.machine.bind_addresses(listen) {
        Ok(bound) => bound,
        // The file may be that of another host, from which it was copied.
        Err(AddressError::NotHere { .. }) if !ran_here(sibling) => return None,
        Err(error) => return Some(StartError::Address(error)),
    };
    if let Err(insecure) = gate(settings, side, &bound) {
        return Some(StartError::Insecure(insecure));
    }
    let port = listen.ports.only().filter(|port| *port != 0)?;
    let taken = bound.into_iter().find(|at| host.is_taken(SocketAddr::new(*at, port)))?;
    Some(StartError::Bind(BindError::taken(taken, &listen.ports)))
}

/// Whether it is to be looked up.
pub(super) fn is_name(host: &str) -> bool {
    host.parse::<IpAddr>().is_err() && !host.starts_with(['_', '#', '[']) && host != "localhost"
}

/// Whether it was at an address of this host when it ran last.
pub(super) fn ran_here(sibling: &Sibling) -> bool {
    let last = sibling.last.as_ref().and_then(|last| last.host().parse::<IpAddr>().ok());
    last.is_some_and(|host| is_here(&host))
}

/// Files of secrets and certificates. What this process may not read its own user may.
fn secret(settings: &NodeSettings, sibling: &Sibling) -> Option<StartError> {
    let is_hidden = |error: &FileError| match error {
        FileError::Unreadable(_, error) => error.kind() == io::ErrorKind::PermissionDenied,
        FileError::Open(..) | FileError::Foreign(..) | FileError::Strange(..) | FileError::Incomplete(_) => false,
    };
    if sibling.owner.is_some() {
        return None;
    }
    readable(settings).err().filter(|error| !is_hidden(error)).map(StartError::Secret)
}

/// A data directory that is none, or to which nobody can write.
fn data(settings: &NodeSettings, sibling: &Sibling) -> Option<StartError> {
    let path = &settings.path_data;
    let source = unwritable(path, sibling)?;
    Some(StartError::Store(StoreError::Io { tried: "write to", path: path.clone(), source }))
}

/// The same of the directory of its log, if that goes to one.
fn logs(settings: &NodeSettings, sibling: &Sibling) -> Option<StartError> {
    let path = settings.log.path.as_ref()?;
    Some(StartError::Log(path.clone(), unwritable(path, sibling)?))
}

/// Why nothing can be written in a directory; what another user may not do is not held against the sibling's own.
fn unwritable(path: &Path, sibling: &Sibling) -> Option<io::Error> {
    // A link to what is not there, as a disk that is not mounted.
    if !path.exists() && path.is_symlink() {
        return Some(io::ErrorKind::NotFound.into());
    }
    let nearest = path.ancestors().find(|above| above.exists())?;
    if !nearest.is_dir() {
        return Some(io::ErrorKind::NotADirectory.into());
    }
    let is_another_users = |error: &rustix::io::Errno| {
        sibling.owner.is_some() && io::Error::from(*error).kind() == io::ErrorKind::PermissionDenied
    };
    let error = rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK).err()?;
    (!is_another_users(&error)).then(|| error.into())
}

impl Held {
    fn of(&mut self, settings: &NodeSettings) -> Contents {
        let path = &settings.path_data;
        let Some(stamp) = stamp(&path.join("nodes").join("0").join("_state")) else { return Contents::State };
        if self.0.len() > KNOWN_MAX {
            self.0.clear();
        }
        let known = self.0.get(path).filter(|(seen, name, _)| *seen == stamp && *name == settings.cluster_name);
        if let Some((.., contents)) = known {
            return contents.clone();
        }
        let contents = contents(settings);
        self.0.insert(path.clone(), (stamp, settings.cluster_name.clone(), contents.clone()));
        contents
    }
}

fn contents(settings: &NodeSettings) -> Contents {
    let path = &settings.path_data;
    match Store::peek(path) {
        Ok(Some(memory)) => {
            let Some(accepted) = memory.accepted else { return Contents::NoState };
            let (found, configured) = (accepted.cluster_name.clone(), settings.cluster_name.clone());
            let path = path.display().to_string();
            match found == configured {
                true => Contents::State,
                false => Contents::Unusable(Arc::new(StartError::OtherCluster { path, found, configured })),
            }
        }
        // It may be another user's, or have begun to run.
        Ok(None) | Err(StoreError::Io { .. }) => Contents::State,
        Err(error) => Contents::Unusable(Arc::new(StartError::Store(error))),
    }
}

/// None if it is not to be read: a pipe might never end, and of a large state whoever asks would wait for long.
fn stamp(state: &Path) -> Option<Stamp> {
    let about = |entry: fs::DirEntry| {
        let about = entry.metadata().ok().filter(|about| about.is_file() && about.len() <= READ_MAX)?;
        Some((entry.path(), about.len(), about.modified().ok()))
    };
    let mut files: Stamp = fs::read_dir(state).into_iter().flatten().flatten().map(about).collect::<Option<_>>()?;
    files.sort();
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Code;
    use crate::settings::{self, Sources};
    use std::net::TcpListener;

    /// What is seen of a node with these settings and its data in a directory of this test, as the test has left it.
    fn seen(name: &str, given: &[(&str, String)], leave: impl FnOnce(&Path)) -> Sibling {
        let data = std::env::temp_dir().join(format!("zazen-obstacle-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&data).or_else(|_| fs::remove_file(&data));
        leave(&data);
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        let arguments: Vec<_> = given
            .chain([("path.data".to_owned(), data.display().to_string()), ("http.port".to_owned(), "0".into())])
            .collect();
        let environment = BTreeMap::new();
        let sources = Sources { file: None, environment: &environment, arguments: &arguments, path_conf: data.clone() };
        let settings = settings::load(&sources).expect("they make sense").settings;
        let seen = looked_at(Sibling::default(), &settings, &Host::look(), &mut Held::default());
        let _ = fs::remove_dir_all(&data).or_else(|_| fs::remove_file(&data));
        seen
    }

    fn code(seen: &Sibling) -> Option<Code> {
        seen.obstacle.as_ref().map(|obstacle| obstacle.code)
    }

    #[test]
    fn nothing_stands_in_the_way_of_a_new_node() {
        let seen = seen("new", &[("transport.port", "0".into())], |_| ());
        assert_eq!((seen.obstacle, seen.has_never_joined), (None, false));
    }

    #[test]
    fn a_port_that_somebody_listens_at_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port().to_string();
        let given = [("transport.port", port), ("network.host", "127.0.0.1".into())];
        assert_eq!(code(&seen("port", &given, |_| ())), Some(Code::PortInUse));
        drop(listener);
        assert_eq!(code(&seen("port", &given, |_| ())), None);
    }

    #[test]
    fn the_loopback_of_a_node_on_another_host_is_not_this_one() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port().to_string();
        let given = [("network.host", "192.0.2.1".to_owned()), ("http.host", "127.0.0.1".into()), ("http.port", port)];
        let arguments = given.map(|(key, value)| (key.to_owned(), value));
        let (environment, path_conf) = (BTreeMap::new(), PathBuf::from("config"));
        let sources = Sources { file: None, environment: &environment, arguments: &arguments, path_conf };
        let settings = settings::load(&sources).expect("they make sense").settings;
        let taken =
            |is_elsewhere| listens(&settings, &Sibling { is_elsewhere, ..Sibling::default() }, &Host::look()).is_some();
        assert!(taken(false) && !taken(true));
    }

    #[test]
    fn a_file_is_no_data_directory() {
        let given = [("transport.port", "0".into())];
        let seen = seen("file", &given, |data| fs::write(data, "").expect("it can be written"));
        assert_eq!(code(&seen), Some(Code::DataNotWritable));
    }

    #[test]
    fn a_file_is_no_directory_of_a_log() {
        let given = [("transport.port", "0".into()), ("path.logs", "/proc/version".into())];
        assert_eq!(code(&seen("logs", &given, |_| ())), Some(Code::BadSettings));
    }

    #[test]
    fn a_link_to_nothing_is_no_data_directory() {
        let link = |data: &Path| std::os::unix::fs::symlink("/nothing/is/here", data).expect("it can be made");
        let seen = seen("link", &[("transport.port", "0".into())], link);
        assert_eq!(code(&seen), Some(Code::DataNotWritable));
    }

    #[test]
    fn what_is_no_file_is_never_read() {
        let pipe = |data: &Path| {
            let state = data.join("nodes/0/_state");
            fs::create_dir_all(&state).expect("it can be made");
            rustix::fs::mknodat(
                rustix::fs::CWD,
                state.join("zen-1.st"),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .expect("a pipe can be made");
        };
        let seen = seen("pipe", &[("transport.port", "0".into())], pipe);
        assert_eq!((seen.obstacle, seen.has_never_joined), (None, false));
    }
}
