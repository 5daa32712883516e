//! What clients are told of the release: whose interface this is, and who made it.
//!
//! The number is that of the Elasticsearch release that a node stands for, which every node carries in the state; clients
//! decide by it and by the tag line whether to talk to a server at all.

use crate::runtime::VERSION;
use std::fmt::Write;

/// Which of Elasticsearch's flavors the interface is that of.
pub(super) const FLAVOR: &str = "oss";
/// How Elasticsearch would have been packed.
pub(super) const TYPE: &str = "unknown";
/// When it was built; that is not recorded.
pub(super) const BUILD_DATE: &str = "Unknown";
/// The Lucene of that release of Elasticsearch. Tools want three numbers here.
pub(super) const LUCENE: &str = "7.7.3";
/// The Lucene of the fifth row of releases.
pub(super) const OLD_LUCENE: &str = "6.6.1";
/// Who really answers.
pub(super) const DISTRIBUTION: &str = "zazen";
/// The oldest release that could be in one cluster with that release.
pub(super) const WIRE_COMPATIBILITY: &str = "5.6.0";
/// The oldest release whose indices that release reads.
pub(super) const INDEX_COMPATIBILITY: &str = "5.0.0";
/// Clients look for these very words.
pub(super) const TAGLINE: &str = "You Know, for Search";

/// The value of a `Warning` header: who warns, and a text in which quotes and backslashes are marked, and all that a header
/// must not hold is escaped.
pub(super) fn warning(text: &str) -> String {
    let mut value = format!("299 Elasticsearch-{VERSION}-Unknown \"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => value.extend(['\\', char::from(byte)]),
            b'%' => value += "%25",
            b'\t' | b' '..=b'~' => value.push(char::from(byte)),
            other => {
                let _ = write!(value, "%{other:02X}");
            }
        }
    }
    value + "\""
}

/// What stands for the hash of a build: this program and its own release.
pub(super) fn build(release: &str) -> String {
    format!("zazen-{release}")
}
