//! Where seed hosts are looked up: the system's resolver, the name servers, and the file in the configuration directory.

use super::initial::FILE_NAME;
use super::lookups::Lookups;
use crate::runtime::dns_srv::{NameServers, Target};
use futures_util::FutureExt;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tokio::sync::{Semaphore, oneshot};

/// A longer file is no list of hosts.
const FILE_MAX: u64 = 1 << 20;

/// What seed hosts are made of.
pub(super) struct Sources {
    /// The addresses of names.
    pub(super) names: Lookups<Vec<IpAddr>>,
    /// The hosts of services.
    pub(super) services: Lookups<Vec<Target>>,
    /// The lines of the file.
    pub(super) files: Lookups<Vec<Arc<str>>>,
}

impl Sources {
    /// Those of this machine, with so many look-ups at a time.
    pub(super) fn of_this_machine(at_a_time: usize, path_conf: &Path) -> Self {
        let permits = Arc::new(Semaphore::new(at_a_time.clamp(1, Semaphore::MAX_PERMITS)));
        let path: Arc<Path> = path_conf.into();
        Sources {
            names: Lookups::new(Arc::new(|name| on_a_thread(move || addresses(&name)).boxed()), permits.clone()),
            services: Lookups::new(Arc::new(|name| targets(name).boxed()), permits.clone()),
            files: Lookups::new(
                Arc::new(move |_| {
                    let path = path.clone();
                    on_a_thread(move || hosts_in(&path)).boxed()
                }),
                permits,
            ),
        }
    }
}

/// Runs on a thread of its own what may hang in the system. Nothing waits for such a thread when the process ends.
async fn on_a_thread<A: Send + 'static>(
    work: impl FnOnce() -> Result<A, String> + Send + 'static,
) -> Result<A, String> {
    let (tell, told) = oneshot::channel();
    let work = move || {
        // Whoever asked may have gone away.
        let _ = tell.send(work());
    };
    thread::Builder::new().name("lookup".into()).spawn(work).map_err(|why| why.to_string())?;
    told.await.unwrap_or_else(|_| Err("its thread died".into()))
}

fn addresses(name: &str) -> Result<Vec<IpAddr>, String> {
    let found = (name, 0).to_socket_addrs().map_err(|why| why.to_string())?;
    let found: BTreeSet<IpAddr> = found.map(|at| at.ip().to_canonical()).collect();
    if found.is_empty() { Err("it has no address".into()) } else { Ok(found.into_iter().collect()) }
}

async fn targets(service: Arc<str>) -> Result<Vec<Target>, String> {
    NameServers::of_this_machine().look_up(&service).await.map_err(|why| why.to_string())
}

/// The hosts in the file: one a line, but for empty lines and those that begin with `#`.
fn hosts_in(path_conf: &Path) -> Result<Vec<Arc<str>>, String> {
    let places = places_of_file(path_conf);
    for path in &places {
        if let Some(text) = text_of(path)? {
            return Ok(lines(&text).map(Arc::from).collect());
        }
    }
    let [first, second] = places;
    Err(format!("there is neither [{}] nor [{}]", first.display(), second.display()))
}

/// Where it may be, the usual place first.
fn places_of_file(path_conf: &Path) -> [PathBuf; 2] {
    [path_conf.join(FILE_NAME), path_conf.join("discovery-file").join(FILE_NAME)]
}

/// Nothing if there is no such file.
fn text_of(path: &Path) -> Result<Option<String>, String> {
    let failed = |why: io::Error| format!("cannot read [{}]: {why}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(why)),
    };
    let mut text = String::new();
    file.take(FILE_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_MAX {
        return Err(format!("[{}] is longer than {FILE_MAX} bytes", path.display()));
    }
    Ok(Some(text))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The file of hosts, and those that it names; where it is to be and nobody, if there is none that can be read.
pub(in crate::runtime) fn file_of_hosts(path_conf: &Path) -> (PathBuf, Vec<String>) {
    let [usual, other] = places_of_file(path_conf);
    // What is no file may be waited for without end.
    for path in [&usual, &other].into_iter().filter(|path| path.is_file()) {
        if let Ok(Some(text)) = text_of(path) {
            return (path.clone(), lines(&text).map(ToOwned::to_owned).collect());
        }
    }
    (usual, Vec::new())
}
