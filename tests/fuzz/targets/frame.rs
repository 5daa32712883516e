//! The frames of a link that stays open.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| zazen::runtime::fuzz::frame(line));
