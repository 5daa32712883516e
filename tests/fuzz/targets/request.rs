//! Requests to the REST API: a line as in `tests/rest/requests.txt`, its headers between bars, its body last.

#![no_main]

#[path = "../desk.rs"]
mod desk;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| desk::ask(bytes));
