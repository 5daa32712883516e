//! Bytes that a user stored, as they are.
//!
//! In JSON they are a text where they are one that prints, and `{"base64": "…"}` otherwise, so that a state stays
//! readable and takes at most twice their room.

use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes that a user stored. A clone shares them.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blob(Arc<[u8]>);

impl Blob {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text, if they are UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes in base64, with padding.
    pub fn to_base64(&self) -> String {
        let mut text = String::with_capacity(self.0.len().div_ceil(3) * 4);
        for group in self.0.chunks(3) {
            let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
            for place in 0..4 {
                let digit = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
                text.push(if place <= group.len() { char::from(digit) } else { '=' });
            }
        }
        text
    }

    /// The bytes that a text in base64 stands for, with padding; none if it is none.
    pub fn from_base64(text: &str) -> Option<Blob> {
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
        let groups = text.as_bytes().chunks(4);
        let last = groups.len();
        for (index, group) in groups.enumerate() {
            let digits = group.iter().take_while(|byte| **byte != b'=').count();
            let is_padded = group.iter().skip(digits).all(|byte| *byte == b'=');
            let is_whole = digits == 4 || index + 1 == last && digits >= 2;
            if group.len() != 4 || !is_padded || !is_whole {
                return None;
            }
            let mut bits = 0u32;
            for byte in &group[..digits] {
                bits = bits << 6 | digit_of(*byte)?;
            }
            bits <<= 6 * (4 - digits);
            bytes.extend(&bits.to_be_bytes()[1..digits]);
            // What is left over of the last digit must say nothing, so that bytes have one text only.
            if bits & (0xff_ffff >> (8 * (digits - 1))) != 0 {
                return None;
            }
        }
        Some(bytes.into())
    }

    /// The text that stands for the bytes in JSON, unless it would grow too much or hide what it says.
    pub fn plain(&self) -> Option<&str> {
        let is_plain = |byte: &u8| *byte >= b' ' || matches!(byte, b'\n' | b'\r' | b'\t');
        self.as_str().filter(|_| self.0.iter().all(is_plain))
    }
}

fn digit_of(byte: u8) -> Option<u32> {
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(digit))
}

impl From<&str> for Blob {
    fn from(text: &str) -> Self {
        Blob(text.as_bytes().into())
    }
}

impl From<String> for Blob {
    fn from(text: String) -> Self {
        Blob(text.into_bytes().into())
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Blob(bytes.into())
    }
}

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Blob(bytes.into())
    }
}

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The text, or how much there is of what is none.
impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plain() {
            Some(text) => f.write_str(text),
            None => write!(f, "{} bytes", self.len()),
        }
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plain() {
            Some(text) => fmt::Debug::fmt(text, f),
            None => write!(f, "base64:{}", self.to_base64()),
        }
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.plain() {
            return serializer.serialize_str(text);
        }
        let mut fields = serializer.serialize_map(Some(1))?;
        fields.serialize_entry("base64", &self.to_base64())?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BlobVisitor)
    }
}

struct BlobVisitor;

impl<'de> Visitor<'de> for BlobVisitor {
    type Value = Blob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or `base64` and what it stands for")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Blob, E> {
        Ok(text.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Blob, A::Error> {
        let mut found = None;
        while let Some(field) = map.next_key::<String>()? {
            if field == "base64" {
                let text: String = map.next_value()?;
                let blob = Blob::from_base64(&text);
                found = Some(blob.ok_or_else(|| de::Error::custom("`base64` is none, or has no padding"))?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        found.ok_or_else(|| de::Error::missing_field("base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(bytes: &[u8]) -> String {
        serde_json::to_string(&Blob::from(bytes)).expect("bytes can be written")
    }

    #[test]
    fn bytes_are_written_as_text_where_they_are_one_and_come_back_in_any_case() {
        assert_eq!(json("naïve \"x\"\n".as_bytes()), r#""naïve \"x\"\n""#);
        assert_eq!(json(&[0xff]), r#"{"base64":"/w=="}"#);
        assert_eq!(json(&[0, 1]), r#"{"base64":"AAE="}"#);
        for length in 0..9usize {
            for seed in 0..40u8 {
                let bytes: Vec<u8> =
                    (0..length).map(|at| seed.wrapping_mul(37) ^ (at as u8).wrapping_mul(89)).collect();
                let blob = Blob::from(bytes);
                assert_eq!(Blob::from_base64(&blob.to_base64()).as_ref(), Some(&blob));
                let text = serde_json::to_string(&blob).expect("bytes can be written");
                assert_eq!(serde_json::from_str::<Blob>(&text).ok(), Some(blob), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in ["A", "AA", "AAA", "====", "A===", "AA=A", "AB==", "AAB=", "AA==AAAA", "AA\n=", "AA-_"] {
            assert_eq!(Blob::from_base64(text), None, "{text}");
        }
        for text in ["{}", "7", "null", r#"{"base64":"A"}"#, r#"{"base64":7}"#] {
            assert!(serde_json::from_str::<Blob>(text).is_err(), "{text}");
        }
    }
}
