//! A body that holds a tree, in the notation that its header names, or that was given as a parameter.
//!
//! Mirrors `XContentParser` and its kin, and `RestRequest.contentOrSourceParam` (6.8).

use super::body::{from_cbor, from_json, from_smile, from_yaml};
use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::response_format::{Format, check_media_type, content_type};
use super::route::Call;
use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::Value;

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
}

/// What was sent behind the headers, or else in the query, if anything was.
pub(super) fn body(call: &Call) -> Result<Option<Body>, RestError> {
    if !call.body.is_empty() {
        check_size(&call.body, "this request")?;
        let notation = content_type(&call.headers)?.and_then(Format::named).unwrap_or(Format::Json);
        return Ok(Some(Body { bytes: call.body.clone(), notation }));
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
    Ok((!source.is_empty()).then(|| Body { bytes: source.to_owned().into(), notation }))
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
        Format::Json => from_json(body).map_err(|error| RestError::new(Kind::JsonParse, error.to_string())),
        Format::Yaml => {
            let text = str::from_utf8(body).map_err(|error| refuse("YAML", error.to_string()))?;
            from_yaml(text).map_err(|why| refuse("YAML", why))
        }
        Format::Cbor => from_cbor(body).map_err(|why| refuse("CBOR", why)),
        Format::Smile => from_smile(body).map_err(|why| refuse("SMILE", why)),
    }
}
