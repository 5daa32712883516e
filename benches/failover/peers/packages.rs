//! Packages of the Debian system that this runs on.

use std::process::{Command, Stdio};

/// The installed release of a package.
pub(super) fn release(package: &str) -> Option<String> {
    let asked = Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]).stderr(Stdio::null()).output();
    let said = asked.ok().filter(|said| said.status.success())?;
    let release = String::from_utf8(said.stdout).ok()?;
    let upstream = release.split(['-', '+']).next()?.to_string();
    if upstream.is_empty() { None } else { Some(upstream) }
}

/// What to say of a package that is not there.
pub(super) fn missing(package: &str) -> Option<String> {
    match release(package) {
        Some(_) => None,
        None => Some(format!("the Debian package [{package}] is not installed")),
    }
}

/// Installs packages, without starting what they would start.
pub(super) fn install(packages: &[&str]) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    // A service that comes with the package takes its run level from here; in the first one it stays down.
    command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    run(&mut command)
}

/// Runs a command whose output is progress.
pub(super) fn run(command: &mut Command) -> Result<(), String> {
    let words = format!("{} {:?}", command.get_program().to_string_lossy(), command.get_args().collect::<Vec<_>>());
    // Figures alone go to the standard output.
    match command.stdin(Stdio::null()).stdout(std::io::stderr()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{words} failed: {status}")),
        Err(error) => Err(format!("{words} cannot be run: {error}")),
    }
}
