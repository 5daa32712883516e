//! Sets of known words, in JSON a list of them.
//!
//! A word that is not known is passed over: a newer node may have it.

use serde::de::{SeqAccess, Visitor};
use serde::{Deserializer, Serializer};
use std::fmt;

/// Writes the words whose flag is set.
pub(super) fn serialize<S: Serializer>(words: &[(&str, bool)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(words.iter().filter(|(_, is_set)| *is_set).map(|(word, _)| word))
}

/// Calls `set` for each word of a list.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D, set: impl FnMut(&str)) -> Result<(), D::Error> {
    deserializer.deserialize_seq(Words(set))
}

struct Words<F>(F);

impl<'de, F: FnMut(&str)> Visitor<'de> for Words<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of words")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut words: A) -> Result<(), A::Error> {
        while let Some(word) = words.next_element::<String>()? {
            (self.0)(&word);
        }
        Ok(())
    }
}
