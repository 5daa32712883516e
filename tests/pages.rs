//! Pages that are made from what they tell of, or have a section for each of it, are in step with it.

use std::path::Path;
use std::{env, fs};
use zazen::diagnose::Code;
use zazen::{runtime, settings};

const BLESS: &str = "ZAZEN_BLESS=1 cargo test --test pages";

/// Demands that a page is what is made, or writes it.
fn demand(page: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    if env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, made).expect("the page can be written");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).position(|(made, found)| made != found);
    let line = differs.unwrap_or_else(|| made.lines().count().min(found.lines().count())) + 1;
    assert!(made == found, "{page} differs from its table from line {line} on; write it anew with: {BLESS}");
}

#[test]
fn the_page_of_all_settings_is_in_step_with_the_registry() {
    demand("docs/settings.md", &settings::page());
}

#[test]
fn the_page_of_all_metrics_is_in_step_with_their_table() {
    demand("docs/metrics.md", &runtime::metrics::page());
}

#[test]
fn every_setting_is_documented_in_whole_sentences() {
    for setting in settings::REGISTRY {
        assert!(setting.doc.len() > 100, "{} says too little", setting.key);
        for sentence in setting.doc.lines() {
            assert!(sentence.ends_with('.'), "{}: a line that is no sentence: {sentence}", setting.key);
        }
    }
}

#[test]
fn every_code_has_a_section_and_every_section_a_code() {
    let page = include_str!("../docs/troubleshooting.md");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(sections, codes, "write the section that is missing into docs/troubleshooting.md");
    let mends = page.lines().filter(|line| line.starts_with("**Mend:** ")).count();
    assert_eq!(mends, codes.len(), "each section says what to type");
}

#[test]
fn a_code_is_written_as_it_is_named() {
    for code in Code::ALL {
        assert_eq!(serde_json::to_value(code).expect("it is a word"), code.name());
    }
}
