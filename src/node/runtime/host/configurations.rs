//! The configurations of a node's neighbours, and what would keep a start by one of them: most are the same the next time, and
//! it takes long to understand one.

use super::FILES_MAX;
use super::encoding::{Misencoded, misencoded};
use super::launch::besides;
use super::mending::mending;
use super::note::read_bytes;
use crate::diagnose::{Launch, Mend, Sibling, Slip, quoted};
use crate::settings::{self, FileText, NodeSettings, Remedy, Sources, may_be_secret, mended, remedies};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many configurations are kept, and of how many starts by one.
const KNOWN_MAX: usize = 4 * FILES_MAX;
const LAUNCHES_MAX: usize = FILES_MAX;

/// How many lines of a configuration that cannot be read are looked at.
const LINES_MAX: usize = 200;

/// As they were read last.
#[derive(Default)]
pub(in crate::runtime) struct Configurations(BTreeMap<String, Vec<Loaded>>);

/// A configuration and what came of it, as far as it makes sense.
struct Loaded {
    text: Option<String>,
    is_misencoded: bool,
    launch: Launch,
    settings: Option<NodeSettings>,
    slip: Option<Slip>,
}

impl Configurations {
    /// The settings of a node that is started so, and what keeps it from being.
    pub(in crate::runtime) fn loaded(
        &mut self,
        file: Option<&str>,
        launch: &Launch,
    ) -> Option<(&NodeSettings, &Option<Slip>)> {
        let read = file.map(|file| text_of(file).ok_or(())).transpose().ok()?;
        let (text, misencoded) = read.unzip();
        let misencoded = misencoded.flatten();
        if self.0.len() > KNOWN_MAX {
            self.0.clear();
        }
        let known = self.0.entry(file.unwrap_or_default().to_owned()).or_default();
        known.retain(|one| one.text == text && one.is_misencoded == misencoded.is_some());
        let at = known.iter().position(|one| one.launch == *launch).unwrap_or_else(|| {
            known.truncate(LAUNCHES_MAX);
            let (settings, slip) = loaded(file, text.as_deref(), launch);
            let (is_misencoded, slip) = (misencoded.is_some(), misencoded.or(slip));
            known.push(Loaded { text, is_misencoded, launch: launch.clone(), settings, slip });
            known.len() - 1
        });
        let found = known.get(at)?;
        Some((found.settings.as_ref()?, &found.slip))
    }
}

/// The text of a file, and what is wrong with how it is written.
fn text_of(file: &str) -> Option<(String, Option<Slip>)> {
    let bytes = read_bytes(Path::new(file))?;
    let Some(found) = misencoded(file, &bytes) else {
        return Some((String::from_utf8(bytes).ok()?, None));
    };
    let Misencoded { text, fault, mend } = found;
    Some((text, Some(Slip { fault, mend: Some(mend), is_withheld: false })))
}

/// What a node was given whose file is gone, and the line that writes it anew as the node has noted it.
pub(in crate::runtime) fn rewritten(note: &Sibling) -> Option<(NodeSettings, Option<Slip>)> {
    let file = note.file.as_deref()?;
    let text: String = note.written.iter().map(|line| format!("{line}\n")).collect();
    let settings = loaded(Some(file), Some(&text), &note.launch).0.filter(|_| !text.is_empty())?;
    let lines: Vec<String> = note.written.iter().map(|line| quoted(line)).collect();
    let (lines, at) = (lines.join(" "), quoted(file));
    let home = Path::new(file).parent().filter(|home| !home.exists());
    let made = home.map_or_else(String::new, |home| format!("mkdir -p {} && ", quoted(&home.display().to_string())));
    let mend = format!(r"{made}{{ [ -e {at} ] || printf '%s\n' {lines} > {at}; }}");
    let fault = format!("[{file}] is gone; it can be written anew as the node noted it when it began");
    Some((settings, Some(Slip { fault, mend: Some(mend), is_withheld: false })))
}

/// The start with what was meant by what is given besides a file, where that makes no sense and the file does.
pub(in crate::runtime) fn started_besides(file: &str, text: &str, launch: &Launch) -> Option<Mend> {
    let (environment, path_conf) = (environment(launch), path_conf(Some(file)));
    let file = Some(FileText { name: file, text });
    besides(&Sources { file, environment: &environment, arguments: &launch.arguments, path_conf })
}

fn environment(launch: &Launch) -> BTreeMap<String, String> {
    launch.variables.iter().map(|one| (one.name.clone(), one.value.clone())).collect()
}

fn path_conf(file: Option<&str>) -> PathBuf {
    file.and_then(|file| Path::new(file).parent()).unwrap_or(Path::new("config")).into()
}

/// What a configuration gives, and why nobody can start by it: then it is taken as it was meant, or what makes sense of it.
pub(in crate::runtime) fn loaded(
    file: Option<&str>,
    text: Option<&str>,
    launch: &Launch,
) -> (Option<NodeSettings>, Option<Slip>) {
    let (environment, path_conf) = (environment(launch), path_conf(file));
    let given = file.zip(text).map(|(name, text)| FileText { name, text });
    let sources = Sources { file: given, environment: &environment, arguments: &launch.arguments, path_conf };
    let with = |text: &str| {
        let given = given.map(|file| FileText { text, ..file });
        settings::load(&Sources { file: given, ..sources.clone() }).ok().map(|loaded| loaded.settings)
    };
    let faults = match settings::load(&sources) {
        Ok(loaded) => return (Some(loaded.settings), None),
        Err(faults) => faults,
    };
    let Some((file, text)) = file.zip(text) else { return (None, None) };
    let remedies = remedies(&sources, &faults);
    let meant = remedies.as_ref().and_then(|remedies| with(&mended(text, remedies)));
    // What stands in a private file is told to nobody else.
    let is_told = |remedies: &Vec<Remedy>| {
        let lines = remedies.iter().filter_map(|remedy| text.lines().nth(remedy.line.saturating_sub(1)));
        lines.into_iter().all(|line| !may_be_secret(line))
    };
    let known = remedies.filter(|_| meant.is_some());
    let is_withheld = known.as_ref().is_some_and(|remedies| !is_told(remedies));
    let mend = known.filter(|_| !is_withheld).map(|remedies| mending(&remedies, file));
    // Of a file that is none of a node only little would be left. Lines may each make sense, and not together.
    let clear = || {
        let mut clear = String::new();
        let says_something = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
        for line in text.lines().filter(says_something).take(LINES_MAX) {
            let longer = format!("{clear}{line}\n");
            if with(&longer).is_some() {
                clear = longer;
            }
        }
        with(&clear)
    };
    (meant.or_else(clear), Some(Slip { fault: faults.first(|line| !may_be_secret(line)), mend, is_withheld }))
}
