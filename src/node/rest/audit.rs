//! Who changed what, and who was refused: a line of JSON for each, added to a file that is never written over.
//!
//! A thread of its own writes; whoever asked waits for a place in its queue, so nothing is left out while it can be written.
//! A file that has grown large becomes the one before, and a new one begins. Mirrors `LoggingAuditTrail` of X-Pack (6.8).

use crate::settings::NodeSettings;
use axum::http::StatusCode;
use parking_lot::Mutex;
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::time::Instant;

/// How large a file may become.
const BYTES_MAX: u64 = 64 << 20;
/// How many lines may wait.
const QUEUE: usize = 1_024;
/// So many lines tell at once of strangers who were refused, and then one a second.
const STRANGERS_MAX: u32 = 100;
/// As much of a path is kept.
const TARGET_MAX: usize = 512;

/// One event.
#[derive(Debug, Serialize)]
pub(super) struct Event<'a> {
    /// Milliseconds since 1970.
    at: u64,
    pub(super) user: Option<&'a str>,
    /// In whose name somebody asked who was not let in.
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<&'a str>,
    pub(super) from: Option<IpAddr>,
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) status: u16,
    /// So many strangers were refused before it whom no line tells of.
    #[serde(skip_serializing_if = "is_none")]
    left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl<'a> Event<'a> {
    /// What somebody asked for, and how it was answered.
    pub(super) fn new(
        (user, tried): (Option<&'a str>, Option<&'a str>),
        from: Option<IpAddr>,
        (method, target): (&'a str, &'a str),
        status: u16,
    ) -> Self {
        let end = (0..=TARGET_MAX.min(target.len())).rev().find(|end| target.is_char_boundary(*end)).unwrap_or(0);
        Event { at: now(), user, tried, from, method, target: &target[..end], status, left_out: 0 }
    }
}

#[expect(clippy::disallowed_methods, reason = "an audit says when something was done")]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Whether somebody was not let in, or not to what was asked for.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS)
}

/// Takes note of events.
#[derive(Debug)]
pub(super) struct Audit {
    lines: mpsc::Sender<String>,
    strangers: Mutex<Strangers>,
}

/// Whoever is not let in may ask as often as the network carries, and is not to fill the disk with it.
#[derive(Debug)]
struct Strangers {
    lines: u32,
    since: Instant,
    left_out: u64,
}

impl Strangers {
    /// Whether a line tells of one more.
    fn fits(&mut self, now: Instant) -> bool {
        let more = now.duration_since(self.since).as_secs();
        if more > 0 {
            self.since = now;
            self.lines = u32::try_from(more).unwrap_or(u32::MAX).saturating_add(self.lines).min(STRANGERS_MAX);
        }
        let fits = self.lines > 0;
        self.lines = self.lines.saturating_sub(1);
        self.left_out += u64::from(!fits);
        fits
    }
}

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
        let strangers = Strangers { lines: STRANGERS_MAX, since: Instant::now(), left_out: 0 };
        Some(Audit { lines, strangers: Mutex::new(strangers) })
    }

    /// Adds an event.
    pub(super) async fn note(&self, event: Event<'_>) {
        if let Some(line) = self.line(event) {
            // The thread ends with the node, or when it cannot write, which it has said then.
            let _ = self.lines.send(line).await;
        }
    }

    /// The same where nobody can wait: what finds no place in the queue stands in the log.
    pub(super) fn note_at_once(&self, event: Event<'_>) {
        let Some(line) = self.line(event) else { return };
        if let Err(TrySendError::Full(line)) = self.lines.try_send(line) {
            tracing::warn!("no place in the audit log for [{line}]");
        }
    }

    fn line(&self, event: Event<'_>) -> Option<String> {
        let is_stranger = event.user.is_none() && StatusCode::from_u16(event.status).is_ok_and(is_refusal);
        let left_out = {
            let mut strangers = self.strangers.lock();
            if is_stranger && !strangers.fits(Instant::now()) {
                return None;
            }
            std::mem::take(&mut strangers.left_out)
        };
        serde_json::to_string(&Event { left_out, ..event }).ok()
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
    if let Some(found) = open.as_ref().and_then(|file| file.metadata().ok()) {
        let is_there = fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (found.dev(), found.ino()));
        if is_there && found.len() >= BYTES_MAX {
            fs::rename(path, before(path))?;
        }
        // Others may take the file away as well, to keep it elsewhere.
        if !is_there || found.len() >= BYTES_MAX {
            *open = None;
        }
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
