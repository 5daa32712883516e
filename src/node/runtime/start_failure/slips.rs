//! Faults of a configuration as one line to paste: what was meant is put where something else stands.

use super::said;
use crate::diagnose::{Code, Mend, Start};
use crate::runtime::inquiry::{launch_of, mending};
use crate::runtime::program;
use crate::settings::{Besides, Faults, Launch, Sources, is_passing, meant_besides, remedies};
use std::path::Path;

/// What is said of a configuration that makes no sense. Whoever starts a node may read it elsewhere than he typed, so the
/// file is named in full then.
pub fn faults(faults: &Faults, sources: &Sources<'_>, starts: bool) -> String {
    // What came through a pipe is mended where it came from.
    let mend = sources.file.filter(|file| !is_passing(file.name)).and_then(|file| {
        let file = if starts { super::absolute(Path::new(file.name)) } else { file.name.to_owned() };
        let mended = mending(&remedies(sources, faults)?, &file);
        let launch = launch_of(&Launch::of(sources));
        let start = || Start::new(&program(), Some(&file), &launch).mend(&format!("{mended} && "));
        Some(if starts { start() } else { Mend::command(mended.clone()) })
    });
    let mend = mend.or_else(|| besides(sources));
    format!("{faults}\n{}", said("error:", Code::BadSettings, mend.as_ref()))
}

/// The start with what was meant by its arguments and variables, where the file is right.
pub(in crate::runtime) fn besides(sources: &Sources<'_>) -> Option<Mend> {
    let file = sources.file.filter(|file| !is_passing(file.name)).map(|file| super::absolute(Path::new(file.name)));
    let Besides { arguments, environment } = meant_besides(sources)?;
    let meant = Sources { arguments: &arguments, environment: &environment, ..sources.clone() };
    Some(Start::new(&program(), file.as_deref(), &launch_of(&Launch::of(&meant))).mend(""))
}
