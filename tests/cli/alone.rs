//! A real node that is a cluster by itself, for the commands that ask one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long it may take to become master.
const PATIENCE: Duration = Duration::from_secs(60);

/// The node, killed at the end of its test.
pub(crate) struct Alone {
    child: Child,
    /// Its data directory.
    pub(crate) data: PathBuf,
    /// Where it listens to its users.
    pub(crate) http: String,
}

impl Alone {
    /// Starts it, and waits until it is master.
    pub(crate) fn start() -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        Alone::start_at(0, &format!("alone-{}-{number}", std::process::id()))
    }

    /// The same with a transport at this port, and a directory of this name.
    pub(crate) fn start_at(transport: u16, name: &str) -> Self {
        let data = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
        command.arg("start").args(["-E", "http.port=0", "-E", "node.name=alone", "-E"]);
        command.arg(format!("transport.tcp.port={transport}"));
        command.args(["-E", "discovery.type=single-node", "-E"]).arg(format!("path.data={}", data.display()));
        Alone::run(command, data)
    }

    /// The same by a file that says all of it.
    pub(crate) fn start_by(file: &Path, data: PathBuf) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
        command.args(["start", "-c"]).arg(file);
        Alone::run(command, data)
    }

    fn run(mut command: Command, data: PathBuf) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let child = child.expect("the command that was built with this test can be run");
        // Whatever goes wrong from here on, it ends with this.
        let mut alone = Alone { child, data, http: String::new() };
        let mut lines = BufReader::new(alone.child.stdout.take().expect("the output is a pipe")).lines();
        let published = |line: String| Some(line.split_once("publish_address {")?.1.split_once('}')?.0.to_owned());
        let http = lines.by_ref().map_while(Result::ok).find_map(published);
        alone.http = http.expect("a node says where it listens");
        // Somebody reads on, so that the pipe stays open.
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        alone.wait_for_itself();
        alone
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    #[expect(clippy::disallowed_methods, reason = "a test ends, whatever the node does")]
    fn wait_for_itself(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut status = Command::new(env!("CARGO_BIN_EXE_zazen"));
        status.args(["status", "--json", "--url", &self.http]);
        while !status.output().is_ok_and(|output| output.status.success()) {
            assert!(Instant::now() < deadline, "a node that is a cluster by itself has no master within {PATIENCE:?}");
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // It has ended by itself if it cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.data);
    }
}
