//! The names of the changes that nodes send to their masters.
//!
//! A process names a change by one of its slots and by a number that rises. What became of such changes stands in `forwards`.

use super::{EphemeralId, Version};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// One of the changes that a process may have open at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The process.
    pub by: EphemeralId,
    /// Which of its slots.
    pub number: u16,
}

/// `process/7`.
impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.by, self.number)
    }
}

/// A text names no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSlot;

impl fmt::Display for BadSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a slot is named by a process and a number, as in `process/7`")
    }
}

impl std::error::Error for BadSlot {}

impl FromStr for Slot {
    type Err = BadSlot;

    fn from_str(text: &str) -> Result<Self, BadSlot> {
        let (by, number) = text.rsplit_once('/').ok_or(BadSlot)?;
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadSlot);
        }
        Ok(Slot { by: by.into(), number: number.parse().map_err(|_| BadSlot)? })
    }
}

impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Slot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|why| de::Error::custom(format_args!("[{text}]: {why}")))
    }
}

/// Names one change that a process was asked for, however often it sends it on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(Slot, u64, Version)", into = "(Slot, u64, Version)")]
pub struct Forward {
    /// Where it is open.
    pub slot: Slot,
    /// Rises from each change of the process to the next.
    pub sequence: u64,
    /// What the process knew to be committed when it first sent the change on: no earlier state holds it.
    pub since: Version,
}

/// Each change of a node carries one, so it is written without the names of its parts.
impl From<Forward> for (Slot, u64, Version) {
    fn from(Forward { slot, sequence, since }: Forward) -> Self {
        (slot, sequence, since)
    }
}

impl From<(Slot, u64, Version)> for Forward {
    fn from((slot, sequence, since): (Slot, u64, Version)) -> Self {
        Forward { slot, sequence, since }
    }
}

/// `process/7:12`.
impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.slot, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_named_by_its_text() {
        let slot = Slot { by: "a/b".into(), number: 12 };
        assert_eq!(slot.to_string().parse(), Ok(slot));
        for text in ["", "7", "x/", "x/+7", "x/65536"] {
            assert_eq!(text.parse::<Slot>(), Err(BadSlot), "{text}");
        }
    }
}
