//! The page of all settings says what the registry says.

use std::path::Path;
use std::{env, fs};
use zazen::settings::{REGISTRY, page};

const PAGE: &str = "docs/settings.md";
const BLESS: &str = "ZAZEN_BLESS=1 cargo test --test settings";

#[test]
fn the_page_of_all_settings_is_in_step_with_the_registry() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let made = page();
    if env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, &made).expect("the page can be written");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).position(|(made, found)| made != found);
    let line = differs.unwrap_or_else(|| made.lines().count().min(found.lines().count())) + 1;
    assert!(made == found, "{PAGE} differs from the registry from line {line} on; write it anew with: {BLESS}");
}

#[test]
fn every_setting_is_documented_in_whole_sentences() {
    for setting in REGISTRY {
        assert!(setting.doc.len() > 100, "{} says too little", setting.key);
        for sentence in setting.doc.lines() {
            assert!(sentence.ends_with('.'), "{}: a line that is no sentence: {sentence}", setting.key);
        }
    }
}
