//! One node: its file, its directory, its log, and the process that runs it, which never outlives the test.

use super::http::{self, Response};
use super::view::View;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take that is waited for: a machine of continuous integration is slow and busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether it has happened.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How much of a log is shown when something did not happen.
const LINES_SHOWN: usize = 25;

/// No look takes longer than this by itself: a machine that was suspended has stopped the nodes as well.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// Waits until something is there, or the time is over.
#[expect(
    clippy::disallowed_methods,
    reason = "real processes take real time; this is the one place that waits for them"
)]
pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let mut waited = Duration::ZERO;
    loop {
        let began = Instant::now();
        let found = look();
        if found.is_some() || waited > PATIENCE {
            return found;
        }
        thread::sleep(LOOK_AGAIN);
        waited += began.elapsed().min(LOOK_MAX);
    }
}

/// A node that can be started again and again.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) cluster: String,
    pub(crate) http: u16,
    pub(crate) transport: u16,
    pub(crate) data: PathBuf,
    /// The lines of its file that are not told by the fields above.
    pub(crate) settings: Vec<String>,
    /// What it is told on its command line besides the place of its file.
    pub(crate) arguments: Vec<String>,
    /// How many files and sockets it may have open: at first, and at the most.
    pub(crate) files: Option<(u64, u64)>,
    /// The directory with its file and its log.
    home: PathBuf,
    child: Option<Child>,
}

impl Node {
    pub(crate) fn new(scratch: &Path, cluster: &str, name: &str, ports: (u16, u16)) -> Self {
        let home = scratch.join(name);
        fs::create_dir_all(&home).expect("the folder for the files of tests can be written to");
        Node {
            name: name.into(),
            cluster: cluster.into(),
            http: ports.0,
            transport: ports.1,
            data: home.join("data"),
            settings: Vec::new(),
            arguments: Vec::new(),
            files: None,
            home,
            child: None,
        }
    }

    pub(crate) fn seeds(&mut self, transports: &[u16]) {
        let hosts: Vec<String> = transports.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
        self.settings.push(format!("discovery.zen.ping.unicast.hosts: [{}]", hosts.join(", ")));
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Its file.
    pub(crate) fn file(&self) -> PathBuf {
        self.home.join("zazen.yml")
    }

    /// Writes its file, and tells where.
    fn write(&self) -> PathBuf {
        let mut file = format!(
            "cluster.name: {}\nnode.name: {}\npath.data: {}\nhttp.port: {}\ntransport.tcp.port: {}\n",
            self.cluster,
            self.name,
            self.data.display(),
            self.http,
            self.transport
        );
        for line in &self.settings {
            file += line;
            file.push('\n');
        }
        let path = self.file();
        fs::write(&path, file).expect("the folder of a node can be written to");
        path
    }

    /// Writes its file and runs it.
    pub(crate) fn start(&mut self) {
        assert!(self.child.is_none(), "{} runs already", self.name);
        let path = self.write();
        let log = File::options().create(true).append(true).open(self.log_path()).expect("a log can be written to");
        let err = log.try_clone().expect("a file can be opened twice");
        let mut command = self.command();
        command.arg("start").arg("-c").arg(path).args(&self.arguments).env_clear();
        let child = command.stdin(Stdio::null()).stdout(log).stderr(err).spawn();
        self.child = Some(child.expect("the command that was built with this test can be run"));
    }

    /// The program, within the limits that the test wants.
    fn command(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_zazen");
        let Some((first, most)) = self.files else {
            return Command::new(program);
        };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("ulimit -Sn {first} && ulimit -Hn {most} && exec \"$0\" \"$@\"")).arg(program);
        command
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap_or_else(|| panic!("{} does not run", self.name)).id()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed()).expect("a process has an id");
        kill_process(pid, signal).expect("a child of this process can be sent a signal");
    }

    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().unwrap_or_else(|| panic!("{} does not run", self.name));
        child.kill().expect("a child of this process can be killed");
        child.wait().expect("it was killed");
    }

    /// Stops it, and waits until all of it stands still: the signal reaches one thread after another.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.pid());
        let state = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let is_still = |stat: String| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 't']));
        let stands = || {
            let mut tasks = std::fs::read_dir(&tasks).expect("it runs").flatten();
            tasks.all(|task| is_still(state(task))).then_some(())
        };
        wait_for(stands).expect("a process that is stopped stands still");
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Writes its file, and has it read again.
    pub(crate) fn read_again(&self) {
        self.write();
        self.hang_up();
    }

    /// Has its file read again, whatever that is by now.
    pub(crate) fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Asks it to leave.
    pub(crate) fn ask_to_leave(&self) {
        self.signal(Signal::TERM);
    }

    /// Asks it to leave, and tells how it ended.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.ask_to_leave();
        self.ended().code()
    }

    /// Waits until the process ends by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().unwrap_or_else(|| panic!("{} does not run", self.name));
        let status = wait_for(|| child.try_wait().expect("a child of this process can be waited for"));
        status.unwrap_or_else(|| {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{} did not end within {PATIENCE:?}\n{}", self.name, self.tail())
        })
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    pub(crate) fn get(&self, path: &str) -> io::Result<Response> {
        http::get(self.http, path)
    }

    /// The state that it holds, if it answers.
    pub(crate) fn state(&self) -> Option<Value> {
        let response = self.get("/_cluster/state?local=true").ok().filter(|response| response.status == 200)?;
        Some(response.json())
    }

    pub(crate) fn view(&self) -> Option<View> {
        self.state().as_ref().map(View::of)
    }

    /// The id under which its own state lists it.
    pub(crate) fn id(&self) -> Option<String> {
        let state = self.state()?;
        let nodes = state["nodes"].as_object()?;
        nodes.iter().find(|(_, node)| node["name"] == *self.name).map(|(id, _)| id.clone())
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.home.join("log")
    }

    /// What to look at when something did not happen.
    pub(crate) fn tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n");
        format!(
            "--- {} sees {:?}; the end of its log:\n{last}\n",
            self.name,
            self.child.as_ref().and_then(|_| self.view())
        )
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
