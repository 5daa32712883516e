//! Notices when files of secrets change, so that they are taken over without a restart.
//!
//! Looked at again and again, because secrets that are mounted change behind symbolic links.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::sleep;

/// How often: what changes takes effect within 5 s.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Which file it is, and since when it is as it is, which its rights are a part of.
type Stamp = Option<(u64, u64, [(i64, i64); 2])>;

fn stamps(paths: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        let file = fs::metadata(path).ok()?;
        Some((file.ino(), file.size(), [(file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec())]))
    };
    paths.iter().map(stamp).collect()
}

/// Takes files over again whenever one of them changed and is as it was when it was last looked at, until it is dropped. What cannot be used leaves all as it is, and is
/// tried again when something changes.
pub async fn watch(paths: Vec<PathBuf>, what: &'static str, mut reload: impl FnMut() -> Result<(), String> + Send) {
    let mut known = stamps(&paths);
    let mut last = known.clone();
    loop {
        sleep(LOOK_AGAIN).await;
        let now = stamps(&paths);
        // What is still being written, or belongs to another file that is not there yet, is left alone.
        let is_settled = now == std::mem::replace(&mut last, now.clone());
        if now != known && is_settled {
            known = now;
            match reload() {
                Ok(()) => tracing::info!("{what} changed and is taken over"),
                Err(why) => tracing::error!("{what} changed, and what there was is kept: {why}"),
            }
        }
    }
}
