//! What a node tells the program that started it, if that wants to know: systemd, or whoever speaks its protocol.
//!
//! `NOTIFY_SOCKET` names a socket that takes lines: `READY=1` once the node listens, `STATUS=…` in words, `WATCHDOG=1` as often
//! as `WATCHDOG_USEC` asks for as long as the task that owns the node answers, `STOPPING=1` when it ends. See sd_notify(3).

use crate::runtime::Handle;
use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The shortest time between two signs of life.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// Whoever wants to know how a node is.
pub(super) struct Supervisor {
    socket: UnixDatagram,
    address: SocketAddr,
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// The one that the environment names; none if nobody wants to know.
    pub(super) fn find() -> Option<Self> {
        let name = env::var("NOTIFY_SOCKET").ok().filter(|name| !name.is_empty())?;
        let found = Supervisor::at(&name, watchdog());
        found.inspect_err(|error| tracing::warn!("NOTIFY_SOCKET names [{name}], which cannot be used: {error}")).ok()
    }

    fn at(name: &str, watchdog: Option<Duration>) -> io::Result<Self> {
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        // A supervisor that does not read must not hold the node up.
        socket.set_nonblocking(true)?;
        Ok(Supervisor { socket, address, watchdog })
    }

    /// The node listens. Whether there is a master is told as a status: a cluster whose nodes wait for one another is never
    /// formed if each is started only when the one before it has a master.
    pub(super) fn ready(&self) {
        self.tell("READY=1");
    }

    /// The node ends.
    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=leaves the cluster");
    }

    fn tell(&self, lines: &str) {
        if let Err(error) = self.socket.send_to_addr(lines.as_bytes(), &self.address) {
            tracing::debug!("cannot tell the supervisor [{lines}]: {error}");
        }
    }

    /// Tells how the node is for as long as this is waited for.
    pub(super) async fn attend(&self, handle: &Handle) {
        tokio::join!(self.tell_status(handle), self.tell_life(handle));
    }

    async fn tell_status(&self, handle: &Handle) {
        let mut states = handle.states();
        let mut told = String::new();
        loop {
            let status = {
                let state = states.borrow_and_update();
                match state.nodes.master_node() {
                    Some(master) if master.id == handle.local().id => format!("master of term {}", state.term),
                    Some(master) => format!("follows {} in term {}", master.name, state.term),
                    None => "has no master, zazen explain tells why".into(),
                }
            };
            if status != told {
                // A name is any text, and a line break would begin another message.
                self.tell(&format!("STATUS={}", status.replace(char::is_control, " ")));
                told = status;
            }
            if states.changed().await.is_err() {
                return;
            }
        }
    }

    /// A sign of life, as often as it is asked for: the task that owns the node answered.
    async fn tell_life(&self, handle: &Handle) {
        let Some(watchdog) = self.watchdog else {
            return;
        };
        let mut beat = tokio::time::interval((watchdog / 3).max(PAUSE_MIN));
        loop {
            beat.tick().await;
            if handle.explain().await.is_none() {
                return;
            }
            self.tell("WATCHDOG=1");
        }
    }
}

/// How often a sign of life is wanted of this process.
fn watchdog() -> Option<Duration> {
    let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
    let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    let micros = number("WATCHDOG_USEC").filter(|micros| is_ours && *micros > 0)?;
    Some(Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_sockets_are_told() {
        let dir = env::temp_dir().join(format!("zazen-notify-{}", std::process::id()));
        let abstract_name = format!("zazen-notify-{}", std::process::id());
        let path = UnixDatagram::bind(&dir).expect("the directory for temporary files can be written");
        let hidden = SocketAddr::from_abstract_name(&abstract_name).expect("the name is short");
        let hidden = UnixDatagram::bind_addr(&hidden).expect("nobody else has the name");
        for (name, end) in [(dir.display().to_string(), path), (format!("@{abstract_name}"), hidden)] {
            Supervisor::at(&name, None).expect("it is there").ready();
            let mut bytes = [0; 64];
            let length = end.recv(&mut bytes).expect("something was told");
            assert_eq!(&bytes[..length], b"READY=1", "{name}");
        }
        let _ = std::fs::remove_file(dir);
    }
}
