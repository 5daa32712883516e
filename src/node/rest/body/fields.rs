//! The fields of an object that was sent, of which none stands there twice: which one was meant, nobody could tell.
//!
//! Mirrors strict duplicate detection of `XContentParser` (6.8), in every notation.

use serde_json::{Map, Value};

/// What is said of a field that stands there twice.
pub(super) fn twice(name: &str) -> String {
    format!("Duplicate field '{name}'")
}

/// Adds a field.
pub(super) fn put(fields: &mut Map<String, Value>, name: String, value: Value) -> Result<(), String> {
    if fields.contains_key(&name) {
        return Err(twice(&name));
    }
    fields.insert(name, value);
    Ok(())
}
