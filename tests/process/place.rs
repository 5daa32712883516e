//! Where nodes of a test live: a directory, and a turn, because the machine is small.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How many clusters run at a time, whatever the number of threads that run tests.
const CLUSTERS_MAX: usize = 6;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// The right to run a cluster, given back when it is dropped.
pub(crate) struct Turn(());

impl Turn {
    pub(crate) fn wait() -> Self {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running =
            ENDED.wait_while(running, |running| *running >= CLUSTERS_MAX).unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

/// A directory for one test, gone afterwards.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("process-{}-{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("the folder for the files of tests can be written to");
        Scratch(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
