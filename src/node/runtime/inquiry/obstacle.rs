//! What would keep a node of this host that does not run from starting, found without trying: nothing is bound, written or
//! locked, as its operator may start it at this very moment.
//!
//! The same errors as those of a start, so that [`crate::runtime::start_failure`] tells what they mean and what to type.

use crate::cluster::ClusterName;
use crate::diagnose::{Obstacle, Sibling, Verdict};
use crate::runtime::addresses::{AddressError, Machine, is_here};
use crate::runtime::listen::BindError;
use crate::runtime::proc::Listening;
use crate::runtime::secure::{FileError, Side, gate, readable};
use crate::runtime::store::{Store, StoreError};
use crate::runtime::{StartError, start_failure};
use crate::settings::{ListenSettings, NodeSettings};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

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

/// A node that is not to be seen running, with the first thing that would keep it from it by these settings.
pub(super) fn looked_at(
    one: Sibling,
    settings: &NodeSettings,
    host: (&Machine, &Listening),
    held: &mut Held,
) -> Sibling {
    if start_failure::is_locked(&settings.path_data) {
        return one;
    }
    let contents = held.of(settings);
    let unusable = || match &contents {
        Contents::Unusable(error) => Some(error.clone()),
        Contents::State | Contents::NoState => None,
    };
    let error = listens(settings, &one, host)
        .or_else(|| secret(settings, &one))
        .or_else(|| data(settings, &one))
        .map(Arc::new)
        .or_else(unusable);
    let obstacle = error.map(|error| obstacle(&one, start_failure::verdict(&error, settings)));
    Sibling { obstacle, has_never_joined: matches!(contents, Contents::NoState), ..one }
}

fn obstacle(one: &Sibling, told: Verdict) -> Obstacle {
    // A command is typed by whoever asked, and would have another user start it than the one whose it is.
    let mend = told.mend.filter(|mend| mend.is_setting || (one.owner.is_none() && one.unit.is_none()));
    Obstacle { code: told.code, fault: told.summary, mend }
}

/// Addresses that are none of this host, or that strangers reach, and ports that others have.
fn listens(settings: &NodeSettings, sibling: &Sibling, host: (&Machine, &Listening)) -> Option<StartError> {
    let users = settings.rest.enabled.then_some((Side::Users, &settings.http));
    let mut sides = [(Side::Nodes, &settings.transport)].into_iter().chain(users);
    sides.find_map(|(side, listen)| listens_at(settings, (side, listen), sibling, host))
}

fn listens_at(
    settings: &NodeSettings,
    (side, listen): (Side, &ListenSettings),
    sibling: &Sibling,
    (machine, listening): (&Machine, &Listening),
) -> Option<StartError> {
    let names = listen.bind_hosts.iter().chain(&listen.publish_hosts);
    // To look a name up may take long.
    if names.clone().any(|host| super::siblings::is_name(host)) {
        return None;
    }
    let bound = match machine.bind_addresses(listen) {
        Ok(bound) => bound,
        // The file may be that of another host, from which it was copied.
        Err(AddressError::NotHere { .. }) if !ran_here(sibling) => return None,
        Err(error) => return Some(StartError::Address(error)),
    };
    if let Err(insecure) = gate(settings, side, &bound) {
        return Some(StartError::Insecure(insecure));
    }
    let port = listen.ports.only().filter(|port| *port != 0)?;
    let taken = bound.into_iter().find(|host| listening.is_taken(SocketAddr::new(*host, port)))?;
    Some(StartError::Bind(BindError::taken(taken, &listen.ports)))
}

/// Whether it was at an address of this host when it ran last.
fn ran_here(sibling: &Sibling) -> bool {
    let last = sibling.last.as_ref().and_then(|last| last.host().parse::<IpAddr>().ok());
    last.is_some_and(|host| is_here(&host))
}

/// Files of secrets and certificates. What this process may not read its own user may.
fn secret(settings: &NodeSettings, sibling: &Sibling) -> Option<StartError> {
    let is_hidden = |error: &FileError| match error {
        FileError::Unreadable(_, error) => error.kind() == io::ErrorKind::PermissionDenied,
        FileError::Open(..) | FileError::Strange(..) => false,
    };
    if sibling.owner.is_some() {
        return None;
    }
    readable(settings).err().filter(|error| !is_hidden(error)).map(StartError::Secret)
}

/// A data directory that is none, or to which nobody can write.
fn data(settings: &NodeSettings, sibling: &Sibling) -> Option<StartError> {
    let path = &settings.path_data;
    let refused =
        |source: io::Error| StartError::Store(StoreError::Io { tried: "write to", path: path.clone(), source });
    let nearest = path.ancestors().find(|above| above.exists())?;
    if !nearest.is_dir() {
        return Some(refused(io::ErrorKind::NotADirectory.into()));
    }
    let is_another_users = |error: &rustix::io::Errno| {
        sibling.owner.is_some() && io::Error::from(*error).kind() == io::ErrorKind::PermissionDenied
    };
    let error = rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK).err()?;
    (!is_another_users(&error)).then(|| refused(error.into()))
}

impl Held {
    fn of(&mut self, settings: &NodeSettings) -> Contents {
        let path = &settings.path_data;
        let stamp = stamp(&path.join("nodes").join("0").join("_state"));
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

fn stamp(state: &Path) -> Stamp {
    let about = |entry: fs::DirEntry| {
        let about = entry.metadata().ok();
        let (size, at) = about.map_or((0, None), |about| (about.len(), about.modified().ok()));
        (entry.path(), size, at)
    };
    let mut files: Stamp = fs::read_dir(state).into_iter().flatten().flatten().map(about).collect();
    files.sort();
    files
}
