//! Who changed what, and who was refused: a line of JSON for each, added to a file that is never written over.
//!
//! A thread of its own writes; whoever asked waits for a place in its queue, so nothing is left out while it can be written.
//! A file that has grown large becomes the one before, and a new one begins. Mirrors `LoggingAuditTrail` of X-Pack (6.8).

use crate::settings::NodeSettings;
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio::sync::mpsc;

/// How large a file may become.
const BYTES_MAX: u64 = 64 << 20;
/// How many lines may wait.
const QUEUE: usize = 1_024;
/// As much of a path is kept.
const TARGET_MAX: usize = 512;

/// One event.
#[derive(Debug, Serialize)]
pub(super) struct Event<'a> {
    /// Milliseconds since 1970.
    at: u64,
    pub(super) user: Option<&'a str>,
    pub(super) from: Option<IpAddr>,
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) status: u16,
}

impl<'a> Event<'a> {
    /// What somebody asked for, and how it was answered.
    pub(super) fn new(
        user: Option<&'a str>,
        from: Option<IpAddr>,
        (method, target): (&'a str, &'a str),
        status: u16,
    ) -> Self {
        let end = (0..=TARGET_MAX.min(target.len())).rev().find(|end| target.is_char_boundary(*end)).unwrap_or(0);
        Event { at: now(), user, from, method, target: &target[..end], status }
    }
}

#[expect(clippy::disallowed_methods, reason = "an audit says when something was done")]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Takes note of events.
#[derive(Debug)]
pub(super) struct Audit(mpsc::Sender<String>);

impl Audit {
    /// Where it is written what users do.
    pub(super) fn of(settings: &NodeSettings) -> Option<Self> {
        let given = settings.security.audit.as_ref().map(|path| settings.path_conf.join(path));
        let usual = settings.security.users.as_ref().map(|_| settings.path_data.join("audit.log"));
        let path = given.or(usual)?;
        let (lines, queue) = mpsc::channel(QUEUE);
        let work = move || write(&path, queue);
        if let Err(error) = std::thread::Builder::new().name("audit".into()).spawn(work) {
            tracing::error!("nothing is audited, for there is no thread for it: {error}");
        }
        Some(Audit(lines))
    }

    /// Adds an event.
    pub(super) async fn note(&self, event: &Event<'_>) {
        if let Ok(line) = serde_json::to_string(event) {
            // The thread ends with the node, or when it cannot write, which it has said then.
            let _ = self.0.send(line).await;
        }
    }
}

fn write(path: &Path, mut queue: mpsc::Receiver<String>) {
    let mut file = None;
    while let Some(line) = queue.blocking_recv() {
        if let Err(error) = add(path, &mut file, &line) {
            tracing::error!("cannot write to the audit log [{}], so [{line}] stands here: {error}", path.display());
            file = None;
        }
    }
}

fn add(path: &Path, open: &mut Option<File>, line: &str) -> io::Result<()> {
    let is_full = open.as_ref().is_some_and(|file| file.metadata().is_ok_and(|found| found.len() >= BYTES_MAX));
    if is_full {
        fs::rename(path, before(path))?;
        *open = None;
    }
    let file = match open {
        Some(file) => file,
        None => {
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory)?;
            }
            open.insert(OpenOptions::new().append(true).create(true).mode(0o600).open(path)?)
        }
    };
    file.write_all(format!("{line}\n").as_bytes())
}

fn before(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}
