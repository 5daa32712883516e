//! The name of one change of one key.

use super::{Term, Version};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Names one change of one key: no two changes of a key have the same.
///
/// That is the state that holds it, and which one of it if one state holds several changes of the key, of which only the
/// last is ever seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision {
    /// The term of the state that holds the change.
    pub term: Term,
    /// The version of that state.
    pub version: Version,
    /// How many changes of the key that state holds before this one.
    pub part: u32,
}

impl Revision {
    /// The state that holds the change.
    pub const fn rank(self) -> (Term, Version) {
        (self.term, self.version)
    }
}

impl From<(Term, Version)> for Revision {
    fn from((term, version): (Term, Version)) -> Self {
        Revision { term, version, part: 0 }
    }
}

/// `3/17`, and `3/17/1` for the second change that one state holds.
impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.term, self.version)?;
        if self.part > 0 { write!(f, "/{}", self.part) } else { Ok(()) }
    }
}

/// Why a text names no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRevision;

impl fmt::Display for BadRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a change is named by term and version, as in `3/17`, and by its part if it has one, as in `3/17/1`",
        )
    }
}

impl std::error::Error for BadRevision {}

impl FromStr for Revision {
    type Err = BadRevision;

    fn from_str(text: &str) -> Result<Self, BadRevision> {
        let mut numbers = text.split('/');
        let mut number = || numbers.next().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let term = number().and_then(|text| Term::new(text.parse().ok()?));
        let version = number().and_then(|text| Version::new(text.parse().ok()?));
        let part = number().map_or(Some(0), |text| text.parse().ok());
        match (term, version, part, numbers.next()) {
            (Some(term), Some(version), Some(part), None) => Ok(Revision { term, version, part }),
            (_, _, _, _) => Err(BadRevision),
        }
    }
}

/// `[3,17]` or `[3,17,1]`.
impl Serialize for Revision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut numbers = serializer.serialize_seq(Some(2 + usize::from(self.part > 0)))?;
        numbers.serialize_element(&self.term)?;
        numbers.serialize_element(&self.version)?;
        if self.part > 0 {
            numbers.serialize_element(&self.part)?;
        }
        numbers.end()
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RevisionVisitor)
    }
}

struct RevisionVisitor;

impl<'de> Visitor<'de> for RevisionVisitor {
    type Value = Revision;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of a term, a version and perhaps a part")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Revision, A::Error> {
        let term = numbers.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let version = numbers.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
        let part = numbers.next_element()?.unwrap_or(0);
        Ok(Revision { term, version, part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_back_from_its_text_and_its_json() {
        for (text, json) in [("3/17", "[3,17]"), ("3/17/2", "[3,17,2]"), ("0/0", "[0,0]")] {
            let revision: Revision = text.parse().expect("it names a change");
            assert_eq!(revision.to_string(), text);
            assert_eq!(serde_json::to_string(&revision).ok().as_deref(), Some(json));
            assert_eq!(serde_json::from_str(json).ok(), Some(revision));
        }
        for text in ["", "3", "3/", "/3", "3/x", "3/17/", "3/17/1/1", "-3/17", "9007199254740993/1"] {
            assert_eq!(text.parse::<Revision>(), Err(BadRevision), "{text}");
        }
    }
}
