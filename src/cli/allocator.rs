//! That memory which a node needs no more goes back to the system.
//!
//! glibc's allocator takes large buffers from what it keeps for each thread, once a few of them have ended, and keeps all of it.
//! With a bound that it reads when a process begins it does not: so the process begins anew with it. Elsewhere nothing is done.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Buffers of this size and more are the system's, and end with whoever needed them.
const BOUND: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "262144");

/// Where whoever runs the node may have said it otherwise.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// That it was tried: the system takes the bound away from a program that has more rights than its user.
const TRIED: &str = "MALLOC_BOUNDED_BY_ZAZEN";

/// Begins the process anew, unless it is bounded already; returns if there is nothing to be done, or it cannot be.
pub(super) fn bound() {
    let is_given = |name: &str| std::env::var_os(name).is_some();
    if !cfg!(target_env = "gnu") || [BOUND.0, TUNABLES, TRIED].into_iter().any(is_given) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into());
    // What it returns is why it could not be done.
    let _ = Command::new(program).arg0(name).args(arguments).env(BOUND.0, BOUND.1).env(TRIED, "1").exec();
}
