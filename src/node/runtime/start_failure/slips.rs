//! Faults of a configuration as one line to paste: what was meant is put where something else stands.

use super::{absolute, said};
use crate::diagnose::{Code, Mend, Start};
use crate::runtime::host::{Misencoded, besides, launch_of, mending};
use crate::runtime::program;
use crate::settings::{Faults, Launch, Sources, is_passing, remedies};
use std::path::Path;

/// What is said of a configuration that makes no sense. Whoever starts a node may read it elsewhere than he typed, so the
/// file is named in full then.
pub fn faults(faults: &Faults, sources: &Sources<'_>, starts: bool) -> String {
    // What came through a pipe is mended where it came from.
    let mend = sources.file.filter(|file| !is_passing(file.name)).and_then(|file| {
        let file = if starts { absolute(Path::new(file.name)) } else { file.name.to_owned() };
        let mended = mending(&remedies(sources, faults)?, &file);
        let launch = launch_of(&Launch::of(sources));
        let start = || Start::new(&program(), Some(&file), &launch).mend(&format!("{mended} && "));
        Some(if starts { start() } else { Mend::command(mended.clone()) })
    });
    let mend = mend.or_else(|| besides(sources));
    format!("{faults}\n{}", said("error:", Code::BadSettings, mend.as_ref()))
}

/// What is said of such a file, to whoever typed a line that goes on where the file is written anew.
pub fn said_of_encoding(found: &Misencoded, typed: Option<&str>) -> String {
    let line = typed.map_or_else(|| found.mend.clone(), |typed| format!("{} && {typed}", found.mend));
    format!("{}\n{}", found.fault, said("error:", Code::BadSettings, Some(&Mend::command(line))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::host::misencoded;

    #[test]
    fn a_file_of_another_encoding_is_written_anew_before_what_was_typed() {
        let found = misencoded("n1.yml", b"# f\xfcr uns\n").expect("this is none");
        assert!(said_of_encoding(&found, Some("zazen start -c n1.yml")).contains("&& rm $t && zazen start -c n1.yml"));
    }
}
