//! A body that is one object, and what is wrong with its fields.
//!
//! Mirrors `ObjectParser` (6.8), whose messages name the place of a mistake.

use super::error::{Kind, RestError};
use super::parameters::flag;
use super::response_format::Format;
use super::route::Call;
use super::sent::{self, Body};
use serde_json::{Map, Value};

/// The fields of a body, and the text that they stood in.
pub(super) struct Fields {
    /// The body.
    pub(super) text: String,
    /// Its fields.
    pub(super) fields: Map<String, Value>,
}

/// Reads a body, which Elasticsearch calls so.
pub(super) fn fields(call: &Call, object: &str) -> Result<Fields, RestError> {
    let Some(body) = sent::body(call)? else {
        return Ok(Fields { text: String::new(), fields: Map::new() });
    };
    if body.is_blank() {
        let reason = format!("[1:0] [{object}] Expected START_OBJECT but was: null");
        return Err(RestError::new(Kind::XContentParse, reason));
    }
    let Body { bytes, notation, .. } = body;
    // The places of mistakes are told of what is text.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let value = sent::read(&bytes, notation)?;
    let Value::Object(fields) = value else {
        let at = match notation {
            Format::Json | Format::Yaml => "1:1",
            Format::Cbor | Format::Smile => "-1:0",
        };
        let reason = format!("[{at}] [{object}] Expected START_OBJECT but was: {}", token(&value));
        return Err(RestError::new(Kind::XContentParse, reason));
    };
    Ok(Fields { text, fields })
}

/// What begins with a value, as Elasticsearch calls it.
pub(super) fn token(value: &Value) -> &'static str {
    match value {
        Value::Null => "VALUE_NULL",
        Value::Bool(_) => "VALUE_BOOLEAN",
        Value::Number(_) => "VALUE_NUMBER",
        Value::String(_) => "VALUE_STRING",
        Value::Array(_) => "START_ARRAY",
        Value::Object(_) => "START_OBJECT",
    }
}

/// What the value of a field must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Text,
    Number,
    Flag,
}

/// Refuses a value that is not what a field wants.
pub(super) fn check(text: &str, object: &str, name: &str, value: &Value, wanted: Wanted) -> Result<(), RestError> {
    let at = || position_behind(text, name);
    let cause = match (wanted, value) {
        (Wanted::Text, Value::String(_)) | (Wanted::Flag, Value::Bool(_)) => return Ok(()),
        (Wanted::Number, Value::Number(_) | Value::String(_)) => match whole(value) {
            Ok(()) => return Ok(()),
            Err(cause) => cause,
        },
        (Wanted::Flag, Value::String(text)) => match flag(text) {
            Ok(_) => return Ok(()),
            Err(cause) => cause,
        },
        _ => {
            let reason = format!("[{}] [{object}] {name} doesn't support values of type: {}", at(), token(value));
            return Err(RestError::new(Kind::XContentParse, reason));
        }
    };
    let reason = format!("[{}] [{object}] failed to parse field [{name}]", at());
    Err(RestError::new(Kind::XContentParse, reason).caused_by(cause))
}

/// Refuses what is no number of 32 bits once its fraction is cut off.
pub(super) fn whole(value: &Value) -> Result<(), RestError> {
    let fits = |number: f64| number > -2_147_483_649.0 && number < 2_147_483_648.0;
    match value {
        Value::Number(number) if number.as_f64().is_some_and(fits) => Ok(()),
        Value::Number(number) => {
            Err(RestError::new(Kind::JsonParse, format!("Numeric value ({number}) out of range of int")))
        }
        Value::String(text) if text.is_empty() => Err(RestError::new(Kind::NumberFormat, "empty String")),
        Value::String(text) => match text.parse::<f64>() {
            Ok(number) if fits(number) => Ok(()),
            Ok(_) => Err(RestError::illegal(format!("Value [{text}] is out of range for an integer"))),
            Err(_) => Err(RestError::no_number(text)),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(RestError::no_number(value.as_str().unwrap_or_default()))
        }
    }
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

/// The same, so many characters further.
pub(super) fn position_after(text: &str, name: &str, count: usize) -> String {
    let at = position_behind(text, name);
    let (line, column) = at.split_once(':').unwrap_or(("1", "1"));
    format!("{line}:{}", column.parse::<usize>().unwrap_or(1) + count)
}

/// Where the object ends that stands behind a name.
pub(super) fn position_of_end(text: &str, name: &str) -> String {
    let begin = find(text, name);
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, letter) in text.get(begin + name.len() + "\"\"".len()..).unwrap_or_default().char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_quoted,
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted && depth <= 1 => return position(text, begin + name.len() + "\"\"".len() + at),
            '}' if !is_quoted => depth -= 1,
            _ => {}
        }
    }
    position(text, text.len())
}

/// Of more fields the places are not looked for, each in the whole text.
const LOOKED_FOR_MAX: usize = 64;

/// The fields of an object as they stand in its text; where that does not tell, or there are more than anybody writes, by name.
pub(super) fn in_order<'a>(text: &str, fields: &'a Map<String, Value>) -> Vec<(&'a str, &'a Value)> {
    let mut fields: Vec<(&str, &Value)> = fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
    if fields.len() <= LOOKED_FOR_MAX {
        fields.sort_by_cached_key(|(name, _)| find(text, name));
    }
    fields
}

/// Where a name stands.
pub(super) fn find(text: &str, name: &str) -> usize {
    text.find(&format!("\"{name}\"")).unwrap_or(0)
}

/// A place as line and column.
pub(super) fn position(text: &str, at: usize) -> String {
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
        let text = r#"{"z":1,"b":2,"a":3}"#;
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else { panic!("it is an object") };
        let names = |text| in_order(text, &fields).into_iter().map(|(name, _)| name).collect::<String>();
        assert_eq!([names(text), names("")], ["zba", "abz"]);
    }
}
