//! All that a user may send over a connection, from its first byte.

#![no_main]

#[path = "../desk.rs"]
mod desk;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| desk::converse(bytes));
