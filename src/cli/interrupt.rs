//! Ctrl-C while something is searched for: the search ends early, and tells what it found so far.
//!
//! Whoever searches looks at [`came`] between two steps. A second Ctrl-C ends the process at once.

use super::{CommandError, CommandOutcome, failed};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tokio::signal::unix::{SignalKind, signal};

/// How a process ends that Ctrl-C ended: 128 and the number of the signal.
const ENDED: u8 = 128 + 2;

static CAME: AtomicBool = AtomicBool::new(false);

/// Does work that may be interrupted; what is not complete does not end as if it were.
pub(super) fn heed(
    work: impl FnOnce() -> Result<CommandOutcome, CommandError>,
) -> Result<CommandOutcome, CommandError> {
    listen().map_err(|error| failed("listen to signals", error))?;
    let outcome = work()?;
    Ok(if outcome == CommandOutcome::Fine && came() { CommandOutcome::Ended(ENDED) } else { outcome })
}

/// Whether Ctrl-C was pressed.
pub(super) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

fn listen() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut interrupts = {
        let _entered = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    let wait = move || {
        runtime.block_on(async {
            interrupts.recv().await;
            CAME.store(true, Ordering::Relaxed);
            eprintln!("\ninterrupted: what was found so far follows; again, to end at once");
            interrupts.recv().await;
            std::process::exit(i32::from(ENDED));
        });
    };
    thread::Builder::new().name("interrupts".into()).spawn(wait).map(drop)
}
