//! What a node tells the program that started it, as systemd would hear it.

use super::node::PATIENCE;
use super::place::{Scratch, Turn};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

/// Reads what is told until all of this was.
fn hear(socket: &UnixDatagram, wanted: &[&str]) {
    let mut missing: BTreeSet<&str> = wanted.iter().copied().collect();
    let mut heard = Vec::new();
    while !missing.is_empty() {
        let mut bytes = [0; 512];
        let length = socket
            .recv(&mut bytes)
            .unwrap_or_else(|error| panic!("{missing:?} were not told: {error}, {heard:?} were"));
        for line in String::from_utf8_lossy(&bytes[..length]).lines() {
            missing.remove(line);
            heard.push(line.to_owned());
        }
    }
}

#[test]
fn a_supervisor_hears_that_a_node_is_ready_leads_lives_and_ends() {
    let _turn = Turn::wait();
    let scratch = Scratch::new();
    // The name of a socket is short, and that of the scratch directory may be long.
    let name = std::env::temp_dir().join(format!("zazen-supervisor-{}", std::process::id()));
    let socket = UnixDatagram::bind(&name).expect("the directory for temporary files can be written to");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket can have a timeout");
    let data = format!("path.data={}", scratch.path().display());
    let settings = [&data, "discovery.type=single-node", "http.port=0", "transport.tcp.port=0"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    command
        .arg("start")
        .args(settings.iter().flat_map(|setting| ["-E", setting]))
        .env_clear()
        .current_dir(scratch.path());
    command.env("NOTIFY_SOCKET", &name).env("WATCHDOG_USEC", "300000");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the program was built");
    hear(&socket, &["READY=1", "STATUS=master of term 1", "WATCHDOG=1"]);
    hear(&socket, &["WATCHDOG=1"]);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).expect("it runs");
    hear(&socket, &["STOPPING=1"]);
    assert!(child.wait().is_ok_and(|status| status.success()), "it ends in good order");
    let _ = std::fs::remove_file(name);
}
