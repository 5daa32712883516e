//! Files of secrets and of users, and the headers that they are compared with.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zazen::runtime::secure::{Secrets, parse_users};

fuzz_target!(|text: &str| {
    let debug = Secrets::parse(text).map(|secrets| format!("{secrets:?}"));
    if let Ok(debug) = debug {
        let secret = text.lines().map(str::trim).find(|line| line.len() > 16).unwrap_or("\0");
        assert!(!debug.contains(secret), "a secret is shown: {debug}");
    }
    if let Ok(users) = parse_users(text) {
        drop(format!("{users:?}"));
    }
});
