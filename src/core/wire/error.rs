//! Why bytes are no message, in words that tell the reader what to change.
//!
//! What was read is quoted shortened, so that no error is longer than a few hundred characters.

use super::{DEPTH_MAX, SIZE_MAX, VERSION};
use crate::zen::Message;
use std::fmt;

/// How much of what was read is quoted.
const QUOTED_MAX: usize = 60;

/// How long the reason of the JSON reader may be; it quotes what it read as a whole.
const REASON_MAX: usize = 240;

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// There are more bytes than are read.
    TooLarge {
        /// How many.
        bytes: usize,
    },
    /// The bytes are no JSON.
    NotJson {
        /// Where it ends to be JSON, in bytes.
        at: usize,
        /// What was expected there.
        why: String,
        /// What stands there.
        read: String,
    },
    /// It is JSON but no envelope.
    NoEnvelope {
        /// What is wrong with it.
        why: String,
        /// How it begins.
        read: String,
    },
    /// The version is missing or another one.
    UnknownVersion {
        /// What stands in its place, if anything does.
        found: Option<String>,
    },
    /// The kind is missing or none that is known.
    UnknownKind {
        /// What stands in its place, if anything does.
        found: Option<String>,
    },
    /// The message is of another kind than the one that was announced.
    WrongKind {
        /// What was announced.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// The body nests deeper than is read.
    TooDeep {
        /// The message's kind.
        kind: &'static str,
        /// Where.
        path: String,
    },
    /// The body is not what a message of its kind holds.
    Misfit {
        /// The message's kind.
        kind: &'static str,
        /// Where, from the envelope down.
        path: String,
        /// What is wrong there.
        why: String,
        /// What stands there.
        read: String,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::TooLarge { bytes } => {
                write!(f, "a message of {bytes} bytes is too large, at most {SIZE_MAX} are read")
            }
            WireError::NotJson { at, why, read } => {
                write!(f, "not JSON: {why} at byte {at}")?;
                says(f, read)
            }
            WireError::NoEnvelope { why, read } => write!(
                f,
                "`{read}` is no message: {why}; a message is an object as `{{\"v\":{VERSION},\"kind\":…,\"body\":…}}`"
            ),
            WireError::UnknownVersion { found: Some(found) } => {
                write!(f, "wire version `{found}` is not known, this node speaks {VERSION}")
            }
            WireError::UnknownVersion { found: None } => {
                write!(f, "the wire version `v` is missing, this node speaks {VERSION}")
            }
            WireError::UnknownKind { found: Some(found) } => {
                write!(f, "message kind `{found}` is not known, known are {}", Message::KINDS.join(", "))
            }
            WireError::UnknownKind { found: None } => {
                write!(f, "the message's `kind` is missing, known are {}", Message::KINDS.join(", "))
            }
            WireError::WrongKind { wanted, found } => {
                write!(f, "the message is a `{found}`, expected was a `{wanted}`")
            }
            WireError::TooDeep { kind, path } => {
                write!(f, "this `{kind}` nests too deep at `{path}`, at most {DEPTH_MAX} levels are read")
            }
            WireError::Misfit { kind, path, why, read } => {
                write!(f, "this `{kind}` cannot be read: at `{path}`: {why}")?;
                says(f, read)
            }
        }
    }
}

impl std::error::Error for WireError {}

fn says(f: &mut fmt::Formatter<'_>, read: &str) -> fmt::Result {
    if read.is_empty() { Ok(()) } else { write!(f, ", where it says `{read}`") }
}

/// The beginning of a text, in one line.
pub(super) fn quoted(text: &str) -> String {
    shortened(text, QUOTED_MAX)
}

/// What the JSON reader says, without the place, which is told in our own way.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    shortened(text.strip_suffix(&place).unwrap_or(&text), REASON_MAX)
}

pub(super) fn shortened(text: &str, max: usize) -> String {
    let mut short = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == max {
            short.push('…');
            break;
        }
        if c.is_control() { short.extend(c.escape_default()) } else { short.push(c) }
    }
    short
}
