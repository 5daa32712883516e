//! One process under observation: started, signalled, ended, and what it takes of the machine.

use super::clock::{now, pause};
use super::guard;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How often it is asked whether a process has ended.
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// A running process; it is killed when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        guard::spawn(command).map(Process)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Sends a signal, and tells when: the moment just before.
    pub(crate) fn signal(&self, signal: Signal) -> Instant {
        let before = now();
        kill_process(self.pid(), signal).expect("a child that nobody has waited for can be signalled");
        before
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<(), String> {
        let deadline = now() + patience;
        loop {
            match self.0.try_wait() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) if now() < deadline => pause(ASK_AGAIN),
                Ok(None) => return Err(format!("process {} did not end within {patience:?}", self.0.id())),
                Err(error) => return Err(format!("process {} cannot be waited for: {error}", self.0.id())),
            }
        }
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }

    /// The memory that it has in use, in KiB, the pages of its program included that the kernel has mapped.
    pub(crate) fn resident_kib(&self) -> io::Result<u64> {
        self.kib("VmRSS")
    }

    /// The memory that it has for itself, in KiB: what no file holds.
    pub(crate) fn own_kib(&self) -> io::Result<u64> {
        self.kib("RssAnon")
    }

    fn kib(&self, name: &str) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        kib.ok_or_else(|| io::Error::other(format!("the kernel tells no {name}")))
    }

    /// The processor time that its threads have used.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
        let mut nanos = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            // A thread may end while the others are read.
            let Ok(figures) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
            let running = figures.split(' ').next().and_then(|running| running.parse::<u64>().ok());
            nanos += running.ok_or_else(|| io::Error::other("the kernel tells no schedstat"))?;
        }
        Ok(Duration::from_nanos(nanos))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        guard::end(&mut self.0);
    }
}
