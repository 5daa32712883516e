//! The envelope around a message: the version, the kind, the body.
//!
//! It is opened before the body is read, so that a message of another version or kind is refused as such, whatever its
//! body looks like.

use super::error::{quoted, reason};
use super::place::place;
use super::{DEPTH_MAX, OLDEST, SIZE_MAX, VERSION, WireError};
use crate::zen::Message;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess};
use serde::{Deserialize, Serialize};
use serde_json::Error;
use serde_json::value::RawValue;

/// A message with its version; it brings its kind and body along.
#[derive(Serialize)]
pub(super) struct Sealed<'a> {
    v: u32,
    #[serde(flatten)]
    message: &'a Message,
}

impl<'a> Sealed<'a> {
    pub(super) fn new(version: u32, message: &'a Message) -> Self {
        Sealed { v: version.clamp(OLDEST, VERSION), message }
    }
}

/// The parts as they stand in the text.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Parts<'a> {
    #[serde(borrow)]
    v: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

impl<'a> Parts<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, WireError> {
        // A list would do for a record if it were asked, field by field.
        if bytes.trim_ascii_start().first() == Some(&b'{') {
            return serde_json::from_slice(bytes).map_err(|error| refusal(bytes, &error));
        }
        match serde_json::from_slice::<IgnoredAny>(bytes) {
            Ok(_) => Err(no_envelope(bytes, "it is no object".into())),
            Err(error) => Err(refusal(bytes, &error)),
        }
    }
}

/// An opened envelope of a version that is read and of a known kind.
pub(super) struct Envelope<'a> {
    kind: &'static str,
    body: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, WireError> {
        if bytes.len() > SIZE_MAX {
            return Err(WireError::TooLarge { bytes: bytes.len() });
        }
        let parts = Parts::read(bytes)?;
        let version: Option<u32> = parts.v.and_then(|version| serde_json::from_str(version.get()).ok());
        if !version.is_some_and(|version| (OLDEST..=VERSION).contains(&version)) {
            return Err(WireError::UnknownVersion { found: parts.v.map(|version| quoted(version.get())) });
        }
        let Some(text) = parts.kind else {
            return Err(WireError::UnknownKind { found: None });
        };
        let kind = match serde_json::from_str::<String>(text.get()) {
            Ok(kind) => known(&kind)?,
            Err(_) => return Err(WireError::UnknownKind { found: Some(quoted(text.get())) }),
        };
        Ok(Envelope { kind, body: parts.body })
    }

    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(super) fn message(&self) -> Result<Message, WireError> {
        let parts = Tagged { kind: Some(self.kind), body: self.body };
        Message::deserialize(MapAccessDeserializer::new(parts)).map_err(|error| self.misfit(&error))
    }

    fn misfit(&self, error: &Error) -> WireError {
        let kind = self.kind;
        let text = self.body.map_or("", RawValue::get);
        // What is missing beside the body has no place in it.
        let end = if error.line() == 0 { 0 } else { offset(text.as_bytes(), error) };
        let place = place(text, end);
        let path = format!("body{}", place.path);
        // The body is known to be JSON, so nothing but its depth can end the reading so far down.
        if error.is_syntax() && place.depth >= DEPTH_MAX {
            return WireError::TooDeep { kind, path };
        }
        WireError::Misfit { kind, path, why: reason(error), read: quoted(place.text) }
    }
}

/// The kind with this name.
pub(super) fn known(kind: &str) -> Result<&'static str, WireError> {
    let known = Message::KINDS.into_iter().find(|known| *known == kind);
    known.ok_or_else(|| WireError::UnknownKind { found: Some(quoted(kind)) })
}

fn refusal(bytes: &[u8], error: &Error) -> WireError {
    let why = reason(error);
    if error.is_data() {
        return no_envelope(bytes, why);
    }
    // A column counts the byte that does not fit; at the end there is none.
    let at = if error.is_eof() { bytes.len() } else { offset(bytes, error).saturating_sub(1).min(bytes.len()) };
    WireError::NotJson { at, why, read: beginning(&bytes[at..]) }
}

fn no_envelope(bytes: &[u8], why: String) -> WireError {
    WireError::NoEnvelope { why, read: beginning(bytes) }
}

fn beginning(bytes: &[u8]) -> String {
    // More than is quoted, however many bytes a character takes.
    quoted(&String::from_utf8_lossy(bytes.get(..256).unwrap_or(bytes)))
}

/// The number of bytes that were read when the error was found.
fn offset(bytes: &[u8], error: &Error) -> usize {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
    lines.map(<[u8]>::len).sum::<usize>() + error.column()
}

/// Hands the kind over before the body, in whichever order they came, so that the body is read where it stands.
struct Tagged<'a> {
    kind: Option<&'static str>,
    body: Option<&'a RawValue>,
}

impl<'de> MapAccess<'de> for Tagged<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let key = match (self.kind, self.body) {
            (Some(_), _) => "kind",
            (None, Some(_)) => "body",
            (None, None) => return Ok(None),
        };
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match (self.kind.take(), self.body) {
            (Some(kind), _) => seed.deserialize(kind.into_deserializer()),
            (None, Some(body)) => {
                self.body = None;
                seed.deserialize(body)
            }
            (None, None) => seed.deserialize(().into_deserializer()),
        }
    }
}
