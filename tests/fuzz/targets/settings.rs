//! Configuration files: each is loaded, or refused with reasons.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use zazen::settings::{FileText, Sources, load};

fuzz_target!(|text: &str| {
    let file = Some(FileText { name: "elasticsearch.yml", text });
    let environment = BTreeMap::new();
    let sources = Sources { file, environment: &environment, arguments: &[], path_conf: "config".into() };
    match load(&sources) {
        Ok(loaded) => drop(format!("{:?}", loaded.effective)),
        Err(faults) => assert!(!faults.to_string().is_empty(), "it is refused for a reason"),
    }
});
