//! A body that holds a tree, in the notation that its header names, or that was given as a parameter.
//!
//! Mirrors `XContentParser` and its kin, and `RestRequest.contentOrSourceParam` (6.8).

use super::body::{from_cbor, from_json, from_smile, from_yaml, plain};
use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::response_format::{Format, check_media_type, content_type};
use super::route::Call;
use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::Value;
use std::borrow::Cow;

/// The parameters that a body may be given as.
pub(super) const SOURCE: &[Parameter] = &[
    Parameter {
        name: "source",
        values: Values::Text,
        default: "none",
        doc: "What is taken for the body if none is sent.",
    },
    Parameter {
        name: "source_content_type",
        values: Values::Text,
        default: "none",
        doc: "The media type of `source`, which must be given with it.",
    },
];

/// Longer bodies are not read: a tree takes many times as much, and whoever waits for the thread that reads it waits as long.
const TREE_BYTES_MAX: usize = 1 << 20;

/// What was sent.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) notation: Format,
    /// Whether something stands behind it that is not heeded.
    pub(super) has_more: bool,
}

impl Body {
    /// What was sent in this notation. JSON becomes what strict readers take.
    pub(super) fn of(bytes: Bytes, notation: Format) -> Result<Self, RestError> {
        if notation != Format::Json {
            return Ok(Body { bytes, notation, has_more: false });
        }
        let plain = plain(&bytes).map_err(|why| RestError::new(Kind::JsonParse, why))?;
        let has_more = plain.has_more;
        let bytes = match plain.text {
            Cow::Borrowed(text) => bytes.slice_ref(text.as_bytes()),
            Cow::Owned(text) => text.into(),
        };
        Ok(Body { bytes, notation, has_more })
    }

    /// Whether nothing was sent but blanks.
    pub(super) fn is_blank(&self) -> bool {
        self.notation == Format::Json && self.bytes.trim_ascii().is_empty()
    }
}

/// What was sent behind the headers, or else in the query, if anything was.
pub(super) fn body(call: &Call) -> Result<Option<Body>, RestError> {
    if !call.body.is_empty() {
        check_size(&call.body, "this request")?;
        let notation = content_type(&call.headers)?.and_then(Format::named).unwrap_or(Format::Json);
        return Body::of(call.body.clone(), notation).map(Some);
    }
    let Some(source) = call.parameters.text("source") else {
        return Ok(None);
    };
    let mistake = |reason: String| RestError::new(Kind::IllegalState, reason).with_status(StatusCode::BAD_REQUEST);
    let Some(kind) = call.parameters.text("source_content_type") else {
        return Err(mistake("source and source_content_type parameters are required".into()));
    };
    check_media_type(kind)?;
    let notation = Format::named(kind);
    let notation = notation.ok_or_else(|| mistake(format!("Unknown value for source_content_type [{kind}]")))?;
    if source.is_empty() {
        return Ok(None);
    }
    Body::of(source.to_owned().into(), notation).map(Some)
}

/// Refuses a body that is too long to be read as a tree.
pub(super) fn check_size(body: &[u8], what: &str) -> Result<(), RestError> {
    let (found, max) = (body.len(), TREE_BYTES_MAX);
    if found > max {
        return Err(RestError::illegal(format!("the body has {found} bytes, allowed are {max} for {what}")));
    }
    Ok(())
}

/// Reads a body in this notation.
pub(super) fn read(body: &[u8], notation: Format) -> Result<Value, RestError> {
    let refuse =
        |name: &str, why: String| RestError::new(Kind::ElasticsearchParse, format!("the body is no {name}: {why}"));
    match notation {
        Format::Cbor | Format::Smile if is_text(body, notation) => Ok(Value::String(String::new())),
        Format::Json => from_json(body).map_err(|error| RestError::new(Kind::JsonParse, error.to_string())),
        Format::Yaml => {
            let text = str::from_utf8(body).map_err(|error| refuse("YAML", error.to_string()))?;
            from_yaml(text).map_err(|why| refuse("YAML", why))
        }
        Format::Cbor => from_cbor(body).map_err(|why| refuse("CBOR", why)),
        Format::Smile => from_smile(body).map_err(|why| refuse("SMILE", why)),
    }
}

/// Whether binary notation begins with a text, as JSON does that is called so by mistake.
fn is_text(body: &[u8], notation: Format) -> bool {
    let first = body.first().copied().unwrap_or_default();
    match notation {
        Format::Cbor => (0x60..=0x7b).contains(&first),
        Format::Smile => (0x20..=0x7f).contains(&first) && !body.starts_with(b":)\n"),
        Format::Json | Format::Yaml => false,
    }
}
