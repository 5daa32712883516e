//! A body that holds a tree, in the notation that its header names.
//!
//! Mirrors `XContentParser` and its kin (6.8).

use super::body::{from_cbor, from_json, from_smile, from_yaml};
use super::error::{Kind, RestError};
use super::route::Call;
use super::wish::{Format, content_type};
use serde_json::Value;

/// Reads it.
pub(super) fn tree(call: &Call) -> Result<Value, RestError> {
    let notation = content_type(&call.headers)?.and_then(Format::named).unwrap_or(Format::Json);
    read(&call.body, notation)
}

/// The same of a body whose notation is known.
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
