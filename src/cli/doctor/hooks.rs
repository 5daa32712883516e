//! Whether the programs of hooks can be run: a node starts without them, and would find out when its master goes.

use super::Findings;
use crate::diagnose::{Code, Mend, quoted};
use crate::settings::{Hook, NodeSettings};
use rustix::fs::{Access, access};
use std::env;
use std::path::{Path, PathBuf};

pub(super) fn look(settings: &NodeSettings, findings: &mut Findings) {
    for (name, hook) in &settings.hooks.on {
        let Hook::Exec { program, .. } = hook else { continue };
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

/// Where a program is: as it stands, or in a directory of `PATH`.
fn place(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(Path::new(program))).find(|path| path.is_file())
}
