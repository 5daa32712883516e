//! Whether the disk with the data finishes a write, tried when somebody asks for what depends on it.
//!
//! The core knows of writes that hang, and a node that has nothing to write has none. Mirrors the probe of
//! `FsHealthService` (7.9), which writes again and again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// A disk that takes longer is not counted on.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is written.
const FILE: &str = "_trial";

/// The write that is under way, if there is one: while it hangs no other joins it.
#[derive(Debug)]
pub struct DiskTrial(watch::Sender<Option<Instant>>);

impl Default for DiskTrial {
    fn default() -> Self {
        DiskTrial(watch::Sender::new(None))
    }
}

impl DiskTrial {
    /// Writes a byte into this directory, unless that is being done; tells what is wrong if it fails or takes too long.
    pub(in crate::runtime) async fn run(&self, directory: &Path) -> Option<String> {
        let mut under_way = self.0.subscribe();
        let mut failed = None;
        if let Some((began, written)) = self.begin(directory)
            && let Ok(Ok(Err(error))) = timeout_at(began + PATIENCE, written).await
        {
            failed = Some(format!("[{}] cannot be written: {error}", directory.display()));
        }
        let since = *under_way.borrow_and_update();
        let Some(since) = since else { return failed };
        match timeout_at(since + PATIENCE, under_way.wait_for(Option::is_none)).await {
            Ok(_) => failed,
            Err(_) => Some(format!("a write to [{}] is not finished after {:?}", directory.display(), since.elapsed())),
        }
    }

    /// How long a write has been under way; begins one if none is, and waits for nothing.
    pub fn glance(&self, directory: &Path) -> Option<Duration> {
        let since = *self.0.borrow();
        if since.is_none() {
            // Whoever looks again sees what became of it.
            drop(self.begin(directory));
        }
        since.map(|since| since.elapsed())
    }

    /// Begins a write, if none is under way.
    fn begin(&self, directory: &Path) -> Option<(Instant, JoinHandle<io::Result<()>>)> {
        let now = Instant::now();
        self.take_turn(now).then(|| {
            let (done, path) = (self.0.clone(), directory.to_owned());
            let work = move || {
                let written = write(&path);
                done.send_replace(None);
                written
            };
            (now, tokio::task::spawn_blocking(work))
        })
    }

    fn take_turn(&self, now: Instant) -> bool {
        self.0.send_if_modified(|under_way| {
            let is_first = under_way.is_none();
            *under_way = under_way.or(Some(now));
            is_first
        })
    }
}

fn write(directory: &Path) -> io::Result<()> {
    let path = directory.join(FILE);
    let mut file = File::create(&path)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_write_that_hangs_is_told_and_joined_by_no_other() {
        let directory = std::env::temp_dir().join(format!("zazen-trial-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&directory).expect("it can be made");
        let trial = DiskTrial::default();
        assert_eq!(trial.run(&directory).await, None);
        assert_eq!(fs::read_dir(&directory).expect("it is there").count(), 0, "nothing is left behind");
        let missing = trial.run(&directory.join("missing")).await.expect("it cannot be written");
        assert!(missing.contains("cannot be written"), "{missing}");
        assert!(trial.take_turn(Instant::now()), "none is under way");
        let hangs = trial.run(&directory).await.expect("the one before hangs");
        assert!(hangs.contains("is not finished after"), "{hangs}");
        assert!(trial.glance(&directory).is_some_and(|past| past >= PATIENCE));
        fs::remove_dir_all(&directory).expect("it is ours");
    }
}
