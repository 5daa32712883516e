//! The directories of a node: whether that of its data is free, can be written to, how long a sync takes, and whether what it
//! holds can be read; and whether its log can be written.

use super::super::stopwatch::Stopwatch;
use super::Findings;
use crate::cluster::NodeId;
use crate::diagnose::Code;
use crate::runtime::StartError;
use crate::runtime::inquiry::{LITTLE_ROOM, room};
use crate::runtime::log::{LogFile, Rotation};
use crate::runtime::start_failure;
use crate::runtime::store::Store;
use crate::settings::NodeSettings;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A sync that takes longer is told of.
const SYNC_MAX: Duration = Duration::from_millis(500);

/// All of it; and the id of the node that has the directory.
pub(super) fn look(settings: &NodeSettings, findings: &mut Findings) -> Option<NodeId> {
    let path = &settings.path_data;
    let lock = path.join("nodes").join("0").join("node.lock");
    if let Ok(file) = File::open(&lock)
        && let Err(TryLockError::WouldBlock) = file.try_lock()
    {
        let holder = fs::read_to_string(&lock).ok().and_then(|text| text.trim().parse().ok());
        let dir = path.join("nodes").join("0");
        let error = crate::runtime::store::StoreError::Locked { dir, holder };
        findings.fatal(&StartError::Store(error), settings);
        return None;
    }
    match try_write(path) {
        Ok(took) if took > SYNC_MAX => {
            let summary = format!("a sync of the disk under [{}] takes {took:?}", path.display());
            let elsewhere = format!("{}-on-another-disk", path.display());
            let mend = start_failure::text(settings, "path.data", &elsewhere);
            findings.odd(Code::DiskSlow, summary, Some(mend));
        }
        Ok(_) if let Some(free) = room(path).filter(|free| *free < LITTLE_ROOM) => {
            let summary = format!("the disk under [{}] has [{free}] bytes, [{LITTLE_ROOM}] are needed", path.display());
            let source = io::ErrorKind::StorageFull.into();
            let error = crate::runtime::store::StoreError::Io { tried: "write to", path: path.clone(), source };
            let mend = start_failure::verdict(&StartError::Store(error), settings).mend;
            findings.odd(Code::DiskFull, summary, mend);
        }
        Ok(took) => findings.well(format!("[{}] can be written, a sync takes {took:?}", path.display())),
        Err(source) => {
            let error = crate::runtime::store::StoreError::Io { tried: "write to", path: path.clone(), source };
            findings.fatal(&StartError::Store(error), settings);
            return None;
        }
    }
    held(settings, findings)
}

/// Whether the log can be written, if it goes to a file: one that is there is only opened, as another node may write to it.
#[expect(clippy::disallowed_methods, reason = "a file of the log is as old as the real clock says")]
pub(super) fn look_at_log(settings: &NodeSettings, findings: &mut Findings) {
    let Some(path) = &settings.log.path else { return };
    let (stem, rotation) = (settings.cluster_name.as_str(), Rotation::of(&settings.log));
    let tried = match path.join(format!("{stem}.log")).exists() {
        true => LogFile::open(path, stem, rotation, SystemTime::now).map(drop),
        false => try_write(path).map(drop),
    };
    match tried {
        Ok(()) => findings.well(format!("the log can be written in [{}]", path.display())),
        Err(error) => findings.fatal(&StartError::Log(path.clone(), error), settings),
    }
}

/// What the directory holds.
fn held(settings: &NodeSettings, findings: &mut Findings) -> Option<NodeId> {
    let memory = match Store::peek(&settings.path_data) {
        Ok(memory) => memory?,
        Err(error) => {
            findings.fatal(&StartError::Store(error), settings);
            return None;
        }
    };
    let found = memory.accepted.as_ref().map(|state| state.cluster_name.clone());
    match found.filter(|found| *found != settings.cluster_name) {
        Some(found) => {
            let (path, configured) = (settings.path_data.display().to_string(), settings.cluster_name.clone());
            findings.fatal(&StartError::OtherCluster { path, found, configured }, settings);
        }
        None => findings.well(format!("what [{}] holds can be read", settings.path_data.display())),
    }
    memory.promise.node_id
}

/// Writes a file, syncs it and removes it; directories that were not there are removed again.
fn try_write(path: &Path) -> io::Result<Duration> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
    let written = fs::create_dir_all(path).and_then(|()| write(&path.join("zazen-doctor.tmp")));
    // From the innermost on; one that somebody else put something into stays.
    for made in missing {
        let _ = fs::remove_dir(made);
    }
    written
}

fn write(file: &Path) -> io::Result<Duration> {
    let stopwatch = Stopwatch::start();
    let written = File::create(file).and_then(|mut new| {
        new.write_all(&[b'x'; 4096])?;
        new.sync_all()
    });
    let took = stopwatch.elapsed();
    let _ = fs::remove_file(file);
    written.map(|()| took)
}
