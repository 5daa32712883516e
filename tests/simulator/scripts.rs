//! Scripts as tests: each is played, and what it prints is compared with what it expects.
//!
//! Every script is judged, and all that differ are reported together. With `ZAZEN_BLESS=1` they are written as they came
//! out.

use crate::diff;
use std::path::{Path, PathBuf};
use std::{env, fs};
use zazen::sim::script::Script;

/// What each block of a script prints, or the line that it ends at, and why.
pub(crate) type Played = Result<Vec<Vec<String>>, (usize, String)>;

/// Plays the scripts and demands that they tell what is written in them; `test` names those that can be blessed.
pub(crate) fn demand(files: &[PathBuf], test: &str, play: fn(&Script) -> Played) {
    assert!(!files.is_empty(), "no script was found, so nothing was checked");
    let reports: Vec<String> = files.iter().filter_map(|file| judge(file, play).err()).collect();
    assert!(
        reports.is_empty(),
        "{} of {} scripts to look at:\n\n{}\n\nUnderstand each difference first: a story that changes is a protocol \
         that changes.\nThen write them all with: ZAZEN_BLESS=1 cargo test --test simulator {test}\n",
        reports.len(),
        files.len(),
        reports.join("\n\n")
    );
}

/// Plays a script; an error is a report that a person can act upon.
fn judge(file: &Path, play: fn(&Script) -> Played) -> Result<(), String> {
    let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(file).display().to_string();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let script = Script::parse(&text).map_err(|mistake| format!("{name}:{}: {mistake}", mistake.line))?;
    let outputs = play(&script).map_err(|(line, why)| format!("{name}:{line}: {why}"))?;
    let told = script.with_outputs(&outputs);
    if told == text {
        Ok(())
    } else if is_blessing() {
        fs::write(file, told).map_err(|error| format!("{name}: {error}"))
    } else {
        Err(format!("{name} tells another story:\n{}", diff::between(&text, &told)))
    }
}

pub(crate) fn is_blessing() -> bool {
    env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1")
}

/// All scripts of a folder, in the order of their names.
pub(crate) fn all(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).expect("the folder of the scripts can be listed");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry can be listed").path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    found.sort();
    found
}
