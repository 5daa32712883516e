//! What must not outlive this program: the processes that it started, the directories and networks that it made.
//!
//! Ends them on Ctrl-C and the other signals that ask a program to end; on every other way out their owners do.

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use tokio::signal::unix::{SignalKind, signal};

/// What a shell reports of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

static HELD: Mutex<Held> =
    Mutex::new(Held { groups: BTreeSet::new(), directories: BTreeSet::new(), networks: BTreeSet::new() });

struct Held {
    groups: BTreeSet<i32>,
    directories: BTreeSet<PathBuf>,
    /// Bridges and namespaces, which have names in common with nothing else.
    networks: BTreeSet<String>,
}

/// Ends everything and this program when a signal asks for it.
pub(crate) fn end_all_on_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _inside = runtime.enter();
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?]
    };
    thread::spawn(move || {
        let [interrupt, terminate, hangup] = &mut signals;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        // The lock is kept to the end, so that nothing is started meanwhile.
        let held = HELD.lock();
        eprintln!("\nending {} processes", held.groups.len());
        held.groups.iter().for_each(|group| kill(*group));
        // Its owner may have waited for it already.
        for group in &held.groups {
            let _ = waitpid(Pid::from_raw(*group), WaitOptions::empty());
        }
        held.directories.iter().for_each(|directory| remove(directory));
        held.networks.iter().for_each(|network| cut_off(network));
        std::process::exit(INTERRUPTED);
    });
    Ok(())
}

/// Starts a process in a group of its own.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut held = HELD.lock();
    let child = command.process_group(0).spawn()?;
    held.groups.insert(child.id().cast_signed());
    Ok(child)
}

/// Kills what is left of a process's group, and waits for it.
pub(crate) fn end(child: &mut Child) {
    let group = child.id().cast_signed();
    kill(group);
    // It was killed, or had ended before.
    let _ = child.wait();
    HELD.lock().groups.remove(&group);
}

/// A directory that is removed at the end.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn make(path: PathBuf) -> io::Result<Self> {
        let mut held = HELD.lock();
        fs::create_dir_all(&path)?;
        held.directories.insert(path.clone());
        Ok(Directory(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Keeps it for whoever wants to know what happened.
    pub(crate) fn keep(&self) {
        HELD.lock().directories.remove(&self.0);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if HELD.lock().directories.remove(&self.0) {
            remove(&self.0);
        }
    }
}

/// A bridge or a namespace was made.
pub(crate) fn hold_network(name: &str) {
    HELD.lock().networks.insert(name.into());
}

/// Removes a bridge or a namespace.
pub(crate) fn release_network(name: &str) {
    if HELD.lock().networks.remove(name) {
        cut_off(name);
    }
}

fn cut_off(network: &str) {
    // It is the one or the other.
    for arguments in [["netns", "delete", network], ["link", "delete", network]] {
        let _ = Command::new("ip").args(arguments).stderr(Stdio::null()).status();
    }
}

fn kill(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        // It may be gone.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn remove(directory: &Path) {
    // A process that was just killed may still be writing its last file.
    let removed = (0..10).any(|_| fs::remove_dir_all(directory).is_ok() || !directory.exists());
    if !removed {
        eprintln!("[{}] could not be removed", directory.display());
    }
}
