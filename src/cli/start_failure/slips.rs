//! Faults of a configuration as one line to paste: what was meant is put where something else stands.

use super::said;
use crate::diagnose::{Code, Mend, Start, quoted};
use crate::runtime::inquiry::launch_of;
use crate::runtime::program;
use crate::settings::{Faults, Launch, Remedy, Sources, Way, is_passing, remedies};
use std::path::Path;

/// What is said of a configuration that makes no sense. Whoever starts a node may read it elsewhere than he typed, so the
/// file is named in full then.
pub(in crate::cli) fn faults(faults: &Faults, sources: &Sources<'_>, starts: bool) -> String {
    // What came through a pipe is mended where it came from.
    let mend = sources.file.filter(|file| !is_passing(file.name)).and_then(|file| {
        let file = if starts { super::absolute(Path::new(file.name)) } else { file.name.to_owned() };
        let mended = format!("{} {}", script(&remedies(sources, faults)?), quoted(&file));
        let launch = launch_of(&Launch::of(sources));
        let start = || Start::new(&program(), Some(&file), &launch).mend(&format!("{mended} && "));
        Some(if starts { start() } else { Mend::command(mended.clone()) })
    });
    format!("{faults}\n{}", said("error:", Code::BadSettings, mend.as_ref()))
}

/// A call of sed that carries the remedies out.
fn script(remedies: &[Remedy]) -> String {
    let commands: Vec<String> = remedies.iter().map(|remedy| format!(" -e {}", quoted(&command(remedy)))).collect();
    format!("sed -i{}", commands.concat())
}

fn command(remedy: &Remedy) -> String {
    let line = remedy.line;
    match &remedy.way {
        Way::Key(from, to) => format!("{line}s/{}/{}/", pattern(from), replacement(to)),
        // The key may hold the same text.
        Way::Value(from, to) => format!("{line}s/\\(.*\\){}/\\1{}/", pattern(from), replacement(to)),
        Way::Line(text) => format!("{line}s/.*/{}/", replacement(text).replace('\n', "\\n")),
        Way::Remove => format!("{line}s/^/#/"),
    }
}

fn pattern(text: &str) -> String {
    escaped(text, "\\/.*[]^$")
}

fn replacement(text: &str) -> String {
    escaped(text, "\\/&")
}

fn escaped(text: &str, special: &str) -> String {
    text.chars().flat_map(|char| special.contains(char).then_some('\\').into_iter().chain([char])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_become_one_call_of_sed() {
        let key = Remedy { line: 3, way: Way::Key("ping_timout".into(), "ping_timeout".into()) };
        let value = Remedy { line: 4, way: Way::Value("5/s".into(), "5s".into()) };
        let removed = Remedy { line: 9, way: Way::Remove };
        let expected = r"sed -i -e 3s/ping_timout/ping_timeout/ -e '4s/\(.*\)5\/s/\15s/' -e '9s/^/#/'";
        assert_eq!(script(&[key, value, removed]), expected);
    }
}
