//! A body that is one object, and what is wrong with its fields.
//!
//! Mirrors `ObjectParser` (6.8), whose messages name the place of a mistake.

use super::body::from_yaml;
use super::error::{Kind, RestError};
use super::route::Call;
use super::wish::{Format, content_type};
use serde_json::{Map, Value};

/// The fields of a body, and the text that they stood in.
pub(super) struct Fields {
    /// The body.
    pub(super) text: String,
    /// Its fields.
    pub(super) fields: Map<String, Value>,
}

/// Reads a body.
pub(super) fn fields(call: &Call) -> Result<Fields, RestError> {
    let refuse = |reason: String| RestError::new(Kind::JsonParse, reason);
    let text = String::from_utf8(call.body.to_vec()).map_err(|error| refuse(error.to_string()))?;
    let format = content_type(&call.headers)?.and_then(Format::named).unwrap_or(Format::Json);
    let value = match format {
        Format::Yaml => from_yaml(&text)
            .map_err(|why| RestError::new(Kind::ElasticsearchParse, format!("the body is no YAML: {why}")))?,
        Format::Json | Format::Cbor => serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?,
    };
    let Value::Object(fields) = value else {
        let reason = format!("the body holds [{value}]; allowed: an object");
        return Err(RestError::new(Kind::ElasticsearchParse, reason));
    };
    Ok(Fields { text, fields })
}

/// A field that an object does not have.
pub(super) fn unknown_field(text: &str, object: &str, name: &str) -> RestError {
    let at = position(text, find(text, name));
    RestError::new(Kind::XContentParse, format!("[{at}] [{object}] unknown field [{name}], parser not found"))
}

/// Where the value of a name stands, as line and column.
pub(super) fn position_behind(text: &str, name: &str) -> String {
    let at = find(text, name) + name.len() + "\"\"".len();
    let rest = text.get(at..).unwrap_or_default();
    let value = rest.find(|letter: char| !letter.is_whitespace() && letter != ':').unwrap_or(0);
    position(text, at + value)
}

fn find(text: &str, name: &str) -> usize {
    text.find(&format!("\"{name}\"")).unwrap_or(0)
}

fn position(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_found_by_line_and_column() {
        let text = "{\"commands\":[{\"nope\":{}}]}";
        assert_eq!(position_behind(text, "nope"), "1:22");
        let error = unknown_field("{\n  \"x\": 1}", "cluster_reroute", "x").to_string();
        assert_eq!(error, "XContentParseException[[2:3] [cluster_reroute] unknown field [x], parser not found]");
        assert_eq!(position_behind("", "x"), "1:1");
    }
}
