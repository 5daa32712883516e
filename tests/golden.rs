//! The golden traces: each file of `tests/golden` is played, and what the nodes say is compared with what it expects.
//!
//! Every file is judged, and all that differ are reported together. With `ZAZEN_BLESS=1` the files are written as they
//! came out.

#[path = "golden/diff.rs"]
mod diff;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::{env, fs};
use zazen::sim::script::{Block, Script, Stage};

const FOLDER: &str = "tests/golden";

#[test]
fn the_nodes_tell_the_stories_that_are_expected_of_them() {
    let files = scripts();
    assert!(!files.is_empty(), "no script was found in {FOLDER}, so nothing was checked");
    let is_blessing = env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1");
    let reports: Vec<String> = files.iter().filter_map(|file| judge(file, is_blessing).err()).collect();
    assert!(
        reports.is_empty(),
        "{} of {} scripts to look at:\n\n{}\n\nUnderstand each difference first: a story that changes is a protocol \
         that changes.\nThen write them all with: ZAZEN_BLESS=1 cargo test --test golden\n",
        reports.len(),
        files.len(),
        reports.join("\n\n")
    );
}

#[test]
fn every_trace_shows_a_rule_of_the_protocol_and_every_rule_names_traces_that_exist() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/protocol.md");
    let page = fs::read_to_string(page).expect("the protocol is written down");
    let mut named: Vec<&str> = page.split('`').filter_map(|text| text.strip_prefix("tests/golden/")).collect();
    named.sort_unstable();
    named.dedup();
    let files = scripts();
    let mut there: Vec<&str> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    there.sort_unstable();
    named.retain(|name| !name.is_empty());
    assert_eq!(named, there, "left: named by docs/protocol.md; right: the files of {FOLDER}");
}

/// Plays a script; an error is a report that a person can act upon.
fn judge(file: &Path, is_blessing: bool) -> Result<(), String> {
    let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(file).display().to_string();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let script = Script::parse(&text).map_err(|mistake| format!("{name}:{}: {mistake}", mistake.line))?;
    let mut stage = Stage::new();
    let mut outputs = Vec::new();
    for block in script.blocks() {
        outputs.push(play(&mut stage, block).map_err(|(line, why)| format!("{name}:{line}: {why}"))?);
    }
    let told = script.with_outputs(&outputs);
    if told == text {
        Ok(())
    } else if is_blessing {
        fs::write(file, told).map_err(|error| format!("{name}: {error}"))
    } else {
        Err(format!("{name} tells another story:\n{}", diff::between(&text, &told)))
    }
}

/// Plays a block; a node that breaks its own rules ends the script, with what it said up to then.
fn play(stage: &mut Stage, block: &Block) -> Result<Vec<String>, (usize, String)> {
    let so_far = |stage: &Stage| stage.printed().iter().map(|line| format!("\n    {line}")).collect::<String>();
    match catch_unwind(AssertUnwindSafe(|| stage.play(block))) {
        Ok(Ok(printed)) => Ok(printed),
        Ok(Err(trouble)) => Err((trouble.line(), format!("{trouble}{}", so_far(stage)))),
        Err(panic) => Err((block.number(), format!("a node panicked: {}{}", message(&*panic), so_far(stage)))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// All scripts, in the order of their names.
fn scripts() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER), &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder of the scripts can be listed") {
        let path = entry.expect("the folder of the scripts can be listed").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            found.push(path);
        }
    }
}
