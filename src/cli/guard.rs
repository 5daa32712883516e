//! The process between `zazen run` and its command, which ends the command when the other does not speak in time.
//!
//! `zazen run` holds the lease and may be stopped, frozen or killed like any process; then nobody would end its command
//! before the lease passes on. So it starts a guard, and tells it again and again until when the command may run. The
//! guard looks at its own clock, and kills the command and all of its group when that time is over, or when `zazen run`
//! has ended. When the guard itself is killed the system kills the command. What neither can promise is told in
//! `docs/leases.md`.

use super::{CommandError, CommandOutcome, failed};
use clap::Args;
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use rustix::process::{Pid, Signal, getppid, kill_process, kill_process_group, set_parent_process_death_signal};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command as Process, ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How often a guard looks at its clock: a timer stands still while the machine sleeps.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// A moment on the clock that goes on while the machine sleeps, as it is told: nanoseconds, the least byte first.
type BootTimeBytes = [u8; 8];

fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn told(moment: Duration) -> BootTimeBytes {
    u64::try_from(moment.as_nanos()).unwrap_or(u64::MAX).to_le_bytes()
}

/// A command that runs under a guard, seen by `zazen run`. It is killed when this is dropped.
pub(super) struct Guarded {
    guard: Child,
    voice: Voice,
}

/// The way to a guard.
pub(super) struct Voice(UnixStream);

impl Voice {
    /// Tells the guard for how long the command may go on. What it does not hear cannot make it wait for longer.
    pub(super) fn allow(&mut self, left: Duration) {
        let _ = self.0.write_all(&told(now() + left));
    }
}

impl Guarded {
    /// Runs a command with these variables, for so long unless more is told.
    pub(super) fn start(
        command: &[OsString],
        variables: &[(&str, String)],
        left: Duration,
    ) -> Result<Self, CommandError> {
        let refused = |error| failed("run the command", error);
        let this = std::env::current_exe().map_err(|error| failed("find this program", error))?;
        let (ours, theirs) = UnixStream::pair().map_err(refused)?;
        let mut guard = Command::new(this);
        guard.arg("run-guard").arg("--").args(command).envs(variables.iter().map(|(name, value)| (name, value)));
        guard.stdin(Stdio::from(OwnedFd::from(theirs))).process_group(0).kill_on_drop(true);
        // The standard input is the way to the guard, so that of the command goes through it.
        send(&ours, told(now() + left)).map_err(|error| refused(error.into()))?;
        ours.set_nonblocking(true).map_err(refused)?;
        Ok(Guarded { guard: guard.spawn().map_err(refused)?, voice: Voice(ours) })
    }

    /// A way to tell the guard more.
    pub(super) fn voice(&self) -> Result<Voice, CommandError> {
        self.voice.0.try_clone().map(Voice).map_err(|error| failed("run the command", error))
    }

    /// Waits until the command has ended.
    pub(super) async fn wait(&mut self) -> Result<ExitStatus, CommandError> {
        self.guard.wait().await.map_err(|error| failed("wait for the command", error))
    }

    /// Asks the command to end, and has it killed after `grace`. A guard that does not do that is killed soon after, and
    /// the command with it.
    pub(super) async fn stop(&mut self, grace: Duration, soon: Duration) -> Result<ExitStatus, CommandError> {
        self.voice.allow(grace);
        if let Some(guard) = self.guard.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            // It has ended if it cannot be told.
            let _ = kill_process(guard, Signal::TERM);
        }
        if tokio::time::timeout(grace + soon, self.guard.wait()).await.is_err() {
            let _ = self.guard.start_kill();
        }
        self.wait().await
    }
}

