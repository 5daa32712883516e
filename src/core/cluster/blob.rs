//! Bytes that a user stored, as they are.
//!
//! In JSON they are a text where they are one that prints, and `{"base64": "…"}` otherwise, so that a state stays
//! readable and takes at most twice their room.

use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes that a user stored. A clone shares them.
#[derive(Clone)]
pub struct Blob(Content);

/// What is a text and how long it is in JSON is found out once, by whoever brings the bytes: a master looks at it with every
/// change, and a value may be large.
#[derive(Clone)]
enum Content {
    Text { text: Arc<str>, written: u32 },
    Bytes(Arc<[u8]>),
}

impl Blob {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Content::Text { text, .. } => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }

    /// The bytes as text, if they are UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Content::Text { text, .. } => Some(text),
            Content::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        }
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// How many bytes JSON writes for them, but for what stands around every value.
    pub fn written_len(&self) -> usize {
        match &self.0 {
            Content::Text { written, .. } => *written as usize,
            Content::Bytes(bytes) => bytes.len().div_ceil(3) * 4,
        }
    }

    /// The bytes in base64, with padding.
    pub fn to_base64(&self) -> String {
        let mut text = String::with_capacity(self.len().div_ceil(3) * 4);
        for group in self.as_bytes().chunks(3) {
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
        match &self.0 {
            Content::Text { text, .. } => Some(text),
            Content::Bytes(_) => None,
        }
    }
}

/// The text in these bytes, if it can be read as it is.
fn plain(bytes: &[u8]) -> Option<&str> {
    let is_odd = |byte: &u8| *byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t');
    // Piece by piece, each without a branch, which takes a tenth of the time.
    let is_plain = bytes.chunks(PIECE).all(|piece| !piece.iter().fold(false, |any, byte| any | is_odd(byte)));
    if is_plain { std::str::from_utf8(bytes).ok() } else { None }
}

/// How many bytes a text takes in JSON, without its quotes.
pub fn written_len(text: &str) -> usize {
    let more = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 1,
        0..b' ' => 5,
        _ => 0,
    };
    let of_piece = |piece: &[u8]| usize::from(piece.iter().map(|byte| more(*byte)).sum::<u8>());
    text.len() + text.as_bytes().chunks(PIECE).map(of_piece).sum::<usize>()
}

/// So many bytes are counted in one number of a byte: each takes five more at the most.
const PIECE: usize = 48;

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
        text.as_bytes().into()
    }
}

impl From<String> for Blob {
    fn from(text: String) -> Self {
        text.as_bytes().into()
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        let text = plain(bytes).and_then(|text| Some((text, u32::try_from(written_len(text)).ok()?)));
        Blob(match text {
            Some((text, written)) => Content::Text { text: text.into(), written },
            None => Content::Bytes(bytes.into()),
        })
    }
}

impl Default for Blob {
    fn default() -> Self {
        "".into()
    }
}

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (self.as_bytes(), other.as_bytes());
        std::ptr::eq(one, two) || one == two
    }
}

impl Eq for Blob {}

impl PartialOrd for Blob {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Blob {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Blob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
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
    fn a_text_takes_as_many_bytes_as_json_writes_for_it() {
        let every: String = (0..=0x2ff).filter_map(char::from_u32).collect();
        assert_eq!(written_len(&every), json_len(&every));
        assert_eq!(written_len("\u{1}"), 6);
        assert_eq!(written_len(&"\u{1}".repeat(1_000)), 6_000);
        for value in ["naïve \"x\"\n".as_bytes(), b"plain", b"", &[0xff, 1, 2], &[0; 4]] {
            let blob = Blob::from(value);
            let frame = if blob.plain().is_some() { 2 } else { r#"{"base64":""}"#.len() };
            assert_eq!(blob.written_len() + frame, json(value).len(), "{blob:?}");
        }
    }

    fn json_len(text: &str) -> usize {
        serde_json::to_string(text).expect("a text can be written").len() - 2
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
