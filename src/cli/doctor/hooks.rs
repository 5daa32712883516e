//! Whether the programs of hooks can be run and their addresses take connections: a node starts without them, and would find
//! out when its master goes.

use super::Findings;
use crate::diagnose::{Code, Mend, quoted};
use crate::settings::{Hook, NodeSettings};
use rustix::fs::{Access, access};
use std::env;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an address may take to be reached.
const CALL_MAX: Duration = Duration::from_secs(1);

pub(super) fn look(settings: &NodeSettings, findings: &mut Findings) {
    for (name, hook) in &settings.hooks.on {
        let program = match hook {
            Hook::Exec { program, .. } => program,
            Hook::Webhook { url } => {
                match called(url) {
                    Ok(()) => findings.well(format!("the host of [hooks.{name}] takes connections")),
                    Err(why) => findings.odd(Code::BadSettings, format!("[hooks.{name}]: {why}"), None),
                }
                continue;
            }
        };
        match place(program) {
            None => findings.odd(
                Code::BadSettings,
                format!("[hooks.{name}]: there is no program [{program}], so that it would do nothing"),
                None,
            ),
            Some(path) if access(&path, Access::EXEC_OK).is_err() => {
                let mend = Mend::command(format!("chmod +x {}", quoted(&path.display().to_string())));
                let summary = format!("[hooks.{name}]: [{}] must not be run by this user", path.display());
                findings.odd(Code::BadSettings, summary, Some(mend));
            }
            Some(path) => findings.well(format!("the program of [hooks.{name}] is [{}]", path.display())),
        }
    }
}

/// Whether somebody listens where a webhook goes; nothing is sent there.
fn called(url: &str) -> Result<(), String> {
    // The rest of it may be secret.
    let parsed = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
    let host = parsed.host_str().unwrap_or_default();
    let places = parsed.socket_addrs(|| None).map_err(|error| format!("the host [{host}] has no address: {error}"))?;
    let mut why = format!("the host [{host}] has no address");
    for place in places {
        match TcpStream::connect_timeout(&place, CALL_MAX) {
            Ok(_) => return Ok(()),
            Err(error) => why = format!("nobody takes connections at [{place}], where it goes: {error}"),
        }
    }
    Err(why)
}

/// Where a program is: as it stands, or in a directory of `PATH`.
fn place(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(Path::new(program))).find(|path| path.is_file())
}
