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
        let found = match hook {
            Hook::Exec { program, .. } => runnable(program),
            Hook::Webhook { url } => called(url).map_err(|why| (why, None)),
        };
        match found {
            Ok(what) => findings.well(format!("{what} of [hooks.{name}]")),
            Err((why, line)) => {
                findings.odd(Code::BadSettings, format!("[hooks.{name}]: {why}"), line.map(Mend::command));
            }
        }
    }
}

/// Whether this user can run a program; if not, why, and the line that helps.
fn runnable(program: &str) -> Result<String, (String, Option<String>)> {
    let Some(path) = place(program) else {
        return Err((format!("there is no program [{program}], so that it would do nothing"), None));
    };
    let shown = path.display().to_string();
    if access(&path, Access::EXEC_OK).is_err() {
        let line = format!("chmod +x {}", quoted(&shown));
        return Err((format!("[{shown}] must not be run by this user"), Some(line)));
    }
    Ok(format!("[{shown}] is there, the program"))
}

/// Whether somebody listens where a webhook goes; nothing is sent there.
fn called(url: &str) -> Result<String, String> {
    // The rest of it may be secret.
    let parsed = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
    let host = parsed.host_str().unwrap_or_default();
    let places = parsed.socket_addrs(|| None).map_err(|error| format!("the host [{host}] has no address: {error}"))?;
    let mut why = format!("the host [{host}] has no address");
    for place in places {
        match TcpStream::connect_timeout(&place, CALL_MAX) {
            Ok(_) => return Ok(format!("[{place}] takes connections, the address")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::TcpListener;

    #[test]
    fn what_cannot_be_run_or_called_is_told() {
        assert_eq!(runnable("true").map(|what| what.ends_with("/true] is there, the program")), Ok(true));
        assert_eq!(runnable("/nonexistent/move-vip").map_err(|(_, line)| line), Err(None));
        let file = env::temp_dir().join(format!("zazen-hook-{}", uuid::Uuid::new_v4()));
        fs::write(&file, "#!/bin/sh\n").expect("it can be written");
        let line = format!("chmod +x {}", file.display());
        assert_eq!(runnable(&file.display().to_string()).map_err(|(_, line)| line), Err(Some(line)));
        fs::remove_file(&file).expect("it is ours");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}/told?token=secret", listener.local_addr().expect("it is bound"));
        assert!(called(&url).is_ok());
        drop(listener);
        let refused = called(&url).expect_err("nobody listens there");
        assert!(refused.contains("refused") && !refused.contains("secret"), "{refused}");
    }
}