fn send(line: &UnixStream, told: BootTimeBytes) -> rustix::io::Result<()> {
    let stdin = io::stdin();
    let descriptors = [stdin.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(line, &[IoSlice::new(&told)], &mut control, SendFlags::empty()).map(drop)
}

/// Takes the first word of `zazen run`, with the standard input of the command.
fn receive(line: &UnixStream) -> io::Result<(BootTimeBytes, Option<OwnedFd>)> {
    let mut told = BootTimeBytes::default();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(line, &mut [IoSliceMut::new(&mut told)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes < told.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut stdin = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            stdin = descriptors.last();
        }
    }
    Ok((told, stdin))
}

/// Run a command for as long as the process that started this says so.
#[derive(Debug, Args)]
pub(super) struct GuardArgs {
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl GuardArgs {
    pub(super) fn run(&self) -> Result<CommandOutcome, CommandError> {
        super::runtime()?.block_on(self.guard())
    }

    async fn guard(&self) -> Result<CommandOutcome, CommandError> {
        let lost = |error| failed("hear of the process that started this", error);
        let mut terminate = signal(SignalKind::terminate()).map_err(|error| failed("listen to signals", error))?;
        let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(lost)?);
        let (first, stdin) = receive(&line).map_err(lost)?;
        let mut until = listen(line, first).map_err(lost)?;
        let mut command = self.spawn(stdin)?;
        let group = command.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let send = |signal| {
            if let Some(group) = group {
                // Nobody is left to hear it if all have ended.
                let _ = kill_process_group(group, signal);
            }
        };
        let status = loop {
            let allowed = *until.borrow_and_update();
            let left = allowed.saturating_sub(now());
            let pause = if left.is_zero() { LOOK_AGAIN } else { left.min(LOOK_AGAIN) };
            if left.is_zero() {
                send(Signal::KILL);
            }
            tokio::select! {
                status = command.wait() => break status,
                _ = terminate.recv() => send(Signal::TERM),
                _ = until.changed(), if !left.is_zero() => {}
                () = tokio::time::sleep(pause) => {}
            }
        };
        // Those that the command left behind are of its group.
        send(Signal::KILL);
        Ok(CommandOutcome::Ended(code(status.map_err(|error| failed("wait for the command", error))?)))
    }

    fn spawn(&self, stdin: Option<OwnedFd>) -> Result<Child, CommandError> {
        let this = std::env::current_exe().map_err(|error| failed("find this program", error))?;
        let mut command = Command::new(this);
        command.arg("run-bound").arg(std::process::id().to_string()).arg("--").args(&self.command);
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from)).process_group(0).kill_on_drop(true);
        command.spawn().map_err(|error| failed("run the command", error))
    }
}

/// Until when the command may run, as it is told; nothing once nobody tells any more.
fn listen(line: UnixStream, first: BootTimeBytes) -> io::Result<watch::Receiver<Duration>> {
    let moment = |told| Duration::from_nanos(u64::from_le_bytes(told));
    let (tell, until) = watch::channel(moment(first));
    line.set_nonblocking(true)?;
    let mut line = tokio::net::UnixStream::from_std(line)?;
    tokio::spawn(async move {
        let mut told = BootTimeBytes::default();
        while line.read_exact(&mut told).await.is_ok() {
            tell.send_replace(moment(told));
        }
        tell.send_replace(Duration::ZERO);
        // The guard looks at what it was told last, and not at whether there is more.
        std::future::pending::<()>().await;
    });
    Ok(until)
}

/// The exit code that tells how a command ended.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Become a command that dies with the process that started this.
#[derive(Debug, Args)]
pub(super) struct BoundArgs {
    /// The process to die with.
    parent: i32,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl BoundArgs {
    pub(super) fn run(&self) -> Result<CommandOutcome, CommandError> {
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| failed("be bound to a process", error))?;
        // It may have died before.
        if getppid() != Pid::from_raw(self.parent) {
            return Err(CommandError::Failed("the process that started this has ended".into()));
        }
        let (program, arguments) = self.command.split_first().expect("a command has one word at least");
        let error = Process::new(program).args(arguments).exec();
        Err(failed(&format!("run [{}]", program.to_string_lossy()), error))
    }
}
